//! A G1 over networks that lose, repeat, delay and reorder.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use sinew_io::{
    Around,
    sim::{G1Options, G1Simulator},
};
use sinew_robot::{
    Code, Refusal,
    teach::{Answer, Event, LinkState as Link, Playback, RobotRequest, Settings, State, Target},
};
use sinew_sim::g1::{Mode, Options, StoredAction};
use sinew_wire::teach::{Command, Datagram, JOINTS, Layout, Message, Sequence};
use tokio::runtime::Builder;

use crate::support::G1;

/// Longer than anything here takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

const BAD: &str = "drop=0.25,duplicate=0.25,reorder=0.25,corrupt=0.05,delay=2ms,jitter=5ms";

/// Tries that a bad network cannot use up.
fn stubborn() -> Settings {
    Settings { tries: 60, retry: Duration::from_millis(40), ..Settings::default() }
}

fn tap(faults: &str, seed: u64) -> Vec<Around> {
    vec![Around::Faults(faults.parse().unwrap(), seed)]
}

fn simulator(tap: Vec<Around>, store: Option<PathBuf>) -> G1Simulator {
    // So many that those which are left are enough.
    let robot = Options { status_hz: 200, ..Options::default() };
    let options = G1Options { robot, store, ..G1Options::default() };
    G1Simulator::spawn_with(options, tap).unwrap()
}

fn g1(address: SocketAddr, settings: Settings, tap: Vec<Around>) -> G1 {
    let g1 = G1::spawn_with(address, settings, tap);
    until(&g1, "link", |state| state.link == Link::Ready);
    g1
}

fn until(g1: &G1, what: &str, holds: impl Fn(&State) -> bool) {
    let start = Instant::now();
    while !holds(&g1.state()) {
        assert!(start.elapsed() < PATIENCE, "{what}: {:?}", g1.state());
        thread::sleep(Duration::from_millis(2));
    }
}

fn ask(g1: &G1, verb: RobotRequest) -> Result<Answer, Refusal> {
    Builder::new_current_thread().build().unwrap().block_on(g1.teach(verb, "test"))
}

fn is(mode: Mode) -> impl Fn(&State) -> bool {
    move |state| state.mode == Some(mode as u32)
}

/// A name in the temporary directory that no other test uses.
fn name(what: &str) -> PathBuf {
    std::env::temp_dir().join(format!("sinew-io-{}-{what}", std::process::id()))
}

/// The lines of a record: when, which way, what.
fn rows(file: &PathBuf) -> Vec<(u64, String, Vec<u8>)> {
    let text = fs::read_to_string(file).unwrap();
    fs::remove_file(file).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let [at, way, bytes] = *line.split(',').collect::<Vec<_>>() else { panic!("{line}") };
        let bytes = bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap());
        (at.parse().unwrap(), way.into(), bytes.collect())
    })
    .collect()
}

fn play(name: &str) -> RobotRequest {
    RobotRequest::Play {
        action: Target::Name(name.into()),
        how: Playback { duration_ms: 30_000, ..Playback::default() },
        keyframes: None,
    }
}

/// Teaches and stops over the bad network, on the robot's side of it or on the host's.
fn teach(what: &str, host: Vec<Around>, robot: Vec<Around>) {
    let store = name(what);
    let simulator = simulator(robot, Some(store.clone()));
    let g1 = g1(simulator.address(), stubborn(), host);
    ask(&g1, RobotRequest::Enter).unwrap();
    ask(&g1, RobotRequest::RecordStart { name: None }).unwrap();
    until(&g1, "frames", |state| state.recorded_frames >= 25);
    ask(&g1, RobotRequest::RecordStop).unwrap();
    ask(&g1, RobotRequest::Save { name: Some("wave".into()), looped: false }).unwrap();
    let stored = fs::read(store.join("actions.json")).unwrap();
    let stored: Vec<StoredAction> = serde_json::from_slice(&stored).unwrap();
    assert_eq!(stored.len(), 1, "acknowledged means stored, once");
    let Answer::List { actions, .. } = ask(&g1, RobotRequest::List).unwrap() else {
        panic!("no list")
    };
    assert_eq!(actions.iter().map(|action| &action.name).collect::<Vec<_>>(), ["wave"]);
    ask(&g1, play("wave")).unwrap();
    until(&g1, "play", is(Mode::Playing));
    let start = Instant::now();
    while let Err(refusal) = ask(&g1, RobotRequest::Stop) {
        assert_eq!(refusal.code, Code::Unconfirmed);
        assert!(start.elapsed() < PATIENCE);
    }
    until(&g1, "stop", is(Mode::Idle));
    until(&g1, "damage", |state| state.counters.stale > 0 && state.counters.foreign > 0);
    g1.shut_down();
    drop(simulator);
    fs::remove_dir_all(&store).unwrap();
}

