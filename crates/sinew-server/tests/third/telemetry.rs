//! Sensor groups and clouds.

use std::collections::HashSet;

use serde_json::{Value, json};
use sinew_api::frame::{Frame, Kind};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    bench::{Bench, Page, start_simulated, until_ready},
    finder::{ORIGIN, Scan},
};

/// Large enough that some hundred of them fill every buffer on the way.
const POINTS: usize = 10_000;
const CLOUDS: u32 = 200;

/// The number of the scan that a cloud was made of.
fn number(frame: &[u8]) -> u64 {
    Frame::read(frame).expect("is a frame").header.sequence
}

impl Page {
    /// The number of the next cloud, which must be what comes next.
    async fn cloud(&mut self) -> u64 {
        let Message::Binary(frame) = self.next().await else { panic!("wanted a cloud") };
        number(&frame)
    }
}

#[tokio::test]
async fn groups_of_both_drivers_and_clouds_come_to_a_page() {
    let server = start_simulated();
    let mut page = Page::open(&server).await;
    page.subscribe(json!(["sensors/lamp", "sensors/range", "cloud"])).await;
    let mut seen = HashSet::new();
    while seen.len() < 3 {
        match page.next().await {
            Message::Text(text) => {
                let event: Value = serde_json::from_str(&text).expect("is JSON");
                assert_eq!(event["robot"], "beacon", "{event}");
                let values = &event["data"]["values"];
                let wanted = match event["topic"].as_str() {
                    Some("sensors/lamp") => {
                        json!({ "level": { "U8": 0 }, "celsius": { "F32": 20.0 } })
                    }
                    _ => json!({ "nearest_mm": { "U16": 1000 }, "points": { "U32": 4 } }),
                };
                assert_eq!(*values, wanted, "{event}");
                seen.insert(event["topic"].as_str().expect("has one").to_owned());
            }
            Message::Binary(frame) => {
                let frame = Frame::read(&frame).expect("is a frame");
                assert_eq!((frame.kind, frame.header.name), (Kind::Cloud, "beacon"));
                let from_the_middle = |number: u16| i32::from(number) - i32::from(ORIGIN);
                let points: Vec<_> = frame.points().flatten().map(from_the_middle).collect();
                assert_eq!(points, [1000, 0, 0, 0, 2000, 0, -3000, 0, 0, 0, -4000, 0]);
                seen.insert("cloud".into());
            }
            other => panic!("{other:?}"),
        }
    }
    server.end().await;
}

#[tokio::test]
async fn a_cloud_is_for_pages_alone_and_comes_without_sensors() {
    let server = start_simulated();
    let mut lines = server.lines().await;
    until_ready(&mut lines).await;
    let subscribe = json!({ "type": "Subscribe", "topics": ["cloud"] });
    let refusal = lines.fails(subscribe, "unsupported").await;
    assert_eq!(refusal, "cloud is bytes, which come on /ws only");
    let mut page = Page::open(&server).await;
    page.subscribe(json!(["cloud"])).await;
    let (first, second) = (page.cloud().await, page.cloud().await);
    assert!(second > first);
    server.end().await;
}

#[tokio::test]
async fn clients_of_5555_get_the_groups_unasked() {
    let server = start_simulated();
    let mut legacy = server.legacy().await;
    for group in ["lamp", "range"] {
        let reading = legacy.next_of(&format!("sensors/{group}")).await;
        assert_eq!(
            (&reading["type"], &reading["group_id"]),
            (&json!("SensorGroup"), &json!(group))
        );
    }
    server.end().await;
}

#[tokio::test]
async fn a_page_that_is_slow_gets_the_newest_cloud_and_slows_no_other() {
    let (mut bench, server) = Bench::start().await;
    let (mut slow, mut fast) = (Page::narrow(&server).await, Page::open(&server).await);
    slow.subscribe(json!(["cloud"])).await;
    fast.subscribe(json!(["cloud"])).await;
    for number in 1..=CLOUDS {
        bench.finder_sees(&Scan { number, ranges: vec![1000; POINTS] }).await;
        assert_eq!(fast.cloud().await, u64::from(number));
        fast.send(json!({ "type": "Ack", "topic": "cloud", "seq": number })).await;
    }
    // What was on its way when it stood still, and nothing of what came since.
    let old = [slow.cloud().await, slow.cloud().await];
    // Under load the first may be replaced before it is on its way.
    assert!(old[0] < old[1], "{old:?}");
    slow.send(json!({ "type": "Ping", "req": 2 })).await;
    let Message::Text(pong) = slow.next().await else { panic!("wanted no third cloud") };
    assert!(pong.contains("build"), "{pong}");
    // Nothing is said of those between: the newest replaces them.
    slow.send(json!({ "type": "Ack", "topic": "cloud", "seq": old[1] })).await;
    assert_eq!(slow.cloud().await, u64::from(CLOUDS));
    server.end().await;
}
