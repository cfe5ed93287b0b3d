//! The driver of a G1 that is taught by datagrams.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use sinew_robot::{
    Order, OrderKind, Origin, Refusal,
    capability::{
        Audience, Boxed, Detail, Driver, Figure, Reading, Report, Robot, Sensors, sensor_group,
    },
    teach::{
        Answer, Carries, Counters, Event, LinkState, Reduction, RobotRequest, Session, Settings,
        State,
    },
};

use crate::{
    Around, Wiring,
    kind::Services,
    link::{Side, UdpClient},
    pump::{Handle, Policy},
    report::{link_json, members, timestamp_us},
    teaching::{Recorded, Taught, Teaching},
    tell::Listener,
};

pub(crate) const JOINTS: &str = "joints";
/// A pose that is older than this is no news.
const FRESH: Duration = Duration::from_secs(1);

/// The robot gets a while to confirm the end of teaching when the daemon ends.
const POLICY: Policy =
    Policy { name: "g1", priority: None, relayed: false, farewell: Duration::from_secs(2) };

/// A G1's teaching service. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct G1 {
    handle: Handle<Session>,
}

impl G1 {
    /// Starts the thread, which keeps up the session with the robot at this name or address.
    pub fn spawn(
        host: &str,
        port: u16,
        settings: Settings,
        wiring: Wiring<Event>,
    ) -> io::Result<Self> {
        let unix_time = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs());
        let settings = Settings { unix_time: unix_time.ok(), ..settings };
        let session = Session::new(settings, Instant::now());
        let link = Around::all(UdpClient::new(host.into(), port), Side::Host, wiring.around)?;
        // Beside this thread, so that a stop never waits for it.
        let work = Box::new(|job: Reduction| job.run());
        let handle = Handle::spawn(session, link, POLICY, wiring.listener, Some(work))?;
        Ok(G1 { handle })
    }

    /// Starts a robot that is taught over datagrams, with a library beside it; also its driver.
    pub fn compose(
        kind: &'static str,
        host: &str,
        port: u16,
        settings: Settings,
        services: Services,
    ) -> io::Result<(Robot, Self)> {
        #[cfg_attr(
            not(feature = "capture"),
            expect(unused_mut, reason = "nothing is put around it")
        )]
        let Services { mut around, epoch, audience, library, .. } = services;
        let mut robot = Robot::new(kind);
        #[cfg(feature = "capture")]
        Around::tell(&mut around, &audience, &mut robot);
        let wiring = Wiring { around, epoch, listener: told(audience, None) };
        let g1 = G1::spawn(host, port, settings, wiring)?;
        let driver = Arc::new(g1.clone());
        robot.drivers.push(("teaching", driver.clone()));
        robot.sensors.push(driver.clone());
        robot.teach = Some(Arc::new(Teaching::new(driver, library)));
        Ok((robot, g1))
    }

    /// What the robot is doing.
    pub fn state(&self) -> State {
        self.handle.state()
    }
}

impl Taught for G1 {
    fn request(
        &self,
        request: RobotRequest,
        origin: Origin,
    ) -> Boxed<'static, Result<Answer, Refusal>> {
        let handle = self.handle.clone();
        if request != RobotRequest::Stop {
            return Box::pin(async move { handle.request(request, origin).await });
        }
        let (by, client) = (Arc::clone(&origin.by), Some(origin.client));
        let stop = Order { kind: OrderKind::Stop, epoch: origin.epoch, by, client };
        Box::pin(async move { handle.stop_by(request, origin, stop).await })
    }

    fn carries(&self) -> Carries {
        Session::CARRIES
    }

    fn recorded(&self) -> Recorded {
        let state = self.state();
        Recorded { running: state.recording, name: state.recording_name, recording: state.recorded }
    }
}

impl Driver for G1 {
    /// Teaching belongs to the robot, not to a connection: it goes on when its client has gone, and
    /// ends by itself when nothing is asked for any more. So does what plays, unless it is Sinew
    /// that repeats it.
    fn order(&self, order: &Order) {
        self.handle.order(order.clone());
    }

    fn report(&self) -> Report {
        let state = self.state();
        let since_seen = state.last_seen.map(|seen| seen.elapsed());
        let mut members = members(&state);
        members.remove("link");
        Report {
            link: link(&state.link),
            fresh: state.link == LinkState::Ready && since_seen.is_some_and(|since| since <= FRESH),
            stopped_by: None,
            since_seen,
            figures: figures(&state),
            state: members,
        }
    }

    fn shut_down(&self) {
        self.handle.shut_down();
    }
}

impl Sensors for G1 {
    fn groups(&self) -> &'static [&'static str] {
        &[JOINTS]
    }

    fn retained(&self, _group: &str) -> Option<Reading> {
        None
    }
}

/// Has a robot's clients told what its session tells. `beside` is its driver's name where another
/// has the first word: what both of them see is told by that one.
pub(crate) fn told(
    audience: Arc<dyn Audience>,
    beside: Option<&'static str>,
) -> Arc<dyn Listener<Event>> {
    Arc::new(Teller { audience, beside })
}

/// Tells a robot's clients what its session told.
struct Teller {
    audience: Arc<dyn Audience>,
    beside: Option<&'static str>,
}

impl Listener<Event> for Teller {
    fn wants(&self, event: &Event) -> bool {
        !matches!(event, Event::Status { .. }) || self.audience.wants_sensors()
    }

    fn event(&self, event: Event) {
        match event {
            Event::Status { .. } => self.audience.sensors(&joints(event)),
            Event::Link { link: ref to, .. } => {
                let mut value = serde_json::to_value(&event).unwrap_or_default();
                value["link"] = link(to);
                if let Some(driver) = self.beside {
                    value["driver"] = driver.into();
                }
                self.audience.event(value);
            }
            Event::Stopped { .. } | Event::Closed if self.beside.is_some() => {}
            other => self.audience.event(serde_json::to_value(other).unwrap_or_default()),
        }
        self.audience.changed();
    }

    fn missed(&self, count: u64) {
        self.audience.missed(count);
    }
}

/// How the robot can be reached, and why not: in the system's words, or that it is silent.
fn link(link: &LinkState) -> Value {
    let silent = matches!(link, LinkState::Connecting { .. } | LinkState::Lost { .. });
    link_json(link, (silent && link.reason().is_none()).then(|| link.to_string()))
}

/// Positions and velocities as arrays; the interface has no type for those, so they stand plain.
fn joints(event: Event) -> Reading {
    let now = timestamp_us();
    let json = move |_: Detail| {
        let Event::Status { positions, velocities, time_ms, mode, .. } = &event else {
            return String::new();
        };
        let values = json!({
            "positions": positions,
            "velocities": velocities,
            "time_ms": { "U32": time_ms },
            "mode": { "U32": mode },
        });
        sensor_group(JOINTS, now, &values)
    };
    Reading::new(JOINTS, json)
}

fn figures(state: &State) -> Vec<Figure> {
    let Counters { sent, retries, received, foreign, .. } = state.counters;
    vec![
        Figure::counter("datagrams_sent_total", "Datagrams sent.", sent),
        Figure::counter("datagrams_received_total", "Good datagrams received.", received),
        Figure::counter("retries_total", "Datagrams sent again.", retries),
        Figure::counter("foreign_datagrams_total", "Datagrams of another protocol.", foreign),
    ]
}
