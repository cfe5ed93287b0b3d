//! What robots tell, live for Foxglove.

use std::{io, sync::Arc};

use anyhow::{Context, bail};
use sinew_record::live::{Live, Options};
use sinew_server::Tokens;

use crate::{config::Config, daemon::Daemon};

/// What the daemon calls the client by which it listens.
const NAME: &str = "foxglove";

/// Listens where the configuration says so. A token lets clients in where the daemon has some, be it for
/// reading only; without any it listens on loopback only.
pub(super) fn start(config: &Config, daemon: &Daemon) -> anyhow::Result<Option<Live>> {
    let Some(address) = config.server.foxglove.0 else { return Ok(None) };
    let tokens = match &config.server.token_file {
        Some(path) => {
            Tokens::load(path).with_context(|| format!("token file {}", path.display()))?
        }
        None => Tokens::default(),
    };
    if tokens.is_empty() && !address.ip().is_loopback() {
        bail!("foxglove {address}: listening on anything but loopback needs a token file");
    }
    let options = Options {
        address,
        admits: Arc::new(move |shown| {
            tokens.is_empty() || shown.is_some_and(|shown| tokens.access(shown).is_some())
        }),
        hosts: config.server.hosts.clone(),
        // Clients that stop robots come first.
        on_thread: sinew_io::step_back,
        topics: Vec::new(),
    };
    let locals = daemon.server.locals();
    let live = Live::start(options, move || -> io::Result<_> { locals.connect(NAME) });
    live.with_context(|| format!("cannot listen: foxglove {address}")).map(Some)
}
