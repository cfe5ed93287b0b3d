//! Robots that other daemons serve.

use std::time::Instant;

use serde_json::{Value, json};
use sinew_api::Halt;
use sinew_server::{Registry, Server};

use crate::{
    far::{Far, FarCall, SILENCE},
    page::{Page, cloud},
    support::{
        Call, Client, Double, Running, add, control, drive, get, led, local, request, run, until,
    },
};

fn start() -> (Running, Registry) {
    let robot = Double::new();
    let mut server = Server::bind(local()).expect("binds");
    add(&mut server, "vacuum", &robot).expect("is a new name");
    let registry = server.registry();
    (run(server, robot), registry)
}

fn of(robot: &str, mut message: Value) -> Value {
    message["robot"] = robot.into();
    message
}

fn subscribe(topics: &[&str]) -> Value {
    json!({ "type": "Subscribe", "topics": topics })
}

fn stop() -> Value {
    json!({ "type": "Stop" })
}

async fn post(server: &Running, robot: &str, message: &Value) -> (u16, Value) {
    let line = format!("POST /api/v1/robots/{robot}/commands");
    let body = message.to_string();
    let (status, body) = request(server.http(), &line, &[], body.as_bytes()).await;
    (status, serde_json::from_str(&body).expect("is JSON"))
}

/// The next message of a topic of this robot.
async fn event(client: &mut Client, robot: &str, topic: &str) -> Value {
    loop {
        let event = client.event(topic).await;
        if event["robot"] == robot {
            return event["data"].clone();
        }
    }
}

