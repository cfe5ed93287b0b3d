//! The Unitree G1: over WebRTC, by datagrams, or both.

#[cfg(feature = "webrtc")]
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sinew_robot::{
    capability::{Capability, Robot},
    teach,
};
use sinew_wire::teach::Layout;

use super::{Error, Kind, Services, Settings, read, table, within};
#[cfg(all(feature = "sim", feature = "webrtc"))]
use crate::link::WebRtcServerOptions;
#[cfg(feature = "sim")]
use crate::sim::{G1Options, G1Simulator};
use crate::{Address, g1::G1};
#[cfg(feature = "webrtc")]
use crate::{
    link::{KeyFile, WebRtcOptions},
    unitree::{Datagrams, Replay, Unitree},
};

pub(super) struct G1Kind;

/// What can be set for a G1.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
struct Set {
    /// How often a request is sent before it is given up, and how long each waits for an answer.
    tries: u32,
    retry_ms: u64,
    /// How often the opening cycle is repeated, and teaching is maintained.
    cycle_ms: u64,
    maintain_ms: u64,
    /// How long teaching goes on while no client asks for anything.
    idle_exit_ms: u64,
    /// Where the robot is taught by datagrams besides, as `udp:192.168.86.3:49504`.
    #[cfg(feature = "webrtc")]
    datagrams: Option<String>,
    /// A file with the key of a robot that has its own, where the link does not name one.
    #[cfg(feature = "webrtc")]
    key_file: Option<PathBuf>,
}

impl Default for Set {
    fn default() -> Self {
        let teach::Settings { tries, retry, cycle, maintain, idle_exit, .. } = Default::default();
        let ms = |time: Duration| time.as_millis() as u64;
        Set {
            tries,
            retry_ms: ms(retry),
            cycle_ms: ms(cycle),
            maintain_ms: ms(maintain),
            idle_exit_ms: ms(idle_exit),
            #[cfg(feature = "webrtc")]
            datagrams: None,
            #[cfg(feature = "webrtc")]
            key_file: None,
        }
    }
}

impl Set {
    fn read(given: &Settings) -> Result<Self, Error> {
        let set: Set = read(given)?;
        within("tries", 1..=100, set.tries)?;
        within("retry_ms", 10..=10_000, set.retry_ms)?;
        within("cycle_ms", 100..=60_000, set.cycle_ms)?;
        // A robot whose teaching is not maintained for 10 s ends it.
        within("maintain_ms", 100..=9000, set.maintain_ms)?;
        within("idle_exit_ms", 1000..=86_400_000, set.idle_exit_ms)?;
        #[cfg(feature = "webrtc")]
        set.datagrams()?;
        Ok(set)
    }

    /// Where the robot is taught by datagrams besides.
    #[cfg(feature = "webrtc")]
    fn datagrams(&self) -> Result<Option<Datagrams>, Error> {
        let Some(text) = &self.datagrams else { return Ok(None) };
        let wrong = |why: &dyn std::fmt::Display| Error::Setting(format!("datagrams: {why}"));
        match text.parse() {
            Ok(Address::Udp { host, port, layout }) => {
                Ok(Some((host, port, self.settings(layout))))
            }
            Ok(other) => Err(wrong(&format!("wanted udp:HOST, got {other}"))),
            Err(error) => Err(wrong(&error)),
        }
    }

    fn settings(&self, layout: Layout) -> teach::Settings {
        let ms = Duration::from_millis;
        teach::Settings {
            layout,
            tries: self.tries,
            retry: ms(self.retry_ms),
            cycle: ms(self.cycle_ms),
            maintain: ms(self.maintain_ms),
            idle_exit: ms(self.idle_exit_ms),
            ..teach::Settings::default()
        }
    }
}

impl Kind for G1Kind {
    fn name(&self) -> &'static str {
        "g1"
    }

    fn default_name(&self) -> &'static str {
        "g1"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[
            Capability::Sensors,
            Capability::Teach,
            #[cfg(feature = "webrtc")]
            Capability::Mapping,
        ]
    }

    fn schemes(&self) -> &'static [&'static str] {
        &[
            "udp",
            "sim",
            #[cfg(feature = "webrtc")]
            "webrtc",
            #[cfg(feature = "webrtc")]
            "replay",
        ]
    }

    fn settings(&self, given: &Settings) -> Result<Settings, Error> {
        Set::read(given).map(|set| table(&set))
    }

    fn start(
        &self,
        link: &Address,
        settings: &Settings,
        services: Services,
    ) -> Result<Robot, Error> {
        let set = Set::read(settings)?;
        match link {
            Address::Udp { host, port, layout } => {
                let settings = set.settings(*layout);
                Ok(G1::compose(self.name(), host, *port, settings, services)?.0)
            }
            #[cfg(feature = "webrtc")]
            Address::WebRtc { host, port, key_file, interface } => {
                let key_file = key_file.as_ref().or(set.key_file.as_ref());
                let options = WebRtcOptions {
                    host: host.clone(),
                    port: *port,
                    key: key_file.map(|file| KeyFile::read(file)).transpose()?.map(|file| file.key),
                    interface: interface.clone(),
                };
                Ok(Unitree::compose(self.name(), options, set.datagrams()?, services)?)
            }
            #[cfg(feature = "webrtc")]
            Address::Replay { repeat: true, .. } => {
                let message = "a G1's recording plays once: leave loop=1 out";
                Err(Error::Link(message.into()))
            }
            #[cfg(feature = "webrtc")]
            Address::Replay { path, speed, .. } => {
                Ok(Replay::compose(self.name(), path, *speed, services)?)
            }
            #[cfg(feature = "sim")]
            Address::Sim { seed, .. } => self.simulated(*seed, &set, services),
            other => Err(Error::Link(format!("this build has no {other} for a G1"))),
        }
    }
}

#[cfg(feature = "sim")]
impl G1Kind {
    /// A simulated robot and what drives it, joined by loopback sockets.
    fn simulated(&self, seed: u64, set: &Set, services: Services) -> Result<Robot, Error> {
        let robot = sinew_sim::g1::Options { seed, ..Default::default() };
        let options = G1Options { robot, ..Default::default() };
        #[cfg(feature = "webrtc")]
        let options = G1Options { webrtc: Some(WebRtcServerOptions::default()), ..options };
        let simulator = G1Simulator::spawn(options)?;
        let (host, port) = (simulator.address().ip().to_string(), simulator.address().port());
        let settings = set.settings(Layout::Documented);
        #[cfg(not(feature = "webrtc"))]
        let mut robot = G1::compose(self.name(), &host, port, settings, services)?.0;
        #[cfg(feature = "webrtc")]
        let mut robot = {
            let signalling = simulator.webrtc().map(|at| at.port());
            let interface = Some(host.clone());
            let options =
                WebRtcOptions { host: host.clone(), port: signalling, key: None, interface };
            Unitree::compose(self.name(), options, Some((host, port, settings)), services)?
        };
        robot.keep(simulator);
        Ok(robot)
    }
}
