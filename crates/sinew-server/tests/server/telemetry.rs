use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use socket2::{Domain, SockRef, Socket, Type};
use tokio::net::TcpStream;

use sinew_server::Config;

use crate::support::{Client, DEADLINE, Double, Running, led, local, start, start_with};

fn subscribe(topics: &[&str]) -> Value {
    json!({ "type": "Subscribe", "topics": topics })
}

/// Publishes numbered status packets until dropped.
struct Publisher(Arc<AtomicBool>);

impl Publisher {
    fn start(robot: &Double, hz: u32) -> Self {
        let (going, robot) = (Arc::new(AtomicBool::new(true)), robot.clone());
        let publisher = Publisher(Arc::clone(&going));
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_secs(1) / hz);
            let mut number = 0;
            while going.load(Ordering::Relaxed) {
                ticks.tick().await;
                robot.publish_status(number);
                number += 1;
            }
        });
        publisher
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A connection whose client has little room for what it does not read.
async fn narrow(server: &Running) -> Client {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("opens");
    socket.set_recv_buffer_size(4096).expect("is set");
    socket.connect(&server.at.lines.expect("listens").into()).expect("connects");
    socket.set_nonblocking(true).expect("is set");
    Client::over(TcpStream::from_std(socket.into()).expect("is a socket"))
}

#[tokio::test]
async fn every_status_reaches_every_subscriber_in_order() {
    let server = start();
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = server.lines().await;
        client.ok(subscribe(&["sensors/gd32_status"])).await;
        clients.push(client);
    }
    for number in 0..300 {
        server.robot.publish_status(number);
    }
    for client in &mut clients {
        for number in 0..300 {
            let message = client.next().await;
            assert_eq!(message["topic"], "sensors/gd32_status");
            assert_eq!((&message["type"], &message["robot"]), (&json!("Event"), &json!("vacuum")));
            let data = &message["data"];
            assert_eq!(
                (&data["type"], &data["timestamp_us"]),
                (&json!("SensorGroup"), &json!(number))
            );
            assert_eq!(data["values"].get("raw_packet"), None);
        }
    }
}

#[tokio::test]
async fn a_change_that_was_not_read_is_undone_for_all_to_see() {
    let server = start();
    let mut client = server.lines().await;
    let mut await_changes = async |count: u64| {
        client.ok(subscribe(&["state"])).await;
        while client.event("state").await["data"]["state"]["changes"] != count {}
        server.robot.change();
        while client.event("state").await["data"]["state"]["changes"] != count + 1 {}
        client.ok(subscribe(&[])).await;
    };
    await_changes(0).await;
    // It is as it was published last but one when it is read again, and then as it was published last.
    server.robot.change_back();
    await_changes(0).await;
}

#[tokio::test]
async fn state_comes_at_once_then_on_change_and_not_too_often() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(subscribe(&["state"])).await;
    let first = client.event("state").await;
    assert_eq!(first["data"]["state"]["changes"], 0);
    assert_eq!(first["data"]["last_seen_ms"], 7);

    let begin = Instant::now();
    let mut last = 0;
    while begin.elapsed() < Duration::from_millis(500) {
        last = server.robot.change();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut count = 0;
    loop {
        let state = client.event("state").await;
        count += 1;
        if state["data"]["state"]["changes"] == last {
            break;
        }
    }
    let most = 2 + begin.elapsed().as_millis() / 100;
    assert!(count <= most, "{count} in {:?}", begin.elapsed());

    let mut other = server.lines().await;
    other.ok(led(1)).await;
    let holder = loop {
        let state = client.event("state").await;
        if !state["data"]["holder"].is_null() {
            break state["data"]["holder"].clone();
        }
    };
    assert_eq!(holder, other.name.as_str(), "who holds the controls is part of it");
}

#[tokio::test]
async fn events_come_whole_whatever_the_rate() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(json!({ "type": "Subscribe", "topics": ["events"], "max_hz": 1 })).await;
    for number in 0..50 {
        server.robot.publish_status(number);
        server.robot.publish_event(json!({ "event": "reflex", "number": number }));
    }
    for number in 0..50 {
        let message = client.next().await;
        assert_eq!(message["topic"], "events");
        assert_eq!(message["data"], json!({ "event": "reflex", "number": number }));
    }
}

#[tokio::test]
async fn max_hz_thins_a_topic() {
    let server = start();
    let (mut slow, mut fast) = (server.lines().await, server.lines().await);
    let topics = ["sensors/gd32_status"];
    slow.ok(json!({ "type": "Subscribe", "topics": topics, "max_hz": 20 })).await;
    fast.ok(json!({ "type": "Subscribe", "topics": topics })).await;
    let begin = Instant::now();
    let publisher = Publisher::start(&server.robot, 500);
    let mut numbers = Vec::new();
    for _ in 0..11 {
        let number = slow.event("sensors/gd32_status").await["data"]["timestamp_us"].as_u64();
        numbers.push(number.expect("is a number"));
    }
    // Ten periods of 50 ms, less one for where the first began.
    assert!(begin.elapsed() >= Duration::from_millis(450), "{:?}", begin.elapsed());
    assert!(numbers.is_sorted(), "{numbers:?}");
    for number in 0..100 {
        assert_eq!(fast.event("sensors/gd32_status").await["data"]["timestamp_us"], number);
    }
    drop(publisher);
}

