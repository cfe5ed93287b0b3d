//! Wires that are cut, lose and delay, and routers that go.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    VACUUM,
    field::{DEADMAN, Daemon, Driver, SLACK, Wheels, enable, to, try_robot, velocity},
};
use crate::{
    clients::stop,
    net::{Faults, Host, Net, Wire},
    support::{CONTROL_TOKEN, Dir, until},
};

/// What a hub calls the robot.
const ROBOT: &str = "lab.vacuum";
/// How long a wire is cut.
const CUT: Duration = Duration::from_secs(10);
/// How long everything may take to be back.
const BACK: Duration = Duration::from_secs(15);

/// Arguments of a hub that goes beyond its host, and the directory of its secret.
fn hub(host: &Host, more: &[&str]) -> Daemon {
    let dir = Dir::new();
    let secret = dir.secret("secret", CONTROL_TOKEN);
    let arguments =
        ["--hub", "--fleet-name", "hub", "--fleet-insecure", "--fleet-secret-file", &secret];
    Daemon::within(dir, host, &[&arguments, more].concat())
}

/// A robot that is recorded.
fn lab(host: &Host, more: &[&str]) -> Daemon {
    let dir = Dir::new();
    let tokens = dir.tokens();
    let arguments = ["--link", VACUUM, "--fleet-name", "lab", "--fleet-insecure"];
    let files = ["--token-file", &tokens, "--record", "record.csv"];
    Daemon::within(dir, host, &[&arguments[..], &files, more].concat())
}

fn router(host: &Host, listen: &str) -> Daemon {
    Daemon::start(host, &["--fleet-listen", listen, "--fleet-insecure"])
}

fn endpoint(address: &str) -> String {
    format!("tcp/{address}:7447")
}

/// Cuts a wire for a while in the middle of driving.
fn assert_cut_stops(hub: &Daemon, lab: &Daemon, wire: &Wire) {
    hub.until_ready(&[ROBOT]);
    let wheels = Wheels::of(lab);
    let begin = Instant::now();
    let driver = Driver::start(hub, ROBOT);
    wheels.await_motion(begin);
    wire.cut();
    let cut = Instant::now();
    hub.until(ROBOT, "away", |robot| robot["link"]["state"] == "disconnected");
    println!("the hub said that the robot is away after {:?}", cut.elapsed());
    hub.lines().fails(to(ROBOT, enable()), "link_lost");
    let took = wheels.assert_still(cut, DEADMAN + SLACK, CUT - DEADMAN - SLACK);
    wire.join();
    let joined = Instant::now();
    hub.until_ready(&[ROBOT]);
    let back = joined.elapsed();
    println!("still {took:?} after the cut; {back:?} after its end the robot was back");
    assert!(back < BACK, "{back:?}");
    // The driver has sent velocities all the time, and still does.
    wheels.assert_still(cut, DEADMAN + SLACK, CUT + back + Duration::from_secs(1));
    let refused = driver.log().refused.last().cloned().unwrap();
    assert_eq!(refused.0, "not_ready", "{refused:?}");
    drop(driver);
    let begin = Instant::now();
    let _driver = Driver::start(hub, ROBOT);
    wheels.await_motion(begin);
}

#[test]
fn a_cut_between_hub_and_robot_stops_it_until_somebody_enables_it() {
    let Some(net) = Net::new() else { return };
    let (there, here) = (net.host("hub"), net.host("lab"));
    let wire = net.wire(&there, &here, Faults::default());
    let end = endpoint(&wire.addresses[0]);
    let hub = hub(&there, &["--fleet-listen", &end]);
    let lab = lab(&here, &["--fleet", &end]);
    assert_cut_stops(&hub, &lab, &wire);
}

/// Hub and robot with a router between them, and the wire that is cut.
fn by_router(cut: usize) {
    let Some(net) = Net::new() else { return };
    let [there, middle, here] = ["hub", "router", "lab"].map(|name| net.host(name));
    let wires = [&there, &here].map(|end| net.wire(&middle, end, Faults::default()));
    let ends = [0, 1].map(|place: usize| endpoint(&wires[place].addresses[0]));
    let _router = router(&middle, "tcp/0.0.0.0:7447");
    let hub = hub(&there, &["--fleet", &ends[0]]);
    let lab = lab(&here, &["--fleet", &ends[1]]);
    assert_cut_stops(&hub, &lab, &wires[cut]);
}

