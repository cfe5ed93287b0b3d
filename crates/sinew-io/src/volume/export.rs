//! The map as a file.

use std::time::Instant;

use sinew_robot::{
    Code, Refusal,
    capability::Boxed,
    map::file::{self, pcd, pgm, picture, ply},
    mapping::Format,
};

use super::Volume;

impl Volume {
    /// The map as a file, made on a thread that may take its time.
    pub fn export(&self, format: Format) -> Boxed<'static, Result<Vec<u8>, Refusal>> {
        let volume = self.clone();
        Box::pin(async move {
            let made = tokio::task::spawn_blocking(move || volume.encode(format)).await;
            made.unwrap_or_else(|error| Err(Refusal::new(Code::Refused, error.to_string())))
        })
    }

    /// Refuses to give out what is not there.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.is_empty() { Err(none()) } else { Ok(()) }
    }

    /// What the map holds is copied while it cannot be written; the file is made after that.
    fn encode(&self, format: Format) -> Result<Vec<u8>, Refusal> {
        if let Format::Pgm | Format::Png = format {
            let inner = self.kept.read();
            if inner.map.is_empty() {
                return Err(none());
            }
            let (raster, robot) = (inner.map.raster(), inner.pose);
            drop(inner);
            let raster = raster.ok_or_else(|| {
                let message = "the map is too large for a picture; save it as pcd or ply";
                Refusal::new(Code::Refused, message)
            })?;
            let robot = robot.map(|pose| [pose.x, pose.y]);
            return Ok(match format {
                Format::Pgm => pgm::write(&raster),
                _ => picture::write(&raster, &picture::Drawing { robot, ..Default::default() }),
            });
        }
        let points = self.kept.read().map.points(Instant::now()).map_err(too_large)?;
        if points.is_empty() {
            return Err(none());
        }
        match format {
            Format::PcdAscii => Ok(pcd::write(&points, pcd::Encoding::Ascii)),
            Format::PcdCompressed => Ok(pcd::write(&points, pcd::Encoding::Compressed)),
            Format::Ply => ply::write(&points).map_err(too_large),
            _ => Ok(pcd::write(&points, pcd::Encoding::Binary)),
        }
    }
}

fn none() -> Refusal {
    Refusal::new(Code::NotReady, "no map is made here yet; start one first")
}

fn too_large(error: file::Error) -> Refusal {
    Refusal::new(Code::Refused, format!("the map cannot be written: {error}"))
}
