//! Which of a robot and a library a request means.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Instant,
};

use serde_json::{Value, json};
use sinew_io::{
    library::Library,
    teaching::{Recorded, Taught, Teaching},
};
use sinew_robot::{
    Code, Origin, Refusal, Remedy,
    capability::{Boxed, Nature, Teach},
    teach::{Action, ActionKind as Kind, Answer, Carries, RobotRequest, Target, parse},
    trajectory::{Document, Keyframe, Recording},
};
use tempfile::TempDir;

/// A robot that does at once what it is asked, as far as its transport can carry it.
struct Robot {
    stored: Mutex<Vec<String>>,
    carries: Carries,
    recorded: Mutex<Recorded>,
    /// What it says to a request of this name instead.
    refuses: Mutex<Option<(&'static str, Refusal)>>,
    asked: Mutex<Vec<(RobotRequest, Origin)>>,
}

impl Robot {
    fn answer(&self, request: &RobotRequest) -> Result<Answer, Refusal> {
        if let Some((op, refusal)) = &*self.refuses.lock().unwrap()
            && *op == request.op()
        {
            return Err(refusal.clone());
        }
        let stored = self.stored.lock().unwrap();
        let unsupported = || Err(Refusal::new(Code::Unsupported, "not over this transport"));
        let note = String::new();
        Ok(match request.clone() {
            RobotRequest::List => {
                let action = |name: &String| {
                    let (kind, duration_ms) = (Kind::Taught, None);
                    Action { id: 1, name: name.clone(), kind, duration_ms }
                };
                Answer::List { actions: stored.iter().map(action).collect(), unlisted: 0 }
            }
            RobotRequest::Play { how, .. } if how.looped && !self.carries.looped => {
                return unsupported();
            }
            RobotRequest::Play { action: Target::Name(name), .. } => {
                if !stored.contains(&name) {
                    let message = format!("no action is called {name:?}");
                    return Err(Refusal::new(Code::NotFound, message));
                }
                Answer::Play { id: Some(1), name: Some(name), performed: None, note }
            }
            RobotRequest::Play { action: Target::Id(id), .. } => {
                Answer::Play { id: Some(id), name: None, performed: None, note }
            }
            RobotRequest::Perform { name, .. } => {
                Answer::Play { id: None, name: Some(name), performed: None, note }
            }
            RobotRequest::Save { name, .. } => Answer::Save {
                name: name.unwrap_or_else(|| "wave".into()),
                error_rad: Some(0.0),
                keyframes: 1,
                frames: 10,
                duration_ms: 180,
                note: None,
                sent: vec![Keyframe { joint: 3, time_ms: 100, value: 0.5 }],
            },
            RobotRequest::Stop => Answer::Stop { note },
            _ => return unsupported(),
        })
    }
}

impl Taught for Robot {
    fn request(
        &self,
        request: RobotRequest,
        origin: Origin,
    ) -> Boxed<'static, Result<Answer, Refusal>> {
        let answer = self.answer(&request);
        self.asked.lock().unwrap().push((request, origin));
        Box::pin(std::future::ready(answer))
    }

    fn carries(&self) -> Carries {
        self.carries
    }

    fn recorded(&self) -> Recorded {
        self.recorded.lock().unwrap().clone()
    }
}

struct School {
    robot: Arc<Robot>,
    library: Arc<Library>,
    teaching: Teaching,
    dir: TempDir,
}

/// A robot that keeps `own` and `both`, and a library with `both` and `here`.
fn school() -> School {
    with(Carries { looped: false, speed: false, keyframes: 20 })
}

fn with(carries: Carries) -> School {
    let dir = TempDir::new().unwrap();
    let library = Arc::new(Library::new(dir.path().join("library")));
    for name in ["both", "here"] {
        library.add(&Document { name: name.into(), ..motion() }).unwrap();
    }
    let robot = Arc::new(Robot {
        stored: Mutex::new(vec!["own".into(), "both".into()]),
        carries,
        recorded: Mutex::default(),
        refuses: Mutex::default(),
        asked: Mutex::default(),
    });
    let teaching = Teaching::new(Arc::clone(&robot) as Arc<dyn Taught>, Arc::clone(&library));
    School { robot, library, teaching, dir }
}

fn motion() -> Document {
    let mut recording = Recording::new();
    for frame in 0..50_u32 {
        recording.push(frame * 20, [(frame as f32 * 0.1).sin() * 0.5; 12]).unwrap();
    }
    Document { recording, ..Document::default() }
}

