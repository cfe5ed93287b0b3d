//! The CRL-200S vacuum: a motor controller on a serial line, and a lidar on another.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use sinew_robot::{
    capability::{Capability, Robot},
    lidar::{Mounting, View},
    vacuum,
};
use sinew_wire::gd32::Profile;

use super::{Error, Kind, Services, Settings, read, table, within};
#[cfg(feature = "capture")]
use crate::Around;
#[cfg(feature = "maps")]
use crate::ground::{Asked, Ground};
#[cfg(feature = "sim")]
use crate::link::Inside;
#[cfg(feature = "capture")]
use crate::link::LoggedLink;
use crate::{
    Address, Wiring,
    follow::Follower,
    lidar::{self, LIDAR, Lidar},
    link::{Link, SerialLink},
    vacuum::{Teller, Vacuum},
};

pub(super) struct Crl200s;

/// What can be set for a vacuum.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
struct Set {
    deadman_ms: u64,
    max_linear: f64,
    max_angular: f64,
    profile: ProfileName,
    /// Status packets a second that the link is expected to carry. Of a simulated vacuum its address
    /// may say it.
    status_hz: f64,
    /// Where the lidar is: a serial line, `off`, or [`AUTO`].
    lidar: String,
    /// From where its turns are seen.
    lidar_view: ViewName,
    lidar_clockwise: bool,
    lidar_zero_deg: f64,
    lidar_x: f64,
    lidar_y: f64,
    lidar_optics: f64,
}

/// A simulated vacuum has a lidar by itself, a real one does not.
const AUTO: &str = "auto";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ViewName {
    /// As the clients of the profile's time are used to.
    #[default]
    Auto,
    Raw,
    Robot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProfileName {
    #[default]
    Document,
    Later,
}

impl Default for Set {
    fn default() -> Self {
        let vacuum::Settings { deadman, max_linear, max_angular, .. } = Default::default();
        let mounting = Mounting::default();
        Set {
            deadman_ms: deadman.as_millis() as u64,
            max_linear: decimal(max_linear),
            max_angular: decimal(max_angular),
            profile: ProfileName::default(),
            status_hz: 110.0,
            lidar: AUTO.into(),
            lidar_view: ViewName::default(),
            lidar_clockwise: mounting.clockwise,
            lidar_zero_deg: mounting.zero_deg,
            lidar_x: mounting.x,
            lidar_y: mounting.y,
            lidar_optics: mounting.optics,
        }
    }
}

/// The number with as few digits as tell it.
fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(number.into())
}

impl Set {
    fn read(given: &Settings) -> Result<Self, Error> {
        let set: Set = read(given)?;
        within("deadman_ms", 50..=2000, set.deadman_ms)?;
        within("status_hz", 1.0..=1000.0, set.status_hz)?;
        let wrong = |message: String| Err(Error::Setting(message));
        if !(set.max_linear > 0.0 && set.max_linear <= 1.0) {
            let got = set.max_linear;
            return wrong(format!("max_linear: wanted above 0 and at most 1 m/s, got {got}"));
        }
        if !(set.max_angular > 0.0 && set.max_angular <= 4.0) {
            let got = set.max_angular;
            return wrong(format!("max_angular: wanted above 0 and at most 4 rad/s, got {got}"));
        }
        within("lidar_zero_deg", -360.0..=360.0, set.lidar_zero_deg)?;
        within("lidar_x", -1.0..=1.0, set.lidar_x)?;
        within("lidar_y", -1.0..=1.0, set.lidar_y)?;
        within("lidar_optics", -0.2..=0.2, set.lidar_optics)?;
        set.lidar_line()?;
        Ok(set)
    }

    /// The lidar's serial line and its speed, if one is given.
    fn lidar_line(&self) -> Result<Option<(PathBuf, u32)>, Error> {
        let wrong = |got: String| {
            Error::Setting(format!("lidar: wanted serial:, off or {AUTO}, got {got}"))
        };
        match self.lidar.as_str() {
            "off" | AUTO => Ok(None),
            text => match text.parse().map_err(|error| wrong(format!("{text:?} ({error})")))? {
                Address::Serial { path, baud } => Ok(Some((path, baud))),
                other => Err(wrong(other.to_string())),
            },
        }
    }

    fn lidar_settings(&self) -> lidar::Settings {
        let view = match (self.lidar_view, self.profile) {
            (ViewName::Raw, _) | (ViewName::Auto, ProfileName::Document) => View::Raw,
            (ViewName::Robot, _) | (ViewName::Auto, ProfileName::Later) => View::Robot,
        };
        let mounting = Mounting {
            clockwise: self.lidar_clockwise,
            zero_deg: self.lidar_zero_deg,
            x: self.lidar_x,
            y: self.lidar_y,
            optics: self.lidar_optics,
        };
        lidar::Settings { view, mounting }
    }

    fn profile(&self) -> Profile {
        match self.profile {
            ProfileName::Document => Profile::DOCUMENT,
            ProfileName::Later => Profile::LATER,
        }
    }

    fn settings(&self, baud: u32) -> vacuum::Settings {
        vacuum::Settings {
            profile: self.profile(),
            deadman: Duration::from_millis(self.deadman_ms),
            max_linear: self.max_linear as f32,
            max_angular: self.max_angular as f32,
            status_period: Duration::from_secs_f64(1.0 / self.status_hz),
            baud,
            ..vacuum::Settings::default()
        }
    }
}

