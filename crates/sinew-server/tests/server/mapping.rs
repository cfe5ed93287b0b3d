//! Maps, walking in them, and frames.

use std::{env, fs, path::PathBuf};

use serde_json::{Value, json};
use sinew_robot::mapping::{Pose, Request};
use sinew_server::{Config, Tokens};

use crate::{
    page::{Page, ack, cloud},
    support::{Call, Client, Double, Running, get, local, request, start_with},
};

fn start() -> Running {
    start_with(local(), &[("g1", Double::mapper())])
}

fn mapping(op: &str) -> Value {
    json!({ "type": "Mapping", "op": op })
}

fn go_to() -> Value {
    let pose = json!({ "x": 1.5, "y": -2, "yaw": 0.5 });
    json!({ "type": "Mapping", "op": "go_to", "pose": pose, "confirm": true })
}

const GOAL: Pose = Pose { x: 1.5, y: -2.0, z: 0.0, yaw: 0.5 };

#[tokio::test]
async fn what_is_asked_reaches_the_robot_as_it_was_asked() {
    let server = start();
    let mut client = server.lines().await;
    let named = |op, member: &str| {
        let mut message = mapping(op);
        message[member] = "flat".into();
        message
    };
    let mut relocate = named("relocate", "map");
    relocate["pose"] = json!({ "x": 0, "y": 1, "z": 0.5 });
    let pose = Pose { x: 0.0, y: 1.0, z: 0.5, yaw: 0.0 };
    let flat = || "flat".to_owned();
    let all = [
        (mapping("start"), Request::Start),
        (named("stop", "name"), Request::Stop { name: Some(flat()) }),
        (mapping("stop"), Request::Stop { name: None }),
        (mapping("info"), Request::Info),
        (relocate, Request::Relocate { map: flat(), pose }),
        (go_to(), Request::GoTo { pose: GOAL }),
        (mapping("pause"), Request::Pause),
        (mapping("resume"), Request::Resume),
        (mapping("close"), Request::Close),
        (named("download", "name"), Request::Download { name: flat() }),
    ];
    for (message, wanted) in all {
        client.ok(message).await;
        let calls = server.robot.calls();
        assert_eq!(calls.last(), Some(&Call::Map(wanted, client.name.clone())));
    }
}

#[tokio::test]
async fn what_is_not_confirmed_or_not_known_never_reaches_it() {
    let server = start();
    let mut client = server.lines().await;
    for confirm in [json!(false), json!(null)] {
        let mut message = go_to();
        message["confirm"] = confirm;
        client.fails(message, "not_confirmed").await;
    }
    let said = client.fails(mapping("fly"), "invalid_argument").await;
    assert!(said.contains("start, stop, clear, save, info"), "{said}");
    assert_eq!(server.robot.calls(), []);
}

#[tokio::test]
async fn only_the_holder_of_the_controls_maps_and_walks_and_all_may_look() {
    let server = start();
    let (mut holder, mut other) = (server.lines().await, server.lines().await);
    holder.ok(mapping("start")).await;
    other.ok(mapping("info")).await;
    let download = json!({ "type": "Mapping", "op": "download", "name": "a" });
    for message in [go_to(), mapping("pause"), mapping("resume"), mapping("stop"), download] {
        assert!(other.fails(message, "busy").await.contains(&holder.name));
    }
    other.ok(json!({ "type": "TakeControl" })).await;
    server.robot.called(Call::Taken(other.name.clone())).await;
    holder.fails(mapping("pause"), "busy").await;
    other.ok(mapping("pause")).await;
}

