//! A recording in a vacuum's place.

use std::time::{Duration, Instant};

use sinew_robot::{
    Code, Order, OrderKind, Session as _,
    vacuum::{Command, Event, LinkState, Output, Session, Settings},
};
use sinew_wire::gd32::{FrameBuf, STATUS_LEN};

const MS: Duration = Duration::from_millis(1);

fn status() -> Vec<u8> {
    FrameBuf::new(0x15, &[0; STATUS_LEN]).unwrap().as_bytes().to_vec()
}

/// What it tells; it may send nothing.
fn told(session: &mut Session) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(output) = session.poll_output() {
        match output {
            Output::Event(event) => events.push(event),
            Output::Transmit(frame) => panic!("it sent {frame:?}"),
        }
    }
    events
}

fn playing() -> (Session, Instant) {
    let now = Instant::now();
    let mut session = Session::recorded(Settings::default(), now);
    session.connected(now);
    session.handle_input(now, &status());
    told(&mut session);
    assert_eq!(session.state().link, LinkState::Ready);
    (session, now)
}

#[test]
fn it_looks_alive_and_refuses_all_but_stops() {
    let (mut session, now) = playing();
    assert!(session.state().status.is_some());
    let commands = [
        Command::DriveEnable { mode: 2 },
        Command::Velocity { linear: 0.1, angular: 0.0 },
        Command::Velocity { linear: 0.0, angular: 0.0 },
        Command::Tank { left: 0.1, right: 0.1 },
        Command::Dock,
        Command::Boot,
        Command::Vacuum { percent: 50 },
        Command::LidarOn { pwm: 60 },
        Command::Led { state: 1 },
        Command::MainBoard { on: false },
        Command::McuSleep,
        Command::ProtocolSync,
        Command::Raw { command: 0x66, payload: vec![100, 0, 0, 0, 0, 0, 0, 0] },
        Command::Raw { command: 0x06, payload: vec![] },
    ];
    for command in commands {
        let refusal = session.execute(now, command.clone(), "the test").unwrap_err();
        assert_eq!(refusal.code, Code::Unsupported, "{command:?}");
        assert!(refusal.message.contains("recording"), "{refusal:?}");
        assert!(told(&mut session).is_empty(), "{command:?}");
    }
    for stop in [Command::DriveReset, Command::DriveDisable] {
        session.execute(now, stop, "the test").unwrap();
        assert!(matches!(told(&mut session)[..], [Event::Stopped { .. }]));
    }
    assert_eq!(session.state().stopped_by.as_deref(), Some("the test"));
}

#[test]
fn it_sends_nothing_whatever_happens() {
    let (mut session, mut now) = playing();
    for kind in OrderKind::ALL {
        let order = Order { kind, epoch: 1, by: "the test".into(), client: None };
        session.order(now, &order);
        told(&mut session);
        session.paused(now, Duration::from_secs(1));
        told(&mut session);
        now += 20 * MS;
        session.handle_timeout(now);
        session.handle_input(now, &status());
        told(&mut session);
    }
    session.disconnected(now);
    session.connected(now);
    now += Duration::from_secs(5);
    session.handle_timeout(now);
    session.close(now, &"the test".into());
    told(&mut session);
    assert!(session.is_closed());
    assert_eq!(session.state().counters.sent, 0);
}

#[test]
fn a_silence_of_the_recording_looks_like_one_of_the_robot() {
    let (mut session, now) = playing();
    let due = session.poll_timeout().unwrap();
    session.handle_timeout(due);
    told(&mut session);
    assert_eq!(session.state().link, LinkState::Lost);
    session.handle_input(due + 10 * MS, &status());
    told(&mut session);
    assert_eq!(session.state().link, LinkState::Ready);
    assert!(due > now);
}
