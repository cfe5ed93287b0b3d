//! Mapping over the SLAM service.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use sinew_robot::{
    Code, Origin, Refusal,
    capability::{Boxed, Mapping, Task},
    mapping::{self, Answer},
    unitree::{Reply, Request},
};

use super::Unitree;
use crate::maps::Maps;

/// A robot's SLAM service, and where its maps are kept here. Clones are the same.
#[derive(Debug, Clone)]
pub(super) struct Slam {
    robot: Unitree,
    maps: Maps,
}

impl Slam {
    pub(super) fn new(robot: Unitree, maps: Maps) -> Self {
        Slam { robot, maps }
    }

    async fn carry_out(self, request: mapping::Request, origin: Origin) -> Result<Value, Refusal> {
        match self.robot.ask(Request::Mapping(request), origin).await? {
            Reply::Mapping(Answer::Download { name, file }) => self.keep(name, file).await,
            Reply::Mapping(answer) => Ok(serde_json::to_value(answer).unwrap_or_default()),
            Reply::Teach(_) => Err(strange()),
        }
    }

    /// Writes a map where they are kept, on a thread that may wait for the disk.
    async fn keep(self, name: String, map: Arc<[u8]>) -> Result<Value, Refusal> {
        let (maps, bytes, to) = (self.maps, map.len(), name.clone());
        let kept = tokio::task::spawn_blocking(move || maps.keep(&to, &map)).await;
        match kept.map_err(std::io::Error::other).flatten() {
            Ok(file) => Ok(json!({ "op": "download", "name": name, "file": file, "bytes": bytes })),
            Err(error) => {
                let message = format!("the map has come, but is not kept: {error}");
                Err(Refusal::new(Code::Refused, message))
            }
        }
    }
}

impl Mapping for Slam {
    fn map(&self, request: mapping::Request) -> Result<Task, Refusal> {
        let slam = self.clone();
        Ok(Task::new(request.nature(), move |origin| slam.carry_out(request, origin)))
    }

    fn downloaded(&self, name: &str) -> Option<PathBuf> {
        self.maps.file(name)
    }

    fn export(&self, _format: mapping::Format) -> Boxed<'static, Result<Vec<u8>, Refusal>> {
        Box::pin(async { Err(Refusal::new(Code::NotReady, "no map is made here")) })
    }
}

/// An answer to something else than was asked; a session gives none.
pub(super) fn strange() -> Refusal {
    Refusal::new(Code::Refused, "the robot's answer is not to what it was asked")
}
