//! A third robot, which is added here as `docs/adding-a-robot.md` says: a beacon of two drivers, a
//! lamp on a serial line and a range finder behind a UDP port. Sinew's crates know nothing of it.

mod bench;
mod control;
mod finder;
mod kind;
mod lamp;
mod reach;
mod sim;
#[path = "../server/support.rs"]
#[allow(dead_code, reason = "the other server tests use the rest of it")]
mod support;
#[path = "../server/surroundings.rs"]
#[allow(dead_code, reason = "the other server tests use it")]
mod surroundings;
mod table;
mod telemetry;
