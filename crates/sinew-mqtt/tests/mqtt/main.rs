//! The bridge to Home Assistant: its rules in virtual time, and all of it with a real broker.

mod bridge;
mod seeds;
