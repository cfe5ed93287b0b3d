//! Maps: what robots have seen, kept within bounds, and as files.
//!
//! | | from | holds |
//! | --- | --- | --- |
//! | [`VoxelMap`] | a G1's clouds | cells of 5 cm, in blocks that are streamed as they change |
//! | [`Mapper`] | a vacuum's odometry and lidar | a [`Grid`] of 5 cm, and where the robot is in it |
//! | [`mod@file`] | | points and pictures in the formats of others |

mod field;
pub mod file;
mod grid;
mod mapper;
mod matching;
mod place;
mod voxels;

pub use grid::Grid;
pub use mapper::{Echo, Mapper, Outcome, Scan, Settings as MapperSettings};
pub use matching::Uncertainty;
pub use voxels::{Cursor, Full, GONE, Settings as VoxelSettings, Taken, Unusable, VoxelMap};
