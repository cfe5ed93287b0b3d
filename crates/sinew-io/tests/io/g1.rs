use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_io::{
    discovery::Query,
    sim::{Discovery, G1Options, G1Simulator},
};
use sinew_robot::{
    Code,
    teach::{Answer, Event, LinkState as Link, Playback, RobotRequest, Settings, State, Target},
    trajectory::{Document, G1_ARMS, Plan, PlanOptions, Recording},
};
use sinew_sim::g1::Options;
use sinew_wire::teach::Layout;
use tokio::runtime::Builder;

use crate::support::G1;

/// Longer than anything here takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn simulator(store: Option<std::path::PathBuf>) -> G1Simulator {
    G1Simulator::spawn(G1Options { store, ..G1Options::default() }).unwrap()
}

fn g1(address: SocketAddr, layout: Layout) -> G1 {
    let g1 = G1::spawn(address, Settings { layout, ..Settings::default() });
    until(&g1, "link", |state| state.link == Link::Ready);
    g1
}

fn until(g1: &G1, what: &str, holds: impl Fn(&State) -> bool) {
    let start = Instant::now();
    while !holds(&g1.state()) {
        assert!(start.elapsed() < PATIENCE, "{what}: {:?}", g1.state());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn ask(g1: &G1, verb: RobotRequest) -> Result<Answer, sinew_robot::Refusal> {
    Builder::new_current_thread().build().unwrap().block_on(g1.teach(verb, "test"))
}

fn play(name: &str) -> RobotRequest {
    RobotRequest::Play {
        action: Target::Name(name.into()),
        how: Playback::default(),
        keyframes: None,
    }
}

fn names(g1: &G1) -> Vec<String> {
    let Answer::List { actions, .. } = ask(g1, RobotRequest::List).unwrap() else {
        panic!("no list")
    };
    actions.into_iter().map(|action| action.name).collect()
}

/// The documents' test plan, in order.
#[test]
fn a_motion_is_taught_and_played_in_both_layouts() {
    for layout in [Layout::Documented, Layout::Compact] {
        let simulator = simulator(None);
        let g1 = g1(simulator.address(), layout);
        assert!(names(&g1).is_empty());
        ask(&g1, RobotRequest::Enter).unwrap();
        ask(&g1, RobotRequest::RecordStart { name: Some("wave".into()) }).unwrap();
        until(&g1, "frames", |state| state.recorded_frames >= 25);
        ask(&g1, RobotRequest::RecordStop).unwrap();
        let saved = ask(&g1, RobotRequest::Save { name: None, looped: false }).unwrap();
        let Answer::Save { keyframes, error_rad, .. } = saved else { panic!("{saved:?}") };
        assert!(keyframes <= 20 && error_rad.is_some());
        assert_eq!(names(&g1), ["wave"]);
        ask(&g1, play("wave")).unwrap();
        until(&g1, "playing", |state| state.playing.is_some());
        ask(&g1, RobotRequest::Exit).unwrap();
        until(&g1, "exit", |state| !state.teaching && state.playing.is_none());
        assert_eq!(ask(&g1, play("never saved")).unwrap_err().code, Code::NotFound);
        g1.shut_down();
    }
}

#[test]
fn actions_survive_the_robots_restart() {
    let store = std::env::temp_dir().join(format!("sinew-io-store-{}", std::process::id()));
    let robot = simulator(Some(store.clone()));
    let host = g1(robot.address(), Layout::Documented);
    ask(&host, RobotRequest::Enter).unwrap();
    ask(&host, RobotRequest::RecordStart { name: None }).unwrap();
    until(&host, "frames", |state| state.recorded_frames >= 5);
    ask(&host, RobotRequest::RecordStop).unwrap();
    // A name that would be a path, were it used as one.
    ask(&host, RobotRequest::Save { name: Some("../up".into()), looped: false }).unwrap();
    host.shut_down();
    drop(robot);
    let robot = simulator(Some(store.clone()));
    let host = g1(robot.address(), Layout::Documented);
    assert_eq!(names(&host), ["../up"]);
    host.shut_down();
    drop(robot);
    let files: Vec<_> =
        std::fs::read_dir(&store).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["actions.json"]);
    std::fs::remove_dir_all(&store).unwrap();
}

#[test]
fn the_end_of_the_daemon_ends_teaching() {
    let simulator = simulator(None);
    let first = g1(simulator.address(), Layout::Documented);
    ask(&first, RobotRequest::Enter).unwrap();
    first.shut_down();
    let second = g1(simulator.address(), Layout::Documented);
    until(&second, "mode", |state| state.mode.is_some());
    assert_eq!(second.state().mode, Some(0), "the arms are stiff again");
    second.shut_down();
}

#[test]
fn nobody_there_is_unconfirmed_or_lost_and_never_success() {
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let g1 = G1::spawn(silent.local_addr().unwrap(), Settings::default());
    let code = ask(&g1, RobotRequest::List).unwrap_err().code;
    assert!(matches!(code, Code::Unconfirmed | Code::LinkLost), "{code:?}");
    g1.shut_down();
}

#[test]
fn hostile_datagrams_disturb_neither_side() {
    let simulator = simulator(None);
    let g1 = g1(simulator.address(), Layout::Documented);
    let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for size in 0..400usize {
        let datagram: Vec<u8> = (0..size).map(|at| (at * 37 + size) as u8).collect();
        stranger.send_to(&datagram, simulator.address()).unwrap();
        let mut header = vec![0x17, 0xFE, 0xFD, 0x00, 0x01, 0x00];
        header.extend(&datagram);
        stranger.send_to(&header, simulator.address()).unwrap();
    }
    ask(&g1, RobotRequest::Enter).unwrap();
    assert!(names(&g1).is_empty());
    g1.shut_down();
}

/// Multicast stays on loopback, on ports of its own.
#[test]
fn a_robot_is_found_on_the_interface_it_answers_on() {
    let free = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let ports = (free(), free());
    let discovery = Discovery { sn: "SN-1".into(), ports, ..Discovery::new("lo".into()) };
    let discovery = Some(discovery);
    let _simulator = G1Simulator::spawn(G1Options { discovery, ..G1Options::default() }).unwrap();
    let query = |sn: Option<&str>| Query {
        interface: Some("lo".into()),
        sn: sn.map(Into::into),
        wait: Duration::from_secs(1),
        ports,
        ..Query::default()
    };
    for sn in [None, Some("SN-1")] {
        let found = query(sn).run(|_| {}).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].sn.as_str(), found[0].ip), ("SN-1", Ipv4Addr::LOCALHOST.into()));
    }
    let error = Query { interface: Some("no-such".into()), ..query(None) }.run(|_| {}).unwrap_err();
    assert!(error.to_string().contains("no-such"));
}

