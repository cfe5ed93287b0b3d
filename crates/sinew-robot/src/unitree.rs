//! A Unitree G1 behind its WebRTC data channel: teaching over the arm service, mapping over the
//! SLAM service, and the signalling that leads to a channel.
//!
//! [`Session`] is the client's side of the channel, [`signalling::Client`] what is asked over HTTP
//! before there is one. Neither has a clock or a socket: every call brings the time, and what is to
//! be sent is fetched.
//!
//! What keeps it safe:
//!
//! - Nothing here changes the robot's stance or mode.
//! - A play, a walk and the start of a recording are sent once; what the robot did not answer ends
//!   as `unconfirmed`, unless its state shows that it does it.
//! - A stop is repeated until the robot's state says that it is over, across reconnects, too.
//! - A recording is kept alive from here and ended from here: with the session, a while after its
//!   client has gone, and when the robot is found recording after a lost channel.
//! - A walk ends with its client.
//! - The watch over the channel is the session's own: the arm state comes ten times a second.
//!
//! Numbers of actions: a preset has the robot's own; a taught action, which the robot knows by name
//! alone, gets the next number from [`FIRST_TAUGHT`] on when its name is first seen, and keeps it
//! for as long as the session lives, whatever is taught or deleted meanwhile.

mod actions;
mod arm;
mod calls;
mod channel;
mod clock;
mod cloud;
mod download;
mod event;
mod outbox;
mod receive;
mod recorder;
pub mod replay;
mod request;
mod session;
mod settings;
pub mod signalling;
mod slam;
mod spine;
mod state;
mod stopping;
mod tap;
mod topics;
mod walk;
mod words;

pub use actions::FIRST_TAUGHT;
pub use event::Event;
pub use request::{Reply, Request};
pub use session::Session;
pub use settings::Settings;
pub use state::{
    Arm, Battery, CloudSeen, Counters, Fault, Fsm, LinkState, Mapping, Phase, Services, State,
};