#[tokio::test]
async fn one_that_joins_is_told_to_those_who_listen_to_all() {
    let (server, registry) = start();
    let mut all = server.lines().await;
    all.ok(subscribe(&["state", "events", "sensors/gd32_status"])).await;
    let mut one = server.lines().await;
    one.ok(of("vacuum", subscribe(&["state", "events"]))).await;
    let far = Far::joined(&registry, "pi.vacuum", &["gd32_status", "version"]);
    let state = event(&mut all, "pi.vacuum", "state").await;
    assert_eq!((&state["name"], &state["holder"]), (&json!("pi.vacuum"), &json!("Bob")));
    far.audience().event(json!({ "event": "far" }));
    assert_eq!(event(&mut all, "pi.vacuum", "events").await["event"], "far");
    assert!(far.audience().wants_readings("gd32_status"));
    assert!(!far.audience().wants_readings("version"));
    far.publish("gd32_status", 7);
    let reading = event(&mut all, "pi.vacuum", "sensors/gd32_status").await;
    assert_eq!(reading["timestamp_us"], 7);
    // One who listens to another robot is told nothing.
    server.robot.publish_event(json!({ "event": "near" }));
    let next = one.event("events").await;
    assert_eq!((&next["robot"], &next["data"]["event"]), (&json!("vacuum"), &json!("near")));
    // Nor is one who wanted no more.
    all.ok(subscribe(&[])).await;
    Far::joined(&registry, "third", &[]);
    let robots = all.ok(json!({ "type": "Robots" })).await;
    let names: Vec<_> = robots["robots"].as_array().expect("a list").iter().collect();
    assert_eq!(
        names.iter().map(|robot| &robot["name"]).collect::<Vec<_>>(),
        ["vacuum", "pi.vacuum", "third"]
    );
    let (_, page) = get(server.http(), "/metrics", &[]).await;
    assert!(page.contains(r#"sinew_robot_fresh{robot="pi.vacuum"} 1"#), "{page}");
}

#[tokio::test]
async fn a_client_may_listen_before_the_first_robot_comes() {
    let server = Server::bind(local()).expect("binds");
    let registry = server.registry();
    let server = run(server, Double::new());
    let mut client = server.lines().await;
    assert_eq!(client.ok(subscribe(&["state", "events"])).await, json!([]));
    // Which groups a robot would have is not known.
    client.fails(subscribe(&["sensors/gd32_status"]), "not_found").await;
    Far::joined(&registry, "pi.vacuum", &[]);
    assert_eq!(event(&mut client, "pi.vacuum", "state").await["name"], "pi.vacuum");
}

#[tokio::test]
async fn frames_of_one_that_joined_have_its_place() {
    let (server, registry) = start();
    let first = Far::joined(&registry, "pi", &[]);
    let mut page = Page::open(&server).await;
    page.ok(subscribe(&["cloud"])).await;
    let mut watching = Page::open(&server).await;
    watching.ok(subscribe(&["state"])).await;
    let second = Far::joined(&registry, "second", &[]);
    until("a reader", || second.audience().wants_frames("cloud")).await;
    second.audience().frame("cloud", cloud(3));
    assert_eq!(page.frame().await, (2, 3));
    first.audience().frame("cloud", cloud(4));
    assert_eq!(page.frame().await, (1, 4));
    for robot in ["vacuum", "pi", "second"] {
        let greeting = watching.next().await.into_text().expect("is text");
        let greeting: Value = serde_json::from_str(&greeting).expect("is JSON");
        assert_eq!((&greeting["topic"], &greeting["robot"]), (&json!("state"), &json!(robot)));
    }
}

#[tokio::test]
async fn one_that_is_replaced_keeps_its_place_and_its_listeners() {
    let (server, registry) = start();
    let before = Far::joined(&registry, "pi", &["old", "both"]);
    Far::joined(&registry, "other", &[]);
    let mut all = server.lines().await;
    all.ok(subscribe(&["sensors/both", "sensors/old"])).await;
    let mut named = server.lines().await;
    named.ok(of("pi", subscribe(&["state"]))).await;
    event(&mut named, "pi", "state").await;
    let after = Far::joined(&registry, "pi", &["new", "both"]);
    let state = event(&mut named, "pi", "state").await;
    assert_eq!(state["sensors"], json!(["new", "both"]));
    until("a reader", || after.audience().wants_readings("both")).await;
    until("no reader", || !before.audience().wants_sensors()).await;
    before.publish("both", 1);
    before.publish("old", 2);
    after.publish("both", 3);
    assert_eq!(event(&mut all, "pi", "sensors/both").await["timestamp_us"], 3);
    let robots = all.ok(json!({ "type": "Robots" })).await;
    assert_eq!(robots["robots"][1]["name"], "pi");
    assert_eq!(robots["robots"][1]["sensors"], json!(["new", "both"]));
    all.ok(of("pi", led(1))).await;
    assert_eq!((before.asked().len(), after.asked().len()), (0, 1));
}

#[tokio::test]
async fn names_are_checked_and_robots_of_our_own_are_not_replaced() {
    let (server, registry) = start();
    for name in ["", "a b", "a/b", "vacuum"] {
        let refused = Far::new(&[]).join(&registry, name).expect_err("is no name for it");
        assert!(refused.to_string().contains(&format!("{name:?}")), "{refused}");
    }
    server.end().await;
    let late = Far::new(&[]).join(&registry, "late").expect_err("has ended");
    assert!(late.to_string().contains("has ended"), "{late}");
}

#[tokio::test]
async fn a_stop_is_answered_when_it_is_confirmed() {
    let (server, registry) = start();
    let far = Far::joined(&registry, "pi", &[]);
    let mut client = server.lines().await;
    client.ok(stop()).await;
    client.ok(of("pi", control("drive", "Disable"))).await;
    client.ok(control("drive", "Reset")).await;
    let by = client.name.clone();
    let halts = [Halt::Stop { note: None }, Halt::Disable, Halt::Reset];
    assert_eq!(far.asked(), halts.map(|halt| FarCall::Halt(halt, by.clone())));
    assert_eq!(server.robot.calls(), [Call::Stop(by.clone()), Call::Stop(by)]);
    let note = client.ok(json!({ "type": "Stop", "nonsense": 1 })).await;
    assert!(note["note"].to_string().contains("stopped all the same"), "{note}");
}

#[tokio::test]
async fn a_stop_that_is_not_confirmed_says_so_and_holds_up_no_other() {
    let (server, registry) = start();
    let (good, bad) = (Far::joined(&registry, "good", &[]), Far::joined(&registry, "bad", &[]));
    bad.be_silent();
    let mut client = server.lines().await;
    let begin = Instant::now();
    client.send(of_req(stop(), 9)).await;
    server.robot.called(Call::Stop(client.name.clone())).await;
    good.asked_times(1).await;
    assert!(begin.elapsed() < SILENCE, "{:?}", begin.elapsed());
    let reply = client.next().await;
    assert!(begin.elapsed() >= SILENCE);
    says_who(&reply);
    // The same on the other ports.
    let mut page = Page::open(&server).await;
    says_who(&page.asks(stop()).await);
    let mut legacy = server.legacy().await;
    legacy.send(of_req(stop(), 9)).await;
    says_who(&legacy.next_of("reply").await);
    let (status, reply) = post(&server, "bad", &stop()).await;
    assert_eq!(status, 503);
    let message = reply["error"]["message"].as_str().expect("has a message");
    assert!(
        message.contains("bad (nothing came back)") && !message.contains("others"),
        "{message}"
    );
    assert_eq!(post(&server, "good", &stop()).await.0, 200);
    client.ok(of("vacuum", stop())).await;
}

fn of_req(mut message: Value, req: u64) -> Value {
    message["req"] = req.into();
    message
}

fn says_who(reply: &Value) {
    assert_eq!(reply["error"]["code"], "link_lost", "{reply}");
    let message = reply["error"]["message"].as_str().expect("has a message");
    assert!(message.contains("bad (nothing came back)"), "{message}");
    assert!(!message.contains("good") && message.contains("all others"), "{message}");
    assert_eq!(reply["error"]["robots"], json!(["bad"]));
}

#[tokio::test]
async fn all_that_did_not_stop_are_named_however_many() {
    let (server, registry) = start();
    let mut silent: Vec<_> = (0..40).map(|number| format!("bad-{number}")).collect();
    let far: Vec<_> = silent.iter().map(|name| Far::joined(&registry, name, &[])).collect();
    far.iter().for_each(Far::be_silent);
    let _good = Far::joined(&registry, "good", &[]);
    let mut client = server.lines().await;
    client.send(of_req(stop(), 1)).await;
    let error = client.next().await["error"].clone();
    let mut named: Vec<_> =
        error["robots"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    named.sort_unstable();
    silent.sort_unstable();
    assert_eq!(named, silent);
    assert!(error["message"].as_str().is_some_and(|text| text.contains("8 more")), "{error}");
}

#[tokio::test]
async fn stops_go_on_without_their_client_and_cost_no_more_the_more_there_are() {
    let (server, registry) = start();
    let far = Far::joined(&registry, "pi", &[]);
    far.be_silent();
    let mut client = server.lines().await;
    let many = format!("{}\n", of_req(stop(), 1)).repeat(50);
    client.send_bytes(many.as_bytes()).await;
    for _ in 0..50 {
        let reply = client.next().await;
        assert_eq!(reply["error"]["code"], "link_lost", "{reply}");
    }
    let sent = far.asked().len();
    assert!((16..50).contains(&sent), "{sent}");
    let mut hasty = server.lines().await;
    hasty.send(stop()).await;
    drop(hasty);
    far.asked_times(sent + 1).await;
}

/// A client whose commands wait behind one that a robot of our own does not end.
async fn waiting(server: &Running, messages: Vec<Value>) -> Client {
    server.robot.hang(true);
    let mut client = server.lines().await;
    client.send(of("vacuum", of_req(led(0), 0))).await;
    for (req, message) in (1..).zip(messages) {
        client.send(of("pi", of_req(message, req))).await;
    }
    // Is answered when those before it have been read.
    client.send(of_req(json!({ "type": "Ping" }), 99)).await;
    assert_eq!(client.next().await["req"], 99);
    client
}

#[tokio::test]
async fn what_waited_before_a_stop_is_not_sent_after_it() {
    let (server, registry) = start();
    let far = Far::joined(&registry, "pi", &[]);
    let mut driver = waiting(&server, vec![led(1)]).await;
    server.lines().await.ok(stop()).await;
    // Another relay has the robot's place now, and the way to it is the same.
    let after = Far::joined(&registry, "pi", &["new"]);
    server.robot.hang(false);
    assert_eq!(driver.next().await["ok"], true);
    let refused = driver.next().await;
    assert_eq!(refused["error"]["code"], "not_ready", "{refused}");
    assert!(refused["error"]["message"].to_string().contains("before it was sent"), "{refused}");
    assert_eq!((far.asked().len(), after.asked().len()), (1, 0), "the stop alone");
    driver.ok(of("pi", led(3))).await;
    assert_eq!(after.asked().len(), 1);
}

#[tokio::test]
async fn a_disable_overtakes_what_moves_and_nothing_else() {
    let (server, registry) = start();
    let far = Far::joined(&registry, "pi", &[]);
    let messages = vec![led(1), drive(0.1, 0.0), control("drive", "Enable"), led(2)];
    let mut driver = waiting(&server, messages).await;
    server.lines().await.ok(of("pi", control("drive", "Disable"))).await;
    server.robot.hang(false);
    let mut codes = Vec::new();
    for _ in 0..5 {
        codes.push(driver.next().await["error"]["code"].clone());
    }
    let refused = json!("not_ready");
    assert_eq!(codes[..2], [Value::Null, Value::Null]);
    assert_eq!(codes[2..], [refused.clone(), refused, Value::Null]);
    assert_eq!(far.asked().len(), 3);
}

#[tokio::test]
async fn the_end_of_what_plays_waits_for_nothing_and_ends_what_waits() {
    let (server, registry) = start();
    let far = Far::joined(&registry, "pi", &[]);
    let mut driver = waiting(&server, vec![led(1)]).await;
    let end = json!({ "type": "Teach", "op": "stop" });
    driver.send(of("pi", of_req(end.clone(), 2))).await;
    assert_eq!(driver.next().await["req"], 2);
    server.robot.hang(false);
    assert_eq!(driver.next().await["req"], 0);
    assert_eq!(driver.next().await["error"]["code"], "not_ready");
    assert_eq!(far.asked(), [FarCall::Ask(end, driver.name)]);
}

#[tokio::test]
async fn velocities_do_not_wait_for_the_replies_to_those_before() {
    let (server, registry) = start();
    let far = Far::joined(&registry, "pi", &[]);
    far.hang(true);
    let mut driver = server.lines().await;
    let speeds = [0.1, 0.2, 0.3];
    for (req, speed) in (0..).zip(speeds) {
        driver.send(of("pi", of_req(drive(speed, 0.0), req))).await;
    }
    let asked = far.asked_times(3).await;
    let by = &driver.name;
    assert_eq!(asked, speeds.map(|speed| FarCall::Ask(drive(speed, 0.0), by.clone())));
    far.hang(false);
    // Each is answered when its own reply has come.
    let mut answered = Vec::new();
    for _ in speeds {
        answered.push(driver.next().await["req"].as_u64());
    }
    answered.sort_unstable();
    assert_eq!(answered, [Some(0), Some(1), Some(2)]);
}

#[tokio::test]
async fn without_a_connection_nothing_is_sent_that_may_go_on() {
    let (server, registry) = start();
    let far = Far::joined(&registry, "pi", &[]);
    let raw = json!({ "type": "Raw", "command": "0x8D", "payload": "02", "confirm": true });
    for message in [drive(0.1, 0.0), json!({ "type": "Dock" }), raw] {
        let (status, reply) = post(&server, "pi", &message).await;
        assert_eq!((status, &reply["error"]["code"]), (501, &json!("unsupported")), "{message}");
    }
    assert!(far.calls().is_empty());
    assert_eq!(post(&server, "pi", &led(1)).await.0, 200);
    let [FarCall::Ask(_, by), FarCall::Done(_)] = &far.calls()[..] else {
        panic!("{:?}", far.calls())
    };
    assert_eq!(by, "http");
}

#[tokio::test]
async fn it_is_told_who_asks_and_who_has_gone() {
    let (server, registry) = start();
    let far = Far::joined(&registry, "pi", &[]);
    let mut ann = server.lines().await;
    ann.ok(json!({ "type": "Auth", "name": "Ann" })).await;
    let taken = ann.ok(of("pi", json!({ "type": "TakeControl", "name": "Anna" }))).await;
    assert_eq!(taken, json!({ "robot": "pi", "from": "Bob" }));
    ann.ok(of("pi", drive(5.0, 0.0))).await;
    let asks = [
        (json!({ "type": "TakeControl" }), "Anna".to_owned()),
        (drive(5.0, 0.0), "Anna".to_owned()),
    ];
    assert_eq!(far.asked(), asks.map(|(message, by)| FarCall::Ask(message, by)));
    // The controls are not kept here: another may ask, and is refused there.
    server.lines().await.ok(of("pi", led(1))).await;
    // What still waits does not outlive its client.
    let before = far.calls().len();
    drop(waiting(&server, vec![led(3)]).await);
    until("its end", || far.calls().len() > before).await;
    server.robot.hang(false);
    server.lines().await.ok(of("pi", led(4))).await;
    assert!(!far.asked().iter().any(|call| matches!(call, FarCall::Ask(m, _) if *m == led(3))));
    // Nor is a robot of another daemon stopped by the end of this one.
    let before = far.asked().len();
    drop(ann);
    server.end().await;
    assert_eq!(far.asked().len(), before);
}

#[tokio::test]
async fn clients_of_old_get_its_sensors_and_drive_by_its_rules() {
    let server = Server::bind(local()).expect("binds");
    let registry = server.registry();
    let server = run(server, Double::new());
    let mut legacy = server.legacy().await;
    // It is there before any robot.
    let mut client = server.lines().await;
    client.ok(json!({ "type": "Ping" })).await;
    let far = Far::joined(&registry, "pi", &["gd32_status", "version"]);
    assert_eq!(legacy.next_of("sensors/version").await["group_id"], "version");
    far.publish("gd32_status", 5);
    assert_eq!(legacy.next_of("sensors/gd32_status").await["timestamp_us"], 5);
    legacy.send(drive(5.0, 0.0)).await;
    let asked = far.asked_times(1).await;
    assert!(matches!(&asked[0], FarCall::Ask(message, _) if *message == drive(5.0, 0.0)));
}

#[cfg(feature = "maps")]
#[tokio::test]
async fn its_map_comes_from_there_and_downloaded_ones_stay_there() {
    let (server, registry) = start();
    Far::joined(&registry, "pi", &[]);
    let (status, map) = get(server.http(), "/api/v1/robots/pi/map?format=ply", &[]).await;
    assert_eq!((status, map.as_str()), (200, "far ply"));
    let (status, refused) = get(server.http(), "/api/v1/robots/pi/maps/flat", &[]).await;
    assert_eq!(status, 501);
    assert!(refused.contains("its own daemon"), "{refused}");
    let mut client = server.lines().await;
    let save = json!({ "type": "Mapping", "op": "save", "format": "ply", "robot": "pi" });
    assert_eq!(client.ok(save).await["path"], "/api/v1/robots/pi/map?format=ply");
}
