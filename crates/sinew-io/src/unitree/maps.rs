//! Mapping over the SLAM service, and the maps that were downloaded.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};
use sinew_robot::{
    Code, Origin, Refusal,
    capability::{Mapping, Task},
    mapping::{self, Answer},
    unitree::{Reply, Request},
};

use super::Unitree;
use crate::file;

/// What a robot's maps are called on its disk and on ours.
const SUFFIX: &str = "pcd";

/// A robot's maps. Clones are the same ones.
#[derive(Debug, Clone)]
pub(super) struct Maps {
    robot: Unitree,
    /// Where downloaded ones are kept.
    dir: Arc<Path>,
}

impl Maps {
    pub(super) fn new(robot: Unitree, dir: PathBuf) -> Self {
        Maps { robot, dir: dir.into() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.{SUFFIX}"))
    }

    async fn carry_out(self, request: mapping::Request, origin: Origin) -> Result<Value, Refusal> {
        match self.robot.ask(Request::Mapping(request), origin).await? {
            Reply::Mapping(Answer::Download { name, file }) => self.keep(name, file).await,
            Reply::Mapping(answer) => Ok(serde_json::to_value(answer).unwrap_or_default()),
            Reply::Teach(_) => Err(strange()),
        }
    }

    /// Writes a map where downloaded ones are kept.
    async fn keep(self, name: String, map: Arc<[u8]>) -> Result<Value, Refusal> {
        let path = self.path(&name);
        let answer = json!({
            "op": "download", "name": name, "file": path.display().to_string(), "bytes": map.len(),
        });
        let written = tokio::task::spawn_blocking(move || -> io::Result<()> {
            fs::create_dir_all(&self.dir)?;
            file::replace(&path, &map)
        });
        match written.await {
            Ok(Ok(())) => Ok(answer),
            Ok(Err(error)) => {
                Err(Refusal::new(Code::Refused, format!("the map has come, and is not kept: {error}")))
            }
            Err(error) => Err(Refusal::new(Code::Refused, error.to_string())),
        }
    }
}

impl Mapping for Maps {
    fn map(&self, request: mapping::Request) -> Result<Task, Refusal> {
        let maps = self.clone();
        Ok(Task::new(request.nature(), move |origin| maps.carry_out(request, origin)))
    }

    fn downloaded(&self, name: &str) -> Option<PathBuf> {
        let path = self.path(name);
        path.is_file().then_some(path)
    }
}

/// An answer to something else than was asked; a session gives none.
pub(super) fn strange() -> Refusal {
    Refusal::new(Code::Refused, "the robot's answer is not to what it was asked")
}
