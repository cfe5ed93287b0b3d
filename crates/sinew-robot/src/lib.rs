//! How robots behave: what may be asked of them, what that makes them do, and what keeps it safe.
//!
//! Nothing here does I/O or reads a clock. A session takes bytes, commands and the time, and gives
//! back bytes to send, events, and the time at which it wants to be called again.

pub mod component;
mod refusal;
pub mod teach;
pub mod trajectory;
pub mod vacuum;

pub use refusal::{Code, Refusal};
/// What may stand in names and messages that people see.
pub use sinew_wire::text;
