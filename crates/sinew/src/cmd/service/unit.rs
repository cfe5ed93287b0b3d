//! The systemd unit: the daemon with what it needs, and nothing else.

use std::path::Path;

use anyhow::bail;

use super::Service;
use crate::config::Server;

/// Where a service keeps its motions if the configuration does not say.
const STATE: &str = "sinew";

pub(super) fn text(service: &Service) -> anyhow::Result<String> {
    let Service { user, group, .. } = service;
    let command = command(service)?;
    let (priority, niceness) = (sinew_io::vacuum::PRIORITY, sinew_io::FAVOURED);
    let ordering = ordering(&service.server);
    let devices: String =
        service.ports.iter().map(|port| format!("DeviceAllow={} rw\n", port.allowed())).collect();
    let home = if needs_home(service) { "read-only" } else { "yes" };
    let written = written(service)?;
    let network = network(service);
    Ok(format!(
        "\
# Made by `sinew service`. `sudo systemctl edit sinew` keeps changes apart from it.
[Unit]
Description=Sinew, between robots and their clients
{ordering}StartLimitIntervalSec=60
StartLimitBurst=10

[Service]
Type=exec
ExecStart={command}
User={user}
Group={group}
Restart=on-failure
RestartSec=1
# Wrong usage does not mend itself.
RestartPreventExitStatus=2
# It stops the robots before it ends.
TimeoutStopSec=10

# The heartbeat holds its time, and the thread that hears clients comes before those that work for
# them. These limits allow it, so that no capability is needed.
LimitRTPRIO={priority}
LimitNICE={niceness}
CapabilityBoundingSet=
NoNewPrivileges=yes

# A file for each client; memory and threads are bounded in the daemon far below this.
LimitNOFILE=8192
MemoryMax=256M
TasksMax=512

# The robot's port and no other device.
DevicePolicy=closed
{devices}
# Motions in /var/lib/{STATE}/motions; nothing else can be written.
StateDirectory={STATE}
StateDirectoryMode=0700
Environment=XDG_DATA_HOME=%S
UMask=0077
{written}ProtectSystem=strict
ProtectHome={home}
PrivateTmp=yes
PrivateMounts=yes
RemoveIPC=yes

# The clients' network.
{network}
# Nothing of the machine.
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProcSubset=pid
KeyringMode=private
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictNamespaces=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @keyring @memlock
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"
    ))
}

/// Whether a service cannot see what is there: homes are hidden from it, and it has a /tmp of its own.
pub(super) fn is_private(path: &Path) -> bool {
    is_in_home(path) || ["/tmp", "/var/tmp"].iter().any(|dir| path.starts_with(dir))
}

fn is_in_home(path: &Path) -> bool {
    ["/home", "/root", "/run/user"].iter().any(|dir| path.starts_with(dir))
}

/// What the user may have put into a home on purpose is at least not hidden.
fn needs_home(service: &Service) -> bool {
    let server = &service.server;
    let library = own_library(server).then_some(&server.library);
    let paths = [Some(&service.binary), service.file.as_ref(), server.token_file.as_ref(), library];
    paths.into_iter().flatten().any(|path| is_in_home(path))
}

/// Whether the configuration says where motions are kept.
fn own_library(server: &Server) -> bool {
    server.library != Server::default().library
}

fn written(service: &Service) -> anyhow::Result<String> {
    match own_library(&service.server) {
        true => Ok(format!("ReadWritePaths=-{}\n", quoted(&service.server.library)?)),
        false => Ok(String::new()),
    }
}

fn command(service: &Service) -> anyhow::Result<String> {
    let mut command = format!("{} serve", quoted(&service.binary)?);
    if let Some(file) = &service.file {
        command += &format!(" --config {}", quoted(file)?);
    }
    if let Some(port) = service.given_port() {
        command += &format!(" --vacuum serial:{}", port.best_name());
    }
    // It would be a variable.
    Ok(command.replace('$', "$$"))
}

/// An address of this machine must be there before it can be listened at.
fn ordering(server: &Server) -> &'static str {
    let addresses = server.addresses();
    let mut ips = addresses.map(|address| address.ip());
    match ips.any(|ip| !ip.is_loopback() && !ip.is_unspecified()) {
        true => "Wants=network-online.target\nAfter=network-online.target\n",
        false => "After=network.target\n",
    }
}

