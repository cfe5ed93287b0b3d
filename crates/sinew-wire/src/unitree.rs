//! What travels between a Unitree robot (G1, R1, GO2) and a client over WebRTC.
//!
//! ```text
//! HTTP, before the channel    POST /con_notify, POST /con_ing_<digits>; older robots POST /offer
//! channel, text               {"type":"req","topic":"rt/api/arm/request","data":{…}}
//! channel, binary, short      json_len u16 LE | unused u16 | JSON … | body …
//! channel, binary, cloud      02 00 00 00 | json_len u32 LE | binary_len u32 LE | JSON … | body …
//! ```
//!
//! [`Message`] is a text message with everything that stood in it; [`Request`] and [`Response`]
//! are the calls of the robot's services, and [`arm`], [`mapping`] and [`state`] what is in them.
//! [`Binary`] takes the other form apart and hands clouds to [`slam`](crate::slam) and
//! [`voxel`](crate::voxel). [`signal`] has the envelopes of the HTTP side. SDP is not read here.
//!
//! The layouts are here, the ciphers are not: the caller brings them as [`Ciphers`].
//!
//! JSON is bounded in length ([`MAX_JSON`]) and in depth (128), also inside strings. Keys, tokens,
//! challenges and serial numbers are not shown by `Debug`, `Display` and
//! [`explain`](crate::explain).

pub mod arm;
mod base64;
mod binary;
mod chunks;
mod codes;
mod file;
mod inner;
mod json;
pub mod mapping;
mod message;
mod request;
mod secret;
pub mod signal;
pub mod state;
mod table;
mod validation;

pub use binary::{Binary, Form, Variant};
pub use chunks::{Assembly, Chunk, Limits};
pub use codes::{Fault, status_text};
pub use file::{Download, FileRequest, FileSlice};
pub use inner::{Inner, NetworkStatus};
pub use json::MAX_JSON;
pub use message::{Key, Kind, Message};
pub use request::{Request, Response, request_topic, response_topic, service_of};
pub(crate) use secret::redacted;
pub use secret::{DeviceKey, SessionKey};
pub use signal::Ciphers;
pub use table::{API, Api, Evidence, TOPICS, Topic, api, topic};
pub use validation::{
    Challenge, VALIDATED, VALIDATION_NEEDED, validation_answer, validation_answer_with,
};
