//! What is asked about a vacuum's map.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_robot::{
    Code, Origin, Refusal,
    capability::{Boxed, Mapping, Task},
    map::{
        GroundMap,
        file::{self, Raster, pcd, pgm, picture, ply},
    },
    mapping::{Answer, Format, Info, Request},
    vacuum::{self, Command, components},
};

use super::Ground;
use crate::{
    lidar::{LIDAR, Lidar},
    lock,
    vacuum::Vacuum,
};

const KEPT: &str = "the map is kept here until the next one is begun; `save` gives it out";

/// How long the lidar may take to be switched on, and how often that is looked at.
const SWITCHING: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);

/// A vacuum that is asked to map. Clones are the same.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) ground: Arc<Ground>,
    pub(crate) controller: Vacuum,
    pub(crate) lidar: Arc<Lidar>,
}

impl Asked {
    async fn carry_out(self, request: Request, origin: Origin) -> Result<Value, Refusal> {
        let answer = match request {
            Request::Start => return self.start(origin).await,
            Request::Stop { name } => {
                let mut note = KEPT.to_owned();
                if let Some(trouble) = self.stop(origin).await.ok_or_else(not_mapping)? {
                    note = format!("{note}; {trouble}");
                }
                if name.is_some() {
                    note += "; the robot stores none, under no name";
                }
                return Ok(json!({ "op": "stop", "note": note }));
            }
            Request::Close => {
                self.stop(origin).await;
                Answer::Close
            }
            Request::Clear => {
                self.ground.clear();
                Answer::Clear
            }
            Request::Save { format } => {
                if lock(&self.ground.board).map.is_empty() {
                    return Err(no_map());
                }
                Answer::Save { format }
            }
            Request::Info => Answer::Info(Box::new(self.info())),
            other => return Err(unsupported(&other)),
        };
        Ok(serde_json::to_value(answer).unwrap_or_default())
    }

    /// Begins a new map. Without turns there is none, so the lidar is switched on.
    async fn start(self, origin: Origin) -> Result<Value, Refusal> {
        let was_on = self.is_lidar_on();
        if !was_on {
            self.switch("Enable", origin).await?;
            self.await_lidar().await?;
        }
        self.ground.start(!was_on);
        Ok(match was_on {
            true => json!({ "op": "start" }),
            false => json!({ "op": "start", "note": "the lidar is switched on for it" }),
        })
    }

    /// Frames that wait for the line are dropped with the client that asked for them: what it is told
    /// is what has happened.
    async fn await_lidar(&self) -> Result<(), Refusal> {
        let end = Instant::now() + SWITCHING;
        while !self.is_lidar_on() {
            if Instant::now() >= end {
                let message = "the lidar was not switched on, so no map was begun; try again";
                return Err(Refusal::new(Code::Unconfirmed, message));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Ends the map, and leaves the lidar as it was found. None when no map was made; then what went
    /// wrong, if something did.
    async fn stop(&self, origin: Origin) -> Option<Option<String>> {
        let switched_on = self.ground.stop()?;
        if !switched_on || !self.is_lidar_on() {
            return Some(None);
        }
        let refused = self.switch("Disable", origin).await.err();
        Some(refused.map(|refusal| format!("the lidar still turns: {}", refusal.message)))
    }

    /// As a client would.
    async fn switch(&self, verb: &str, origin: Origin) -> Result<(), Refusal> {
        let command: Command = components::parse(&json!(LIDAR), &json!({ "type": verb }), false)?;
        self.controller.execute(command, origin).await
    }

    fn is_lidar_on(&self) -> bool {
        self.controller.state().lidar.is_some()
    }

    fn info(&self) -> Info {
        let info = lock(&self.ground.board).info(Instant::now());
        let trouble = self.missing().filter(|_| info.mapping).or(info.trouble);
        Info { trouble, ..info }
    }

    /// What does not come that a map is made of.
    fn missing(&self) -> Option<String> {
        let controller = self.controller.state();
        if controller.link != vacuum::LinkState::Ready {
            return Some(format!("the map waits for odometry: {}", controller.link));
        }
        let link = self.lidar.state().link;
        if link.is_heard() {
            return None;
        }
        Some(match controller.lidar {
            None => "the map waits for turns of the lidar, which is switched off".into(),
            Some(_) => format!("the map waits for turns of the lidar: {link}"),
        })
    }
}

impl Mapping for Asked {
    fn map(&self, request: Request) -> Result<Task, Refusal> {
        if request.moves() {
            return Err(unsupported(&request));
        }
        let asked = self.clone();
        Ok(Task::new(request.nature(), move |origin| asked.carry_out(request, origin)))
    }

    fn downloaded(&self, _name: &str) -> Option<PathBuf> {
        None
    }

    fn export(&self, format: Format) -> Boxed<'static, Result<Vec<u8>, Refusal>> {
        let ground = Arc::clone(&self.ground);
        Box::pin(async move {
            let write = move || ground.write(format);
            let written = tokio::task::spawn_blocking(write).await;
            written.unwrap_or_else(|_| Err(Refusal::new(Code::Refused, "the map was not written")))
        })
    }
}

impl Ground {
    /// The map as a file.
    fn write(&self, format: Format) -> Result<Vec<u8>, Refusal> {
        // A copy, so that what is read meanwhile does not wait.
        let (map, drawing) = {
            let board = lock(&self.board);
            (board.map.clone(), board.drawing())
        };
        if map.is_empty() {
            return Err(no_map());
        }
        let points = || map.points().map_err(failed);
        Ok(match format {
            Format::Pcd => pcd::write(&points()?, pcd::Encoding::Binary),
            Format::PcdAscii => pcd::write(&points()?, pcd::Encoding::Ascii),
            Format::PcdCompressed => pcd::write(&points()?, pcd::Encoding::Compressed),
            Format::Ply => ply::write(&points()?).map_err(failed)?,
            Format::Pgm => pgm::write(&raster(&map)?),
            Format::Png => picture::write(&raster(&map)?, &drawing),
        })
    }
}

fn raster(map: &GroundMap) -> Result<Raster, Refusal> {
    let too_large = "the map is too large for a picture; save its points";
    map.raster().ok_or_else(|| Refusal::new(Code::TooLarge, too_large))
}

fn failed(error: file::Error) -> Refusal {
    Refusal::new(Code::Refused, error.to_string())
}

fn no_map() -> Refusal {
    Refusal::new(Code::NotReady, "there is no map here: begin one with `start`")
}

fn not_mapping() -> Refusal {
    Refusal::new(Code::NotReady, "no map is being made")
}

fn unsupported(request: &Request) -> Refusal {
    let why = match request {
        Request::Relocate { .. } | Request::Download { .. } => {
            "a vacuum stores no maps: its map is made and kept here"
        }
        _ => "a vacuum finds no way by itself: it is driven",
    };
    Refusal::new(Code::Unsupported, why)
}
