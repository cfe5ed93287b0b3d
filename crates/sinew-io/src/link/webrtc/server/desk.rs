//! What a robot's signalling says.

use std::{
    fmt, io,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::Instant,
};

use openssl::{
    pkey::Private,
    rand::rand_bytes,
    rsa::{Padding, Rsa},
};
use sinew_wire::unitree::{
    SessionKey,
    signal::{Answer, Clear, ConIng, Lock, Notify, Offer, seal_answer},
};
use str0m::config::DtlsCert;

use super::{Signalling, WebRtcServerOptions};
use crate::{
    link::webrtc::{
        OpenSsl,
        connection::Connection,
        negotiate::{self, Answering},
        ports::Ports,
        rsa,
    },
    wake::Waker,
};

pub(super) struct Desk {
    options: WebRtcServerOptions,
    ciphers: OpenSsl,
    key: Rsa<Private>,
    clear: Clear,
    certificate: Option<DtlsCert>,
    is_taken: AtomicBool,
    connections: Sender<Connection>,
    waker: Waker,
}

/// What is answered to a request; none where a real robot just closes the connection.
pub(super) type Reply = Option<(u16, String)>;

impl Desk {
    pub(super) fn new(options: WebRtcServerOptions) -> io::Result<(Self, Receiver<Connection>)> {
        let (connections, handed) = channel();
        let key = rsa::key()?;
        let public_key = key.public_key_to_der()?;
        let mut digits = [0; 5];
        rand_bytes(&mut digits)?;
        let digits = digits.iter().map(|digit| char::from(b'0' + digit % 10)).collect();
        let certificate = match options.habits.rsa_certificate {
            true => Some(rsa::certificate()?),
            false => None,
        };
        let desk = Desk {
            options,
            ciphers: OpenSsl::new()?,
            key,
            clear: Clear { public_key, digits },
            certificate,
            is_taken: AtomicBool::new(false),
            connections,
            waker: Waker::new()?,
        };
        Ok((desk, handed))
    }

    pub(super) const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// The next client may come.
    pub(super) fn free(&self) {
        self.is_taken.store(false, Ordering::Release);
    }

    /// Answers a request to the listener of new or old firmware.
    pub(super) fn reply(&self, is_old: bool, path: &str, body: &[u8]) -> Reply {
        match (is_old, path) {
            (true, "/offer") => {
                let answer = self.answer(&Offer::parse(body).ok()?)?;
                Some((200, answer.emit()))
            }
            (false, "/con_notify") => self.notify(),
            (false, path) if path == self.clear.path() => self.con_ing(body),
            _ => Some((404, String::new())),
        }
    }

    fn notify(&self) -> Reply {
        let (lock, key) = match &self.options.signalling {
            Signalling::Plain => (Lock::Plain, None),
            Signalling::Static => (Lock::Static, None),
            Signalling::Device(key) => (Lock::Device, Some(key)),
        };
        let mut nonce = [0; 12];
        rand_bytes(&mut nonce).ok()?;
        let notify = Notify::seal(&self.clear, key, lock, &nonce, &self.ciphers)?;
        Some((200, notify.emit()))
    }

    fn con_ing(&self, body: &[u8]) -> Reply {
        let sealed = ConIng::parse(body).ok()?;
        let mut clear = vec![0; self.key.size() as usize];
        let count =
            self.key.private_decrypt(&sealed.wrapped_key, &mut clear, Padding::PKCS1).ok()?;
        let session_key = SessionKey::from_bytes(&clear[..count]).ok()?;
        let answer = self.answer(&sealed.open(&session_key, &self.ciphers).ok()?)?;
        Some((200, seal_answer(&answer, &session_key, &self.ciphers)))
    }

    fn answer(&self, offer: &Offer) -> Option<Answer> {
        if self.is_taken.swap(true, Ordering::AcqRel) {
            return Some(Answer::Busy);
        }
        let answer = self.connect(offer).map_err(|words| {
            tracing::warn!("an offer cannot be answered: {words}");
            self.free();
        });
        answer.ok().map(Answer::Sdp)
    }

    fn connect(&self, offer: &Offer) -> Result<String, String> {
        let habits = self.options.habits;
        let how = Answering {
            dcep_ack: habits.dcep_ack,
            is_active: habits.is_active,
            no_extended_master_secret: !habits.extended_master_secret,
            cbc_only: habits.cbc_only,
            rsa_only: habits.rsa_only,
            certificate: self.certificate.clone(),
        };
        let ports = Ports::bind(self.options.interface.as_deref(), true);
        let ports = ports.map_err(|error| error.to_string())?;
        let (connection, answer) = negotiate::answer(ports, &offer.sdp, how, Instant::now())?;
        self.connections.send(connection).map_err(|_| "the robot is gone")?;
        self.waker.wake();
        Ok(answer)
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("is_taken", &self.is_taken).finish_non_exhaustive()
    }
}
