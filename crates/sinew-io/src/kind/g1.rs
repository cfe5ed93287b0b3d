//! The Unitree G1: over WebRTC, by datagrams, or both.

use std::{any::Any, time::Duration};

use serde::{Deserialize, Serialize};
use sinew_robot::{
    capability::{Capability, Robot},
    teach,
};
use sinew_wire::teach::Layout;

use super::{Error, Kind, Services, Settings, read, table, within};
use crate::{Address, g1::G1};

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
    datagrams: Option<Address>,
    /// A file with the key of a robot that has its own, where the link does not name one.
    #[cfg(feature = "webrtc")]
    key_file: Option<PathBuf>,
}

impl Default for Set {
    fn default() -> Self {
        let teach::Settings { tries, retry, cycle, maintain, idle_exit, .. } = Default::default();
        let ms = |time: Duration| time.as_millis() as u64;
        let (retry_ms, cycle_ms, maintain_ms) = (ms(retry), ms(cycle), ms(maintain));
        Set { tries, retry_ms, cycle_ms, maintain_ms, idle_exit_ms: ms(idle_exit) }
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
        Ok(set)
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
        &[Capability::Sensors, Capability::Teach]
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["udp", "sim"]
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
        #[cfg_attr(not(feature = "sim"), expect(unused_mut, reason = "nothing is simulated"))]
        let mut kept: Option<Box<dyn Any + Send + Sync>> = None;
        let (host, port, layout) = match link {
            Address::Udp { host, port, layout } => (host.clone(), *port, *layout),
            #[cfg(feature = "sim")]
            Address::Sim { seed } => {
                let simulator = crate::sim::G1Simulator::spawn(crate::sim::G1Options {
                    robot: sinew_sim::g1::Options { seed: *seed, ..Default::default() },
                    ..Default::default()
                })?;
                let address = simulator.address();
                kept = Some(Box::new(simulator));
                (address.ip().to_string(), address.port(), Layout::Documented)
            }
            other => return Err(Error::Link(format!("this build has no {other} for a G1"))),
        };
        let (mut robot, _) = G1::compose(self.name(), &host, port, set.settings(layout), services)?;
        robot.keep(kept);
        Ok(robot)
    }
}