#[tokio::test]
async fn a_token_for_reading_is_enough_to_look() {
    let tokens = Tokens::parse("control all-of-it-c0ntrol\nread only-look-at-r3ad\n");
    let any = Some(([0, 0, 0, 0], 0).into());
    let config = Config { lines: any, tcp: None, http: None, ..local() };
    let config = Config { tokens: tokens.expect("is a file"), ..config };
    let mut server = start_with(config, &[("g1", Double::mapper())]);
    server.at.lines.as_mut().expect("listens").set_ip([127, 0, 0, 1].into());
    let mut client = server.lines().await;
    client.ok(json!({ "type": "Auth", "token": "only-look-at-r3ad" })).await;
    client.ok(mapping("info")).await;
    for message in [go_to(), mapping("start"), mapping("pause")] {
        client.fails(message, "unauthorized").await;
    }
}

#[tokio::test]
async fn walking_is_not_begun_without_a_connection_to_lose() {
    let server = start();
    for (message, wanted) in [(go_to(), 501), (mapping("resume"), 501), (mapping("start"), 200)] {
        let line = "POST /api/v1/robots/g1/commands";
        let (status, reply) =
            request(server.http(), line, &[], message.to_string().as_bytes()).await;
        assert_eq!(status, wanted, "{reply}");
        assert_eq!(reply.contains("walking by POST"), wanted == 501, "{reply}");
    }
    let began = server.robot.calls();
    assert!(matches!(&began[..], [Call::Map(Request::Start, _), ..]), "{began:?}");
    assert!(!began.iter().any(|call| matches!(call, Call::Map(Request::GoTo { .. }, _))));
}

#[tokio::test]
async fn a_stop_overtakes_a_walk_that_waits() {
    let server = start();
    let (mut client, mut other) = (server.lines().await, server.lines().await);
    let hanging = server.robot.hang_until_told();
    let numbered = |req: u8, mut message: Value| {
        message["req"] = req.into();
        format!("{message}\n")
    };
    let both = numbered(1, mapping("start")) + &numbered(2, go_to());
    client.send_bytes(both.as_bytes()).await;
    server.robot.called(Call::Map(Request::Start, client.name.clone())).await;
    other.ok(json!({ "type": "Stop" })).await;
    drop(hanging);
    loop {
        let reply = client.next().await;
        if reply["req"] == 2 {
            assert_eq!(reply["error"]["code"], "not_ready", "{reply}");
            break;
        }
    }
    let walks = |call: &Call| matches!(call, Call::Map(Request::GoTo { .. }, _));
    assert!(!server.robot.calls().iter().any(walks));
}

#[tokio::test]
async fn a_walk_ends_with_its_client() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(go_to()).await;
    let name = client.name.clone();
    drop(client);
    server.robot.called(Call::Release(name.clone())).await;
    let wanted = [Call::Map(Request::GoTo { pose: GOAL }, name.clone()), Call::Release(name)];
    assert_eq!(server.robot.calls(), wanted);
}

