//! Maps: what robots have seen, kept within bounds, and as files.
//!
//! | | from | holds |
//! | --- | --- | --- |
//! | [`VoxelMap`] | a G1's clouds | cells of 5 cm, in blocks that are streamed as they change |
//! | [`file`] | | points and pictures in the formats of others |

pub mod file;
mod voxels;

pub use voxels::{Cursor, Full, GONE, Settings as VoxelSettings, Taken, Unusable, VoxelMap};
