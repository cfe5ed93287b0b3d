//! Teaching: what may be asked of a robot that can be taught, and the session that asks it over
//! the teaching datagrams.
//!
//! [`Request`] is what clients ask, [`RobotRequest`] and [`Answer`] are what is asked of a robot,
//! the same over every transport, and [`LibraryRequest`] what is asked of a library of motions.
//! [`Session`] is one transport: the datagrams of `docs/protocols/teach.md`. It has no clock and no
//! socket: every call brings the time, and what is to be sent is fetched.
//!
//! What keeps it safe: a stop is sent at once and drops everything that waits; teaching ends by
//! itself when no client asks for anything, when the link is gone too long, and on
//! [`close`](Session::close); nothing a peer sends changes anything unless its check, its size, its
//! number and its values are right.

mod answer;
mod cycle;
mod ending;
mod event;
mod exchange;
mod gate;
mod name;
mod ops;
mod performing;
mod queue;
mod receive;
mod recorder;
mod request;
mod requests;
mod saving;
mod session;
mod settings;
mod spine;
pub(crate) mod state;
mod status;
pub(crate) mod take;
mod teaching;
mod wire;

pub use crate::RequestId;
pub use answer::{Action, ActionKind, Answer, Performed};
pub use event::{Event, Output, Reduction};
pub(crate) use gate::Gate;
pub use name::new_name;
pub use ops::{OPS, parse};
pub use request::{Carries, LibraryRequest, Playback, Request, RobotRequest, Target};
pub use session::Session;
pub use settings::Settings;
pub use state::{Counters, LinkState, MODE_IDLE, MODE_PLAYING, MODE_RECORDING, MODE_TEACHING};
pub use state::{Playing, State};
