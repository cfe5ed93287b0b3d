//! `sinew doctor`: what is wrong here, and what to do about it.

mod addresses;
mod daemon;
mod files;
mod ports;
mod rights;
mod text;

use std::{
    io::{IsTerminal, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use serde::Serialize;
use serde_json::json;

use self::daemon::{Reached, Unreached};
use super::serve::Settings;
use crate::{
    DONE, FAILED,
    config::Config,
    output::printable_json,
    system::{System, User, shell_word},
};

/// Say what is wrong here, and what to do about it.
///
/// Looks at the configuration, files, serial ports, rights, addresses, and at the daemon if one runs.
/// Takes the settings of `sinew serve`. Changes nothing. Exit code 1 says that there is a problem.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    settings: Settings,
    /// The daemon's JSON-lines address; the configuration's, if it is not given.
    #[arg(long, value_name = "ADDR")]
    server: Option<String>,
    /// Token for a daemon that asks for one.
    #[arg(long, value_name = "TOKEN", env = "SINEW_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// A name, and what looks at what the context holds and the system tells.
type Check = (&'static str, fn(&Context) -> Vec<Finding>);

/// What is looked at, in this order.
const CHECKS: &[Check] = &[
    ("configuration", files::configuration),
    ("tokens", files::tokens),
    #[cfg(feature = "g1")]
    ("library", files::library),
    ("port", ports::check),
    ("real time", rights::real_time),
    ("open files", rights::open_files),
    ("address", addresses::check),
    ("daemon", daemon::check),
    ("clock", daemon::clock),
    ("robot", daemon::robots),
    ("dashboard", rights::dashboard),
];

/// What the checks look at.
struct Context {
    system: System,
    /// The configuration's file, if there is one.
    file: Option<PathBuf>,
    /// The defaults, where it is wrong.
    config: Config,
    /// What is wrong with it.
    wrong: Option<String>,
    /// The daemon's address, and whether it was asked for.
    server: String,
    server_given: bool,
    daemon: Result<Reached, Unreached>,
}

/// What a check found.
#[derive(Debug, PartialEq, Serialize)]
struct Finding {
    name: String,
    state: State,
    /// One sentence.
    message: String,
    /// The command that mends it, or shows more.
    mend: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Problem,
}

impl Finding {
    fn new(state: State, message: impl Into<String>) -> Self {
        Finding { name: String::new(), state, message: message.into(), mend: None }
    }

    fn ok(message: impl Into<String>) -> Self {
        Self::new(State::Ok, message)
    }

    fn warning(message: impl Into<String>) -> Self {
        Self::new(State::Warning, message)
    }

    fn problem(message: impl Into<String>) -> Self {
        Self::new(State::Problem, message)
    }

    /// One of several that a check is about.
    fn about(mut self, what: impl Into<String>) -> Self {
        self.name = what.into();
        self
    }

    fn mend(mut self, command: impl Into<String>) -> Self {
        self.mend = Some(command.into());
        self
    }

    /// With its check's name before what it is about.
    fn named(mut self, check: &str) -> Self {
        self.name = format!("{check} {}", self.name).trim_end().into();
        self
    }
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let context = Context::new(args);
    let look = |(name, check): &Check| {
        check(&context).into_iter().map(|finding| finding.named(name)).collect::<Vec<_>>()
    };
    let findings: Vec<_> = CHECKS.iter().flat_map(look).collect();
    let well = findings.iter().all(|finding| finding.state != State::Problem);
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", printable_json(&json!({ "ok": well, "checks": findings })))?;
    } else {
        let width = std::io::stdout().is_terminal().then(text::columns);
        for line in text::lines(&findings, width) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(if well { DONE } else { FAILED })
}

impl Context {
    fn new(args: &Args) -> Self {
        let (config, wrong) = match args.settings.effective() {
            Ok(config) => (config, None),
            Err(error) => (Config::default(), Some(format!("{error:#}"))),
        };
        let server = args.server.clone().unwrap_or_else(|| usual_server(&config));
        let daemon = daemon::reach(&server, args.token.as_deref());
        let file = args.settings.file().map(Into::into);
        let server_given = args.server.is_some();
        Context { system: System::here(), file, config, wrong, server, server_given, daemon }
    }

    /// Whether a daemon is a service here.
    fn is_service(&self) -> bool {
        self.service_user().is_some()
    }

    /// The user that the service runs as.
    fn service_user(&self) -> Option<User> {
        let unit = self.system.read(super::service::UNIT);
        let user = unit.lines().find_map(|line| line.strip_prefix("User="));
        user.and_then(|user| self.system.user(user))
    }

    /// What starts a daemon with this configuration.
    fn serve_command(&self) -> String {
        if self.is_service() {
            return "sudo systemctl start sinew".into();
        }
        if self.config.robot.is_empty() {
            return "sinew serve --vacuum serial:/dev/ttyS3".into();
        }
        let mut command = String::from("sinew serve");
        match &self.file {
            Some(file) => command += &format!(" --config {}", shell_word(file)),
            None => self.config.robot.iter().for_each(|robot| {
                let link = format!("{}={}", robot.kind.name(), robot.link);
                command += &format!(" --link {}", shell_word(link));
            }),
        }
        command
    }
}

/// Where this configuration's daemon would be found from here.
fn usual_server(config: &Config) -> String {
    let usual = Config::default().server.lines.0;
    let lines = config.server.lines.0.filter(|address| address.port() != 0).or(usual);
    let reachable = |address: SocketAddr| match address.ip().is_unspecified() {
        true => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port()),
        false => address,
    };
    lines.map(reachable).map_or_else(String::new, |address| address.to_string())
}
