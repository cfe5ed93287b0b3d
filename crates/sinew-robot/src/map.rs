//! Maps: what robots have seen, kept within bounds, and as files.
//!
//! | | from | holds |
//! | --- | --- | --- |
//! | [`VoxelMap`] | a G1's clouds | cells of 5 cm, in blocks that are streamed as they change |
//! | [`Mapper`] | a vacuum's odometry and lidar | a [`Grid`] of 5 cm, and where the robot is in it |
//! | [`GroundMap`] | that grid | what its readers get, streamed in the same way |
//! | [`Mirror`] | frames of a map that is made elsewhere | the same, for readers of its own |
//! | [`mod@file`] | | points and pictures in the formats of others |

mod field;
pub mod file;
mod grid;
mod ground;
mod mapper;
mod matching;
mod mirror;
mod place;
mod stream;
mod voxels;

pub use grid::{Grid, Patch};
pub use ground::GroundMap;
pub use mapper::{Echo, Mapper, Outcome, Scan, Settings as MapperSettings};
pub use matching::Uncertainty;
pub use mirror::Mirror;
pub use stream::{Cursor, GONE};
pub use voxels::{Full, Settings as VoxelSettings, Taken, Unusable, VoxelMap};
