//! Where the fleet is: flags of every command that talks to a daemon, and of the daemon itself.

use std::{path::PathBuf, sync::OnceLock};

use sinew_fleet::{Endpoint, Settings};

/// Under which these stand in the help.
const HEADING: &str = "Fleet";

static GIVEN: OnceLock<Flags> = OnceLock::new();

/// The fleet's flags.
#[derive(clap::Args, Debug, Clone, Default)]
#[group(skip)]
pub(crate) struct Flags {
    /// Robots of a fleet, by this router or hub, as `tcp/127.0.0.1:7447` or `tls/hub.local:7447`; may be given several
    /// times, the first that is there is used. No daemon is needed here.
    #[arg(id = "fleet", long = "fleet", value_name = "ENDPOINT", global = true, help_heading = HEADING)]
    #[arg(value_parser = endpoint)]
    connect: Vec<String>,
    /// Zenoh's own configuration, for certificates, access control and all else.
    #[arg(id = "fleet_config", long = "fleet-config", value_name = "FILE", global = true, help_heading = HEADING)]
    config: Option<PathBuf>,
    /// Let the fleet go over a network without TLS.
    #[arg(id = "fleet_insecure", long = "fleet-insecure", global = true, help_heading = HEADING)]
    insecure: bool,
}

impl Flags {
    /// Keeps them for the command that runs.
    pub(crate) fn keep(self) {
        // There is one command line.
        let _ = GIVEN.set(self);
    }

    /// Puts what was given over the file's.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        if !self.connect.is_empty() {
            settings.connect.clone_from(&self.connect);
        }
        if self.config.is_some() {
            settings.config.clone_from(&self.config);
        }
        settings.insecure |= self.insecure;
    }
}

/// An end of a connection, as it was given.
pub(crate) fn endpoint(text: &str) -> Result<String, String> {
    Endpoint::parse_known(text).map(|_| text.to_owned())
}

/// Those that were given.
pub(crate) fn given() -> Flags {
    GIVEN.get().cloned().unwrap_or_default()
}

/// The fleet that a command is for, if it is for one.
pub(crate) fn asked() -> Option<Settings> {
    let mut settings = Settings::default();
    given().apply(&mut settings);
    settings.is_on().then_some(settings)
}