#[test]
fn what_was_asked_for_before_a_stop_is_not_begun_after_it() {
    let simulator = simulator(None);
    let g1 = g1(simulator.address(), Layout::Documented);
    let runtime = Builder::new_current_thread().build().unwrap();
    let ticket = g1.ticket();
    runtime.block_on(g1.teach_since(ticket, RobotRequest::List, "test")).unwrap();
    g1.stop("somebody");
    let refusal =
        runtime.block_on(g1.teach_since(ticket, RobotRequest::Enter, "test")).unwrap_err();
    assert_eq!(refusal.code, Code::NotReady);
    assert!(refusal.message.contains("somebody"), "{refusal}");
    assert!(!g1.state().teaching);
    // A stop that is a verb counts as well.
    let ticket = g1.ticket();
    ask(&g1, RobotRequest::Stop).unwrap();
    assert!(runtime.block_on(g1.teach_since(ticket, RobotRequest::Enter, "test")).is_err());
    ask(&g1, RobotRequest::Enter).unwrap();
    g1.shut_down();
}

#[test]
fn a_motion_of_two_pieces_is_played_over_udp() {
    let mut recording = Recording::new();
    for index in 0..=24_u32 {
        let mut pose = [0.0; 12];
        pose[3] = if index.is_multiple_of(2) { 0.0 } else { 0.1 };
        recording.push(index * 75, pose).unwrap();
    }
    let document = Document { recording, ..Document::default() };
    let plan = Plan::new(&document, 0, PlanOptions::default(), &G1_ARMS).unwrap();
    assert_eq!(plan.pieces.len(), 2);
    for layout in [Layout::Documented, Layout::Compact] {
        let simulator = simulator(None);
        let g1 = g1(simulator.address(), layout);
        until(&g1, "pose", |state| state.positions.is_some());
        let (name, plan) = ("zigzag".to_owned(), Arc::new(plan.clone()));
        ask(&g1, RobotRequest::Perform { name, plan, looped: false }).unwrap();
        until(&g1, "end", |state| state.playing.is_none());
        assert!(g1.state().positions.unwrap()[3].abs() < 0.04);
        g1.shut_down();
    }
}

