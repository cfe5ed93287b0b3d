//! The data channel of a simulated robot.

mod desk;
mod http;

use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
    os::fd::BorrowedFd,
    sync::{Arc, mpsc::Receiver},
    time::Instant,
};

use sinew_faults::DatagramFaults;
use sinew_sim::g1::{Channel, What};
use sinew_wire::unitree::{DeviceKey, Form};

use self::{desk::Desk, http::Listener};
use super::{
    Link,
    connection::{Connection, LONGEST, Stage},
    secret::is_secret,
};
use crate::link::poller::Poller;

/// Where and how a simulated robot is found.
#[derive(Debug, Clone)]
pub struct WebRtcServerOptions {
    /// Where its signalling listens; a real one at 9991.
    pub listen: Option<SocketAddr>,
    /// Where that of old firmware listens; a real one at 8081.
    pub listen_old: Option<SocketAddr>,
    /// How its signalling is closed.
    pub signalling: Signalling,
    /// Only the addresses of this interface, by name or address; all otherwise.
    pub interface: Option<String>,
    /// What real ones do differently.
    pub habits: Habits,
}

impl Default for WebRtcServerOptions {
    /// On a free port of loopback, and reached there alone.
    fn default() -> Self {
        let loopback = Ipv4Addr::LOCALHOST;
        WebRtcServerOptions {
            listen: Some((loopback, 0).into()),
            listen_old: None,
            signalling: Signalling::default(),
            interface: Some(loopback.to_string()),
            habits: Habits::default(),
        }
    }
}

/// How the first answer of the signalling is closed.
#[derive(Debug, Clone, Default)]
pub enum Signalling {
    /// Not at all.
    Plain,
    /// With the key that all robots share.
    #[default]
    Static,
    /// With the robot's own key.
    Device(DeviceKey),
}

/// What robots do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Habits {
    /// Whether it acknowledges that a channel is opened.
    pub dcep_ack: bool,
    /// Whether it begins DTLS.
    pub is_active: bool,
    /// Whether its certificate is RSA instead of ECDSA.
    pub rsa_certificate: bool,
    /// Whether it takes only RSA certificates.
    pub rsa_only: bool,
    /// Whether it has the extended master secret.
    pub extended_master_secret: bool,
    /// Whether it has only ciphers of the CBC kind.
    pub cbc_only: bool,
}

impl Default for Habits {
    /// Those of a G1 as far as they are known: its stack, Amazon's KVS, acknowledges no channel.
    fn default() -> Self {
        Habits {
            dcep_ack: false,
            is_active: true,
            rsa_certificate: false,
            rsa_only: false,
            extended_master_secret: true,
            cbc_only: false,
        }
    }
}

/// The channel of one client at a time.
pub struct WebRtcServer {
    poller: Poller,
    desk: Arc<Desk>,
    new: Option<Listener>,
    old: Option<Listener>,
    handed: Receiver<Connection>,
    client: Option<Client>,
    /// No number comes twice.
    last: u32,
    /// What the robot has not been told.
    news: VecDeque<Channel>,
    /// What happens to datagrams; each client has other luck.
    faults: Option<(DatagramFaults, u64)>,
}

struct Client {
    number: u32,
    connection: Connection,
    is_open: bool,
    /// The newest cloud that had no room: older ones are of no use.
    cloud: Option<Vec<u8>>,
}

impl WebRtcServer {
    /// Listens.
    pub fn new(options: WebRtcServerOptions) -> io::Result<Self> {
        let poller = Poller::new()?;
        let (listen, listen_old) = (options.listen, options.listen_old);
        let (desk, handed) = Desk::new(options)?;
        poller.add(desk.waker())?;
        let desk = Arc::new(desk);
        let listener = |address: Option<SocketAddr>, is_old| {
            address.map(|address| Listener::spawn(address, is_old, Arc::clone(&desk))).transpose()
        };
        let (new, old) = (listener(listen, false)?, listener(listen_old, true)?);
        let news = VecDeque::new();
        let faults = None;
        Ok(WebRtcServer { poller, desk, new, old, handed, client: None, last: 0, news, faults })
    }