/// A line to a lidar.
type Line = Box<dyn Link<Peer = ()>>;

/// Where the controller is.
enum Place {
    Port(PathBuf),
    #[cfg(feature = "sim")]
    Inside(Box<Inside<sinew_sim::vacuum::Controller>>),
    /// It was, when this was written.
    #[cfg(feature = "capture")]
    Log(LoggedLink),
}

impl Kind for Crl200s {
    fn name(&self) -> &'static str {
        "crl200s"
    }

    fn default_name(&self) -> &'static str {
        "vacuum"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[
            Capability::Drive,
            Capability::Components,
            Capability::Sensors,
            // With its lidar, if it has one.
            #[cfg(feature = "maps")]
            Capability::Mapping,
        ]
    }

    fn components(&self) -> Vec<&'static str> {
        vacuum::components::COMPONENTS.iter().map(|component| component.id).collect()
    }

    fn schemes(&self) -> &'static [&'static str] {
        &[
            "serial",
            "sim",
            #[cfg(feature = "capture")]
            "replay",
        ]
    }

    /// Of recordings, logs of serial lines are ours.
    fn fits(&self, link: &Address) -> bool {
        let is_ours = match link {
            Address::Replay { path, .. } => {
                let name = path.to_string_lossy();
                let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
                [".csv", ".pcapng", ".pcap"].iter().any(|end| name.ends_with(end))
            }
            _ => true,
        };
        is_ours && self.schemes().contains(&link.scheme())
    }

    fn has_sim_rate(&self) -> bool {
        true
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
        let mut set = Set::read(settings)?;
        // What the simulator is told to send is what is expected of it: a slow one is not lost.
        if let Address::Sim { rate: Some(rate), .. } = link {
            set.status_hz = (*rate).into();
        }
        let mut robot = Robot::new(self.name());
        let lidar = set.lidar_line()?;
        let lidar = lidar.map(|(path, baud)| -> Line { Box::new(SerialLink::new(path, baud)) });
        #[cfg(feature = "sim")]
        let mut lidar = lidar;
        let (place, baud) = match link {
            Address::Serial { path, baud } => (Place::Port(path.clone()), *baud),
            #[cfg(feature = "capture")]
            Address::Replay { path, speed, repeat } => {
                let link = LoggedLink::open(path, *speed, *repeat)?;
                (Place::Log(link), vacuum::Settings::default().baud)
            }
            #[cfg(feature = "sim")]
            Address::Sim { seed, rate } => {
                // It speaks as its host expects of a robot.
                let profile = set.profile();
                let usual = sinew_sim::vacuum::Options::default();
                let rate_hz = rate.unwrap_or(usual.rate_hz);
                let options = sinew_sim::vacuum::Options { seed: *seed, profile, rate_hz, ..usual };
                let (controller, simulated) = crate::sim::vacuum_inside(options);
                if set.lidar == AUTO {
                    lidar = Some(Box::new(simulated));
                }
                (Place::Inside(Box::new(controller)), vacuum::Settings::default().baud)
            }
            other => return Err(Error::Link(format!("this build has no {other} for a vacuum"))),
        };
        let settings = set.settings(baud);
        #[cfg_attr(
            not(feature = "capture"),
            expect(unused_mut, reason = "nothing is put around it")
        )]
        let Services { mut around, epoch, audience, .. } = services;
        #[cfg(feature = "capture")]
        Around::tell(&mut around, &audience, &mut robot);
        let lidar_settings = set.lidar_settings();
        #[cfg(feature = "maps")]
        let ground = match &lidar {
            Some(_) => Some(Ground::spawn(lidar_settings.mounting, audience.clone())?),
            None => None,
        };
        #[cfg(feature = "maps")]
        let follower = ground.clone().map(|ground| ground as Arc<dyn Follower>);
        #[cfg(not(feature = "maps"))]
        let follower: Option<Arc<dyn Follower>> = None;
        let listener = Arc::new(Teller {
            audience: audience.clone(),
            profile: settings.profile,
            follower: follower.clone(),
        });
        let wiring = Wiring { around, epoch, listener };
        let vacuum = Arc::new(match place {
            Place::Port(path) => Vacuum::spawn(&path, settings, wiring)?,
            #[cfg(feature = "sim")]
            Place::Inside(link) => Vacuum::on(*link, settings, wiring)?,
            #[cfg(feature = "capture")]
            Place::Log(link) => Vacuum::replay(link, settings, wiring)?,
        });
        robot.drivers.push(("controller", vacuum.clone()));
        robot.drive = Some(vacuum.clone());
        robot.components = Some(vacuum.clone());
        robot.sensors.push(vacuum.clone());
        if let Some(link) = lidar {
            let controller = Vacuum::clone(&vacuum);
            let lidar = Lidar::on(link, lidar_settings, controller, audience, follower)?;
            let lidar = Arc::new(lidar);
            robot.drivers.push((LIDAR, lidar.clone()));
            robot.sensors.push(lidar.clone());
            #[cfg(feature = "maps")]
            if let Some(ground) = ground {
                ground.publish(&mut robot);
                let controller = Vacuum::clone(&vacuum);
                robot.mapping = Some(Arc::new(Asked { ground, controller, lidar }));
            }
        }
        Ok(robot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_reckoned_as_fast_as_its_address_says() {
        let set = Set::read(&Settings::new()).expect("defaults are good");
        assert_eq!(set.settings(57_600).baud, 57_600);
        assert_eq!(vacuum::Settings::default().baud, 115_200);
    }
}
