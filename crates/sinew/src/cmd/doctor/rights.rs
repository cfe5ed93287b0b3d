//! What this user may do, and which programs are here.

use std::{env, path::PathBuf};

use super::{Context, Finding, daemon};
use crate::system::shell_word;

pub(super) fn real_time(context: &Context) -> Vec<Finding> {
    let own = || env::current_exe().unwrap_or_else(|_| "sinew".into());
    let setcap = |binary| format!("sudo setcap cap_sys_nice+ep {}", shell_word(binary));
    let finding = match daemon::has_real_time(context) {
        Some((_, true)) => Finding::ok("the daemon's heartbeat has real-time priority"),
        Some((pid, false)) => {
            let running = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_else(|_| own());
            let mend = match context.is_service() {
                // The unit's limits count, and it takes no rights from a file.
                true => "systemctl show sinew -p LimitRTPRIO -p LimitNICE".into(),
                false => setcap(running),
            };
            let message = "the daemon's heartbeat has no real-time priority, so it depends on the \
                           machine's load; start the daemon again after this";
            Finding::warning(message).mend(mend)
        }
        None if context.is_service() => Finding::ok("a matter of the service's unit"),
        None if sinew_io::may_have_real_time() => {
            Finding::ok("a daemon of this user would have real-time priority")
        }
        None => Finding::warning(
            "a daemon of this user would have no real-time priority, so that its heartbeat would \
             depend on the machine's load",
        )
        .mend(setcap(own())),
    };
    vec![finding]
}

/// Every client takes a file.
pub(super) fn open_files(_: &Context) -> Vec<Finding> {
    let most = sinew_io::raise_file_limit().map_or(usize::MAX, |files| files as usize);
    let wanted = sinew_server::Config::default();
    let clients = wanted.clone().within(most).max_clients;
    let finding = match clients < wanted.max_clients {
        false => Finding::ok(format!("enough for {clients} clients")),
        true => Finding::warning(format!("{most}: enough for {clients} clients at a time"))
            .mend("sudo prlimit --nofile=8192 --pid $$"),
    };
    vec![finding]
}

/// Programs that build the dashboard.
pub(super) fn dashboard(_: &Context) -> Vec<Finding> {
    let missing: Vec<_> = ["node", "npm"].into_iter().filter(|name| !is_program(name)).collect();
    let message = match missing.is_empty() {
        true => "node and npm are here; they build it and are not needed to run".into(),
        false => format!("{} would be needed to build it, not to run", missing.join(" and ")),
    };
    vec![Finding::ok(message)]
}

fn is_program(name: &str) -> bool {
    use rustix::fs::{Access, access};
    let runs = |dir: PathBuf| access(dir.join(name), Access::EXEC_OK).is_ok();
    env::var_os("PATH").is_some_and(|paths| env::split_paths(&paths).any(runs))
}
