//! Whether the daemon can listen where it should.

use std::{io, net::SocketAddr};

use super::{Context, Finding};
use crate::system::{Listener, shell_word};

pub(super) fn check(context: &Context) -> Vec<Finding> {
    let server = &context.config.server;
    let ports = [("tcp", server.tcp), ("lines", server.lines), ("http", server.http)];
    // Which is off for most.
    let sangam = server.sangam.0.map(|_| ("sangam", server.sangam));
    let ports = ports.into_iter().chain(sangam);
    ports.map(|(name, port)| address(context, port.0).about(name)).collect()
}

fn address(context: &Context, address: Option<SocketAddr>) -> Finding {
    let Some(address) = address else { return Finding::ok("off") };
    if address.port() == 0 {
        return Finding::ok(format!("{address}: any port that is free"));
    }
    match sinew_server::try_bind(address) {
        Ok(()) => Finding::ok(format!("{address} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => in_use(context, address),
        Err(error) => {
            let mend = match error.kind() {
                io::ErrorKind::AddrNotAvailable => "ip address".into(),
                io::ErrorKind::PermissionDenied => {
                    let binary = std::env::current_exe().unwrap_or_default();
                    format!("sudo setcap cap_net_bind_service+ep {}", shell_word(binary))
                }
                _ => "ss -ltnp".into(),
            };
            Finding::problem(error.to_string()).mend(mend)
        }
    }
}

fn in_use(context: &Context, address: SocketAddr) -> Finding {
    let system = &context.system;
    let listener = system.listener(address);
    let process = listener.as_ref().and_then(|listener| system.opener_of(listener));
    let ours = match (&process, &listener) {
        (Some(process), _) => process.name == "sinew",
        // Of another user: the daemon's, if it is of the user of the daemon that answers.
        (None, Some(listener)) => daemon_socket(context).is_some_and(|own| own.uid == listener.uid),
        (None, None) => false,
    };
    let user = |uid| system.user_name(uid);
    let by = match (process, listener) {
        (Some(process), _) => format!("{} (process {})", process.name, process.pid),
        (None, Some(listener)) => format!("a program of {}", user(listener.uid)),
        (None, None) => "a program that cannot be seen from here".into(),
    };
    let message = format!("{address} is in use by {by}");
    match ours {
        true => Finding::ok(message),
        false => {
            Finding::problem(message).mend(format!("sudo ss -ltnp 'sport = :{}'", address.port()))
        }
    }
}

/// The socket of the daemon that answers, if it is on this machine.
pub(super) fn daemon_socket(context: &Context) -> Option<Listener> {
    context.daemon.as_ref().ok()?;
    let address: SocketAddr = context.server.parse().ok()?;
    context.system.listener(address)
}
