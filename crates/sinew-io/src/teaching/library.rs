use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use sinew_robot::{
    Code, Refusal,
    teach::{LibraryRequest, Playback},
    trajectory::{Document, G1_ARMS, Keyframe, Plan, PlanOptions, Recording},
};
use tokio::sync::Semaphore;

use super::{Recorded, to_json};
use crate::library::Library;

/// Frames of a motion in one answer: some 200 kB.
const SHOWN: usize = 2000;
/// How many may work on the library at a time.
const PLACES: usize = 4;
/// Speeds at which a motion is played.
const SPEEDS: std::ops::RangeInclusive<f32> = 0.05..=4.0;

/// A library whose work is done where it holds up nothing else.
#[derive(Debug, Clone)]
pub(super) struct AsyncLibrary {
    library: Arc<Library>,
    places: Arc<Semaphore>,
}

impl AsyncLibrary {
    pub(super) fn new(library: Arc<Library>) -> Self {
        AsyncLibrary { library, places: Arc::new(Semaphore::new(PLACES)) }
    }

    /// Carries out what is about the library alone; `recorded` is what may be kept.
    pub(super) async fn request(
        &self,
        request: LibraryRequest,
        recorded: Recorded,
    ) -> Result<Value, Refusal> {
        self.work(move |library| {
            let op = request.op();
            Ok(match request {
                LibraryRequest::List => to_json(library.list()?),
                LibraryRequest::Show { name, from } => shown(library.load(&name)?, from as usize),
                LibraryRequest::Import { document, dropped, append, more } => {
                    let imported = library.import(&document, append, more)?;
                    json!({ "op": op, "frames": imported.frames, "dropped": dropped })
                }
                LibraryRequest::Keep { name } => {
                    let motion = last_motion(name, recorded)?;
                    library.add(&motion)?;
                    json!({
                        "op": op, "name": motion.name, "frames": motion.recording.len(),
                        "duration_ms": motion.duration_ms(), "keyframes": 0, "error_rad": null,
                        "library": true, "file": file(library, &motion.name),
                    })
                }
                LibraryRequest::Rename { name, new_name } => {
                    library.rename(&name, &new_name)?;
                    json!({ "op": op, "name": name, "new_name": new_name, "library": true })
                }
                LibraryRequest::Delete { name } => {
                    library.delete(&name)?;
                    json!({ "op": op, "name": name, "library": true })
                }
            })
        })
        .await
    }

    /// Whether a motion has this name.
    pub(super) async fn has(&self, name: &str) -> Result<bool, Refusal> {
        let listing = self.work(|library| Ok(library.list()?)).await?;
        Ok(listing.motions.iter().any(|motion| motion.name == name))
    }

    /// The file of the motion of this name, as text.
    pub(super) fn file(&self, name: &str) -> Value {
        file(&self.library, name)
    }

    /// Keeps a recording; tells what the motion that had its name is called now.
    pub(super) async fn keep(
        &self,
        name: String,
        recording: Arc<Recording>,
        keyframes: Vec<Keyframe>,
    ) -> Result<Option<String>, Refusal> {
        self.work(move |library| Ok(library.keep(&document(name, &recording, keyframes))?)).await
    }

    /// Plans a motion for a robot that takes so many keyframes at once.
    pub(super) async fn plan(
        &self,
        name: String,
        how: Playback,
        keyframes: usize,
    ) -> Result<Plan, Refusal> {
        let Playback { frames, duration_ms, interpolation, speed, .. } = how;
        if speed.is_some() && duration_ms > 0 {
            return Err(Refusal::invalid("play: wanted speed or duration_ms, got both"));
        }
        self.work(move |library| {
            let document = library.load(&name)?;
            let own = document.duration_ms() as f32;
            let in_time = (duration_ms > 0).then(|| own / duration_ms as f32);
            if in_time.is_some_and(|speed| !SPEEDS.contains(&speed)) {
                let (least, most) = ((own / SPEEDS.end()).ceil(), (own / SPEEDS.start()).floor());
                let wanted = format!("wanted {least} to {most} for this motion");
                return Err(Refusal::invalid(format!("duration_ms: {wanted}, got {duration_ms}")));
            }
            let speed = speed.or(in_time).unwrap_or(1.0);
            let options = PlanOptions { interpolation, speed, keyframes, ..PlanOptions::default() };
            let plan = Plan::new(&document, frames as usize, options, &G1_ARMS);
            plan.map_err(|error| Refusal::invalid(error.to_string()))
        })
        .await
    }

    /// Works on the library where it holds up nothing else.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Library) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let library = Arc::clone(&self.library);
        // Each may hold a long motion, also when its client waits for it no more.
        let place = Arc::clone(&self.places).acquire_owned().await;
        let work = move || {
            let _place = place;
            work(&library)
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(Refusal::new(Code::Refused, "the library did not answer")))
    }
}

fn file(library: &Library, name: &str) -> Value {
    library.file(name).map_or(Value::Null, |file| file.to_string_lossy().into())
}

/// The motion that was recorded last.
fn last_motion(name: Option<String>, recorded: Recorded) -> Result<Document, Refusal> {
    let not_ready = |message| Refusal::new(Code::NotReady, message);
    if recorded.running {
        return Err(not_ready("the recording still runs; stop it first"));
    }
    let recording = recorded
        .recording
        .ok_or_else(|| not_ready("nothing was recorded, or the robot did not tell its pose"))?;
    let name = name.or_else(|| recorded.name.as_deref().map(Into::into));
    let name =
        name.ok_or_else(|| Refusal::invalid("save: wanted name, got none, here or at the start"))?;
    Ok(document(name, &recording, Vec::new()))
}

/// A motion of a recording, which is copied where no stop waits for it.
fn document(name: String, recording: &Recording, keyframes: Vec<Keyframe>) -> Document {
    let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Document { name, created, recording: recording.clone(), keyframes }
}

/// A motion as its file has it, with some of its frames; keyframes come with the first.
fn shown(mut document: Document, from: usize) -> Value {
    let total = document.recording.len();
    let duration_ms = document.duration_ms();
    let to = from.saturating_add(SHOWN);
    let recording = document.recording.part(from, to - 1);
    if from > 0 {
        document.keyframes.clear();
    }
    let text = Document { recording, ..document }.to_json(&G1_ARMS);
    let mut value: Value = serde_json::from_str(&text).unwrap_or_default();
    value["duration_ms"] = duration_ms.into();
    value["frames_total"] = total.into();
    value["next"] = if to < total { to.into() } else { Value::Null };
    value
}
