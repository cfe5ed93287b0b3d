//! The fleet's rules in virtual time: nothing here has a network or looks at a clock.

mod bounds;
mod client;
mod daemon;
mod judge;
mod net;
mod progress;
mod rules;
mod seeds;
mod world;
