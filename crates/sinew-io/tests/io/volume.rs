//! The map that is made of a simulated G1's clouds, what the robot sends, and recordings of it.

mod bench;
mod live;
mod queue;
mod recordings;
