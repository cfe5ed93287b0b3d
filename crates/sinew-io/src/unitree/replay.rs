//! A recording in the place of a robot.

use std::{io, path::Path, sync::Arc, time::Duration};

use sinew_robot::{
    Order, Origin, Refusal,
    capability::{Boxed, Driver, Report, Robot},
    mapping::{Answer, Request},
    unitree::{LinkState, replay},
};

use super::{Groups, ODOMETRY, Slam, Teller, figures, link, slam::Asked, tap, topics};
use crate::{
    Around,
    kind::Services,
    link::{ReplayLink, Side},
    pump::{Handle, Policy},
    report::members,
    volume::{MAP, Volume},
};

const POLICY: Policy =
    Policy { name: "replay", priority: None, relayed: false, farewell: Duration::from_secs(1) };

/// A recording that plays. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Replay {
    handle: Handle<replay::Replay>,
    volume: Volume,
}

impl Replay {
    /// A robot that is a recording, which plays from now on, this much faster than it was made.
    pub fn compose(
        kind: &'static str,
        path: &Path,
        speed: f64,
        services: Services,
    ) -> io::Result<Robot> {
        let Services { around, audience, .. } = services;
        let link = Around::all(ReplayLink::open(path, speed)?, Side::Host, around)?;
        let volume = Volume::spawn(Arc::clone(&audience))?;
        let teller =
            Teller { waits: true, ..Teller::new(Arc::clone(&audience), volume.clone(), false) };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut session = replay::Replay::new(&name);
        session.tap(tap(audience));
        let handle = Handle::spawn(session, link, POLICY, Arc::new(teller), None)?;
        let replay = Arc::new(Replay { handle, volume: volume.clone() });
        let mut robot = Robot::new(kind);
        robot.drivers.push(("replay", replay.clone()));
        robot.sensors.push(Arc::new(Groups(&[ODOMETRY])));
        robot.frames.extend(topics(&volume));
        robot.mapping = Some(Arc::new(Slam::new(replay, volume, None)));
        Ok(robot)
    }
}

impl Asked for Replay {
    fn ask(&self, request: Request, origin: Origin) -> Boxed<'static, Result<Answer, Refusal>> {
        let handle = self.handle.clone();
        Box::pin(async move { handle.request(request, origin).await })
    }
}

impl Driver for Replay {
    fn order(&self, order: &Order) {
        self.handle.order(order.clone());
    }

    fn report(&self) -> Report {
        let state = self.handle.state();
        let mut members = members(&state);
        members.remove("link");
        members.insert(MAP.into(), self.volume.state());
        let mut figures = figures(&state.counters);
        figures.extend(self.volume.figures());
        Report {
            link: link(&state.link),
            fresh: state.link == LinkState::Ready,
            stopped_by: None,
            since_seen: state.last_seen.map(|seen| seen.elapsed()),
            figures,
            state: members,
        }
    }

    fn shut_down(&self) {
        self.handle.shut_down();
    }
}
