//! A G1 that is taught over the network, on a simulated robot, with a library beside it.

use std::{
    env, fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sinew_io::{
    g1::G1,
    kind::Services,
    library::Library,
    maps::Maps,
    sim::{G1Options, G1Simulator},
};
use sinew_robot::{
    capability::Driver,
    teach::{LinkState as Link, Settings},
};
use sinew_server::{Config, Server, Tokens};
use tokio::{
    io::AsyncWriteExt,
    time::{sleep, timeout},
};
use tokio_tungstenite::{connect_async, tungstenite::Message};

use crate::support::{Client, DEADLINE, Double, Running, local, request, run, until};

/// The longest message that is read.
const MIB: usize = 1 << 20;

/// A simulated robot, a library, and the server before them.
struct School {
    server: Running,
    g1: G1,
    dir: PathBuf,
    _robot: G1Simulator,
}

impl School {
    async fn open() -> Self {
        Self::with(local()).await
    }

    async fn with(config: Config) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = env::temp_dir().join(format!("sinew-teach-{}-{count}", std::process::id()));
        let robot = G1Simulator::spawn(G1Options {
            robot: Default::default(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            store: None,
            discovery: None,
        })
        .expect("starts");
        let library = Arc::new(Library::new(dir.clone()));
        let mut server = Server::bind(config).expect("binds");
        let mut driver = None;
        server
            .add("g1", |audience, epoch| {
                let maps = Maps::new(dir.join("maps"));
                let services = Services { around: Vec::new(), epoch, audience, library, maps };
                let (host, port) = (robot.address().ip().to_string(), robot.address().port());
                let (robot, g1) = G1::compose("g1", &host, port, Settings::default(), services)?;
                driver = Some(g1);
                Ok::<_, std::io::Error>(robot)
            })
            .expect("is new");
        let g1 = driver.expect("is started");
        let school = School { server: run(server, Double::new()), g1, dir, _robot: robot };
        school.until("the pose", |school| {
            let state = school.g1.state();
            state.link == Link::Ready && state.positions.is_some()
        });
        school
    }

    /// Waits on this thread, as nothing else goes on in it.
    #[track_caller]
    fn until(&self, what: &str, is: impl Fn(&Self) -> bool) {
        let begin = Instant::now();
        while !is(self) {
            assert!(begin.elapsed() < DEADLINE, "{what}: {:?}", self.g1.state());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn is_playing(&self) -> bool {
        let state = self.g1.state();
        state.playing.is_some() || state.mode == Some(3)
    }

    /// The arms hold, as far as 400 ms of their status tell, and go on holding.
    async fn holds(&self, what: &str) {
        until(&format!("the end: {what}"), || !self.is_playing()).await;
        let begin = Instant::now();
        let held = self.g1.state().positions;
        let status = self.g1.state().counters.status;
        while begin.elapsed() < Duration::from_millis(400) {
            let state = self.g1.state();
            assert!(state.playing.is_none(), "{what}: plays again");
            assert_eq!(state.positions, held, "{what}: moves {:?} later", begin.elapsed());
            sleep(Duration::from_millis(5)).await;
        }
        assert!(self.g1.state().counters.status > status + 5, "{what}: nothing was seen");
    }

    async fn moves(&self) {
        let before = self.g1.state().positions.expect("is told");
        until("a motion", || {
            let now = self.g1.state().positions.unwrap_or(before);
            before.iter().zip(now).any(|(a, b)| (a - b).abs() > 0.02)
        })
        .await;
    }

    /// Nobody holds the controls: whoever did has been seen to go.
    async fn freed(&self) {
        let mut observer = self.server.lines().await;
        let begin = Instant::now();
        while !observer.ok(json!({ "type": "Robots" })).await["robots"][0]["holder"].is_null() {
            assert!(begin.elapsed() < DEADLINE, "the controls are not freed");
            sleep(Duration::from_millis(2)).await;
        }
    }

    async fn post(&self, message: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
        let line = "POST /api/v1/robots/g1/commands";
        let body = message.to_string();
        let (status, body) = request(self.server.http(), line, headers, body.as_bytes()).await;
        (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("not JSON: {body}")))
    }

    /// Records what the operator of the simulator does, without saving it.
    async fn record(&self, client: &mut Client) {
        client.ok(teach("enter")).await;
        client.ok(json!({ "type": "Teach", "op": "record_start", "name": "wave" })).await;
        until("frames", || self.g1.state().recorded_frames >= 20).await;
        assert!(client.ok(teach("record_stop")).await["frames"].as_u64() >= Some(20));
    }

    async fn names(&self, client: &mut Client) -> Vec<String> {
        let library = client.ok(teach("library")).await;
        assert_eq!(library["problems"], json!([]), "{library}");
        let motions = library["motions"].as_array().expect("is a list");
        let name = |motion: &Value| motion["name"].as_str().expect("is text").to_owned();
        motions.iter().map(name).collect()
    }
}

impl Drop for School {
    fn drop(&mut self) {
        self.g1.shut_down();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn teach(op: &str) -> Value {
    json!({ "type": "Teach", "op": op })
}

fn about(op: &str, name: &str) -> Value {
    json!({ "type": "Teach", "op": op, "name": name })
}

const JOINTS: [&str; 12] = [
    "left_shoulder_pitch",
    "left_shoulder_roll",
    "left_shoulder_yaw",
    "left_elbow",
    "left_wrist_roll",
    "left_wrist_pitch",
    "right_shoulder_pitch",
    "right_shoulder_roll",
    "right_shoulder_yaw",
    "right_elbow",
    "right_wrist_roll",
    "right_wrist_pitch",
];

/// Fifty frames a second in which one joint swings.
fn frames(from: usize, to: usize) -> Vec<Value> {
    let frame = |index: usize| {
        let mut row = vec![json!(index * 20)];
        row.extend(JOINTS.map(|_| json!(0.25)));
        let swing = 0.5 * (index as f64 / 50.0).sin();
        // Few enough digits that it is the same when it comes back.
        row[4] = json!((swing * 1000.0).round() / 1000.0);
        Value::from(row)
    };
    (from..to).map(frame).collect()
}

fn document(name: &str, frames: Vec<Value>) -> Value {
    json!({ "version": 1, "name": name, "created": 1_700_000_000, "joints": JOINTS,
            "frames": frames })
}

fn import(document: Value) -> Value {
    json!({ "type": "Teach", "op": "import", "document": document })
}

fn play(name: &str) -> Value {
    json!({ "type": "Teach", "op": "play", "name": name, "library": true })
}

fn rows(frames: &Value) -> Vec<Vec<f64>> {
    let row = |row: &Value| row.as_array().expect("is a list").iter().map(number).collect();
    frames.as_array().expect("is a list").iter().map(row).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("is a number")
}

fn times(document: &Value) -> Vec<u64> {
    rows(&document["frames"]).iter().map(|frame| frame[0] as u64).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_port_teaches() {
    let school = School::open().await;
    let mut lines = school.server.lines().await;
    let imported = lines.ok(import(document("swing", frames(0, 500)))).await;
    assert_eq!(imported["frames"], 500);
    assert_eq!(imported["dropped"], json!([]));
    drop(lines);
    school.freed().await;

    let (status, answer) = school.post(&teach("library"), &[]).await;
    assert_eq!((status, &answer["ok"]), (200, &json!(true)));
    assert_eq!(answer["data"]["motions"][0]["name"], "swing");
    assert_eq!(answer["data"]["motions"][0]["duration_ms"], 9980);

    let address = format!("ws://{}/ws", school.server.http());
    let (mut socket, _) = connect_async(address).await.expect("connects");
    let mut ask = async |mut message: Value| {
        message["req"] = json!(1);
        socket.send(Message::text(message.to_string())).await.expect("is connected");
        let answer = timeout(DEADLINE, socket.next()).await.expect("comes").expect("is there");
        let answer = answer.expect("is valid");
        let answer: Value = serde_json::from_str(answer.to_text().expect("is text")).expect("JSON");
        assert_eq!(answer["ok"], true, "{answer}");
        answer["data"].clone()
    };
    let shown = ask(about("show", "swing")).await;
    assert!(rows(&shown["frames"]) == rows(&frames(0, 500).into()), "not what was imported");
    assert_eq!((&shown["frames_total"], &shown["next"]), (&json!(500), &Value::Null));

    // Its end is nobody's business but its own, so a request may begin it.
    let (status, answer) = school.post(&play("swing"), &[]).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["data"]["id"], Value::Null);
    assert!(answer["data"]["pieces"].as_u64() >= Some(2), "{answer}");
    school.moves().await;
    ask(teach("stop")).await;
    school.holds("stopped over a WebSocket").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_repeats_needs_a_connection() {
    let school = School::open().await;
    let mut lines = school.server.lines().await;
    lines.ok(import(document("swing", frames(0, 100)))).await;
    drop(lines);
    school.freed().await;
    let mut message = play("swing");
    message["loop"] = true.into();
    let (status, answer) = school.post(&message, &[]).await;
    assert_eq!((status, &answer["error"]["code"]), (501, &json!("unsupported")), "{answer}");
    message["library"] = false.into();
    assert_eq!(school.post(&message, &[]).await.0, 501);
    school.holds("a loop by POST").await;
    // Over a connection it repeats, for as long as that lasts.
    let mut client = school.server.lines().await;
    client.ok(json!({ "type": "Subscribe", "topics": ["state"] })).await;
    message["loop"] = true.into();
    let whole = client.ok(message).await["duration_ms"].as_u64().expect("is told");
    let begin = Instant::now();
    until("more than a pass", || {
        assert!(school.is_playing(), "ended after {:?} of {whole} ms", begin.elapsed());
        begin.elapsed() > Duration::from_millis(whole + 1500)
    })
    .await;
    drop(client);
    school.holds("a client that looped has gone").await;
}

/// A client that goes the moment it has asked must not leave a robot that moves for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_loop_ends_with_its_client_however_early_that_goes() {
    let school = School::open().await;
    let mut client = school.server.lines().await;
    client.ok(import(document("swing", frames(0, 100)))).await;
    drop(client);
    let mut message = play("swing");
    message["loop"] = true.into();
    message["req"] = 1.into();
    for after in [0, 3, 20] {
        for half in [true, false] {
            let what = format!("gone after {after} ms, half {half}");
            school.freed().await;
            let mut client = school.server.lines().await;
            client.send(message.clone()).await;
            sleep(Duration::from_millis(after)).await;
            if half {
                // It says that nothing more will come, and reads on to the end.
                client.writer.shutdown().await.expect("is connected");
                while client.try_next().await.is_some() {}
            }
            drop(client);
            let begin = Instant::now();
            let mut last = begin;
            while last.elapsed() < Duration::from_millis(500) {
                if school.is_playing() {
                    last = Instant::now();
                }
                assert!(begin.elapsed() < Duration::from_secs(3), "{what}: goes on and on");
                sleep(Duration::from_millis(5)).await;
            }
            school.holds(&what).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_token_may_look_and_stop() {
    let tokens = Tokens::parse("read only-look-at-r3ad\ncontrol all-of-it-c0ntrol\n")
        .expect("is a token file");
    let school = School::with(Config { tokens, ..local() }).await;
    let mut other = school.server.lines().await;
    other.ok(import(document("swing", frames(0, 500)))).await;
    let mut client = school.server.lines().await;
    client.ok(json!({ "type": "Auth", "token": "only-look-at-r3ad" })).await;
    client.ok(teach("list")).await;
    client.ok(teach("library")).await;
    client.ok(about("show", "swing")).await;
    let forbidden = [
        teach("enter"),
        teach("exit"),
        teach("record_start"),
        teach("record_stop"),
        about("save", "x"),
        json!({ "type": "Teach", "op": "save", "name": "x", "library": true }),
        about("play", "swing"),
        play("swing"),
        json!({ "type": "Teach", "op": "play", "id": 1 }),
        json!({ "type": "Teach", "op": "rename", "name": "swing", "new_name": "x", "library": true }),
        json!({ "type": "Teach", "op": "delete", "name": "swing", "library": true }),
        import(document("x", frames(0, 2))),
        json!({ "type": "Teach", "op": "import", "document": document("x", frames(0, 2)),
                "more": true }),
    ];
    let bearer = [("Authorization", "Bearer only-look-at-r3ad")];
    for message in &forbidden {
        client.fails(message.clone(), "unauthorized").await;
        assert_eq!(school.post(message, &bearer).await.0, 403, "{message}");
    }
    assert_eq!(school.names(&mut client).await, ["swing"]);
    assert!(!school.is_playing() && !school.g1.state().teaching);
    // Files of an import that was not allowed would be here.
    assert_eq!(fs::read_dir(&school.dir).expect("is there").count(), 1);
    assert_eq!(school.post(&teach("library"), &bearer).await.0, 200);
    other.ok(play("swing")).await;
    school.moves().await;
    client.ok(teach("stop")).await;
    school.holds("stopped with a read token").await;
    other.ok(play("swing")).await;
    school.moves().await;
    assert_eq!(school.post(&teach("stop"), &bearer).await.0, 200);
    school.holds("stopped with a read token by POST").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anybody_may_stop_what_another_plays() {
    let school = School::open().await;
    let (mut holder, mut other) = (school.server.lines().await, school.server.lines().await);
    holder.ok(import(document("swing", frames(0, 500)))).await;
    holder.ok(play("swing")).await;
    school.moves().await;
    // The library is no robot.
    other.ok(import(document("x", frames(0, 2)))).await;
    for message in [play("swing"), about("delete", "swing")] {
        let said = other.fails(message, "busy").await;
        assert!(said.contains(&holder.name), "{said}");
    }
    other.ok(about("show", "swing")).await;
    other.ok(teach("stop")).await;
    school.holds("stopped by another").await;
    // The controls are still the first one's.
    other.fails(play("swing"), "busy").await;
    holder.ok(play("swing")).await;
    school.moves().await;
    other.ok(json!({ "type": "Stop", "robot": "g1" })).await;
    school.holds("Stop by another").await;
}

/// A play from the library takes steps: list, load, plan, perform. A stop may fall between any.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_asked_for_before_a_stop_is_not_done_after_it() {
    let school = School::open().await;
    let mut client = school.server.lines().await;
    // A long message is heard from a client that is known.
    client.ok(teach("library")).await;
    // Long enough that planning it takes a while.
    for part in 0..5 {
        let frames = frames(part * 1000, part * 1000 + 1000);
        let mut message = import(document("long", frames));
        message["append"] = (part > 0).into();
        message["more"] = (part < 4).into();
        client.ok(message).await;
    }
    let stops = [teach("stop"), json!({ "type": "Stop" })];
    // With speed the library is listed first, without library the robot is asked first.
    let plays = [
        play("long"),
        about("play", "long"),
        json!({ "type": "Teach", "op": "play", "name": "long", "speed": 0.9 }),
    ];
    let mut cut_short = 0;
    // On a busy computer a motion may be planned before the stop is sent, so it is tried again.
    let rounds = (0..10).flat_map(|_| [0, 1, 3, 8, 20, 50]).enumerate();
    for (number, after) in rounds {
        if number >= 6 && cut_short > 0 {
            break;
        }
        for (play, stop) in plays.iter().flat_map(|play| stops.iter().map(move |stop| (play, stop)))
        {
            let what = format!("{stop} {after} ms after {play}");
            let (mut play, mut stop) = (play.clone(), stop.clone());
            play["req"] = "play".into();
            stop["req"] = "stop".into();
            client.send(play).await;
            sleep(Duration::from_millis(after)).await;
            client.send(stop).await;
            let mut answers = [client.next().await, client.next().await];
            answers.sort_by_key(|answer| answer["req"].to_string());
            let [played, stopped] = answers;
            assert_eq!(stopped["ok"], true, "{what}: {stopped}");
            if played["ok"] == false {
                cut_short += 1;
                let code = &played["error"]["code"];
                assert!(code == "not_ready" || code == "unconfirmed", "{what}: {played}");
            }
            until(&what, || !school.is_playing()).await;
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(40) {
                assert!(!school.is_playing(), "{what}: it plays");
                sleep(Duration::from_millis(1)).await;
            }
        }
    }
    assert!(cut_short > 0, "no stop fell between the steps");
    school.holds("all of them").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_library_keeps_what_a_full_robot_refuses() {
    let school = School::open().await;
    let mut client = school.server.lines().await;
    client.fails(about("save", "early"), "not_ready").await;
    client.fails(json!({ "type": "Teach", "op": "save", "library": true }), "not_ready").await;
    school.record(&mut client).await;
    for number in 1..=15 {
        let saved = client.ok(about("save", &format!("a{number}"))).await;
        assert_eq!(saved["library"], true, "{saved}");
        assert!(saved["keyframes"].as_u64() >= Some(2), "{saved}");
    }
    let refused = client.ask(about("save", "a16")).await["error"].clone();
    assert_eq!((&refused["code"], &refused["remedy"]), (&json!("refused"), &json!("use_library")));
    assert!(!school.names(&mut client).await.contains(&"a16".into()));
    let kept = json!({ "type": "Teach", "op": "save", "name": "a16", "library": true });
    let saved = client.ok(kept.clone()).await;
    assert_eq!((&saved["library"], &saved["keyframes"]), (&json!(true), &json!(0)));
    client.fails(kept, "refused").await;
    // The name that was given when it began.
    let saved = client.ok(json!({ "type": "Teach", "op": "save", "library": true })).await;
    assert_eq!(saved["name"], "wave");
    assert_eq!(school.names(&mut client).await.len(), 17);
    assert_eq!(client.ok(teach("list")).await["actions"].as_array().map(Vec::len), Some(15));
    let message = json!({ "type": "Teach", "op": "save", "name": "b", "library": true,
                          "loop": true });
    client.fails(message, "invalid_argument").await;
    // What the robot no longer has, since teaching ended, is still here to be kept.
    client.ok(teach("exit")).await;
    let said = client.fails(about("save", "late"), "not_ready").await;
    assert!(said.contains("library"), "{said}");
    client.ok(json!({ "type": "Teach", "op": "save", "name": "late", "library": true })).await;
    let shown = client.ok(about("show", "late")).await;
    assert!(shown["frames_total"].as_u64() >= Some(20), "{shown}");
    client.ok(play("late")).await;
    client.ok(teach("stop")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn renaming_and_deleting_are_the_librarys() {
    let school = School::open().await;
    let mut client = school.server.lines().await;
    school.record(&mut client).await;
    client.ok(about("save", "both")).await;
    client.ok(import(document("here", frames(0, 50)))).await;
    let rename = |name: &str, new_name: &str, library: bool| {
        json!({ "type": "Teach", "op": "rename", "name": name, "new_name": new_name,
                "library": library })
    };
    // The robot has it, and cannot.
    for message in [rename("both", "x", false), about("delete", "both")] {
        let refused = client.ask(message).await["error"].clone();
        assert_eq!(refused["code"], "unsupported", "{refused}");
        assert_eq!(refused["remedy"], "use_library", "{refused}");
    }
    assert_eq!(school.names(&mut client).await, ["both", "here"]);
    // It is only here.
    let renamed = client.ok(rename("here", "there", false)).await;
    assert_eq!((&renamed["library"], &renamed["new_name"]), (&json!(true), &json!("there")));
    client.fails(rename("there", "both", false), "refused").await;
    client.fails(rename("there", "both", true), "refused").await;
    client.fails(rename("there", "there", true), "refused").await;
    client.fails(rename("nobody", "x", true), "not_found").await;
    client.fails(rename("there", &"x".repeat(32), true), "invalid_argument").await;
    client.fails(rename("there", "a\0b", true), "invalid_argument").await;
    // It is the library's that was asked for; the robot's stays.
    client.ok(rename("both", "../both", true)).await;
    assert_eq!(school.names(&mut client).await, ["../both", "there"]);
    assert!(fs::exists(school.dir.join("%2E%2E%2Fboth.json")).expect("can be looked for"));
    assert_eq!(client.ok(teach("list")).await["actions"][0]["name"], "both");
    let shown = client.ok(about("show", "../both")).await;
    assert_eq!(shown["name"], "../both");
    let delete = |name: &str| {
        json!({ "type": "Teach", "op": "delete", "name": name,
                                      "library": true })
    };
    client.ok(delete("../both")).await;
    client.fails(delete("../both"), "not_found").await;
    client.ok(about("delete", "there")).await;
    let by_id = json!({ "type": "Teach", "op": "delete", "id": 1, "library": true });
    client.fails(by_id, "invalid_argument").await;
    assert_eq!(school.names(&mut client).await, [""; 0]);
    client.fails(about("show", "there"), "not_found").await;
    let said = client.fails(about("play", "there"), "not_found").await;
    assert!(said.contains("library"), "{said}");
    client.fails(play("there"), "not_found").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_motion_comes_and_goes_in_parts() {
    let school = School::open().await;
    let mut client = school.server.lines().await;
    // A long message is heard from a client that is known.
    client.ok(teach("library")).await;
    let part = |from: usize, to: usize, append: bool, more: bool| {
        let mut message = import(document("long", frames(from, to)));
        message["append"] = append.into();
        message["more"] = more.into();
        message
    };
    client.fails(part(0, 10, true, true), "not_found").await;
    client.fails(part(0, 10, true, false), "not_found").await;
    // One that was begun twice is what came after the second beginning.
    client.ok(part(7000, 7100, false, true)).await;
    assert_eq!(client.ok(part(0, 2000, false, true)).await["frames"], 2000);
    assert_eq!(school.names(&mut client).await, [""; 0]);
    client.fails(about("show", "long"), "not_found").await;
    client.fails(play("long"), "not_found").await;
    // What does not fit costs nothing of what came.
    client.fails(part(1999, 2100, true, true), "invalid_argument").await;
    drop(client);
    school.freed().await;
    // Whoever comes next may go on with it.
    let mut client = school.server.lines().await;
    client.ok(teach("library")).await;
    assert_eq!(client.ok(part(2000, 4000, true, true)).await["frames"], 4000);
    assert_eq!(client.ok(part(4000, 4500, true, false)).await["frames"], 4500);
    assert_eq!(school.names(&mut client).await, ["long"]);
    client.fails(part(4500, 4600, true, false), "refused").await;
    client.fails(part(0, 10, false, true), "refused").await;
    // Nothing is left of the parts.
    assert_eq!(fs::read_dir(&school.dir).expect("is there").count(), 1);

    let mut from = json!(0);
    let mut seen = Vec::new();
    for count in [2000, 2000, 500] {
        let mut message = about("show", "long");
        message["from"] = from;
        let shown = client.ok(message).await;
        assert_eq!(shown["frames_total"], 4500);
        assert_eq!(shown["duration_ms"], 4499 * 20);
        assert_eq!(times(&shown).len(), count);
        seen.extend(times(&shown));
        from = shown["next"].clone();
    }
    assert_eq!(from, Value::Null);
    assert_eq!(seen, (0..4500).map(|index| index * 20).collect::<Vec<_>>());
    for (from, count) in [(4499, 1), (4500, 0), (u32::MAX, 0)] {
        let mut message = about("show", "long");
        message["from"] = from.into();
        let shown = client.ok(message).await;
        assert_eq!((times(&shown).len(), &shown["next"]), (count, &Value::Null));
    }
    // Ninety seconds are more than any action of the robot, and it plays.
    let played = client.ok(play("long")).await;
    assert!(played["duration_ms"].as_u64() > Some(65_535), "{played}");
    school.moves().await;
    client.ok(teach("stop")).await;
    school.holds("a long one").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_too_long_for_a_message_changes_nothing() {
    let school = School::open().await;
    let mut client = school.server.lines().await;
    let mut begun = import(document("long", frames(0, 10)));
    begun["more"] = true.into();
    client.ok(begun).await;
    let mut message = import(document("long", frames(10, 20_000)));
    message["append"] = true.into();
    let text = message.to_string();
    assert!(text.len() > MIB, "{}", text.len());
    // The server may have closed before all of it is sent.
    let _ = client.writer.write_all(format!("{text}\n").as_bytes()).await;
    let answer = client.try_next().await.expect("is told why");
    assert_eq!(answer["error"]["code"], "too_large", "{answer}");
    assert_eq!(client.try_next().await, None);
    school.freed().await;
    let (status, answer) = school.post(&message, &[]).await;
    assert_eq!((status, &answer["error"]["code"]), (413, &json!("too_large")), "{answer}");
    let mut client = school.server.lines().await;
    let mut rest = import(document("long", frames(10, 20)));
    rest["append"] = true.into();
    assert_eq!(client.ok(rest).await["frames"], 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn rubbish_is_refused_and_costs_nothing() {
    let school = School::open().await;
    let mut client = school.server.lines().await;
    client.ok(import(document("swing", frames(0, 100)))).await;
    let with = |name: &str, value: Value| {
        let mut message = play("swing");
        message[name] = value;
        message
    };
    let wrong = |name: &str, value: Value| {
        let mut document = document("bad", frames(0, 10));
        document[name] = value;
        import(document)
    };
    let row = |time: Value, value: Value| {
        let mut row = vec![time];
        row.extend(JOINTS.map(|_| value.clone()));
        json!([row])
    };
    let mut short = frames(0, 2);
    short[1].as_array_mut().expect("is a list").pop();
    for message in [
        json!({ "type": "Teach" }),
        teach("libary"),
        json!({ "type": "Teach", "op": ["library"] }),
        json!({ "type": "Teach", "op": "library", "name": "swing" }),
        teach("show"),
        json!({ "type": "Teach", "op": "show", "name": "swing", "from": -1 }),
        json!({ "type": "Teach", "op": "show", "name": "swing", "from": 1.5 }),
        json!({ "type": "Teach", "op": "show", "name": "swing", "from": 1u64 << 32 }),
        about("show", ""),
        about("show", &"n".repeat(32)),
        about("show", "a\0b"),
        teach("play"),
        with("id", json!(1)),
        with("speed", json!(0)),
        with("speed", json!(-1)),
        with("speed", json!("fast")),
        with("speed", json!(1e308)),
        with("speed", json!(0.049)),
        with("speed", json!(4.01)),
        with("frames", json!(-1)),
        with("frames", json!("all")),
        with("duration_ms", json!(1)),
        with("interpolation", json!("jump")),
        with("loop", json!("yes")),
        with("library", json!(1)),
        with("keyframes", json!([])),
        json!({ "type": "Teach", "op": "play", "name": "swing", "speed": 2, "duration_ms": 1000,
                "library": true }),
        json!({ "type": "Teach", "op": "play", "id": 1, "library": true }),
        json!({ "type": "Teach", "op": "play", "id": 0 }),
        teach("import"),
        import(Value::Null),
        import(json!([])),
        import(json!("swing")),
        import(json!({})),
        wrong("version", json!(2)),
        wrong("version", json!("1")),
        wrong("name", json!("")),
        wrong("name", json!(7)),
        wrong("name", json!("ä".repeat(16))),
        wrong("name", json!("a\0b")),
        wrong("created", json!(-1)),
        wrong("joints", json!([])),
        wrong("joints", json!(vec!["left_elbow"; 12])),
        wrong("frames", json!([])),
        wrong("frames", json!({})),
        wrong("frames", json!([[]])),
        wrong("frames", short.into()),
        wrong("frames", row(json!(0), json!("0.1"))),
        wrong("frames", row(json!(0), json!(1e39))),
        wrong("frames", row(json!(0), Value::Null)),
        wrong("frames", row(json!(-1), json!(0))),
        wrong("frames", row(json!(0.5), json!(0))),
        wrong("frames", row(json!(1u64 << 32), json!(0))),
        wrong("frames", json!([frames(0, 1), frames(0, 1)].concat())),
        wrong("keyframes", json!([{ "joint": "tail", "time_ms": 0, "value": 0 }])),
        wrong("keyframes", json!([{ "joint": "left_elbow", "time_ms": 65_536, "value": 0 }])),
        wrong("keyframes", json!([{ "joint": "left_elbow", "time_ms": 0, "value": 1e39 }])),
    ] {
        client.fails(message, "invalid_argument").await;
    }
    let long = document(
        "bad",
        json!([frames(0, 1), frames(30_001, 30_002)].concat())
            .as_array()
            .expect("is a list")
            .clone(),
    );
    client.fails(import(long), "invalid_argument").await;
    client.fails(import(document("swing", frames(0, 2))), "refused").await;
    assert_eq!(school.names(&mut client).await, ["swing"]);
    assert_eq!(fs::read_dir(&school.dir).expect("is there").count(), 1);
    school.holds("rubbish").await;
    client.ok(play("swing")).await;
    client.ok(teach("stop")).await;
}

/// Nothing that a library holds makes the arms jump, wherever they are, or leave their limits.
#[tokio::test(flavor = "multi_thread")]
async fn arms_never_jump() {
    let school = School::open().await;
    let mut client = school.server.lines().await;
    // Further than any joint can go, there and back within 40 ms.
    let frame = |time: u32, value: f64| {
        let mut row = vec![json!(time)];
        row.extend((0..12).map(|joint| json!(if joint % 4 == 0 { value } else { 0.3 })));
        Value::from(row)
    };
    let wild = vec![frame(0, 0.3), frame(20, 30.0), frame(40, 0.3)];
    client.ok(import(document("wild", wild))).await;
    client.ok(json!({ "type": "Subscribe", "topics": ["sensors/joints", "events"] })).await;
    let mut message = play("wild");
    message["speed"] = 4.into();
    let mut moved = 0.0_f64;
    let begin = Instant::now();
    loop {
        let played = client.ok(message.clone()).await;
        assert_eq!(played["limited"].as_array().map(Vec::len), Some(3), "{played}");
        let why = watch(&mut client, &mut moved).await;
        if why == "all of it was played" {
            break;
        }
        // A machine that is busy elsewhere may silence the robot for 200 ms, which ends it.
        assert_eq!(why, "the link was lost");
        assert!(begin.elapsed() < DEADLINE, "it is cut short again and again");
        until("the link", || school.g1.state().link == Link::Ready).await;
    }
    assert!(moved > 0.01, "nothing moved: {moved}");
}

/// Follows the arms to the end of what plays, and tells why it ended.
async fn watch(client: &mut Client, moved: &mut f64) -> String {
    let mut last: Option<(f64, Vec<f64>)> = None;
    loop {
        let message = client.next().await;
        let data = &message["data"];
        if message["topic"] == "events" && data["event"] == "play_ended" {
            return data["why"].as_str().expect("is text").to_owned();
        }
        if message["topic"] != "sensors/joints" {
            continue;
        }
        let values = &data["values"];
        let time = number(&values["time_ms"]["U32"]);
        let list = values["positions"].as_array().expect("is a list");
        let pose: Vec<f64> = list.iter().map(number).collect();
        if let Some((before, then)) = &last {
            let seconds = (time - before) / 1000.0;
            let way = then.iter().zip(&pose).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            *moved = moved.max(way);
            // 2 rad/s, and what a piece may leave to the next.
            assert!(way <= 2.0 * seconds + 0.02, "{way} rad in {seconds} s: {then:?} {pose:?}");
        }
        last = Some((time, pose));
    }
}

/// A client that asks for much and reads nothing must not hold up others.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_does_not_read_holds_up_nobody() {
    let school = School::open().await;
    let mut client = school.server.lines().await;
    // A long message is heard from a client that is known.
    client.ok(teach("library")).await;
    client.ok(import(document("long", frames(0, 2000)))).await;
    let mut deaf = school.server.lines().await;
    for number in 0..60 {
        let mut message = about("show", "long");
        message["req"] = number.into();
        deaf.send(message).await;
    }
    client.ok(play("long")).await;
    school.moves().await;
    client.ok(teach("stop")).await;
    school.holds("beside a client that does not read").await;
    // It gets all that it asked for as soon as it reads.
    for number in 0..60 {
        let answer = deaf.next().await;
        assert_eq!((&answer["req"], &answer["ok"]), (&json!(number), &json!(true)));
        assert_eq!(times(&answer["data"]).len(), 2000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_ends_when_the_controls_are_taken_from_who_asked_for_it() {
    let school = School::open().await;
    let (mut first, mut second) = (school.server.lines().await, school.server.lines().await);
    first.ok(import(document("swing", frames(0, 100)))).await;
    let mut looped = play("swing");
    looped["loop"] = true.into();
    first.ok(looped).await;
    school.moves().await;
    second.ok(json!({ "type": "TakeControl" })).await;
    school.holds("taken").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_costs_no_other_motion_of_its_name() {
    let school = School::open().await;
    let mut client = school.server.lines().await;
    client.ok(import(document("wave", frames(0, 40)))).await;
    client.ok(teach("enter")).await;
    client.ok(about("record_start", "wave")).await;
    school.until("frames", |school| school.g1.state().recorded_frames >= 5);
    client.ok(teach("record_stop")).await;
    let saved = client.ok(teach("save")).await;
    assert!(saved["note"].as_str().expect("is told").contains("wave~"), "{saved}");
    let older = client.ok(about("show", "wave~")).await;
    assert_eq!(older["frames_total"], 40);
    let newer = client.ok(about("show", "wave")).await;
    assert_eq!(newer["frames_total"], saved["frames"]);
}
