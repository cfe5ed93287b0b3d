//! A map that is streamed: all of it at first, then what changes, at each client's pace.

use std::{
    collections::BTreeSet,
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use sinew_api::frame::{Frame, Kind, LONGEST};
use sinew_robot::mapping::Request;
use tokio_tungstenite::tungstenite::Message;

use crate::{
    page::{Page, cloud, cloud_of},
    support::{Call, Double, Running, local, start_with, until},
    surroundings::Known,
};

/// Changes of five seconds.
const CHANGES: u64 = 50;
/// The side of a floor that takes more frames than may be on their way, in cells.
const FLOOR: u16 = 320;
/// Points of a cloud that no socket holds unread.
const HUGE: usize = 1_500_000;

const TOPICS: [&str; 3] = ["map", "cloud", "events"];

fn start() -> Running {
    let server = start_with(local(), &[("g1", Double::mapper())]);
    server.robot.surroundings().see_floor(FLOOR);
    server
}

fn subscribe(topics: &[&str]) -> Value {
    json!({ "type": "Subscribe", "topics": topics })
}

/// A tenth of a second goes by: the map changes, and a cloud comes.
fn go_on(robot: &Double, number: u64) {
    robot.surroundings().go_on();
    robot.map_changed();
    robot.publish_frame(cloud(number));
}

/// A page that keeps what it reads.
struct Reader {
    page: Page,
    known: Known,
    /// Numbers of the frames that it has not acknowledged.
    maps: Vec<u64>,
    clouds: Vec<u64>,
    /// Frames of each that came.
    count: [usize; 2],
    /// Of the last cloud.
    newest: u64,
    /// Frames of the map, where they are kept.
    kept: Option<Vec<u8>>,
}

impl Reader {
    async fn new(mut page: Page, topics: &[&str]) -> Self {
        page.ok(subscribe(topics)).await;
        let (maps, clouds) = (Vec::new(), Vec::new());
        Reader { page, known: Known::default(), maps, clouds, count: [0; 2], newest: 0, kept: None }
    }

    /// The next message if it is text. At no time are there more than two frames of a topic that it
    /// has not acknowledged.
    async fn read(&mut self) -> Option<String> {
        let bytes = match self.page.next().await {
            Message::Binary(bytes) => bytes,
            other => return Some(other.into_text().expect("is text").to_string()),
        };
        let frame = Frame::read(&bytes).expect("is a frame");
        let sequence = frame.header.sequence;
        if frame.kind == Kind::Map {
            assert!(bytes.len() <= LONGEST);
            self.known.take(&frame);
            if let Some(kept) = &mut self.kept {
                kept.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                kept.extend_from_slice(&bytes);
            }
            self.maps.push(sequence);
            self.count[0] += 1;
        } else {
            self.newest = sequence;
            self.clouds.push(sequence);
            self.count[1] += 1;
        }
        assert!(self.maps.len() <= 2 && self.clouds.len() <= 2, "two are on their way");
        None
    }

    async fn acknowledge(&mut self) {
        for (topic, unacknowledged) in [("map", &mut self.maps), ("cloud", &mut self.clouds)] {
            if let Some(seq) = unacknowledged.pop() {
                unacknowledged.clear();
                self.page.send(json!({ "type": "Ack", "topic": topic, "seq": seq })).await;
            }
        }
    }

    /// Reads and acknowledges until the last cloud is this one.
    async fn follow(&mut self, newest: u64) {
        loop {
            self.acknowledge().await;
            if self.newest == newest {
                return;
            }
            self.read().await;
        }
    }

    /// Reads and acknowledges until its map is the server's, and then all that is on its way.
    async fn catch_up(&mut self, robot: &Double) {
        let cells = robot.surroundings().cells();
        self.acknowledge().await;
        while !self.known.is(&cells) {
            self.read().await;
            self.acknowledge().await;
        }
        for _ in 0..2 {
            self.read_on().await;
            self.acknowledge().await;
        }
        assert!(self.known.is(&cells));
    }

    /// Reads until a question is answered.
    async fn read_on(&mut self) {
        self.page.send(json!({ "type": "Ping", "req": "read on" })).await;
        while self.read().await.is_none_or(|text| !text.contains("read on")) {}
    }
}

#[tokio::test]
async fn a_client_that_joins_gets_all_of_the_map_and_then_what_changes() {
    let server = start();
    let mut reader = Reader::new(Page::open(&server).await, &["map"]).await;
    reader.catch_up(&server.robot).await;
    let snapshot = reader.count[0];
    assert!(snapshot >= 4, "{snapshot}");
    for number in 1..=CHANGES {
        server.robot.surroundings().go_on();
        server.robot.map_changed();
        if number.is_multiple_of(7) {
            reader.catch_up(&server.robot).await;
        }
    }
    reader.catch_up(&server.robot).await;
    assert!(reader.known.emptied > 0, "what moved left blocks empty");
    // Another one, that comes later, gets the same.
    let mut late = Reader::new(Page::open(&server).await, &["map"]).await;
    late.catch_up(&server.robot).await;
    assert_eq!(late.known.cells(), reader.known.cells());
}

#[tokio::test]
async fn a_page_that_reads_nothing_for_five_seconds_gets_the_newest_and_nothing_piles_up() {
    // Its frames lie in buffers of the system, or do not even fit there.
    for stuck in [false, true] {
        let server = start();
        let mut blocked = Reader::new(Page::open_narrow(&server).await, &TOPICS).await;
        let mut keen = Reader::new(Page::open(&server).await, &TOPICS).await;
        if stuck {
            server.robot.publish_frame(cloud_of(1_000_000, HUGE));
            keen.follow(1_000_000).await;
        }
        for number in 1..=CHANGES {
            go_on(&server.robot, number);
            keen.follow(number).await;
        }
        keen.catch_up(&server.robot).await;
        assert!(keen.count[1] >= CHANGES as usize, "it got every cloud");

        // What was on its way, and nothing beyond it without an acknowledgement.
        while blocked.maps.len() < 2 || blocked.clouds.is_empty() {
            blocked.read().await;
        }
        for _ in 0..10 {
            blocked.read_on().await;
        }
        blocked.follow(CHANGES).await;
        blocked.catch_up(&server.robot).await;
        let [maps, clouds] = blocked.count;
        assert!(clouds <= 3, "{clouds}: two that were on their way, and the newest");
        // As many as one that comes now, and what changed before it had all of them.
        let mut late = Reader::new(Page::open(&server).await, &["map"]).await;
        late.catch_up(&server.robot).await;
        assert!(maps <= late.count[0] + 2, "{maps}, {}", late.count[0]);
        assert_eq!(blocked.known.cells(), keen.known.cells());
    }
}

#[tokio::test]
async fn a_page_that_acknowledges_nothing_for_five_seconds_gets_two_frames_and_then_the_newest() {
    let server = start();
    let mut silent = Reader::new(Page::open(&server).await, &TOPICS).await;
    let mut keen = Reader::new(Page::open(&server).await, &["map", "cloud"]).await;
    for number in 1..=CHANGES {
        go_on(&server.robot, number);
        keen.follow(number).await;
        while silent.clouds.len() < 2 && silent.newest < number {
            silent.read().await;
        }
    }
    while silent.maps.len() < 2 {
        silent.read().await;
    }
    assert_eq!(silent.count, [2, 2]);
    silent.page.is_silent(&server.robot).await;
    // Numbers that it was not sent, and old ones, bring nothing.
    for seq in [0, u64::MAX, silent.maps[1] + 1_000_000] {
        silent.page.ok(json!({ "type": "Ack", "topic": "map", "seq": seq })).await;
    }
    silent.page.is_silent(&server.robot).await;
    silent.follow(CHANGES).await;
    assert_eq!(silent.count[1], 3, "of the clouds it missed it gets the newest");
    silent.catch_up(&server.robot).await;
    keen.catch_up(&server.robot).await;
    assert_eq!(silent.known.cells(), keen.known.cells());
}

#[tokio::test]
async fn a_map_that_is_cleared_is_forgotten_by_its_readers() {
    let server = start();
    let mut reader = Reader::new(Page::open(&server).await, &["map"]).await;
    reader.catch_up(&server.robot).await;
    server.robot.surroundings().clear();
    server.robot.map_changed();
    // One frame without points, and no more of them.
    let before = reader.count[0];
    reader.catch_up(&server.robot).await;
    assert_eq!((reader.known.cells().len(), reader.count[0]), (0, before + 1));
    for _ in 0..3 {
        server.robot.surroundings().go_on();
        server.robot.map_changed();
    }
    reader.catch_up(&server.robot).await;
    assert!(!reader.known.cells().is_empty());
}

#[tokio::test]
async fn a_new_subscription_begins_with_all_of_the_map() {
    let server = start();
    let mut reader = Reader::new(Page::open(&server).await, &["map"]).await;
    reader.catch_up(&server.robot).await;
    let Reader { mut page, count, .. } = reader;
    // The same again is no new subscription.
    page.ok(subscribe(&["map"])).await;
    page.ok(json!({ "type": "Ping" })).await;
    page.ok(subscribe(&[])).await;
    let mut again = Reader::new(page, &["map"]).await;
    again.catch_up(&server.robot).await;
    assert_eq!(again.count, count);
}

#[tokio::test]
async fn a_long_map_keeps_neither_its_clients_other_topics_nor_other_clients_waiting() {
    let server = start();
    server.robot.surroundings().see_floor(1000);
    let mut reader = Reader::new(Page::open(&server).await, &["map", "events"]).await;
    let mut other = server.lines().await;
    let mut waited = Vec::new();
    while waited.len() < 5 {
        server.robot.publish_event(json!({ "event": "mark" }));
        let before = reader.count[0];
        while reader.read().await.is_none() {
            reader.acknowledge().await;
        }
        waited.push(reader.count[0] - before);
        other.ok(json!({ "type": "Ping" })).await;
    }
    assert!(waited.iter().all(|frames| *frames <= 3), "{waited:?}");
    assert!(reader.count[0] < 33, "the map is still on its way");
}

#[tokio::test]
async fn a_page_is_worked_for_while_a_long_frame_is_on_its_way_to_it() {
    let server = start();
    let mut blocked = Reader::new(Page::open_narrow(&server).await, &["cloud"]).await;
    server.robot.publish_frame(cloud_of(1, HUGE));
    let asked = |call: &Call| matches!(call, Call::Map(Request::Info, _));
    // The first of them may come before the frame.
    for number in 1..=50 {
        blocked.page.send(json!({ "type": "Mapping", "op": "info", "req": number })).await;
        let done = || server.robot.calls().iter().filter(|call| asked(call)).count() == number;
        until("a command of a page that does not read", done).await;
    }
    // Its answers come when it reads.
    while blocked.read().await.is_none_or(|text| !text.contains(r#""req":50"#)) {}
}

/// What the documentation's client has, and prints, when it has taken these frames; none without
/// Python.
fn documented(frames: &[u8]) -> Option<BTreeSet<[u16; 3]>> {
    let page = include_str!("../../../../docs/api.md");
    let (_, rest) = page.split_once("<!-- rule -->\n```python\n").expect("is there");
    let (rule, _) = rest.split_once("```").expect("ends");
    let reader = "\nimport sys\nmap, frames = Map(), sys.stdin.buffer.read()\nwhile frames:\n    \
        end = 4 + struct.unpack_from('<I', frames)[0]\n    map.take(frames[4:end])\n    \
        frames = frames[end:]\nprint([cell for block in map.blocks.values() for cell in block])\n";
    let mut python = Command::new("python3")
        .args(["-c", &format!("{rule}{reader}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    python.stdin.take().expect("is piped").write_all(frames).expect("is read");
    let ended = python.wait_with_output().expect("ends");
    assert!(ended.status.success());
    let text = String::from_utf8(ended.stdout).expect("is text").replace(['(', ')'], "");
    let numbers = text.trim().trim_matches(['[', ']']).split(", ");
    let numbers: Vec<u16> = numbers.map(|number| number.parse().expect("is a number")).collect();
    Some(numbers.as_chunks().0.iter().copied().collect())
}

#[tokio::test]
async fn the_rule_of_the_documentation_gives_the_servers_map() {
    let server = start();
    let mut reader = Reader::new(Page::open(&server).await, &["map"]).await;
    reader.kept = Some(Vec::new());
    reader.catch_up(&server.robot).await;
    server.robot.surroundings().clear();
    for _ in 0..CHANGES {
        server.robot.surroundings().go_on();
        server.robot.map_changed();
        reader.catch_up(&server.robot).await;
    }
    assert!(reader.known.emptied > 0, "what moved left blocks empty");
    let Some(cells) = documented(&reader.kept.expect("is kept")) else { return };
    assert_eq!(cells, server.robot.surroundings().cells());
}
