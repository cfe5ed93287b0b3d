//! The way to a connection: look the robot up, make an offer, have it answered. On a thread of its own,
//! since each of these takes as long as it likes.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, TryRecvError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use openssl::rand::rand_bytes;
use sinew_robot::unitree::signalling::{Came, Client, Failure, Step};

use super::{
    OpenSsl, WebRtcOptions, connection::Connection, http, negotiate::Offering, ports::Ports, rsa,
};
use crate::{link::poller::Poller, wake::Waker};

/// An attempt that runs, or has ended. One that is dropped ends after the step it is at.
pub(super) struct Attempt {
    outcome: Receiver<Result<Connection, Refused>>,
    waker: Arc<Waker>,
    abandoned: Arc<AtomicBool>,
}

/// Why there is no connection, and when to try again.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) words: String,
    pub(super) after: Duration,
}

/// What was learned of a robot that did not take what others take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Manners {
    /// We begin the association though it should.
    pub(super) eager: bool,
    /// We show it an RSA certificate.
    pub(super) rsa: bool,
}

impl Attempt {
    /// `alive` is held as long as the thread runs.
    pub(super) fn begin(
        options: Arc<WebRtcOptions>,
        ciphers: OpenSsl,
        manners: Manners,
        poller: &Poller,
        alive: Arc<()>,
    ) -> io::Result<Self> {
        let (ended, outcome) = channel();
        let waker = Arc::new(Waker::new()?);
        let abandoned = Arc::new(AtomicBool::new(false));
        poller.add(&*waker)?;
        let attempt = Attempt { outcome, waker: Arc::clone(&waker), abandoned };
        let abandoned = Arc::clone(&attempt.abandoned);
        let work = move || {
            // Dropped where no one waits for it any more, which closes it.
            let _ = ended.send(connect(&options, ciphers, manners, &abandoned));
            waker.wake();
            drop(alive);
        };
        thread::Builder::new().name("signalling".into()).spawn(work)?;
        Ok(attempt)
    }

    /// What has become of it; none while it runs.
    pub(super) fn outcome(&self) -> Option<Result<Connection, Refused>> {
        self.waker.reset();
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(refused("signalling broke off"))),
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Release);
    }
}

fn connect(
    options: &WebRtcOptions,
    ciphers: OpenSsl,
    manners: Manners,
    abandoned: &AtomicBool,
) -> Result<Connection, Refused> {
    let mut robot = Robot::look_up(&options.host)?;
    let ports = Ports::bind(options.interface.as_deref(), robot.is_here());
    let ports = ports.map_err(|error| refused(&error.to_string()))?;
    let certificate = manners.rsa.then(rsa::certificate).transpose();
    let certificate = certificate.map_err(|error| refused(&error.to_string()))?;
    let offering = Offering::new(ports, certificate, Instant::now());
    let offering = offering.map_err(|words| refused(&words))?;
    let mut random = [0; 16];
    rand_bytes(&mut random).map_err(|error| refused(&error.to_string()))?;
    let (host, key) = (robot.ip().to_string(), options.key.clone());
    let mut client = Client::new(&host, options.port, offering.text(), key, random, ciphers);
    loop {
        if abandoned.load(Ordering::Acquire) {
            return Err(refused("given up"));
        }
        match client.step() {
            Step::Probe { port } => match robot.probe(port) {
                Ok(_) => client.handle(Came::Open),
                Err(words) => client.handle(Came::Failed(&words)),
            },
            Step::Post { port, path, content_type, body } => {
                match robot.post(port, &path, content_type, &body) {
                    Ok((status, body)) => client.handle(Came::Answer { status, body: &body }),
                    Err(words) => client.handle(Came::Failed(&words)),
                }
            }
            Step::End(Err(failure)) => return Err(failure.into()),
            Step::End(Ok(sdp)) => {
                let connection = offering.accept(&sdp, manners.eager, Instant::now());
                return connection.map_err(|what| Failure::Protocol { what }.into());
            }
        }
    }
}

/// A robot's addresses; once one has answered, that one.
struct Robot {
    addresses: Vec<IpAddr>,
}

impl Robot {
    fn look_up(host: &str) -> Result<Self, Refused> {
        let unreachable = |what| Refused::from(Failure::Unreachable { what });
        let found = (host, 0).to_socket_addrs();
        let found = found.map_err(|error| unreachable(format!("{host}: {error}")))?;
        let mut addresses: Vec<_> = found.map(|address| address.ip()).collect();
        addresses.dedup();
        match addresses.is_empty() {
            true => Err(unreachable(format!("{host} has no address"))),
            false => Ok(Robot { addresses }),
        }
    }

    fn ip(&self) -> IpAddr {
        // There is always one.
        self.addresses.first().copied().unwrap_or([0; 4].into())
    }

    /// Whether it is on this machine, as simulated ones are.
    fn is_here(&self) -> bool {
        let own: Vec<_> =
            if_addrs::get_if_addrs().unwrap_or_default().iter().map(|it| it.ip()).collect();
        self.addresses.iter().any(|address| address.is_loopback() || own.contains(address))
    }

    fn probe(&mut self, port: u16) -> Result<SocketAddr, String> {
        let mut words = String::new();
        for address in &self.addresses {
            let address = SocketAddr::from((*address, port));
            match http::probe(address) {
                Ok(()) => {
                    self.addresses = vec![address.ip()];
                    return Ok(address);
                }
                Err(error) => words = error,
            }
        }
        Err(words)
    }

    fn post(
        &mut self,
        port: u16,
        path: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<(u16, Vec<u8>), String> {
        let address = match *self.addresses {
            [address] => SocketAddr::from((address, port)),
            _ => self.probe(port)?,
        };
        http::post(address, path, content_type, body)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Refused { words: failure.to_string(), after: failure.retry_after() }
    }
}

/// Trouble of our own.
fn refused(words: &str) -> Refused {
    Refused { words: words.into(), after: Duration::from_secs(2) }
}
