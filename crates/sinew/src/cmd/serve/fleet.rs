//! The flags of `[fleet]`, beside those that all commands have.

use std::{path::PathBuf, thread, time::Duration};

use rustix::process::{Signal, getpid, getppid, kill_process};
use sinew_fleet::Settings;

use crate::fleet;

/// What this daemon is in a fleet.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Flags {
    /// Offer the robots of all daemons of the fleet, as HOST.ROBOT, on this daemon's ports and dashboard.
    #[arg(long)]
    hub: bool,
    /// Let other daemons and programs connect here, as `tcp/127.0.0.1:7447`; may be given several times.
    #[arg(id = "fleet_listen", long = "fleet-listen", value_name = "ENDPOINT")]
    #[arg(value_parser = crate::fleet::endpoint)]
    listen: Vec<String>,
    /// What this daemon is called in the fleet: the machine's name by default.
    #[arg(id = "fleet_name", long = "fleet-name", value_name = "NAME")]
    name: Option<String>,
    /// A file with the secret that a hub shows to the daemons of the fleet.
    #[arg(id = "fleet_secret_file", long = "fleet-secret-file", value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

/// Ends this process as SIGTERM does once its parent has gone, however that ended: the daemons of a demonstration must
/// not outlive it.
pub(super) fn end_with_parent() {
    const LOOK: Duration = Duration::from_millis(500);
    let parent = getppid();
    thread::spawn(move || {
        while getppid() == parent {
            thread::sleep(LOOK);
        }
        let _ = kill_process(getpid(), Signal::TERM);
    });
}

impl Flags {
    /// Puts what was given over the file's.
    pub(super) fn apply(&self, settings: &mut Settings) {
        fleet::given().apply(settings);
        settings.hub |= self.hub;
        if !self.listen.is_empty() {
            settings.listen.clone_from(&self.listen);
        }
        if self.name.is_some() {
            settings.name.clone_from(&self.name);
        }
        if self.secret_file.is_some() {
            settings.secret_file.clone_from(&self.secret_file);
        }
    }
}
