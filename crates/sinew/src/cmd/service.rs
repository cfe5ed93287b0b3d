//! `sinew service`: the files that make the daemon a service of this machine.

mod place;
mod udev;
mod unit;

use std::{env, io::Write, path::PathBuf};

use anyhow::{Context, bail};
use serde_json::json;
use sinew_io::{Address, kind::Entry};

use self::udev::SerialPort;
use super::Usage;
use crate::{
    DONE,
    config::{Config, LinkArg, Server},
    output::{BOLD, PLAIN, YELLOW, printable, printable_json},
    system::{System, shell_word},
};

/// Where the unit goes.
pub(super) const UNIT: &str = "/etc/systemd/system/sinew.service";
/// Where the rule for ports goes.
const RULES: &str = "/etc/udev/rules.d/70-sinew.rules";
/// The user that a service has if no other is wanted.
const USER: &str = "sinew";

/// Print what makes the daemon a service: a systemd unit, and a udev rule for the robot's port.
///
/// The unit runs the daemon as a user of its own, with real-time rights and no others: it sees the
/// robot's port and no other device, and writes where motions are kept and nowhere else.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The user that the daemon runs as.
    #[arg(long, value_name = "NAME", default_value = USER)]
    user: String,
    /// A vacuum's serial port, as /dev/ttyS3.
    #[arg(long, value_name = "PATH")]
    port: Option<PathBuf>,
    /// The daemon's configuration; sinew.toml, if it is there.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The program that the service runs; this one, if no other is given.
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Print the files, as without --write.
    #[arg(long, conflicts_with = "write")]
    print: bool,
    /// Write the files below this directory; `/` is for this machine.
    #[arg(long, value_name = "ROOT")]
    write: Option<PathBuf>,
    /// Overwrite files that say something else.
    #[arg(long, requires = "write")]
    force: bool,
}

/// What the files are made of.
struct Service {
    user: String,
    group: String,
    /// The user is there already.
    has_user: bool,
    binary: PathBuf,
    /// The configuration's file, if there is one.
    file: Option<PathBuf>,
    /// The robot whose port was given, which goes before the configuration's.
    given: Option<String>,
    server: Server,
    /// Whether a robot is reached by the network.
    has_network_robot: bool,
    ports: Vec<SerialPort>,
}

/// A file of the service.
struct File {
    path: &'static str,
    text: String,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let service = Service::new(args, &System::here())?;
    let files = service.files()?;
    for warning in service.warnings() {
        anstream::eprintln!("{}warning:{PLAIN} {}", YELLOW.render(), printable(&warning));
    }
    match &args.write {
        Some(root) => {
            let placed = place::write(root, &files, args.force)?;
            let next = service.next_commands(None);
            if json {
                let said = json!({ "files": placed, "next": next });
                writeln!(std::io::stdout(), "{}", printable_json(&said))?;
                return Ok(DONE);
            }
            for file in placed {
                anstream::eprintln!("{} {}", file.state.word(), file.path.display());
            }
            anstream::eprintln!("next:");
            for command in next {
                anstream::eprintln!("  {}{}{PLAIN}", BOLD.render(), printable(&command));
            }
        }
        None => print(&files, &service.next_commands(Some(args)), json)?,
    }
    Ok(DONE)
}

fn print(files: &[File], next: &[String], json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        let files = files.iter().map(|file| json!({ "path": file.path, "text": file.text }));
        let said = json!({ "files": files.collect::<Vec<_>>(), "next": next });
        writeln!(out, "{}", printable_json(&said))?;
        return Ok(());
    }
    writeln!(out, "# `sinew serve` as a service of this machine. These commands install it:")?;
    for command in next {
        writeln!(out, "#   {}", printable(command))?;
    }
    for File { path, text } in files {
        write!(out, "\n# {path}\n{text}")?;
    }
    Ok(())
}

impl Service {
    fn new(args: &Args, system: &System) -> anyhow::Result<Self> {
        check_user(&args.user)?;
        let mut config = Config::load(args.config.as_deref())?;
        let mut given = None;
        if let Some(port) = &args.port {
            let link: Address = format!("serial:{}", port.display()).parse()?;
            let vacuum = LinkArg::of_kind("crl200s", &link)?;
            given = Some(vacuum.name.clone());
            config.put(vacuum)?;
        }
        if config.robot.is_empty() {
            let message = "which robot? give --port, as in --port /dev/ttyS3, or --config FILE";
            return Err(Usage(message.into()).into());
        }
        let server = config.server;
        for path in [server.token_file.as_ref(), Some(&server.library)].into_iter().flatten() {
            if !path.is_absolute() {
                bail!("{}: a service starts elsewhere; give the whole path", path.display());
            }
        }
        let user = system.user(&args.user);
        let ports = config.robot.iter().flat_map(Entry::serial_ports);
        let ports = ports.map(|(name, path)| SerialPort::look(system, &name, &path));
        let is_udp = |link: &Address| matches!(link, Address::Udp { .. });
        let binary = match &args.binary {
            Some(binary) => std::path::absolute(binary)?,
            None => env::current_exe().context("this program is not to be found")?,
        };
        let file = Config::file(args.config.as_deref()).map(std::fs::canonicalize).transpose()?;
        Ok(Service {
            group: user
                .as_ref()
                .map_or_else(|| args.user.clone(), |user| system.group_name(user.gid)),
            user: args.user.clone(),
            has_user: user.is_some(),
            binary,
            file,
            given,
            server,
            has_network_robot: config.robot.iter().any(|robot| is_udp(&robot.link)),
            ports: ports.collect::<anyhow::Result<_>>()?,
        })
    }

