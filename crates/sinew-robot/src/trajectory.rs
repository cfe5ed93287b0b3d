//! Recorded motions of the arms: keeping, thinning, playing, reading and writing them.
//!
//! A motion is frames of twelve joint positions. Which joints those are is a [`JointMap`]; a
//! keyframe's `joint` is the number of a slot in it, 0 to 11, never a robot's own joint number.
//! How a transport numbers joints, and how many keyframes it takes at once, is that transport's.

mod csv;
mod curve;
mod document;
mod error;
mod joints;
mod keyframe;
mod plan;
mod recording;
mod reduce;
mod seq;

pub use csv::{from_csv, to_csv};
pub use curve::{Curves, Interpolation};
pub use document::{Document, MAX_KEYFRAMES, VERSION};
pub use error::Error;
pub use joints::{G1_ARMS, JOINTS, JointMap};
pub use keyframe::Keyframe;
pub use plan::{Piece, Plan, PlanOptions};
pub use recording::{Frame, Imported, MAX_DURATION_MS, MAX_FRAMES, Pose, Recording};
pub use reduce::{MAX_SAVED_MS, Reduced, error_of, reduce};
pub use seq::from_seq;
