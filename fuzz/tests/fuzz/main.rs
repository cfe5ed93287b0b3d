//! The targets hold for their seeds and a fixed set of mutations; the driver finds what is planted.

mod driver;
mod targets;
