//! A daemon for a G1.

use serde_json::{Value, json};

use crate::{
    clients::Lines,
    support::{Dir, Ended, Process, run, sinew, until},
};

pub(crate) struct Daemon {
    pub(crate) process: Process,
    ready: Value,
}

impl Daemon {
    pub(crate) fn start(dir: &Dir, link: &str) -> Self {
        let mut command = sinew(dir);
        command.args(["serve", "--json", "--g1", link]);
        for port in ["--tcp", "--lines", "--http"] {
            command.args([port, "127.0.0.1:0"]);
        }
        let process = Process::spawn(&mut command);
        let ready = process.ready();
        Daemon { process, ready }
    }

    fn address(&self) -> &str {
        self.ready["lines"].as_str().unwrap()
    }

    pub(crate) fn http(&self) -> &str {
        self.ready["http"].as_str().unwrap()
    }

    pub(crate) fn lines(&self) -> Lines {
        Lines::connect(self.address())
    }

    /// A command line that talks to it, and goes on.
    pub(crate) fn cli(&self, dir: &Dir, args: &[&str]) -> Process {
        Process::sinew(dir, &[args, &["--server", self.address()]].concat())
    }

    /// The same to its end.
    pub(crate) fn ask(&self, dir: &Dir, args: &[&str]) -> Ended {
        run(dir, &[args, &["--server", self.address()]].concat())
    }

    pub(crate) fn robot(&self) -> Value {
        self.lines().ok(json!({ "type": "Robots" }))["robots"][0].clone()
    }

    /// Something of the robot's state.
    pub(crate) fn state(&self, pointer: &str) -> Value {
        self.robot()["state"].pointer(pointer).cloned().unwrap_or_default()
    }

    pub(crate) fn wait_link(&self, state: &str) {
        until(&format!("the link to be {state}; it is {}", self.robot()["link"]), || {
            (self.robot()["link"]["state"] == state).then_some(())
        });
    }
}
