//! Mapping: what is asked of a robot's SLAM service, and the map that is made here of its clouds.
//!
//! `start` begins a map in the robot and one here. The one here stays until it is cleared or the
//! next is begun, whatever becomes of the robot's: `stop` and `close` end that, and the one here can
//! still be watched and saved.

use std::{fmt, path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use sinew_robot::{
    Code, Origin, Refusal,
    capability::{Boxed, Mapping, Task},
    mapping::{Answer, Format, Request},
};

use crate::{maps::Maps, volume::Volume};

/// What maps.
pub(super) trait Asked: fmt::Debug + Send + Sync {
    /// Asks it for something.
    fn ask(&self, request: Request, origin: Origin) -> Boxed<'static, Result<Answer, Refusal>>;
}

/// What maps, the map that is made here, and where the robot's own maps are kept. Clones are the
/// same.
#[derive(Debug, Clone)]
pub(super) struct Slam {
    robot: Arc<dyn Asked>,
    volume: Volume,
    maps: Option<Maps>,
}

impl Slam {
    pub(super) fn new(robot: Arc<dyn Asked>, volume: Volume, maps: Option<Maps>) -> Self {
        Slam { robot, volume, maps }
    }

    async fn carry_out(self, request: Request, origin: Origin) -> Result<Value, Refusal> {
        let answer = match request {
            Request::Clear => {
                self.with_map(|volume| volume.clear()).await?;
                Answer::Clear
            }
            Request::Save { format } => {
                self.with_map(|volume| volume.check()).await??;
                Answer::Save { format }
            }
            request => self.robot.ask(request, origin).await?,
        };
        match answer {
            Answer::Download { name, file } => self.keep(name, file).await,
            Answer::Info(mut info) => {
                let fill = |volume: Volume| {
                    volume.fill(&mut info);
                    info
                };
                Ok(json!(Answer::Info(self.with_map(fill).await?)))
            }
            answer => Ok(serde_json::to_value(answer).unwrap_or_default()),
        }
    }

    /// Looks at the map on a thread that may wait for it.
    async fn with_map<T: Send + 'static>(
        &self,
        look: impl FnOnce(Volume) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let volume = self.volume.clone();
        let looked = tokio::task::spawn_blocking(move || look(volume)).await;
        looked.map_err(|error| Refusal::new(Code::Refused, error.to_string()))
    }

    /// Writes a map where they are kept, on a thread that may wait for the disk.
    async fn keep(self, name: String, map: Arc<[u8]>) -> Result<Value, Refusal> {
        let Some(maps) = self.maps else { return Err(strange()) };
        let (bytes, to) = (map.len(), name.clone());
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
    fn map(&self, request: Request) -> Result<Task, Refusal> {
        let slam = self.clone();
        Ok(Task::new(request.nature(), move |origin| slam.carry_out(request, origin)))
    }

    fn downloaded(&self, name: &str) -> Option<PathBuf> {
        self.maps.as_ref()?.file(name)
    }

    fn export(&self, format: Format) -> Boxed<'static, Result<Vec<u8>, Refusal>> {
        self.volume.export(format)
    }
}

/// An answer to something else than was asked; a session gives none.
pub(super) fn strange() -> Refusal {
    Refusal::new(Code::Refused, "the robot's answer is not to what it was asked")
}