#[test]
fn a_save_over_a_robots_bad_network_is_stored_once() {
    (1..=3).for_each(|seed| teach("robots", Vec::new(), tap(BAD, seed)));
}

#[test]
fn a_save_over_a_hosts_bad_network_is_stored_once() {
    (1..=3).for_each(|seed| teach("hosts", tap(BAD, seed), Vec::new()));
}

/// Whoever only watches keeps up no teaching.
#[test]
fn teaching_ends_when_who_taught_over_a_bad_network_is_gone() {
    let simulator = simulator(tap(BAD, 4), None);
    let watcher = g1(simulator.address(), stubborn(), Vec::new());
    let host = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    until(&watcher, "teaching", |state| {
        let enter = Message::Enter(sinew_wire::teach::State {
            mode_flags: 1,
            positions: [0.0; JOINTS],
            velocities: [0.0; JOINTS],
            imu: [0.0; 6],
            feet: [0.0; 4],
            timestamp_ms: 0,
            flags: 0,
            rest: &[],
        });
        let enter = enter.to_vec(Layout::Documented, Sequence(0)).unwrap();
        host.send_to(&enter, simulator.address()).unwrap();
        is(Mode::Teaching)(state)
    });
    drop(host);
    until(&watcher, "its end", is(Mode::Idle));
    watcher.shut_down();
}

/// The session itself would sleep for minutes.
#[test]
fn a_delayed_datagram_comes_when_it_is_due() {
    let minutes = Duration::from_secs(600);
    let settings = Settings { retry: minutes, cycle: minutes, ..Settings::default() };
    for (host, robot) in [("delay=30ms", ""), ("", "delay=20ms,jitter=20ms")] {
        let simulator = simulator(tap(robot, 5), None);
        let g1 = g1(simulator.address(), settings.clone(), tap(host, 5));
        let start = Instant::now();
        ask(&g1, RobotRequest::List).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(40), "there and back");
        g1.shut_down();
    }
}

#[test]
fn a_stop_that_is_held_back_does_not_end_with_the_daemon() {
    let robot = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    robot.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = robot.local_addr().unwrap();
    let g1 = G1::spawn_with(address, Settings::default(), tap("delay=3600s", 6));
    ask(&g1, RobotRequest::Stop).unwrap_err();
    g1.shut_down();
    let mut buffer = [0; 2048];
    loop {
        let count = robot.recv(&mut buffer).unwrap();
        if Datagram::new_checked(&buffer[..count]).unwrap().command == Command::Exit.code() {
            return;
        }
    }
}

#[test]
fn a_record_has_a_line_for_each_datagram() {
    let (hosts, robots) = (name("host.csv"), name("robot.csv"));
    let simulator = simulator(vec![Around::record(&robots).unwrap()], None);
    let tap = vec![Around::record(&hosts).unwrap()];
    let g1 = g1(simulator.address(), Settings::default(), tap);
    ask(&g1, RobotRequest::List).unwrap();
    g1.shut_down();
    drop(simulator);
    for file in [hosts, robots] {
        let rows = rows(&file);
        assert!(rows.windows(2).all(|two| two[0].0 <= two[1].0));
        let commands = |wanted: &str| {
            let rows = rows.iter().filter(|(_, way, _)| way == wanted);
            let mut commands: Vec<_> =
                rows.map(|row| Datagram::new_checked(&row.2).unwrap().command).collect();
            // A slow machine makes for a second try.
            commands.dedup();
            commands
        };
        let opening =
            [Command::ControlMode, Command::ParameterSync, Command::Subscribe, Command::Ready];
        assert_eq!(commands("TX")[..4], opening.map(Command::code));
        for way in ["TX", "RX"] {
            assert!(commands(way).contains(&Command::List.code()), "{way}");
        }
    }
}

#[test]
fn a_robot_that_restarts_is_lost_and_found() {
    let options = G1Options {
        robot: Options { restart_every: Some(Duration::from_secs(1)), ..Options::default() },
        ..G1Options::default()
    };
    let simulator = G1Simulator::spawn(options).unwrap();
    let g1 = g1(simulator.address(), Settings::default(), Vec::new());
    let events = g1.events();
    let start = Instant::now();
    for wanted in
        [Link::Lost { reason: None }, Link::Ready, Link::Lost { reason: None }, Link::Ready]
    {
        loop {
            assert!(start.elapsed() < PATIENCE, "{wanted:?}");
            match events.try_recv() {
                Ok(event) if matches!(&event, Event::Link { link, .. } if *link == wanted) => {
                    break;
                }
                Ok(_) => {}
                Err(_) => thread::sleep(Duration::from_millis(2)),
            }
        }
    }
    g1.shut_down();
}
