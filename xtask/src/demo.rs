//! Everything on simulators.

use std::{env, process::Command};

use crate::{
    tools::{Failure, cargo, succeed, works},
    web,
};

/// Builds the dashboard and the binary, and runs `sinew demo` with whatever arguments were given;
/// where there is a desktop, the dashboard opens by itself.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    web::build_if_needed()?;
    let mut command = cargo(["run", "--release", "--quiet", "-p", "sinew", "--", "demo"]);
    if has_desktop() && !arguments.iter().any(|argument| argument == "--browser") {
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