#[test]
fn a_hand_moves_soft_arms_and_no_others() {
    let robot = Options { operator: None, ..Options::default() };
    let options = G1Options { robot, ..G1Options::default() };
    let simulator = G1Simulator::spawn(options).unwrap();
    let (g1, hand) = (g1(simulator.address(), Layout::Documented), simulator.hand());
    hand.move_arm(3, 0.5);
    ask(&g1, RobotRequest::Enter).unwrap();
    until(&g1, "pose", |state| state.positions.is_some());
    assert_eq!(g1.state().positions.unwrap(), [0.0; 12], "it was stiff");
    hand.move_arm(3, 0.5);
    hand.move_arm(99, 0.5);
    until(&g1, "move", |state| state.positions.is_some_and(|at| (at[3] - 0.5).abs() < 0.01));
    g1.shut_down();
}

/// One that has been taught a motion which repeats, over UDP.
fn taught(simulator: &G1Simulator) -> G1 {
    let g1 = g1(simulator.address(), Layout::Documented);
    ask(&g1, RobotRequest::Enter).unwrap();
    ask(&g1, RobotRequest::RecordStart { name: None }).unwrap();
    until(&g1, "frames", |state| state.recorded_frames >= 25);
    ask(&g1, RobotRequest::RecordStop).unwrap();
    ask(&g1, RobotRequest::Save { name: Some("wave".into()), looped: true }).unwrap();
    g1
}

#[test]
fn who_takes_the_controls_ends_what_plays_and_not_teaching() {
    let simulator = simulator(None);
    let g1 = taught(&simulator);
    ask(&g1, play("wave")).unwrap();
    until(&g1, "playing", |state| state.mode == Some(3));
    let events = g1.events();
    g1.taken("newcomer");
    until(&g1, "teaching", |state| state.playing.is_none() && state.mode == Some(1));
    assert!(g1.state().teaching);
    let mut why = None;
    while let Ok(event) = events.try_recv() {
        match &event {
            Event::PlayEnded { why: said, .. } => why = Some(said.clone()),
            Event::Teaching { .. } => panic!("{event:?}"),
            _ => {}
        }
    }
    assert_eq!(why.as_deref(), Some("newcomer took the controls"));
    g1.shut_down();
}

/// A play from the library is several steps; what is left of them is not done.
#[test]
fn what_was_asked_for_before_a_takeover_does_not_move_the_arms_after_it() {
    let simulator = simulator(None);
    let g1 = taught(&simulator);
    let runtime = Builder::new_current_thread().build().unwrap();
    let ticket = g1.ticket();
    runtime.block_on(g1.teach_since(ticket, RobotRequest::List, "former")).unwrap();
    g1.taken("newcomer");
    for verb in [play("wave"), RobotRequest::Enter] {
        let refusal = runtime.block_on(g1.teach_since(ticket, verb, "former")).unwrap_err();
        assert_eq!(refusal.code, Code::NotReady);
        assert!(refusal.message.contains("newcomer took the controls"), "{refusal}");
    }
    // What moves nothing is done, and so is what the new holder asks for.
    let save = RobotRequest::Save { name: Some("kept".into()), looped: false };
    runtime.block_on(g1.teach_since(ticket, save, "former")).unwrap();
    runtime.block_on(g1.teach_since(g1.ticket(), play("wave"), "newcomer")).unwrap();
    g1.shut_down();
}
