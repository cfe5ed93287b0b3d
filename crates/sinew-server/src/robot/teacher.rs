use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use sinew_io::{
    g1::{G1, Ticket},
    library::Library,
};
use sinew_robot::{
    Code, Refusal,
    teach::{Answer, Target, Verb},
    trajectory::{Document, G1_ARMS, Manner, Plan},
};
use tokio::sync::Semaphore;

/// Frames of a motion in one answer: some 200 kB.
const SHOWN: usize = 2000;
/// How many may work on the library at a time.
const PLACES: usize = 4;

/// A G1 that can be taught, with a library of motions beside what it keeps itself.
///
/// The robot comes first: what it has is its own business, and the library's only where it has
/// not, or where the library was asked for.
#[derive(Debug, Clone)]
pub struct Teacher {
    pub(super) g1: G1,
    library: Arc<Library>,
    places: Arc<Semaphore>,
}

/// Who asked, and when.
#[derive(Clone, Copy)]
struct Asker<'a> {
    by: &'a str,
    ticket: Ticket,
}

impl Teacher {
    /// A robot and a library, which others may use too.
    pub fn new(g1: G1, library: Arc<Library>) -> Self {
        Teacher { g1, library, places: Arc::new(Semaphore::new(PLACES)) }
    }

    pub(super) async fn teach(&self, verb: Verb, by: &str) -> Result<Value, Refusal> {
        let asker = Asker { by, ticket: self.g1.ticket() };
        match verb {
            Verb::Save { name, looped, library: true } => self.keep(name, looped).await,
            Verb::Save { .. } => self.save(verb, asker).await,
            Verb::Play { .. } => self.play(verb, asker).await,
            Verb::Rename { .. } | Verb::Delete { .. } => self.change(verb, asker).await,
            Verb::Library => self.blocking(|library| library.list()).await.map(to_json),
            Verb::Show { name, from } => {
                let shown = move |library: &Library| {
                    library.load(&name).map(|document| shown(document, from as usize))
                };
                self.blocking(shown).await
            }
            Verb::Import { document, dropped, append, more } => {
                let import = move |library: &Library| library.import(&document, append, more);
                let imported = self.blocking(import).await?;
                Ok(json!({ "op": "import", "frames": imported.frames, "dropped": dropped }))
            }
            _ => self.ask(verb, asker).await.map(to_json),
        }
    }

    async fn ask(&self, verb: Verb, asker: Asker<'_>) -> Result<Answer, Refusal> {
        self.g1.teach_since(asker.ticket, verb, asker.by).await
    }