impl School {
    fn teach(&self, message: Value) -> Result<Value, Refusal> {
        let task = self.teaching.teach(parse(message.as_object().unwrap())?)?;
        let (by, robot, received) = ("tester".into(), "g1".into(), Instant::now());
        let origin =
            Origin { by, client: 7, robot, epoch: 42, received, presence: Default::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(task.run(origin))
    }

    fn fails(&self, message: Value, code: Code) -> String {
        let refusal = self.teach(message).unwrap_err();
        assert_eq!(refusal.code, code, "{refusal}");
        refusal.message
    }

    /// What the robot was asked since the last time.
    fn asked(&self) -> Vec<RobotRequest> {
        let asked = std::mem::take(&mut *self.robot.asked.lock().unwrap());
        for (_, origin) in &asked {
            assert_eq!((&*origin.by, origin.client, origin.epoch), ("tester", 7, 42));
        }
        asked.into_iter().map(|(request, _)| request).collect()
    }

    fn ops(&self) -> Vec<&'static str> {
        let name = |request: &RobotRequest| match request {
            RobotRequest::Perform { .. } => "perform",
            other => other.op(),
        };
        self.asked().iter().map(name).collect()
    }

    fn names(&self) -> Vec<String> {
        let motions = self.library.list().unwrap().motions;
        motions.into_iter().map(|motion| motion.name).collect()
    }

    fn refuse(&self, op: &'static str, code: Code) {
        *self.robot.refuses.lock().unwrap() = Some((op, Refusal::new(code, "no")));
    }

    fn record(&self, name: Option<&str>) {
        *self.robot.recorded.lock().unwrap() = Recorded {
            running: false,
            name: name.map(Into::into),
            recording: Some(Arc::new(motion().recording)),
        };
    }
}

#[test]
fn the_robots_own_action_is_played_first() {
    let school = school();
    for name in ["own", "both"] {
        let played = school.teach(json!({ "op": "play", "name": name })).unwrap();
        assert_eq!((&played["op"], &played["id"]), (&json!("play"), &json!(1)));
        assert_eq!(school.ops(), ["list", "play"]);
    }
    assert!(school.teach(json!({ "op": "play", "id": 9 })).is_ok());
    assert_eq!(school.ops(), ["play"]);
}

#[test]
fn the_library_plays_what_the_robot_has_not() {
    let school = school();
    let played = school.teach(json!({ "op": "play", "name": "here" })).unwrap();
    assert_eq!((&played["id"], &played["name"]), (&Value::Null, &json!("here")));
    assert_eq!(school.ops(), ["list", "perform"]);
    let said = school.fails(json!({ "op": "play", "name": "none" }), Code::NotFound);
    assert_eq!(said, "no action is called \"none\"; nor does the library have it");
}

#[test]
fn the_library_alone_is_played_from_when_it_is_named() {
    let school = with(Carries { looped: true, speed: true, keyframes: 12 });
    let message = json!({ "op": "play", "name": "both", "library": true, "loop": true });
    school.teach(message).unwrap();
    let asked = school.asked();
    let [RobotRequest::Perform { name, plan, looped: true }] = &asked[..] else {
        panic!("{asked:?}")
    };
    assert_eq!(name, "both");
    assert!(plan.pieces.iter().all(|piece| piece.keyframes.len() <= 12), "what it carries");
    let message = json!({ "op": "play", "name": "own", "library": true });
    assert_eq!(school.fails(message, Code::NotFound), "no motion is called \"own\"");
    assert_eq!(school.ops(), [""; 0]);
}

#[test]
fn what_a_transport_cannot_carry_is_the_librarys() {
    for (member, value) in [("loop", json!(true)), ("speed", json!(2))] {
        let play = |name: &str| {
            let mut message = json!({ "op": "play", "name": name });
            message[member] = value.clone();
            message
        };
        let school = school();
        school.teach(play("both")).unwrap();
        assert_eq!(school.ops(), ["perform"], "{member}");
        // The robot says itself why it cannot.
        let _any = school.teach(play("own"));
        assert_eq!(school.ops(), ["list", "play"], "{member}");
        let said = school.fails(play("none"), Code::NotFound);
        assert_eq!(said, "no action is called \"none\"");
        assert_eq!(school.ops(), ["list"], "{member}");

        let school = with(Carries { looped: true, speed: true, keyframes: 20 });
        school.teach(play("both")).unwrap();
        assert_eq!(school.ops(), ["list", "play"], "{member}");
        school.teach(play("here")).unwrap();
        assert_eq!(school.ops(), ["list", "perform"], "{member}");
    }
}

