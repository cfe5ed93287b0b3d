//! Maps and clouds as files: bytes to [`Points`] and back, without opening anything.
//!
//! | format | read | written |
//! | --- | --- | --- |
//! | [`pcd`] | ASCII, binary, binary_compressed | the same |
//! | [`ply`] | ASCII, binary of both byte orders | binary, little endian |
//! | [`messages`] | one SLAM message, several, a recording with times | recordings |
//! | [`pgm`] | – | what ROS's map_server reads, with its YAML |
//! | [`picture`] | – | PNG for people |
//!
//! A file is what its content says, never what it is called. No length that a file declares
//! allocates anything: what is read grows with the bytes that are there, and ends at [`MAX_BYTES`].

mod error;
mod lzf;
pub mod messages;
pub mod pcd;
pub mod pgm;
pub mod picture;
pub mod ply;
mod points;
mod raster;
mod text;

pub use error::Error;
pub use points::{Field, Kind, MAX_BYTES, Points};
pub use raster::{Ground, Raster};

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Point Cloud Data, of the Point Cloud Library.
    Pcd,
    /// Stanford's polygon format, of which only the vertices are read.
    Ply,
    /// SLAM messages of a G1.
    Messages,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// What it is.
    pub format: Format,
    /// How its numbers are written, in the format's own word.
    pub encoding: &'static str,
    /// Its points, in their order, with all their fields.
    pub points: Points,
    /// What is known about messages.
    pub messages: Option<messages::Summary>,
}

impl Format {
    /// What the content is.
    pub fn of(bytes: &[u8]) -> Option<Format> {
        if ply::looks_like(bytes) {
            Some(Format::Ply)
        } else if pcd::looks_like(bytes) {
            Some(Format::Pcd)
        } else if messages::looks_like(bytes) {
            Some(Format::Messages)
        } else {
            None
        }
    }

    /// Its name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Pcd => "pcd",
            Format::Ply => "ply",
            Format::Messages => "messages",
        }
    }
}

/// Reads a file of any format.
pub fn read(bytes: &[u8]) -> Result<Content, Error> {
    let format = Format::of(bytes).ok_or_else(|| {
        let got = if bytes.is_empty() { "nothing" } else { "none of them" };
        Error::new("content", "a PCD or PLY file, or SLAM messages", got)
    })?;
    match format {
        Format::Pcd => {
            let (points, encoding) = pcd::read(bytes)?;
            Ok(Content { format, encoding: encoding.word(), points, messages: None })
        }
        Format::Ply => {
            let (points, encoding) = ply::read(bytes)?;
            Ok(Content { format, encoding: encoding.word(), points, messages: None })
        }
        Format::Messages => {
            let (points, summary) = messages::read(bytes, None)?;
            let encoding = if summary.timed { "recording" } else { "messages" };
            Ok(Content { format, encoding, points, messages: Some(summary) })
        }
    }
}
