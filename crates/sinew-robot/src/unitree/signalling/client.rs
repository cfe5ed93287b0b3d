use std::fmt;

use sinew_wire::unitree::{
    DeviceKey, SessionKey,
    signal::{Answer, Ciphers, Clear, ConIng, Lock, Locked, Notify, Offer, open_answer},
};

use super::Failure;
use crate::cut;

/// Where newer robots listen.
const NEW: u16 = 9991;
/// Where older ones listen.
const OLD: u16 = 8081;
/// A robot's own access point: offers have no id there.
const ACCESS_POINT: &str = "192.168.12.1";
const JSON: &str = "application/json";
/// What `con_ing` is sent as, although it is JSON.
const FORM: &str = "application/x-www-form-urlencoded";

/// Asks a robot for a channel, one step after the other: carry out [`step`](Self::step), hand in
/// what came of it, until the step is the end.
pub struct Client<C> {
    offer: Offer,
    device_key: Option<DeviceKey>,
    session_key: SessionKey,
    ciphers: C,
    port_given: bool,
    at: At,
}

/// What to do next.
#[derive(Clone, PartialEq, Eq)]
pub enum Step {
    /// See whether a TCP port takes connections; send nothing.
    Probe {
        /// Which.
        port: u16,
    },
    /// POST this, on a connection of its own.
    Post {
        /// To which port.
        port: u16,
        /// Which path.
        path: String,
        /// The content type; none: send no such header.
        content_type: Option<&'static str>,
        /// The body; it may be empty.
        body: Vec<u8>,
    },
    /// It is over: the robot's SDP, or why there is none.
    End(Result<String, Failure>),
}

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came<'a> {
    /// The port took the connection.
    Open,
    /// An HTTP answer.
    Answer {
        /// Its status.
        status: u16,
        /// Its body.
        body: &'a [u8],
    },
    /// None of it, in the system's words.
    Failed(&'a str),
}

/// How far it has come.
enum At {
    Probing { port: u16, tried: String },
    Notify { port: u16 },
    ConIng { port: u16, path: String, body: Vec<u8> },
    Offer { port: u16 },
    Over(Result<String, Failure>),
}

impl<C: Ciphers> Client<C> {
    /// Begins with an offer, of which `sdp` is all. `host` decides only whether it is a robot's own
    /// access point; without a `port` the two that robots use are tried. `random` must be new each
    /// time.
    pub fn new(
        host: &str,
        port: Option<u16>,
        sdp: String,
        device_key: Option<DeviceKey>,
        random: [u8; 16],
        ciphers: C,
    ) -> Self {
        let id = if host == ACCESS_POINT { "" } else { Offer::STATION };
        let at = match port {
            Some(port) => At::Notify { port },
            None => At::Probing { port: NEW, tried: String::new() },
        };
        Client {
            offer: Offer { id: id.into(), sdp, token: String::new() },
            device_key,
            session_key: SessionKey::from_random(random),
            ciphers,
            port_given: port.is_some(),
            at,
        }
    }

    /// What to do next.
    pub fn step(&self) -> Step {
        let post = |port, path: &str, content_type, body| Step::Post {
            port,
            path: path.into(),
            content_type,
            body,
        };
        match &self.at {
            At::Probing { port, .. } => Step::Probe { port: *port },
            At::Notify { port } => post(*port, "/con_notify", None, Vec::new()),
            At::ConIng { port, path, body } => post(*port, path, Some(FORM), body.clone()),
            At::Offer { port } => post(*port, "/offer", Some(JSON), self.offer.emit().into_bytes()),
            At::Over(end) => Step::End(end.clone()),
        }
    }

    /// Takes what came of the last step.
    pub fn handle(&mut self, came: Came<'_>) {
        self.at = match std::mem::replace(&mut self.at, At::Over(Ok(String::new()))) {
            At::Probing { port, tried } => probed(port, &tried, came),
            At::Notify { port } => self.notified(port, came),
            At::ConIng { path, .. } => At::Over(self.connected(&path, came)),
            At::Offer { port } => At::Over(offered(port, came)),
            over @ At::Over(_) => over,
        };
    }

