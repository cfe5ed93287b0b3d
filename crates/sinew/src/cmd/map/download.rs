//! Maps as files: the robot gives them to the daemon, and the daemon to this process by HTTP.

use std::{
    fs::{File, Permissions},
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt,
    path::Path,
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use sinew_api::{Command, DaemonMessage, Pong};
use sinew_robot::{capability::Capability, mapping::Request};
use tempfile::Builder;

use super::{ask, note};
use crate::{
    DONE,
    client::{self, Client, Daemon},
    output::printable_json,
    phrases::Refused,
    progress::Progress,
    say::say,
};

/// How long the daemon may be silent.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer of the daemon that is no map, and the longest head of one.
const MAX_WORDS: u64 = 64 << 10;

/// What is to be fetched, and where to.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) file: Option<&'a Path>,
    pub(super) force: bool,
}

/// Refuses to write over a file.
pub(super) fn check_free(file: &Path) -> anyhow::Result<()> {
    let is_there = file != Path::new("-") && file.exists();
    ensure!(!is_there, "{} is there already; --force writes over it", file.display());
    Ok(())
}

pub(super) fn run(
    client: &mut Client,
    daemon: &Daemon,
    wanted: &Wanted<'_>,
    json: bool,
) -> anyhow::Result<u8> {
    let robot = client.choose(Capability::Mapping)?;
    let mut data = ask(client, &Request::Download { name: wanted.name.into() })?;
    let kept = data["file"].as_str().unwrap_or("?").to_owned();
    if let Some(file) = wanted.file {
        let mut map: Box<dyn Read> = match daemon.is_own() {
            true => Box::new(File::open(&kept).with_context(|| format!("cannot read {kept}"))?),
            false => {
                let robot = robot.map(|robot| robot.name).unwrap_or_default();
                Box::new(get(client, daemon.token(), &robot, wanted.name, &kept)?)
            }
        };
        let written = write(&mut map, data["bytes"].as_u64(), wanted.file, wanted.force)?;
        if file == Path::new("-") {
            return Ok(DONE);
        }
        data["written"] = json!(file);
        say(&format!("wrote {} to {}: {written} bytes", wanted.name, file.display()));
    } else {
        let bytes = data["bytes"].as_u64().unwrap_or_default();
        say(&format!("fetched {}: {bytes} bytes, at the daemon's {kept}", wanted.name));
    }
    note(&data);
    if json {
        writeln!(std::io::stdout().lock(), "{}", printable_json(&data))?;
    }
    Ok(DONE)
}

/// Writes the map. A file is there whole or not at all.
pub(super) fn write(
    map: &mut dyn Read,
    bytes: Option<u64>,
    file: Option<&Path>,
    force: bool,
) -> anyhow::Result<u64> {
    let Some(file) = file.filter(|file| *file != Path::new("-")) else {
        return copy(map, &mut io::stdout().lock(), bytes);
    };
    let shown = || format!("cannot write {}", file.display());
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // As any other file that the user makes; the system takes away what the user does not want.
    let usual = Permissions::from_mode(0o666);
    let beside = Builder::new().permissions(usual).tempfile_in(dir);
    let mut beside = beside.with_context(shown)?;
    let written = copy(map, beside.as_file_mut(), bytes)?;
    beside.as_file().sync_all().with_context(shown)?;
    match force {
        true => drop(beside.persist(file).with_context(shown)?),
        false => drop(beside.persist_noclobber(file).with_context(shown)?),
    }
    Ok(written)
}

/// Copies all of it, and shows how far it is.
fn copy(map: &mut dyn Read, to: &mut dyn Write, bytes: Option<u64>) -> anyhow::Result<u64> {
    let mut progress = Progress::new();
    let mut chunk = vec![0; 64 << 10];
    let mut written = 0;
    loop {
        let count = map.read(&mut chunk)?;
        if count == 0 {
            let whole = bytes.unwrap_or(written);
            ensure!(written == whole, "{written} bytes of the map came, of {whole}");
            to.flush()?;
            return Ok(written);
        }
        to.write_all(&chunk[..count])?;
        written += count as u64;
        let part = bytes.map(|bytes| written as f64 / bytes.max(1) as f64);
        progress.show(&format!("{} kB of the map", written / 1000), part);
    }
}

/// Asks the daemon for the map.
fn get(
    client: &mut Client,
    token: Option<&str>,
    robot: &str,
    name: &str,
    kept: &str,
) -> anyhow::Result<impl Read + use<>> {
    let pong: Pong = client::read(client.request(Command::Ping)?)?;
    let Some(port) = pong.http else {
        bail!("the daemon serves no HTTP, by which maps are fetched; the map is at its {kept}");
    };
    let at = SocketAddr::new(client.socket().peer_addr()?.ip(), port);
    let no_way = || format!("cannot fetch the map from http://{at}; it is at the daemon's {kept}");
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE).with_context(no_way)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let token = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
    let path = format!("/api/v1/robots/{}/maps/{}", escaped(robot), escaped(name));
    // An address and no name: that is known as the daemon's own.
    let ask = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{token}\r\n");
    stream.write_all(ask.as_bytes())?;
    let mut reader = BufReader::new(stream);
    let (status, length) = head(&mut reader).with_context(no_way)?;
    if status == 200 {
        return Ok(reader.take(length.unwrap_or(u64::MAX)));
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
fn escaped(name: &str) -> String {
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
