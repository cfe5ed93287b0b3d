//! Maps that a robot stores: it gives them to the daemon, and the daemon to this process by HTTP.

use std::{io::Write, path::Path};

use anyhow::Context;
use serde_json::json;
use sinew_robot::{capability::Capability, mapping::Request};

use super::{ask, http, note, write};
use crate::{
    DONE,
    client::{Client, Daemon},
    output::printable_json,
    say::say,
};

/// What is to be fetched, and where to.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) file: Option<&'a Path>,
    pub(super) force: bool,
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
        let robot = robot.map(|robot| robot.name).unwrap_or_default();
        let path =
            format!("/api/v1/robots/{}/maps/{}", http::escaped(&robot), http::escaped(wanted.name));
        let map = http::address(client).and_then(|at| http::get(at, daemon.token(), &path));
        let mut map = map.with_context(|| format!("the map is at the daemon's {kept}"))?;
        let bytes = data["bytes"].as_u64();
        let written = write::whole(&mut map, bytes, wanted.file, wanted.force)?;
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
