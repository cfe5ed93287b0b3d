//! What the daemon gives out by HTTP.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use sinew_api::{Command, DaemonMessage, Pong};

use crate::{
    client::{self, Client},
    phrases::Refused,
};

/// How long the daemon may be silent.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer of the daemon that is no file, and the longest head of one.
const MAX_WORDS: u64 = 64 << 10;

/// A file on its way, and how long it is, if that was said.
pub(super) struct File {
    pub(super) length: Option<u64>,
    body: Box<dyn Read>,
}

impl Read for File {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.body.read(bytes)
    }
}

/// Where the daemon answers HTTP.
pub(super) fn address(client: &mut Client) -> anyhow::Result<SocketAddr> {
    let pong: Pong = client::read(client.request(Command::Ping)?)?;
    let port = pong.http.context("the daemon serves no HTTP, by which maps are given out")?;
    Ok(SocketAddr::new(client.socket().peer_addr()?.ip(), port))
}

/// Asks the daemon there for a file.
pub(super) fn get(at: SocketAddr, token: Option<&str>, path: &str) -> anyhow::Result<File> {
    let no_way = || format!("cannot fetch the map from http://{at}");
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE).with_context(no_way)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let token = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
    // An address and no name: that is known as the daemon's own.
    let ask = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{token}\r\n");
    stream.write_all(ask.as_bytes())?;
    let mut reader = BufReader::new(stream);
    let (status, length) = head(&mut reader).with_context(no_way)?;
    if status == 200 {
        let body = Box::new(reader.take(length.unwrap_or(u64::MAX)));
        return Ok(File { length, body });
    }
    let mut words = String::new();
    let most = length.unwrap_or(MAX_WORDS).min(MAX_WORDS);
    reader.take(most).read_to_string(&mut words).with_context(no_way)?;
    match serde_json::from_str::<Value>(&words).ok().and_then(|value| client::read(value).ok()) {
        Some(DaemonMessage::Error(message)) => Err(Refused(message.error).into()),
        _ => bail!("{}: it answered {status}", no_way()),
    }
}

/// The status of an HTTP answer, and how long its body is.
fn head(reader: &mut impl BufRead) -> anyhow::Result<(u16, Option<u64>)> {
    let mut head = String::new();
    let mut lines = reader.take(MAX_WORDS);
    while !head.ends_with("\r\n\r\n") {
        ensure!(lines.read_line(&mut head)? > 0, "it answered no HTTP");
    }
    let (first, rest) = head.split_once("\r\n").unwrap_or_default();
    let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    let status = status.and_then(|status| status.parse().ok()).context("it answered no HTTP")?;
    let length = rest.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    Ok((status, length))
}

/// A name as it stands in an address.
pub(super) fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    name.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_addresses_as_themselves_or_escaped() {
        assert_eq!(escaped("flat-1_a.b~"), "flat-1_a.b~");
        assert_eq!(escaped("the flat/ü?"), "the%20flat%2F%C3%BC%3F");
    }

    #[test]
    fn a_head_says_how_long_the_body_is_and_no_head_is_an_error() {
        let read = |text: &str| head(&mut text.as_bytes()).ok();
        let whole = "HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 12\r\n\r\nbody";
        assert_eq!(read(whole), Some((200, Some(12))));
        assert_eq!(read("HTTP/1.1 404 Not Found\r\n\r\n"), Some((404, None)));
        for cut in 0..whole.len() - "body".len() {
            assert_eq!(read(&whole[..cut]), None, "{cut}");
        }
        assert_eq!(read("SSH-2.0-x\r\n\r\n"), None);
        // One that does not end.
        assert_eq!(read(&"x: y\r\n".repeat(20_000)), None);
    }
}