#[tokio::test]
async fn a_walk_is_not_begun_for_a_client_that_has_gone() {
    let server = start();
    let mut client = server.lines().await;
    let hanging = server.robot.hang_until_told();
    let both = format!("{}\n{}\n", mapping("start"), go_to());
    client.send_bytes(both.as_bytes()).await;
    server.robot.called(Call::Map(Request::Start, client.name.clone())).await;
    let name = client.name.clone();
    drop(client);
    server.robot.called(Call::Release(name)).await;
    drop(hanging);
    let mut next = server.lines().await;
    next.ok(mapping("start")).await;
    let walks = |call: &Call| matches!(call, Call::Map(Request::GoTo { .. }, _));
    assert!(!server.robot.calls().iter().any(walks));
}

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = env::temp_dir().join(format!("sinew-maps-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("is made");
        Dir(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_map_that_was_downloaded_is_served_whole_and_no_other_file_is() {
    let server = start_with(local(), &[("g1", Double::mapper()), ("rock", Double::rock())]);
    let dir = Dir::new("served");
    fs::create_dir(dir.0.join("maps")).expect("is made");
    fs::write(dir.0.join("secret"), "not a map").expect("is written");
    fs::create_dir(dir.0.join("maps/within")).expect("is made");
    let text: String = (0..60_000).map(|number| format!("{number}\n")).collect();
    fs::write(dir.0.join("maps/the flat"), &text).expect("is written");
    fs::write(dir.0.join("maps/empty"), "").expect("is written");
    server.robot.keep_maps(dir.0.join("maps"));
    let path = |name: &str| format!("/api/v1/robots/g1/maps/{name}");
    let (status, body) = get(server.http(), &path("the%20flat"), &[]).await;
    assert_eq!((status, body == text), (200, true));
    let (status, body) = get(server.http(), &path("empty"), &[]).await;
    assert_eq!((status, body.as_str()), (200, ""));
    for name in ["other", "within", "..%2Fsecret", "%2e%2e%2fsecret", ".hidden", "a%00b"] {
        let (status, body) = get(server.http(), &path(name), &[]).await;
        assert_eq!(status, 404, "{name}: {body}");
        assert!(body.contains("not_found"), "{body}");
    }
    let (status, body) = get(server.http(), "/api/v1/robots/rock/maps/a", &[]).await;
    assert_eq!(status, 501, "{body}");
    let (status, _) = get(server.http(), "/api/v1/robots/none/maps/a", &[]).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_map_is_for_those_with_a_token_where_one_is_needed() {
    let tokens = Tokens::parse("read only-look-at-r3ad\n").expect("is a file");
    let any = Some(([0, 0, 0, 0], 0).into());
    let config = Config { http: any, tcp: None, lines: None, tokens, ..local() };
    let mut server = start_with(config, &[("g1", Double::mapper())]);
    server.at.http.as_mut().expect("listens").set_ip([127, 0, 0, 1].into());
    let dir = Dir::new("tokens");
    fs::write(dir.0.join("flat"), "points").expect("is written");
    server.robot.keep_maps(dir.0.clone());
    let path = "/api/v1/robots/g1/maps/flat";
    assert_eq!(get(server.http(), path, &[]).await.0, 401);
    let token = [("Authorization", "Bearer only-look-at-r3ad")];
    assert_eq!(get(server.http(), path, &token).await, (200, "points".to_owned()));
}

const CLOUDS: [&str; 2] = ["cloud", "events"];

#[tokio::test]
async fn two_frames_are_on_their_way_and_an_acknowledgement_brings_the_newest() {
    let server = start();
    let mut page = Page::open(&server).await;
    page.ok(json!({ "type": "Subscribe", "topics": CLOUDS })).await;
    for number in [1, 2] {
        server.robot.publish_frame(cloud(number));
        assert_eq!(page.frame().await, (0, number));
    }
    // Five seconds of them.
    (3..=50).for_each(|number| server.robot.publish_frame(cloud(number)));
    page.is_silent(&server.robot).await;
    // It was never sent that one, so nothing is taken for acknowledged.
    page.ok(ack(50)).await;
    page.is_silent(&server.robot).await;
    page.send(ack(1)).await;
    assert_eq!(page.frame().await, (0, 50));
    page.is_silent(&server.robot).await;
    server.robot.publish_frame(cloud(51));
    page.is_silent(&server.robot).await;
    // The last one, and that before it.
    page.send(ack(50)).await;
    assert_eq!(page.frame().await, (0, 51));
    server.robot.publish_frame(cloud(52));
    assert_eq!(page.frame().await, (0, 52));
    page.is_silent(&server.robot).await;
}

#[tokio::test]
async fn a_page_that_acknowledges_nothing_keeps_no_other_waiting() {
    let server = start();
    let (mut silent, mut keen) = (Page::open(&server).await, Page::open(&server).await);
    for page in [&mut silent, &mut keen] {
        page.ok(json!({ "type": "Subscribe", "topics": CLOUDS })).await;
    }
    for number in 1..=20 {
        server.robot.publish_frame(cloud(number));
        assert_eq!(keen.frame().await, (0, number));
        keen.send(ack(number)).await;
    }
    assert_eq!(silent.frame().await.1, 1);
    silent.frame().await;
    silent.is_silent(&server.robot).await;
    // The event came to it, too.
    keen.next().await;
    // A new subscription begins with nothing on its way.
    silent.ok(json!({ "type": "Subscribe", "topics": [] })).await;
    silent.ok(ack(2)).await;
    silent.ok(json!({ "type": "Subscribe", "topics": CLOUDS })).await;
    server.robot.publish_frame(cloud(21));
    assert_eq!(silent.frame().await, (0, 21));
}

#[tokio::test]
async fn frames_of_several_robots_are_told_apart_and_acknowledged_by_name() {
    let (first, second) = (Double::mapper(), Double::mapper());
    let server = start_with(local(), &[("one", first.clone()), ("two", second.clone())]);
    let mut page = Page::open(&server).await;
    page.ok(json!({ "type": "Subscribe", "topics": CLOUDS })).await;
    for number in [1, 2] {
        first.publish_frame(cloud(number));
        assert_eq!(page.frame().await, (0, number));
        second.publish_frame(cloud(number));
        assert_eq!(page.frame().await, (1, number));
    }
    first.publish_frame(cloud(3));
    second.publish_frame(cloud(3));
    let refused = page.asks(ack(2)).await;
    assert_eq!(refused["error"]["code"], "invalid_argument", "{refused}");
    assert_eq!(refused["error"]["message"], "several robots give cloud: one, two");
    assert_eq!(refused["error"]["remedy"], "name_robot");
    let mut named = ack(2);
    named["robot"] = "two".into();
    page.send(named).await;
    assert_eq!(page.frame().await, (1, 3));
    page.is_silent(&first).await;
}

#[tokio::test]
async fn what_is_no_frame_is_left_out() {
    let server = start();
    let mut page = Page::open(&server).await;
    page.ok(json!({ "type": "Subscribe", "topics": CLOUDS })).await;
    server.robot.publish_frame(vec![1, 2, 3]);
    let mut cut = cloud(1);
    cut.pop();
    server.robot.publish_frame(cut);
    server.robot.publish_frame(cloud(7));
    assert_eq!(page.frame().await, (0, 7));
}

#[tokio::test]
async fn an_acknowledgement_is_checked_as_every_message() {
    let server = start();
    let mut page = Page::open(&server).await;
    for (message, code) in [
        (json!({ "type": "Ack", "topic": "state", "seq": 1 }), "invalid_argument"),
        (json!({ "type": "Ack", "topic": "cloud" }), "invalid_argument"),
        (json!({ "type": "Ack", "topic": "cloud", "seq": -1 }), "invalid_argument"),
        (json!({ "type": "Ack", "topic": "cloud", "seq": 1, "robot": "x" }), "not_found"),
    ] {
        let reply = page.asks(message).await;
        assert_eq!(reply["error"]["code"], code, "{reply}");
    }
}

#[tokio::test]
async fn frames_come_on_no_other_port_and_that_is_said() {
    let server = start();
    // The robot has none of these.
    let mut page = Page::open(&server).await;
    let reply = page.asks(json!({ "type": "Subscribe", "topics": ["messages"] })).await;
    assert_eq!(reply["error"]["code"], "unsupported", "{reply}");
    assert_eq!(reply["error"]["message"], "messages is not a topic of any robot here");
    let mut lines = server.lines().await;
    let mut braces = Client::connect(server.at.tcp.expect("listens")).await;
    for topic in ["cloud", "map", "messages"] {
        let message = json!({ "type": "Subscribe", "topics": [topic] });
        let wanted = format!("{topic} is bytes, which come on /ws only");
        assert_eq!(lines.fails(message.clone(), "unsupported").await, wanted);
        assert_eq!(braces.fails(message.clone(), "unsupported").await, wanted);
        let mut legacy = server.legacy().await;
        let mut asked = message;
        asked["req"] = 1.into();
        legacy.send(asked).await;
        let reply = legacy.next_of("reply").await;
        assert_eq!(reply["error"]["code"], "unsupported", "{reply}");
        assert_eq!(reply["error"]["message"], wanted);
    }
}