#[tokio::test]
async fn subscribing_again_adds_and_no_topics_end_it() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(subscribe(&["events"])).await;
    let data = client.ok(subscribe(&["sensors/gd32_status", "sensors/gd32_version"])).await;
    assert_eq!(data[0], json!({ "robot": "vacuum", "topic": "sensors/gd32_status" }));
    server.robot.publish_event(json!({ "event": "one" }));
    server.robot.publish_status(1);
    client.event("sensors/gd32_version").await;
    let mut topics = [client.next().await["topic"].clone(), client.next().await["topic"].clone()];
    topics.sort_by_key(Value::to_string);
    assert_eq!(topics, ["events", "sensors/gd32_status"]);
    client.ok(subscribe(&[])).await;
    assert_eq!(server.figure("sinew_subscribers").await, 0.0);
    server.robot.publish_status(2);
    client.send(json!({ "type": "Robots", "req": "next" })).await;
    assert_eq!(client.next().await["req"], "next");
}

#[tokio::test]
async fn a_subscription_without_a_robot_is_for_all() {
    let robots = [("one", Double::new()), ("two", Double::new())];
    let server = start_with(local(), &robots);
    let mut client = server.lines().await;
    client.ok(subscribe(&["state"])).await;
    let names = [
        client.event("state").await["robot"].clone(),
        client.event("state").await["robot"].clone(),
    ];
    assert_eq!(names, ["one", "two"]);
}

#[tokio::test]
async fn a_slow_reader_loses_the_oldest_is_told_and_slows_nobody() {
    let server = start();
    let mut slow = narrow(&server).await;
    slow.ok(subscribe(&["sensors/gd32_status"])).await;
    let mut quick = server.lines().await;
    quick.ok(subscribe(&["sensors/gd32_status"])).await;
    // Far more than the kernel and the ring hold.
    const COUNT: u64 = 4000;
    let robot = server.robot.clone();
    for number in 0..COUNT {
        robot.publish_status(number);
        let message = quick.event("sensors/gd32_status").await;
        assert_eq!(message["data"]["timestamp_us"], number, "the quick one misses nothing");
    }
    let (mut expected, mut lost) = (0, 0);
    while expected < COUNT {
        let message = slow.next().await;
        if message["type"] == "Lost" {
            let count = message["count"].as_u64().expect("is a number");
            lost += count;
            expected += count;
        } else {
            assert_eq!(message["data"]["timestamp_us"], expected, "nothing is lost untold");
            expected += 1;
        }
    }
    assert!(lost > 0);
    assert_eq!(server.figure("sinew_messages_lost_total").await, lost as f64);
    slow.ok(json!({ "type": "Robots" })).await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_dropped_and_its_controls_freed() {
    let config = Config { write_timeout: Duration::from_millis(500), ..local() };
    let server = start_with(config, &[("vacuum", Double::new())]);
    let mut stuck = narrow(&server).await;
    stuck.ok(led(1)).await;
    stuck.ok(subscribe(&["sensors/gd32_status"])).await;
    let publisher = Publisher::start(&server.robot, 1000);
    let release = crate::support::Call::Release(stuck.name.clone());
    server.robot.called(release).await;
    drop(publisher);
    server.lines().await.ok(led(2)).await;
}

#[tokio::test]
async fn answers_are_never_dropped_for_telemetry() {
    let server = start();
    let mut slow = narrow(&server).await;
    slow.ok(subscribe(&["sensors/gd32_status"])).await;
    let publisher = Publisher::start(&server.robot, 1000);
    for req in 0..200 {
        slow.send(json!({ "type": "Robots", "req": req })).await;
    }
    let mut wanted = 0;
    while wanted < 200 {
        let message = slow.next().await;
        if message["type"] == "Reply" {
            assert_eq!(message["req"], wanted);
            wanted += 1;
        }
    }
    drop(publisher);
}

#[tokio::test]
async fn a_reader_that_closed_its_own_direction_goes_on_reading() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(led(1)).await;
    client.ok(subscribe(&["sensors/gd32_status"])).await;
    SockRef::from(client.writer.as_ref()).shutdown(std::net::Shutdown::Write).expect("is open");
    server.robot.called(crate::support::Call::Release(client.name.clone())).await;
    let publisher = Publisher::start(&server.robot, 100);
    client.event("sensors/gd32_status").await;
    drop(client);
    let begin = Instant::now();
    while server.figure("sinew_clients{transport=\"lines\"}").await > 0.0 {
        assert!(begin.elapsed() < DEADLINE, "it is noticed that nobody reads");
    }
    drop(publisher);
}
