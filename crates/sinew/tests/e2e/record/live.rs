//! Foxglove's WebSocket, by a client that is written to its public protocol.

use std::{
    collections::BTreeMap,
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client::IntoClientRequest, client::client};

use super::Rig;
use crate::{
    clients::Lines,
    support::{CONTROL_TOKEN, DEADLINE, Dir, READ_TOKEN, run},
};

/// A client of Foxglove's protocol.
struct Foxglove {
    socket: WebSocket<TcpStream>,
    info: Value,
    /// Channels by topic.
    channels: BTreeMap<String, Value>,
}

impl Foxglove {
    fn connect(address: &str, path: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
        let protocol = "foxglove.sdk.v1".parse().unwrap();
        request.headers_mut().insert("Sec-WebSocket-Protocol", protocol);
        let (socket, answer) = client(request, stream).map_err(|error| error.to_string())?;
        assert_eq!(answer.headers()["sec-websocket-protocol"], "foxglove.sdk.v1");
        let mut foxglove = Foxglove { socket, info: Value::Null, channels: BTreeMap::new() };
        while foxglove.info.is_null() {
            foxglove.next();
        }
        Ok(foxglove)
    }

    fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).unwrap();
    }

    /// The next that came: a subscription, its time and its bytes, if it is a message of a channel.
    fn next(&mut self) -> Option<(u32, u64, Vec<u8>)> {
        match self.socket.read().unwrap() {
            Message::Text(text) => {
                let message: Value = serde_json::from_str(&text).unwrap();
                match message["op"].as_str().unwrap() {
                    "serverInfo" => self.info = message,
                    "advertise" => {
                        for channel in message["channels"].as_array().unwrap() {
                            let topic = channel["topic"].as_str().unwrap().to_owned();
                            self.channels.insert(topic, channel.clone());
                        }
                    }
                    _ => {}
                }
                None
            }
            Message::Binary(bytes) if bytes.first() == Some(&1) => {
                let id = u32::from_le_bytes(*bytes[1..].first_chunk().unwrap());
                let time = u64::from_le_bytes(*bytes[5..].first_chunk().unwrap());
                Some((id, time, bytes[13..].to_vec()))
            }
            _ => None,
        }
    }

    fn subscribe(&mut self, id: u32, topic: &str) -> Value {
        let begin = Instant::now();
        while !self.channels.contains_key(topic) {
            assert!(begin.elapsed() < DEADLINE, "no {topic} in {:?}", self.channels.keys());
            self.next();
        }
        let channel = self.channels[topic].clone();
        let subscription = json!({ "id": id, "channelId": channel["id"] });
        self.send(&json!({ "op": "subscribe", "subscriptions": [subscription] }));
        channel
    }

    fn message(&mut self, wanted: u32) -> (u64, Vec<u8>) {
        let begin = Instant::now();
        loop {
            assert!(begin.elapsed() < DEADLINE, "nothing of {wanted}");
            if let Some((id, time, bytes)) = self.next()
                && id == wanted
            {
                return (time, bytes);
            }
        }
    }
}

fn address(rig: &Rig) -> String {
    rig.ready["foxglove"].as_str().unwrap().to_owned()
}

