//! Who drives a robot through a hub, and what ends it.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    VACUUM, field,
    field::{DEADMAN, Daemon, Driver, HERE, SLACK, Wheels, enable, to, velocity},
    hub, station,
};
use crate::{
    clients::{control, stop},
    net::{Host, Net},
    support::until,
};

/// What a hub calls the robot.
const ROBOT: &str = "lab.vacuum";
/// How long wheels that stand still are watched.
const WATCHED: Duration = Duration::from_secs(1);

/// A hub, and a robot whose line is recorded.
struct Lab {
    hub: Daemon,
    lab: Daemon,
    wheels: Wheels,
    host: Host,
    _net: Net,
}

impl Lab {
    fn start() -> Option<Self> {
        let net = Net::new()?;
        let host = net.host("lab");
        let hub = hub(&host);
        let lab = station(&host, "lab", &["--link", VACUUM, "--record", "record.csv"]);
        hub.until_ready(&[ROBOT]);
        let wheels = Wheels::of(&lab);
        Some(Lab { hub, lab, wheels, host, _net: net })
    }

    /// A client of the hub that drives; returns when the wheels turn.
    fn drive(&self) -> Driver {
        let begin = Instant::now();
        let driver = Driver::start(&self.hub, ROBOT);
        self.wheels.await_motion(begin);
        driver
    }

    /// Nothing moves until somebody enables the robot, then it does.
    fn assert_latched(&self, hub: &Daemon) {
        let mut client = hub.lines();
        let refusal = client.fails(to(ROBOT, velocity(0)), "not_ready");
        assert!(refusal.contains(" left"), "{refusal}");
        drop(client);
        let begin = Instant::now();
        let _driver = Driver::start(hub, ROBOT);
        self.wheels.await_motion(begin);
    }
}

#[test]
fn a_client_that_leaves_the_hub_stops_its_robot() {
    let Some(lab) = Lab::start() else { return };
    let driver = lab.drive();
    let holder =
        lab.lab.until("vacuum", "held", |robot| robot["holder"].is_string())["holder"].clone();
    assert!(holder.as_str().unwrap().ends_with(" via hub"), "{holder}");
    // Driven for a while without a pause: what there is of refusals is of the first moments.
    let begin = Instant::now();
    until("a second of driving", || (begin.elapsed() > Duration::from_secs(1)).then_some(()));
    {
        let log = driver.log();
        assert!(log.refused.is_empty(), "{:?}", log.refused);
        let ages = lab.wheels.ages(&log);
        assert!(ages.len() > 15, "{} velocities acted", ages.len());
        let slowest = ages.iter().map(|(first, _)| *first).max().unwrap();
        println!("{} velocities acted, the slowest {slowest:?} after it was sent", ages.len());
        assert!(slowest < DEADMAN, "{slowest:?}");
    }
    let left = Instant::now();
    drop(driver);
    let took = lab.wheels.assert_still(left, DEADMAN + SLACK, WATCHED);
    println!("its client left: still after {took:?}");
    lab.lab.until("vacuum", "free", |robot| robot["holder"].is_null());
    lab.assert_latched(&lab.hub);
}

#[test]
fn a_client_that_falls_silent_stops_its_robot_without_a_latch() {
    let Some(lab) = Lab::start() else { return };
    let driver = lab.drive();
    driver.fall_silent();
    let took = lab.wheels.assert_still(Instant::now(), DEADMAN + SLACK, WATCHED);
    println!("its client fell silent: still after {took:?}");
    lab.hub.until(ROBOT, "held", |robot| robot["holder"].is_string());
}

#[test]
fn a_hub_that_is_killed_stops_what_its_clients_drove() {
    let Some(mut lab) = Lab::start() else { return };
    let _driver = lab.drive();
    let killed = Instant::now();
    lab.hub.process.kill();
    lab.lab.until("vacuum", "free", |robot| robot["holder"].is_null());
    let free = killed.elapsed();
    assert!(free < field::LEASE + Duration::from_secs(1), "{free:?}");
    let took = lab.wheels.assert_still(killed, DEADMAN + SLACK, WATCHED);
    println!("the hub was killed: still after {took:?}, its controls free after {free:?}");
    lab.hub.restart();
    lab.hub.until_ready(&[ROBOT]);
    lab.assert_latched(&lab.hub);
}

#[test]
fn a_hub_that_was_paused_carries_nothing_out_that_is_old() {
    // Less than the lease, and more.
    for pause in [Duration::from_secs(1), Duration::from_secs(4)] {
        let Some(lab) = Lab::start() else { return };
        let driver = lab.drive();
        lab.hub.process.signal("STOP");
        let paused = Instant::now();
        // It goes on sending, and what it sends waits in the hub's socket.
        thread::sleep(pause);
        driver.fall_silent();
        // All of it is older than the dead-man when the hub goes on.
        thread::sleep(DEADMAN + PERIOD);
        lab.hub.process.signal("CONT");
        let took = lab.wheels.assert_still(paused, DEADMAN + SLACK, pause + WATCHED);
        println!("the hub was paused for {pause:?}: still after {took:?}");
    }
}

/// How often a driver sends.
const PERIOD: Duration = Duration::from_millis(50);

#[test]
fn a_client_that_goes_on_while_the_hub_is_paused_has_to_enable_the_robot_again() {
    let Some(lab) = Lab::start() else { return };
    let _driver = lab.drive();
    lab.hub.process.signal("STOP");
    let paused = Instant::now();
    thread::sleep(Duration::from_secs(4));
    lab.hub.process.signal("CONT");
    let watched = Duration::from_secs(4) + WATCHED;
    let took = lab.wheels.assert_still(paused, DEADMAN + SLACK, watched);
    println!("the hub was paused for 4 s: still after {took:?}");
    lab.hub.until_ready(&[ROBOT]);
    drop(_driver);
    lab.assert_latched(&lab.hub);
}

#[test]
fn of_two_hubs_one_has_the_controls_and_both_stop() {
    let Some(lab) = Lab::start() else { return };
    let other = Daemon::start(&lab.host, &["--hub", "--fleet", HERE, "--fleet-name", "office"]);
    other.until_ready(&[ROBOT]);
    let driver = lab.drive();
    let mut second = other.lines();
    let refusal = second.fails(to(ROBOT, enable()), "busy");
    assert!(refusal.contains(" via hub"), "{refusal}");
    // Anybody stops.
    let mut third = other.lines();
    let begin = Instant::now();
    third.ok(to(ROBOT, stop()));
    println!("stopped by the other hub in {:?}", begin.elapsed());
    let took = lab.wheels.assert_still(begin, SLACK, Duration::ZERO);
    println!("the wheels stood still {took:?} after it was sent");
    let by = lab.lab.until("vacuum", "stopped", |robot| robot["stopped_by"].is_string());
    assert!(by["stopped_by"].as_str().unwrap().ends_with(" via office"), "{by}");
    drop(driver);
    // Who takes the controls ends what the other did, and then has them.
    until("the controls", || (second.ask(to(ROBOT, enable()))["ok"] == true).then_some(()));
    drop(second);
    let driver = lab.drive();
    let begin = Instant::now();
    third.ok(to(ROBOT, json!({ "type": "TakeControl", "name": "ann" })));
    let took = lab.wheels.assert_still(begin, SLACK, WATCHED);
    println!("controls were taken: still after {took:?}");
    let refused = driver.log().refused.last().cloned().unwrap();
    assert!(refused.0 == "busy" && refused.1.contains("ann"), "{refused:?}");
    third.ok(to(ROBOT, control("drive", "Enable")));
    third.ok(to(ROBOT, velocity(0)));
}