#[test]
fn a_motion_is_played_in_a_time_or_at_a_speed_that_it_allows() {
    let school = school();
    let play = |members: Value| {
        let mut message = json!({ "op": "play", "name": "here", "library": true });
        message.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        message
    };
    let said = school.fails(play(json!({ "speed": 2, "duration_ms": 9 })), Code::InvalidArgument);
    assert_eq!(said, "play: wanted speed or duration_ms, got both");
    let said = school.fails(play(json!({ "duration_ms": 100 })), Code::InvalidArgument);
    assert_eq!(said, "duration_ms: wanted 245 to 19600 for this motion, got 100");
    let said = school.fails(play(json!({ "speed": 5 })), Code::InvalidArgument);
    assert_eq!(said, "speed: wanted 0.05 to 4, got 5");
    assert_eq!(school.ops(), [""; 0]);
    school.teach(play(json!({ "duration_ms": 1960 }))).unwrap();
    let asked = school.asked();
    let [RobotRequest::Perform { plan, .. }] = &asked[..] else { panic!("{asked:?}") };
    assert!(plan.duration_ms >= 1960, "{}", plan.duration_ms);
}

#[test]
fn renaming_and_deleting_are_the_robots_where_it_has_it() {
    let school = school();
    let rename = |name: &str| json!({ "op": "rename", "name": name, "new_name": "new" });
    let delete = |name: &str| json!({ "op": "delete", "name": name });
    for message in [rename("both"), delete("both")] {
        let op = message["op"].as_str().unwrap().to_owned();
        let refusal = school.teach(message).unwrap_err();
        assert_eq!((refusal.code, refusal.remedy), (Code::Unsupported, Some(Remedy::UseLibrary)));
        assert_eq!(school.ops(), ["list", &op]);
    }
    for message in [rename("none"), delete("none")] {
        let said = school.fails(message, Code::Unsupported);
        assert!(said.ends_with("; nor does the library have it"), "{said}");
    }
    school.refuse("list", Code::LinkLost);
    let refusal = school.teach(rename("here")).unwrap_err();
    assert_eq!(refusal, Refusal::new(Code::LinkLost, "no").helped_by(Remedy::UseLibrary));
    *school.robot.refuses.lock().unwrap() = None;
    assert_eq!(school.names(), ["both", "here"]);
    school.asked();
    let renamed = school.teach(rename("here")).unwrap();
    let wanted = json!({ "op": "rename", "name": "here", "new_name": "new", "library": true });
    assert_eq!((renamed, school.names()), (wanted, vec!["both".into(), "new".into()]));
    let deleted = school.teach(delete("new")).unwrap();
    assert_eq!(deleted, json!({ "op": "delete", "name": "new", "library": true }));
    assert_eq!((school.names(), school.ops()), (vec!["both".to_owned()], vec!["list"; 2]));
    // By number only the robot knows it.
    school.fails(json!({ "op": "delete", "id": 1 }), Code::Unsupported);
    assert_eq!(school.ops(), ["delete"]);
}

#[test]
fn the_librarys_own_business_needs_no_robot() {
    let school = school();
    school.refuse("list", Code::LinkLost);
    let library = school.teach(json!({ "op": "library" })).unwrap();
    assert_eq!(library["motions"].as_array().map(Vec::len), Some(2));
    let shown = school.teach(json!({ "op": "show", "name": "here", "from": 49 })).unwrap();
    assert_eq!((&shown["frames_total"], &shown["next"]), (&json!(50), &Value::Null));
    assert_eq!(
        (shown["frames"].as_array().map(Vec::len), &shown["duration_ms"]),
        (Some(1), &json!(980))
    );
    school.fails(json!({ "op": "show", "name": "own" }), Code::NotFound);
    let rename = json!({ "op": "rename", "name": "both", "new_name": "here", "library": true });
    school.fails(rename, Code::Refused);
    school.teach(json!({ "op": "delete", "name": "both", "library": true })).unwrap();
    let document = json!({ "version": 1, "name": "new", "created": 1, "joints": ["left_elbow", "tail"],
                           "keyframes": [{ "joint": "left_elbow", "time_ms": 9, "value": 0.5 }] });
    let imported = school.teach(json!({ "op": "import", "document": document })).unwrap();
    assert_eq!(imported, json!({ "op": "import", "frames": 0, "dropped": ["tail"] }));
    assert_eq!((school.names(), school.ops()), (vec!["here".into(), "new".into()], vec![]));
}

