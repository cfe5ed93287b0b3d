//! A client of the daemon's JSON lines.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
};

use serde_json::{Value, json};

use crate::wait_for;

pub(crate) struct Client {
    socket: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        Ok(Client { socket: BufReader::new(socket) })
    }

    /// Sends a line without waiting for anything.
    pub(crate) fn send(&mut self, line: &[u8]) -> anyhow::Result<()> {
        Ok(self.socket.get_mut().write_all(line)?)
    }

    /// Sends a request, and gives the line that comes back.
    pub(crate) fn ask(&mut self, request: &[u8]) -> anyhow::Result<String> {
        self.send(request)?;
        let mut line = String::new();
        self.socket.read_line(&mut line)?;
        Ok(line)
    }

    /// Something of the first robot, by its place in the answer.
    pub(crate) fn robot(&mut self, pointer: &str) -> anyhow::Result<Option<Value>> {
        let line = self.ask(format!("{}\n", json!({ "type": "Robots", "req": 1 })).as_bytes())?;
        let answer: Value = serde_json::from_str(&line)?;
        Ok(answer.pointer("/data/robots/0").and_then(|robot| robot.pointer(pointer)).cloned())
    }

    /// Waits until the robot takes commands.
    pub(crate) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        wait_for("the robot to be ready", || {
            Ok(self.robot("/link/state")?.is_some_and(|state| state == "ready"))
        })
    }
}

/// A number of `/metrics`.
pub(crate) fn metric(address: SocketAddr, name: &str) -> anyhow::Result<u64> {
    let mut socket = TcpStream::connect(address)?;
    write!(socket, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut page = String::new();
    socket.read_to_string(&mut page)?;
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let value = value.ok_or_else(|| anyhow::anyhow!("/metrics has no {name}"))?;
    Ok(value.parse::<f64>()? as u64)
}
