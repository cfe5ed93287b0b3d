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

impl From<TcpStream> for Lines {
    fn from(socket: TcpStream) -> Self {
        Lines { reader: BufReader::new(socket.try_clone().unwrap()), socket, asked: 0 }
    }
}

impl Lines {
    pub(crate) fn connect(address: &str) -> Self {
        Self::from(connect(address))
    }

    /// Reads what is left of a line.
    pub(crate) fn skip_line(&mut self) {
        self.reader.read_line(&mut String::new()).unwrap();
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

/// What makes a request a WebSocket's, with the key of RFC 6455's example.
pub(crate) const HANDSHAKE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// A client of the WebSocket.
pub(crate) struct Socket(pub(crate) TcpStream);

impl Socket {
    pub(crate) fn connect(address: &str) -> Self {
        let mut socket = connect(address);
        let host = format!("Host: {address}\r\nOrigin: http://{address}\r\n");
        let handshake = format!("GET /ws HTTP/1.1\r\n{host}{HANDSHAKE}\r\n");
        socket.write_all(handshake.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
        Socket(socket)
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];
        let mut frame = vec![0x81, 0x80 | 127];
        frame.extend(u64::try_from(text.len()).unwrap().to_be_bytes());
        frame.extend(MASK);
        frame.extend(text.bytes().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.0.write_all(&frame).unwrap();
    }

    pub(crate) fn next(&mut self) -> Value {
        let (kind, text) = self.next_message();
        assert_eq!(kind, 0x81, "one text frame");
        serde_json::from_slice(&text).unwrap()
    }

    #[cfg(feature = "maps")]
    /// The next binary message; text in between is skipped.
    pub(crate) fn next_binary(&mut self) -> Vec<u8> {
        loop {
            let (kind, bytes) = self.next_message();
            if kind == 0x82 {
                return bytes;
            }
        }
    }

    fn next_message(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.0.read_exact(&mut length).unwrap();
                u16::from_be_bytes(length).into()
            }
            127 => {
                let mut length = [0; 8];
                self.0.read_exact(&mut length).unwrap();
                usize::try_from(u64::from_be_bytes(length)).unwrap()
            }
            short => usize::from(short),
        };
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).unwrap();
        (head[0], bytes)
    }

    pub(crate) fn next_of(&mut self, topic: &str) -> Value {
        loop {
            let message = self.next();
            if message["topic"] == topic {
                return message["data"].clone();
            }
        }
    }

    #[track_caller]
    pub(crate) fn ok(&mut self, message: Value) -> Value {
        let answer = self.ask(message);
        assert_eq!(answer["ok"], true, "{answer}");
        answer
    }

    pub(crate) fn ask(&mut self, mut message: Value) -> Value {
        message["req"] = "ws".into();
        self.send(&message);
        loop {
            let answer = self.next();
            if answer["req"] == "ws" {
                return answer;
            }
        }
    }
}

/// One HTTP request: status, head and body. Its `Host` is the address unless `headers` has one.
pub(crate) fn request(
    address: &str,
    line: &str,
    headers: &str,
    body: &str,
) -> (u16, String, String) {
    let mut socket = connect(address);
    let host = if headers.contains("Host:") { "" } else { &format!("Host: {address}\r\n") };
    let length = format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
    let head = format!("{line} HTTP/1.1\r\n{host}{length}{headers}\r\n");
    socket.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), body.to_owned())
}

/// A command by POST: the status, and what it says.
pub(crate) fn post(address: &str, headers: &str, message: &Value) -> (u16, Value) {
    let line = "POST /api/v1/robots/vacuum/commands";
    let (status, _, body) = request(address, line, headers, &message.to_string());
    (status, serde_json::from_str(&body).unwrap())
}

pub(crate) fn connect(address: &str) -> TcpStream {
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

/// A velocity that never meets a wall.
pub(crate) fn turn() -> Value {
    configure("drive", json!({ "linear": { "F32": 0.0 }, "angular": { "F32": 0.5 } }))
}

pub(crate) fn stop() -> Value {
    json!({ "type": "Stop" })
}

pub(crate) fn auth(token: &str) -> Value {
    json!({ "type": "Auth", "token": token })
}