#[test]
fn a_client_of_foxgloves_protocol_sees_topics_live_and_can_do_nothing_else() {
    let rig = Rig::start(&["--foxglove", "127.0.0.1:0"]);
    let mut foxglove = Foxglove::connect(&address(&rig), "/").unwrap();
    assert_eq!(
        (&foxglove.info["name"], &foxglove.info["capabilities"]),
        (&json!("sinew"), &json!([]))
    );
    let state = foxglove.subscribe(1, "/vacuum/state");
    assert_eq!(
        (&state["encoding"], &state["schemaEncoding"]),
        (&json!("json"), &json!("jsonschema"))
    );
    let (_, bytes) = foxglove.message(1);
    let state: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(state["name"], "vacuum");
    let _client = rig.map();
    let cloud = foxglove.subscribe(2, "/g1/cloud");
    assert_eq!(
        (&cloud["schemaName"], &cloud["encoding"]),
        (&json!("foxglove.PointCloud"), &json!("protobuf"))
    );
    assert!(foxglove.message(2).1.len() > 1000);
    let scan = foxglove.subscribe(3, "/vacuum/scan");
    assert_eq!(scan["schemaName"], "foxglove.LaserScan");
    assert!(foxglove.message(3).1.len() > 360 * 8);
    foxglove.subscribe(4, "/vacuum/map");
    foxglove.message(4);
    // What it may not: publish, set parameters, call services. The connection stays, and nothing moves.
    foxglove.send(&json!({ "op": "advertise", "channels": [
        { "id": 9, "topic": "/cmd", "encoding": "json", "schemaName": "x" }] }));
    foxglove.send(&json!({ "op": "setParameters", "parameters": [{ "name": "a", "value": 1 }] }));
    foxglove.message(1);
    // It is a client as others are, and holds nothing.
    let mut lines = Lines::connect(rig.server());
    let robots = lines.ok(json!({ "type": "Robots" }));
    assert!(!robots.to_string().contains("\"holder\":\"foxglove\""), "{robots}");
}

#[test]
fn clients_that_do_not_read_slow_neither_the_daemon_nor_another_client() {
    let rig = Rig::start(&["--foxglove", "127.0.0.1:0"]);
    let _client = rig.map();
    let mut deaf = Vec::new();
    for _ in 0..4 {
        let mut foxglove = Foxglove::connect(&address(&rig), "/").unwrap();
        for (id, topic) in (1..).zip(["/vacuum/state", "/g1/cloud", "/vacuum/sensors/gd32_status"])
        {
            foxglove.subscribe(id, topic);
        }
        deaf.push(foxglove);
    }
    let mut foxglove = Foxglove::connect(&address(&rig), "/").unwrap();
    foxglove.subscribe(1, "/vacuum/sensors/gd32_status");
    foxglove.message(1);
    let before = rig.daemon.resident();
    let (begin, mut count) = (Instant::now(), 0);
    let mut slowest = Duration::ZERO;
    let mut lines = Lines::connect(rig.server());
    while begin.elapsed() < Duration::from_secs(3) {
        foxglove.message(1);
        count += 1;
        if count % 20 == 0 {
            let asked = Instant::now();
            lines.ok(json!({ "type": "Ping" }));
            slowest = slowest.max(asked.elapsed());
        }
    }
    // The simulated controller tells it 110 times a second.
    assert!(count > 150, "{count}");
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
    let grown = rig.daemon.resident().saturating_sub(before);
    assert!(grown < 30 << 20, "{grown}");
    drop(deaf);
}

#[test]
fn a_daemon_with_tokens_asks_for_one_and_reading_is_enough() {
    let dir = Dir::new();
    let tokens = dir.tokens();
    let mut command = crate::support::sinew(&dir);
    command.args(["serve", "--json", "--vacuum", "sim:", "--tcp", "off", "--http", "off"]);
    command.args(["--lines", "127.0.0.1:0", "--foxglove", "127.0.0.1:0", "--token-file", &tokens]);
    let daemon = crate::support::Process::spawn(&mut command);
    let ready = daemon.ready();
    let address = ready["foxglove"].as_str().unwrap();
    let wrong = Foxglove::connect(address, "/").map(|_| ()).unwrap_err();
    assert!(wrong.contains("401"), "{wrong}");
    for token in [READ_TOKEN, CONTROL_TOKEN] {
        let mut foxglove = Foxglove::connect(address, &format!("/?token={token}")).unwrap();
        foxglove.subscribe(1, "/vacuum/state");
        foxglove.message(1);
    }
    assert!(!daemon.errors().contains(READ_TOKEN), "a secret is not logged");
}

#[test]
fn further_than_loopback_it_listens_only_with_tokens() {
    let dir = Dir::new();
    let refused = run(
        &dir,
        &[
            "serve",
            "--vacuum",
            "sim:",
            "--tcp",
            "off",
            "--http",
            "off",
            "--lines",
            "off",
            "--foxglove",
            "0.0.0.0:0",
        ],
    );
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("needs a token file"), "{refused:?}");
}
