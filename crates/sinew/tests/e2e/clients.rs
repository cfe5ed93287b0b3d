//! Clients of the daemon's ports.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::mpsc::{Receiver, channel},
    thread,
};

use serde_json::{Value, json};

use crate::support::DEADLINE;

/// A client that speaks JSON lines.
pub(crate) struct Lines {
    reader: BufReader<TcpStream>,
    pub(crate) socket: TcpStream,
    asked: u64,
}

impl Lines {
    pub(crate) fn connect(address: &str) -> Self {
        let socket = connect(address);
        Lines { reader: BufReader::new(socket.try_clone().unwrap()), socket, asked: 0 }
    }

    /// What the daemon calls it.
    pub(crate) fn name(&self) -> String {
        format!("lines {}", self.socket.local_addr().unwrap())
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.send_bytes(format!("{text}\n").as_bytes());
    }

    /// The next message; none at the end.
    pub(crate) fn try_next(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) => panic!("no message: {error}"),
        }
    }

    pub(crate) fn next(&mut self) -> Value {
        self.try_next().expect("the daemon closed the connection")
    }

    /// Sends a command and gives its answer; telemetry in between is skipped.
    pub(crate) fn ask(&mut self, mut message: Value) -> Value {
        self.asked += 1;
        message["req"] = self.asked.into();
        self.send(&message.to_string());
        loop {
            let answer = self.next();
            if answer["req"] == self.asked {
                return answer;
            }
        }
    }

    #[track_caller]
    pub(crate) fn ok(&mut self, message: Value) -> Value {
        let answer = self.ask(message);
        assert_eq!(answer["ok"], true, "{answer}");
        answer["data"].clone()
    }

    /// Sends a command that must fail; gives the message.
    #[track_caller]
    pub(crate) fn fails(&mut self, message: Value, code: &str) -> String {
        let answer = self.ask(message);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        answer["error"]["message"].as_str().unwrap().to_owned()
    }
}

/// A client that speaks length-prefixed JSON. A thread of its own reads, so that telemetry does
/// not pile up.
pub(crate) struct Prefixed {
    pub(crate) socket: TcpStream,
    messages: Receiver<Value>,
}

impl Prefixed {
    pub(crate) fn connect(address: &str) -> Self {
        let socket = connect(address);
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut length = [0; 4];
            while reader.read_exact(&mut length).is_ok() {
                let mut text = vec![0; u32::from_be_bytes(length) as usize];
                if reader.read_exact(&mut text).is_err() {
                    return;
                }
                let message = serde_json::from_slice(&text).unwrap();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Prefixed { socket, messages }
    }

    pub(crate) fn send(&mut self, text: &[u8]) {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        self.socket.write_all(&[&length, text].concat()).unwrap();
    }

    /// The next message of a topic; none when the connection ends before.
    pub(crate) fn try_next_of(&mut self, topic: &str) -> Option<Value> {
        loop {
            let message = self.messages.recv_timeout(DEADLINE).ok()?;
            if message["topic"] == topic {
                return Some(message["payload"].clone());
            }
        }
    }

    pub(crate) fn next_of(&mut self, topic: &str) -> Value {
        self.try_next_of(topic).unwrap_or_else(|| panic!("no {topic}"))
    }
}

impl Drop for Prefixed {
    fn drop(&mut self) {
        // The reader's clone would keep the connection open.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

fn connect(address: &str) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket
}

pub(crate) fn control(id: &str, verb: &str) -> Value {
    json!({ "type": "ComponentControl", "id": id, "action": { "type": verb } })
}

pub(crate) fn configure(id: &str, config: Value) -> Value {
    let action = json!({ "type": "Configure", "config": config });
    json!({ "type": "ComponentControl", "id": id, "action": action })
}

pub(crate) fn led(state: u8) -> Value {
    configure("led", json!({ "state": { "U8": state } }))
}

pub(crate) fn drive(linear: f64) -> Value {
    configure("drive", json!({ "linear": { "F32": linear }, "angular": { "F32": 0.0 } }))
}