    /// Works on the library where it holds up nobody else.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Library) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let library = Arc::clone(&self.library);
        // Each may hold a long motion, also when nobody waits for it any more.
        let place = Arc::clone(&self.places).acquire_owned().await;
        let work = move || {
            let _place = place;
            work(&library)
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|_| Err(Refusal::new(Code::Refused, "the library did not answer")))
    }

    /// Saves in the robot, and keeps all that was recorded in the library.
    async fn save(&self, verb: Verb, asker: Asker<'_>) -> Result<Value, Refusal> {
        let Verb::Save { name: wanted, .. } = &verb else { return Ok(Value::Null) };
        let wanted = wanted.clone().or_else(|| self.g1.state().recording_name.clone());
        let outcome = self.ask(verb, asker).await;
        let (name, keyframes) = match &outcome {
            Ok(Answer::Save { name, sent, .. }) => (Some(name.clone()), sent.clone()),
            Err(refusal) if refusal.code == Code::Unconfirmed => (wanted, Vec::new()),
            _ => (None, Vec::new()),
        };
        let recording = self.g1.state().recorded.clone();
        let (Some(name), Some(recording)) = (name, &recording) else {
            return outcome.map(to_json).map_err(|refusal| match refusal.code {
                Code::Refused | Code::Unsupported | Code::NotReady if recording.is_some() => {
                    hinted(refusal, "with library the last recording is kept here")
                }
                _ => refusal,
            });
        };
        let recording = (**recording).clone();
        let document = Document { name, created: now(), recording, keyframes };
        let kept = self.blocking(move |library| library.keep(&document)).await;
        let said = match &kept {
            Ok(None) => "it is kept in the library too".into(),
            Ok(Some(older)) => format!("in the library, what had this name is now {older:?}"),
            Err(refusal) => format!("it is not kept in the library: {}", refusal.message),
        };
        let mut value = to_json(outcome.map_err(|refusal| hinted(refusal, &said))?);
        value["library"] = kept.is_ok().into();
        if kept != Ok(None) {
            let note = value["note"].as_str().map(|note| format!("{note}; {said}"));
            value["note"] = note.unwrap_or(said).into();
        }
        Ok(value)
    }

    /// Keeps the last recording in the library alone.
    async fn keep(&self, name: Option<String>, looped: bool) -> Result<Value, Refusal> {
        if looped {
            return Err(invalid("loop: a motion of the library repeats when play is told so"));
        }
        let state = self.g1.state();
        if state.recording {
            return Err(not_ready("the recording still runs; stop it first"));
        }
        let Some(recording) = &state.recorded else {
            return Err(not_ready("nothing was recorded, or the robot did not tell its pose"));
        };
        let Some(name) = name.or_else(|| state.recording_name.clone()) else {
            return Err(invalid("save: wanted name, got none, here or at the start"));
        };
        let (frames, duration_ms) = (recording.len(), recording.duration_ms());
        let (recording, title) = (Arc::clone(recording), name.clone());
        // A long one is copied where no stop waits for it.
        let keep = move |library: &Library| {
            let recording = (*recording).clone();
            library.add(&Document { name: title, created: now(), recording, keyframes: vec![] })
        };
        self.blocking(keep).await?;
        Ok(json!({ "op": "save", "name": name, "frames": frames, "duration_ms": duration_ms,
                   "keyframes": 0, "error_rad": null, "library": true }))
    }

    /// Plays what the robot has; from the library what it has not, or not that way.
    async fn play(&self, verb: Verb, asker: Asker<'_>) -> Result<Value, Refusal> {
        let Verb::Play { action, looped, speed, library, .. } = &verb else {
            return Ok(Value::Null);
        };
        let special = *looped || speed.is_some();
        let name = match action {
            Target::Name(name) => name.clone(),
            Target::Id(_) if *library => {
                return Err(invalid("play: the library knows motions by name, not by id"));
            }
            Target::Id(_) => return self.ask(verb, asker).await.map(to_json),
        };
        if *library {
            return self.perform(name, verb, asker).await;
        }
        if special {
            if self.has(&name).await? {
                return self.perform(name, verb, asker).await;
            }
            // Of what nobody has, it would be no help to say that it cannot be played so.
            if !self.stored(&name, asker).await? {
                return Err(Refusal::new(Code::NotFound, format!("no action is called {name:?}")));
            }
        }
        match self.ask(verb.clone(), asker).await {
            Err(refusal) if refusal.code == Code::NotFound => {
                if self.has(&name).await? {
                    return self.perform(name, verb, asker).await;
                }
                Err(hinted(refusal, "nor does the library have it"))
            }
            outcome => outcome.map(to_json),
        }
    }

    /// Whether the robot keeps it.
    async fn stored(&self, name: &str, asker: Asker<'_>) -> Result<bool, Refusal> {
        let Answer::List { actions, .. } = self.ask(Verb::List, asker).await? else {
            return Ok(false);
        };
        Ok(actions.iter().any(|action| action.name == name))
    }

    async fn has(&self, name: &str) -> Result<bool, Refusal> {
        let name = name.to_owned();
        let listing = self.blocking(|library| library.list()).await?;
        Ok(listing.motions.iter().any(|motion| motion.name == name))
    }

    /// Plays a motion of the library.
    async fn perform(&self, name: String, verb: Verb, asker: Asker<'_>) -> Result<Value, Refusal> {
        let Verb::Play { frames, duration_ms, interpolation, looped, speed, .. } = verb else {
            return Ok(Value::Null);
        };
        if speed.is_some() && duration_ms > 0 {
            return Err(invalid("play: wanted speed or duration_ms, got both"));
        }
        let title = name.clone();
        let plan = self.blocking(move |library| {
            let document = library.load(&title)?;
            let own = document.duration_ms() as f32;
            let in_time = (duration_ms > 0).then(|| own / duration_ms as f32);
            if in_time.is_some_and(|speed| !(0.05..=4.0).contains(&speed)) {
                let (least, most) = ((own / 4.0).ceil(), (own / 0.05).floor());
                let wanted = format!("wanted {least} to {most} for this motion");
                return Err(invalid(format!("duration_ms: {wanted}, got {duration_ms}")));
            }
            let speed = speed.or(in_time).unwrap_or(1.0);
            let manner = Manner { interpolation, speed, ..Manner::default() };
            let plan = Plan::new(&document, frames as usize, manner, &G1_ARMS);
            plan.map_err(|error| invalid(error.to_string()))
        });
        let plan = Arc::new(plan.await?);
        let perform = Verb::Perform { name, plan, looped };
        self.ask(perform, asker).await.map(to_json)
    }

    /// Renames or deletes: in the library if asked to, or when the robot does not have it.
    async fn change(&self, verb: Verb, asker: Asker<'_>) -> Result<Value, Refusal> {
        let name = match &verb {
            Verb::Rename { name, .. } | Verb::Delete { action: Target::Name(name), .. } => name,
            Verb::Delete { library: true, .. } => {
                return Err(invalid("delete: the library knows motions by name, not by id"));
            }
            _ => return self.ask(verb, asker).await.map(to_json),
        };
        if !verb.is_of_library() {
            let stored = self.stored(name, asker).await;
            let hint = "with library it would be done there";
            let stored = stored.map_err(|refusal| hinted(refusal, hint))?;
            if stored || !self.has(name).await? {
                let hint = match stored {
                    true => "with library it is done there, and the robot's stays as it is",
                    false => "nor does the library have it",
                };
                let outcome = self.ask(verb, asker).await;
                return outcome.map(to_json).map_err(|refusal| hinted(refusal, hint));
            }
        }
        self.blocking(move |library| match verb {
            Verb::Rename { name, new_name, .. } => {
                library.rename(&name, &new_name)?;
                Ok(json!({ "op": "rename", "name": name, "new_name": new_name, "library": true }))
            }
            Verb::Delete { action: Target::Name(name), .. } => {
                library.delete(&name)?;
                Ok(json!({ "op": "delete", "name": name, "library": true }))
            }
            _ => Ok(Value::Null),
        })
        .await
    }
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

fn to_json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn hinted(mut refusal: Refusal, hint: &str) -> Refusal {
    refusal.message = format!("{}; {hint}", refusal.message);
    refusal
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidArgument, message)
}

fn not_ready(message: &str) -> Refusal {
    Refusal::new(Code::NotReady, message)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