#[test]
fn what_is_saved_is_kept_in_the_library_too() {
    let school = school();
    school.record(Some("wave"));
    let saved = school.teach(json!({ "op": "save" })).unwrap();
    assert_eq!((&saved["name"], &saved["library"]), (&json!("wave"), &json!(true)));
    assert_eq!(saved["file"], json!(school.dir.path().join("library/wave.json")));
    assert_eq!(saved["note"], Value::Null);
    let kept = school.library.load("wave").unwrap();
    assert_eq!((kept.recording, kept.keyframes.len()), (motion().recording, 1));
    let saved = school.teach(json!({ "op": "save", "name": "wave" })).unwrap();
    assert_eq!(saved["note"], "in the library, what had this name is now \"wave~\"");

    // What the robot may have stored is kept; what it refused is not.
    school.refuse("save", Code::Unconfirmed);
    let said = school.fails(json!({ "op": "save", "name": "maybe" }), Code::Unconfirmed);
    assert_eq!(said, "no; it is kept in the library too");
    school.refuse("save", Code::Refused);
    let refusal = school.teach(json!({ "op": "save", "name": "never" })).unwrap_err();
    assert_eq!(refusal, Refusal::new(Code::Refused, "no").helped_by(Remedy::UseLibrary));
    assert_eq!(school.names(), ["both", "here", "maybe", "wave", "wave~"]);
}

#[test]
fn a_library_that_fails_costs_no_save() {
    let school = school();
    school.record(None);
    fs::remove_dir_all(school.library.dir()).unwrap();
    fs::write(school.dir.path().join("library"), "").unwrap();
    let saved = school.teach(json!({ "op": "save", "name": "wave" })).unwrap();
    assert_eq!(saved["library"], false);
    let note = saved["note"].as_str().unwrap();
    assert!(note.starts_with("it is not kept in the library: the disk: cannot make"), "{note}");
    // Nor does it keep the robot's own from being played.
    assert!(school.teach(json!({ "op": "play", "name": "own" })).is_ok());
}

#[test]
fn the_last_recording_is_kept_in_the_library_alone() {
    let school = school();
    let keep = || json!({ "op": "save", "library": true });
    let named = || json!({ "op": "save", "name": "mine", "library": true });
    let said = school.fails(named(), Code::NotReady);
    assert_eq!(said, "nothing was recorded, or the robot did not tell its pose");
    school.record(None);
    school.robot.recorded.lock().unwrap().running = true;
    let said = school.fails(named(), Code::NotReady);
    assert_eq!(said, "the recording still runs; stop it first");
    school.record(None);
    let said = school.fails(keep(), Code::InvalidArgument);
    assert_eq!(said, "save: wanted name, got none, here or at the start");
    school.record(Some("wave"));
    let file = school.dir.path().join("library/wave.json");
    let wanted = json!({ "op": "save", "name": "wave", "frames": 50, "duration_ms": 980,
                         "keyframes": 0, "error_rad": null, "library": true, "file": file });
    assert_eq!(school.teach(keep()), Ok(wanted));
    school.fails(keep(), Code::Refused);
    assert_eq!(school.teach(named()).unwrap()["name"], "mine");
    assert_eq!((school.names().len(), school.ops()), (4, vec![]));
}

#[test]
fn a_step_that_an_order_has_overtaken_ends_it() {
    let school = school();
    // The list was in time, and what follows is not.
    school.refuse("play", Code::NotReady);
    school.fails(json!({ "op": "play", "name": "here" }), Code::NotReady);
    assert_eq!(school.ops(), ["list", "perform"]);
}

#[test]
fn the_rules_are_told_what_a_request_is() {
    let school = school();
    let nature = |message: Value| {
        school.teaching.teach(parse(message.as_object().unwrap()).unwrap()).unwrap().nature
    };
    let held = Nature::default();
    let repeats = Nature { needs_client: true, lasts: true, needs_connection: true };
    let cases = [
        (json!({ "op": "list" }), held),
        (json!({ "op": "library" }), held),
        (json!({ "op": "show", "name": "a" }), held),
        (json!({ "op": "stop" }), held),
        (json!({ "op": "save", "library": true }), held),
        (json!({ "op": "rename", "name": "a", "new_name": "b", "library": true }), held),
        (json!({ "op": "delete", "name": "a", "library": true }), held),
        (json!({ "op": "delete", "name": "a" }), held),
        (json!({ "op": "enter" }), held),
        (json!({ "op": "save" }), held),
        (json!({ "op": "play", "id": 1 }), held),
        (json!({ "op": "play", "name": "a", "library": true }), held),
        (json!({ "op": "play", "id": 1, "loop": true }), repeats),
        (json!({ "op": "play", "name": "a", "loop": true, "library": true }), repeats),
    ];
    for (message, wanted) in cases {
        assert_eq!(nature(message.clone()), wanted, "{message}");
    }
    assert!(school.teach(json!({ "op": "stop" })).is_ok());
    assert_eq!(school.ops(), ["stop"]);
}
