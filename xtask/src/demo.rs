//! Everything on simulators.

use crate::{
    tools::{Failure, cargo, succeed},
    web,
};

/// Builds the dashboard and the binary, and runs `sinew demo` with whatever arguments were given.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    web::build_if_needed()?;
    let mut command = cargo(["run", "--release", "--quiet", "-p", "sinew", "--", "demo"]);
    succeed(command.args(arguments))
}
