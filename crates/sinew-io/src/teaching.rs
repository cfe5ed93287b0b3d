//! Teaching a robot, with a library of motions beside what it keeps itself.
//!
//! The robot comes first: what it has is its own business, and the library's only where it has not,
//! where its transport cannot carry it, or where the library was asked for.

mod library;

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use sinew_robot::{
    Code, Origin, Refusal, Remedy,
    capability::{Boxed, Nature, Task, Teach},
    teach::{Answer, Carries, LibraryRequest, Playback, Request, RobotRequest, Target},
    trajectory::Recording,
};

use self::library::AsyncLibrary;
use crate::library::Library;

/// A robot that can be taught, over whatever transport.
pub trait Taught: Send + Sync {
    /// Has a request carried out; the reply comes when the robot has answered, or did not. The
    /// first poll puts it on its way or refuses it, without blocking. What an order has overtaken
    /// since the origin's epoch is refused, whichever step of a longer request it is.
    fn request(
        &self,
        request: RobotRequest,
        origin: Origin,
    ) -> Boxed<'static, Result<Answer, Refusal>>;

    /// What its transport can carry.
    fn carries(&self) -> Carries;

    /// The last recording, as it came here.
    fn recorded(&self) -> Recorded;
}

/// A recording of a robot's.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// Whether one runs.
    pub running: bool,
    /// What it is to be called.
    pub name: Option<Arc<str>>,
    /// The last one that ended; none when the robot did not tell its pose.
    pub recording: Option<Arc<Recording>>,
}

/// A robot and a library, which others may use too. Clones are the same ones.
#[derive(Clone)]
pub struct Teaching {
    robot: Arc<dyn Taught>,
    library: AsyncLibrary,
}

const NOR_LIBRARY: &str = "nor does the library have it";

/// Where what has a name is.
enum Place {
    Robot,
    Library,
    Nowhere,
}

impl Teaching {
    /// Joins a robot and a library.
    pub fn new(robot: Arc<dyn Taught>, library: Arc<Library>) -> Self {
        Teaching { robot, library: AsyncLibrary::new(library) }
    }

    async fn carry_out(self, request: Request, origin: Origin) -> Result<Value, Refusal> {
        match request {
            Request::Perform { name, how } => self.perform(name, how, origin).await,
            Request::Library(request) => self.consult(request).await,
            Request::Robot(RobotRequest::Save { name, looped }) => {
                self.save(name, looped, origin).await
            }
            Request::Robot(RobotRequest::Play { action: Target::Name(name), how, .. }) => {
                self.play(name, how, origin).await
            }
            Request::Robot(RobotRequest::Rename { name, new_name }) => {
                let there =
                    LibraryRequest::Rename { name: name.clone(), new_name: new_name.clone() };
                let request = RobotRequest::Rename { name: name.clone(), new_name };
                self.change(&name, request, there, origin).await
            }
            Request::Robot(RobotRequest::Delete { action: Target::Name(name) }) => {
                let there = LibraryRequest::Delete { name: name.clone() };
                let request = RobotRequest::Delete { action: Target::Name(name.clone()) };
                self.change(&name, request, there, origin).await
            }
            Request::Robot(request) => self.robot.request(request, origin).await.map(to_json),
        }
    }

    /// Plays what the robot has; from the library what it has not, or what its transport cannot
    /// carry.
    async fn play(self, name: String, how: Playback, origin: Origin) -> Result<Value, Refusal> {
        let carries = self.robot.carries();
        let carried = (carries.looped || !how.looped) && (carries.speed || how.speed.is_none());
        let action = Target::Name(name.clone());
        let play = RobotRequest::Play { action, how, keyframes: None };
        if carried {
            return match self.find(&name, &origin).await? {
                Place::Robot => self.robot.request(play, origin).await.map(to_json),
                Place::Library => self.perform(name, how, origin).await,
                Place::Nowhere => self.ask_hinted(play, origin, NOR_LIBRARY).await,
            };
        }
        if self.library.has(&name).await? {
            return self.perform(name, how, origin).await;
        }
        // Of what neither has, it would be no help to say that it cannot be played so.
        if !self.is_stored(&name, &origin).await? {
            return Err(Refusal::new(Code::NotFound, format!("no action is called {name:?}")));
        }
        self.robot.request(play, origin).await.map(to_json)
    }

    /// Plays a motion of the library.
    async fn perform(self, name: String, how: Playback, origin: Origin) -> Result<Value, Refusal> {
        let looped = how.looped;
        let keyframes = self.robot.carries().keyframes;
        if keyframes == 0 {
            let message = "this robot plays what it stores, whole and as it was recorded; motions \
                           of the library, loops and other speeds need the teaching datagrams";
            return Err(Refusal::new(Code::Unsupported, message));
        }
        let plan = self.library.plan(name.clone(), how, keyframes).await?;
        let perform = RobotRequest::Perform { name, plan: Arc::new(plan), looped };
        self.robot.request(perform, origin).await.map(to_json)
    }