    /// Where its signalling listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.new.as_ref().map(Listener::address)
    }

    /// Where that of old firmware listens.
    pub fn old_address(&self) -> Option<SocketAddr> {
        self.old.as_ref().map(Listener::address)
    }

    fn advance(&mut self, now: Instant) {
        while let Ok(mut connection) = self.handed.try_recv() {
            // A socket that cannot be watched is looked at when something is due.
            let _ = connection.watch(&self.poller);
            self.last += 1;
            let number = self.last;
            if let Some((faults, seed)) = self.faults {
                connection.damage(faults, seed ^ u64::from(number) << 16);
            }
            self.client = Some(Client { number, connection, is_open: false, cloud: None });
        }
        let Some(client) = &mut self.client else { return };
        client.connection.advance(now);
        if !client.is_open && client.connection.stage() == Stage::Open {
            client.is_open = true;
            self.news.push_back(Channel { client: client.number, what: What::Opened });
        }
        if client.connection.has_room()
            && let Some(cloud) = client.cloud.take()
        {
            // One that is too long for this client was refused when it came.
            let _ = client.connection.send(now, Form::Binary, &cloud);
        }
    }

    /// Lets a client go that is gone.
    fn settle(&mut self) {
        let gone = |client: &mut Client| client.connection.down().is_some();
        if let Some(client) = self.client.take_if(gone) {
            self.desk.free();
            if client.is_open {
                self.news.push_back(Channel { client: client.number, what: What::Closed });
            }
        }
    }
}

impl Link for WebRtcServer {
    type Peer = Channel;

    fn open(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn is_open(&self) -> bool {
        true
    }

    fn events(&self) -> Option<BorrowedFd<'_>> {
        Some(self.poller.as_fd())
    }

    fn take_events(&mut self, now: Instant) -> io::Result<()> {
        self.desk.waker().reset();
        if let Some(client) = &mut self.client {
            client.connection.look(now);
        }
        self.advance(now);
        Ok(())
    }

    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, Channel)>> {
        if self.poll_timeout().is_some_and(|due| now >= due) {
            self.advance(now);
        }
        if let Some(news) = self.news.pop_front() {
            return Ok(Some((0, news)));
        }
        if let Some(client) = &mut self.client
            && let Some((count, form)) = client.connection.receive(buffer)
        {
            let what = What::Message(form);
            return Ok(Some((count, Channel { client: client.number, what })));
        }
        self.settle();
        Ok(self.news.pop_front().map(|news| (0, news)))
    }

    fn send(&mut self, now: Instant, to: Channel, bytes: &[u8]) -> io::Result<()> {
        // What is for a client that has gone is for none.
        let Some(client) = self.client.as_mut().filter(|client| client.number == to.client) else {
            return Ok(());
        };
        match to.what {
            What::Message(Form::Binary) if !client.connection.has_room() => {
                client.cloud = Some(bytes.to_vec());
                Ok(())
            }
            What::Message(form) => client.connection.send(now, form, bytes),
            What::Opened => Ok(()),
            What::Closed => {
                client.connection.close(now);
                self.client = None;
                self.desk.free();
                Ok(())
            }
        }
    }

    fn flush(&mut self, now: Instant) -> io::Result<()> {
        self.advance(now);
        Ok(())
    }

    fn longest(&self) -> usize {
        LONGEST
    }

    fn has_room(&self) -> bool {
        let has_room = |client: &Client| client.cloud.is_none() && client.connection.has_room();
        self.client.as_ref().is_none_or(has_room)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.client.as_ref().map(|client| client.connection.poll_timeout())
    }

    fn address_of(&self, peer: Channel) -> Option<SocketAddr> {
        let client = self.client.as_ref().filter(|client| client.number == peer.client);
        client.and_then(|client| client.connection.peer())
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn is_reliable(&self, _peer: Channel) -> bool {
        true
    }

    fn damage(&mut self, faults: DatagramFaults, seed: u64) {
        self.faults = Some((faults, seed));
    }

    fn is_secret(&self, peer: Channel, bytes: &[u8]) -> bool {
        matches!(peer.what, What::Message(form) if is_secret(form, bytes))
    }
}
