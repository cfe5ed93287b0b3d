//! Everything on simulators.

use std::{env, process::Command};

use crate::{
    tools::{Failure, cargo, succeed, works},
    web,
};

/// Builds the dashboard and the binary, and runs `sinew demo` with the arguments that were given, of
/// which `--fleet` shows two daemons and a hub;
/// where there is a desktop, the dashboard opens by itself.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    web::build_if_needed()?;
    let (fleet, arguments): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|argument| *argument == "--fleet");
    let mut command = cargo(["run", "--release", "--quiet", "-p", "sinew"]);
    // It is not in the default build.
    match fleet.is_empty() {
        true => command.args(["--", "demo"]),
        false => command.args(["--features", "fleet", "--", "demo", "--as-fleet"]),
    };
    if has_desktop() && !arguments.iter().any(|argument| *argument == "--browser") {
        command.arg("--browser");
    }
    succeed(command.args(arguments))
}

/// Whether a browser can be opened where a person sees it.
fn has_desktop() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let has_opener = || works(Command::new("xdg-open").arg("--version"));
    (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")) && has_opener()
}