/// Loopback only, where neither clients nor robots are further away.
fn network(service: &Service) -> String {
    let server = &service.server;
    let mut addresses = server.addresses();
    // By netlink the daemon asks whether a client of document 003 still acknowledges what it gets; to
    // resolve a robot's name takes more than the internet's own.
    let families = match service.has_network_robot {
        true => "AF_INET AF_INET6 AF_NETLINK AF_UNIX",
        false => "AF_INET AF_INET6 AF_NETLINK",
    };
    let is_local =
        addresses.all(|address| address.ip().is_loopback()) && !service.has_network_robot;
    let fence = if is_local { "IPAddressAllow=localhost\nIPAddressDeny=any\n" } else { "" };
    format!("RestrictAddressFamilies={families}\n{fence}")
}

/// A word of a unit, where `%` means something.
fn quoted(path: &Path) -> anyhow::Result<String> {
    let Some(text) = path.to_str().filter(|text| !text.chars().any(char::is_control)) else {
        bail!("{path:?} cannot stand in a unit: use another name");
    };
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@%$,".contains(c);
    Ok(if escaped.chars().all(plain) { escaped } else { format!("\"{escaped}\"") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        Service {
            user: "sinew".into(),
            group: "sinew".into(),
            has_user: false,
            binary: "/usr/local/bin/sinew".into(),
            file: None,
            given: None,
            server: Server::default(),
            has_network_robot: false,
            ports: Vec::new(),
        }
    }

    fn lines(service: &Service, key: &str) -> Vec<String> {
        let text = text(service).expect("can be written");
        text.lines().filter(|line| line.starts_with(key)).map(Into::into).collect()
    }

    #[test]
    fn the_network_is_as_small_as_the_configuration_allows() {
        let local = service();
        assert_eq!(lines(&local, "IPAddress"), ["IPAddressAllow=localhost", "IPAddressDeny=any"]);
        assert_eq!(lines(&local, "After"), ["After=network.target"]);
        assert_eq!(
            lines(&local, "RestrictA"),
            ["RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK"]
        );
        let mut open = service();
        open.server.http = "0.0.0.0:8787".parse().expect("is an address");
        assert!(lines(&open, "IPAddress").is_empty());
        assert_eq!(lines(&open, "After"), ["After=network.target"]);
        open.server.http = "10.0.0.7:8787".parse().expect("is an address");
        assert_eq!(lines(&open, "After"), ["After=network-online.target"]);
        let far = Service { has_network_robot: true, ..service() };
        assert!(lines(&far, "IPAddress").is_empty());
        assert!(lines(&far, "RestrictA")[0].contains("AF_NETLINK"));
    }

    #[test]
    fn homes_are_hidden_unless_something_is_there() {
        assert_eq!(lines(&service(), "ProtectHome"), ["ProtectHome=yes"]);
        let at_home = Service { file: Some("/home/ann/sinew.toml".into()), ..service() };
        assert_eq!(lines(&at_home, "ProtectHome"), ["ProtectHome=read-only"]);
        assert_eq!(lines(&service(), "ReadWritePaths"), [""; 0]);
        let mut kept = service();
        kept.server.library = "/srv/motions".into();
        assert_eq!(lines(&kept, "ReadWritePaths"), ["ReadWritePaths=-/srv/motions"]);
    }

    #[test]
    fn names_of_files_cannot_change_the_unit() {
        let named = |binary: &str| Service { binary: binary.into(), ..service() };
        let command = |binary: &str| lines(&named(binary), "ExecStart").concat();
        assert_eq!(command("/opt/a b/sinew"), "ExecStart=\"/opt/a b/sinew\" serve");
        assert_eq!(command("/opt/%h$x/sinew"), "ExecStart=/opt/%%h$$x/sinew serve");
        assert_eq!(command("/opt/\"a;b\"/s"), "ExecStart=\"/opt/\\\"a;b\\\"/s\" serve");
        assert!(text(&named("/opt/a\nExecStartPre=/bin/sh/sinew")).is_err());
    }
}
