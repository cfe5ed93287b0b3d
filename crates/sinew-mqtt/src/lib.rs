//! Robots in Home Assistant, by MQTT.
//!
//! The bridge is a client of the daemon like any other: what it asks for obeys the same rules and controls.
//! What it publishes and what commands mean is decided by a state machine without I/O (`bridge`), so that
//! lost brokers and late acknowledgements are tried in virtual time; `run` joins it to a broker and to the
//! daemon. Nothing that comes by MQTT drives by velocity.

mod bridge;
mod broker;
mod clients;
mod entity;
mod run;
mod settings;

pub use bridge::{Action, Bridge, Output, Publish};
pub use run::run;
pub use settings::{Broker, Names, Settings, Url};