#[test]
fn a_cut_between_hub_and_router_stops_the_robot() {
    by_router(0);
}

#[test]
fn a_cut_between_router_and_robot_stops_it() {
    by_router(1);
}

#[test]
fn over_a_bad_wire_robots_are_driven_and_stopped_and_nothing_old_acts() {
    const WAY: Duration = Duration::from_millis(100);
    let Some(net) = Net::new() else { return };
    let (there, here) = (net.host("hub"), net.host("lab"));
    let wire = net.wire(&there, &here, Faults { seed: 5, ..Faults::default() });
    let end = endpoint(&wire.addresses[0]);
    let hub = hub(&there, &["--fleet-listen", &end]);
    let lab = lab(&here, &["--fleet", &end]);
    hub.until_ready(&[ROBOT]);
    wire.delay(WAY);
    wire.loss(0.05);
    let wheels = Wheels::of(&lab);
    let begin = Instant::now();
    let driver = Driver::start(&hub, ROBOT);
    wheels.await_motion(begin);
    // So long that packets are lost for sure.
    until("ten seconds of driving", || (driver.log().sent.len() >= 200).then_some(()));
    let mut other = hub.lines();
    // What is sent from now on is refused by the stop.
    let sent = driver.log().sent.len();
    let begin = Instant::now();
    let stopped = other.ask(to(ROBOT, stop()));
    let took = begin.elapsed();
    assert_eq!(stopped["ok"], true, "{stopped}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    let still = wheels.assert_still(begin, Duration::from_secs(2), Duration::from_secs(1));
    let log = driver.log();
    let ages = wheels.ages(&log);
    let oldest = ages.iter().map(|(first, _)| *first).max().unwrap();
    let longest = ages.iter().map(|(_, last)| *last).max().unwrap();
    let [carried, lost] = wire.count();
    println!(
        "of {sent} velocities {} acted ({} % did not), the oldest {oldest:?} after it was sent, none longer than \
         {longest:?}; stopped in {took:?}, still after {still:?}; {lost} of {carried} packets were lost",
        ages.len(),
        100 - 100 * ages.len() / sent,
    );
    assert!(ages.len() * 5 > sent, "only {} of {sent} velocities acted", ages.len());
    // The line's next beat, and our own reading of both clocks.
    let reading = Duration::from_millis(60);
    assert!(oldest <= DEADMAN + reading, "{oldest:?}");
    assert!(longest <= DEADMAN * 2 + reading, "{longest:?}");
    assert!(lost > 10, "{lost} packets were lost");
}

#[test]
fn the_second_router_takes_over_when_the_first_is_killed() {
    let Some(net) = Net::new() else { return };
    let hosts = ["a", "b", "hub", "lab"].map(|name| net.host(name));
    let addresses = net.lan(&[&hosts[0], &hosts[1], &hosts[2], &hosts[3]]);
    let ends = [endpoint(&addresses[0]), endpoint(&addresses[1])];
    let mut first = router(&hosts[0], &ends[0]);
    let _second = router(&hosts[1], &ends[1]);
    let both = ["--fleet", &ends[0], "--fleet", &ends[1]];
    let hub = hub(&hosts[2], &both);
    let lab = lab(&hosts[3], &both);
    hub.until_ready(&[ROBOT]);
    let wheels = Wheels::of(&lab);
    let begin = Instant::now();
    let driver = Driver::start(&hub, ROBOT);
    wheels.await_motion(begin);
    first.process.kill();
    let killed = Instant::now();
    let took = wheels.assert_still(killed, DEADMAN + SLACK, Duration::from_secs(2));
    hub.until(ROBOT, "back", |robot| robot["link"]["state"] == "ready");
    // A robot is of use when it does what it is asked.
    drop(driver);
    let mut client = hub.lines();
    until("the controls", || (client.ask(to(ROBOT, enable()))["ok"] == true).then_some(()));
    let back = killed.elapsed();
    println!("the router was killed: still after {took:?}, back by the other after {back:?}");
    assert!(back < Duration::from_secs(10), "{back:?}");
    until("a velocity", || (client.ask(to(ROBOT, velocity(0)))["ok"] == true).then_some(()));
    // And back again when that is the one that is there.
    first.restart();
    thread::sleep(Duration::from_secs(1));
    assert_eq!(try_robot(&mut client, ROBOT).unwrap()["link"]["state"], "ready");
}