    fn notified(&self, port: u16, came: Came<'_>) -> At {
        let body = match came {
            Came::Answer { status: 200, body } => body,
            Came::Answer { status: 404, .. } if self.port_given => return At::Offer { port },
            came => return At::Over(Err(unusable(port, "/con_notify", came))),
        };
        let notify = match Notify::parse(body) {
            Ok(notify) => notify,
            Err(error) => {
                let what = format!("port {port} answered /con_notify with something else: {error}");
                return At::Over(Err(Failure::NotAUnitree { what }));
            }
        };
        match notify.open(self.device_key.as_ref(), &self.ciphers) {
            Ok(clear) => self.con_ing(port, &clear),
            Err(locked) => At::Over(Err(match (locked, notify.lock) {
                (Locked::KeyMissing, _) => Failure::KeyMissing,
                (Locked::KeyRejected, Lock::Device) => Failure::KeyRejected,
                (locked, _) => Failure::Protocol { what: format!("/con_notify: {locked}") },
            })),
        }
    }

    fn con_ing(&self, port: u16, clear: &Clear) -> At {
        match ConIng::seal(&self.offer, &self.session_key, &clear.public_key, &self.ciphers) {
            Ok(sealed) => At::ConIng { port, path: clear.path(), body: sealed.emit().into_bytes() },
            Err(error) => {
                At::Over(Err(Failure::Protocol { what: format!("/con_notify: {error}") }))
            }
        }
    }

    fn connected(&self, path: &str, came: Came<'_>) -> Result<String, Failure> {
        let Came::Answer { status: 200, body } = came else {
            // The path has digits of its own; what matters is which request it was.
            let path = path.split_at_checked("/con_ing".len()).map_or(path, |(path, _)| path);
            return Err(match came {
                Came::Failed(words) => Failure::Protocol { what: format!("{path}: {words}") },
                came => unusable(NEW, path, came),
            });
        };
        sdp("/con_ing", open_answer(body, &self.session_key, &self.ciphers))
    }
}

fn probed(port: u16, tried: &str, came: Came<'_>) -> At {
    match (came, port) {
        (Came::Open | Came::Answer { .. }, NEW) => At::Notify { port },
        (Came::Open | Came::Answer { .. }, port) => At::Offer { port },
        (Came::Failed(words), NEW) => {
            At::Probing { port: OLD, tried: format!("port {NEW}: {}", cut(words.into(), 200)) }
        }
        (Came::Failed(words), port) => {
            let what = format!("{tried}; port {port}: {}", cut(words.into(), 200));
            At::Over(Err(Failure::Unreachable { what }))
        }
    }
}

fn offered(port: u16, came: Came<'_>) -> Result<String, Failure> {
    match came {
        Came::Answer { status: 200, body } => sdp("/offer", Answer::parse(body)),
        came => Err(unusable(port, "/offer", came)),
    }
}

fn sdp(path: &str, answer: sinew_wire::Result<Answer>) -> Result<String, Failure> {
    match answer {
        Ok(Answer::Sdp(sdp)) => Ok(sdp),
        Ok(Answer::Busy) => Err(Failure::Busy),
        Err(error) => Err(Failure::Protocol { what: format!("{path}: {error}") }),
    }
}

/// What an answer that is not 200 says.
fn unusable(port: u16, path: &str, came: Came<'_>) -> Failure {
    match came {
        Came::Failed(words) => {
            Failure::Unreachable { what: format!("port {port}: {}", cut(words.into(), 200)) }
        }
        // A robot whose other client does not answer says so; seen in a capture.
        Came::Answer { status: 504, body } if contains(body, b"timeout") => Failure::Busy,
        Came::Answer { status: 404, .. } => {
            Failure::NotAUnitree { what: format!("port {port} has no {path}") }
        }
        Came::Answer { status, .. } => {
            Failure::Protocol { what: format!("{path}: HTTP status {status}") }
        }
        Came::Open => Failure::Protocol { what: format!("{path}: no answer") },
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Without bodies, paths and SDP: they hold keys, or lead to them.
impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Probe { port } => write!(f, "Probe({port})"),
            Step::Post { port, body, .. } => write!(f, "Post({} bytes to {port})", body.len()),
            Step::End(Ok(sdp)) => write!(f, "End(SDP of {} bytes)", sdp.len()),
            Step::End(Err(failure)) => write!(f, "End({failure:?})"),
        }
    }
}

impl<C> fmt::Debug for Client<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = match &self.at {
            At::Probing { port, .. } => format!("probing {port}"),
            At::Notify { port } => format!("con_notify at {port}"),
            At::ConIng { port, .. } => format!("con_ing at {port}"),
            At::Offer { port } => format!("offer at {port}"),
            At::Over(end) => {
                format!("over, {}", if end.is_ok() { "with an answer" } else { "without" })
            }
        };
        write!(f, "Client({at})")
    }
}