    fn files(&self) -> anyhow::Result<Vec<File>> {
        let unit = File { path: UNIT, text: unit::text(self)? };
        let rules = File { path: RULES, text: udev::rules(&self.ports, &self.group) };
        Ok([unit].into_iter().chain((!self.ports.is_empty()).then_some(rules)).collect())
    }

    /// What is left to do, in order; first how the files are written, if that was not done.
    fn next_commands(&self, to_write: Option<&Args>) -> Vec<String> {
        let mut commands = Vec::new();
        let user = &self.user;
        if !self.has_user {
            commands.push(format!(
                "sudo useradd --system --user-group --no-create-home --shell /usr/sbin/nologin {user}"
            ));
        }
        if let Some(args) = to_write {
            commands.push(format!("sudo {} --write /", self.command(args)));
        }
        if let Some(tokens) = &self.server.token_file {
            let tokens = shell_word(tokens);
            commands.push(format!("sudo chown {user}: {tokens} && sudo chmod 600 {tokens}"));
        }
        if !self.ports.is_empty() {
            commands.push("sudo udevadm control --reload".into());
            let matches = self.ports.iter().map(|port| format!(" --name-match={}", port.device));
            commands.push(format!("sudo udevadm trigger{}", matches.collect::<String>()));
        }
        commands.push("sudo systemctl daemon-reload".into());
        commands.push("sudo systemctl enable --now sinew".into());
        let link = self.given_port().map(|port| format!("serial:{}", port.best_name()));
        let mut doctor = format!("{} doctor", shell_word(&self.binary));
        let flags = [("--config", self.file.clone()), ("--vacuum", link.map(Into::into))];
        add_flags(&mut doctor, flags);
        commands.push(doctor);
        commands
    }

    /// This command again.
    fn command(&self, args: &Args) -> String {
        let own = env::current_exe().unwrap_or_else(|_| self.binary.clone());
        let mut command = format!("{} service", shell_word(own));
        let user = (args.user != USER).then(|| PathBuf::from(&args.user));
        let flags = [
            ("--user", user),
            ("--port", args.port.clone()),
            ("--config", self.file.clone()),
            ("--binary", args.binary.clone()),
        ];
        add_flags(&mut command, flags);
        command
    }

    /// The port that was given.
    fn given_port(&self) -> Option<&SerialPort> {
        self.ports.iter().find(|port| Some(&port.robot) == self.given.as_ref())
    }

    fn warnings(&self) -> Vec<String> {
        let binary = shell_word(&self.binary);
        let install = format!(
            "{binary} cannot be run by a service: `sudo install -m 755 {binary} /usr/local/bin/sinew`, \
             and give --binary /usr/local/bin/sinew"
        );
        let files = [self.file.as_ref(), self.server.token_file.as_ref()].into_iter().flatten();
        let hidden = files.filter(|file| unit::is_private(file)).map(|file| {
            format!("{} cannot be read by a service: put it below /etc", file.display())
        });
        let missing = self.ports.iter().filter(|port| port.is_missing()).map(|port| {
            let device = &port.device;
            format!("{device} is not connected, and may have another number when it is; repeat this then")
        });
        let binary = unit::is_private(&self.binary).then_some(install);
        binary.into_iter().chain(hidden).chain(missing).collect()
    }
}

/// Adds those that have a value.
fn add_flags<const N: usize>(command: &mut String, flags: [(&str, Option<PathBuf>); N]) {
    for (flag, value) in flags {
        if let Some(value) = value {
            *command += &format!(" {flag} {}", shell_word(value));
        }
    }
}

/// It stands in the unit, in the rule and in commands.
fn check_user(name: &str) -> Result<(), Usage> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    match begins && name.chars().all(fits) && name.len() <= 31 {
        true => Ok(()),
        false => Err(Usage(format!("--user: wanted a name such as sinew, got {name:?}"))),
    }
}