    /// Renames or deletes; in the library what the robot does not have.
    async fn change(
        self,
        name: &str,
        request: RobotRequest,
        there: LibraryRequest,
        origin: Origin,
    ) -> Result<Value, Refusal> {
        let place = self.find(name, &origin).await;
        match place.map_err(|refusal| refusal.helped_by(Remedy::UseLibrary))? {
            Place::Library => self.consult(there).await,
            Place::Robot => {
                let outcome = self.robot.request(request, origin).await.map(to_json);
                outcome.map_err(|refusal| refusal.helped_by(Remedy::UseLibrary))
            }
            Place::Nowhere => self.ask_hinted(request, origin, NOR_LIBRARY).await,
        }
    }

    /// Saves in the robot, and keeps all that was recorded in the library.
    async fn save(
        self,
        name: Option<String>,
        looped: bool,
        origin: Origin,
    ) -> Result<Value, Refusal> {
        let before = self.robot.recorded().name;
        let wanted = name.clone().or_else(|| before.as_deref().map(Into::into));
        let outcome = self.robot.request(RobotRequest::Save { name, looped }, origin).await;
        let (name, keyframes) = match &outcome {
            Ok(Answer::Save { name, sent, .. }) => (Some(name.clone()), sent.clone()),
            Err(refusal) if refusal.code == Code::Unconfirmed => (wanted, Vec::new()),
            _ => (None, Vec::new()),
        };
        let recording = self.robot.recorded().recording;
        let (Some(name), Some(recording)) = (name, &recording) else {
            return outcome.map(to_json).map_err(|refusal| match refusal.code {
                // The library keeps no loops.
                Code::Refused | Code::Unsupported | Code::NotReady
                    if recording.is_some() && !looped =>
                {
                    refusal.helped_by(Remedy::UseLibrary)
                }
                _ => refusal,
            });
        };
        let file = self.library.file(&name);
        let kept = self.library.keep(name, Arc::clone(recording), keyframes).await;
        let said = match &kept {
            Ok(None) => "it is kept in the library too".into(),
            Ok(Some(older)) => format!("in the library, what had this name is now {older:?}"),
            Err(refusal) => format!("it is not kept in the library: {}", refusal.message),
        };
        let mut value = to_json(outcome.map_err(|refusal| hinted(refusal, &said))?);
        value["library"] = kept.is_ok().into();
        if kept.is_ok() {
            value["file"] = file;
        }
        if kept != Ok(None) {
            let note = value["note"].as_str().map(|note| format!("{note}; {said}"));
            value["note"] = note.unwrap_or(said).into();
        }
        Ok(value)
    }

    async fn consult(&self, request: LibraryRequest) -> Result<Value, Refusal> {
        self.library.request(request, self.robot.recorded()).await
    }

    async fn ask_hinted(
        &self,
        request: RobotRequest,
        origin: Origin,
        hint: &str,
    ) -> Result<Value, Refusal> {
        let outcome = self.robot.request(request, origin).await;
        outcome.map(to_json).map_err(|refusal| hinted(refusal, hint))
    }

    /// Where what has this name is; the robot's comes first.
    async fn find(&self, name: &str, origin: &Origin) -> Result<Place, Refusal> {
        Ok(if self.is_stored(name, origin).await? {
            Place::Robot
        } else if self.library.has(name).await? {
            Place::Library
        } else {
            Place::Nowhere
        })
    }

    /// Whether the robot keeps it.
    async fn is_stored(&self, name: &str, origin: &Origin) -> Result<bool, Refusal> {
        let list = self.robot.request(RobotRequest::List, origin.clone()).await?;
        let Answer::List { actions, .. } = list else { return Ok(false) };
        Ok(actions.iter().any(|action| action.name == name))
    }
}

impl Teach for Teaching {
    fn teach(&self, request: Request) -> Result<Task, Refusal> {
        let repeats = request.repeats();
        let nature = Nature {
            // A single play ends by itself.
            needs_client: repeats,
            lasts: repeats,
            needs_connection: repeats,
        };
        let teaching = self.clone();
        Ok(Task::new(nature, move |origin| teaching.carry_out(request, origin)))
    }
}

impl std::fmt::Debug for Teaching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Teaching").finish_non_exhaustive()
    }
}

fn to_json(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn hinted(mut refusal: Refusal, hint: &str) -> Refusal {
    refusal.message = format!("{}; {hint}", refusal.message);
    refusal
}
