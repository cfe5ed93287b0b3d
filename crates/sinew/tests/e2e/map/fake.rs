//! A daemon of which only what `sinew map` needs is there, and that may say anything.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};
use sinew_api::frame::{self, Header};
use tungstenite::{Message, WebSocket};

use crate::support::{Dir, Ended, Process};

/// What it does with a page or program that opened a WebSocket.
type Script = dyn Fn(&mut WebSocket<TcpStream>) + Send + Sync;
/// What it answers to a request for a file.
type Answer = dyn Fn(&str) -> Vec<u8> + Send + Sync;

pub(super) struct Fake {
    pub(super) dir: Dir,
    lines: SocketAddr,
    /// The heads of requests for files.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    /// One that answers requests for files.
    pub(super) fn with_files(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start(Arc::new(answer), Arc::new(|_| {}))
    }

    /// One that does this with each WebSocket, and then answers no more, but does not close it.
    pub(super) fn with_frames(
        script: impl Fn(&mut WebSocket<TcpStream>) + Send + Sync + 'static,
    ) -> Self {
        Self::start(Arc::new(|_| Vec::new()), Arc::new(script))
    }

    fn start(answer: Arc<Answer>, script: Arc<Script>) -> Self {
        let listen = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (lines, http) = (listen(), listen());
        let port = http.local_addr().unwrap().port();
        let at = lines.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        thread::spawn(move || {
            for stream in lines.incoming().map_while(Result::ok) {
                thread::spawn(move || talk(stream, port));
            }
        });
        let kept = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in http.incoming().map_while(Result::ok) {
                let (answer, script, kept) =
                    (Arc::clone(&answer), Arc::clone(&script), Arc::clone(&kept));
                thread::spawn(move || serve(stream, &*answer, &*script, &kept));
            }
        });
        Fake { dir: Dir::new(), lines: at, asked }
    }

    pub(super) fn server(&self) -> String {
        self.lines.to_string()
    }

    pub(super) fn map(&self, args: &[&str]) -> Ended {
        let server = self.server();
        let args = [&["map"], args, &["--server", &server]].concat();
        Process::sinew(&self.dir, &args).wait()
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// An answer that holds a file.
pub(super) fn file(bytes: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", bytes.len());
    [head.as_bytes(), bytes].concat()
}

/// A frame of a map, with the cells of a wall.
pub(super) fn wall(header: &Header<'_>) -> Vec<u8> {
    let points: Vec<_> = (0..100).map(|x| [x, 40, 1, 0]).collect();
    frame::map(&Header { unit: 0.05, is_flat: true, ..header.clone() }, &points)
}

/// Reads until the client has subscribed.
pub(super) fn await_subscription(socket: &mut WebSocket<TcpStream>) {
    while let Ok(message) = socket.read() {
        if message.to_text().is_ok_and(|text| text.contains("Subscribe")) {
            return;
        }
    }
}

pub(super) fn send(socket: &mut WebSocket<TcpStream>, frame: Vec<u8>) {
    // One that has had enough goes.
    let _ = socket.send(Message::binary(frame));
}

/// Answers a line at a time.
fn talk(stream: TcpStream, http: u16) {
    let mut writer = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap();
        let data = match message["type"].as_str().unwrap() {
            "Ping" => json!({ "build": "0", "time_ms": 0, "http": http }),
            "Robots" => json!({ "robots": [{
                "name": "a robot", "kind": "fake", "link": { "state": "ready" },
                "capabilities": ["mapping"], "sensors": [], "last_seen_ms": 1, "fresh": true,
                "state": {}, "holder": null, "stopped_by": null,
            }], "warnings": [] }),
            _ => Value::Null,
        };
        let reply = json!({ "type": "Reply", "req": message["req"], "ok": true, "data": data });
        if writeln!(writer, "{reply}").is_err() {
            return;
        }
    }
}

fn serve(mut stream: TcpStream, answer: &Answer, script: &Script, asked: &Mutex<Vec<String>>) {
    let mut first = [0; 8];
    while stream.peek(&mut first).is_ok_and(|count| (1..8).contains(&count)) {}
    if first.starts_with(b"GET /ws") {
        if let Ok(mut socket) = tungstenite::accept(stream) {
            script(&mut socket);
            // It is open for as long as the client wants.
            let _ = socket.get_mut().read_to_end(&mut Vec::new());
        }
        return;
    }
    let mut head = String::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|count| count > 0) {}
    asked.lock().unwrap().push(head.clone());
    let _ = stream.write_all(&answer(&head));
}
