//! What of a capture reaches a peer again, and how it ends.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use sinew_robot::{
    Origin, Output, Presence, RequestId, Session,
    playback::{Event, Fate, Player, Request, Rules},
    vacuum::{Settings, turns_wheels},
};
use sinew_wire::{
    gd32::{Deframer, Flag, FrameBuf, STATUS_LEN, What},
    teach,
};

const MS: Duration = Duration::from_millis(1);
const HEARTBEAT: (u8, &[u8]) = (0x06, &[]);
const FORWARD: (u8, &[u8]) = (0x66, &[200, 0, 0, 0, 0, 0, 0, 0]);
const TANK: (u8, &[u8]) = (0x67, &[100, 0, 100, 0]);
const STILL: (u8, &[u8]) = (0x66, &[0; 8]);
const NAVIGATION: (u8, &[u8]) = (0x65, &[2]);
const IDLE: (u8, &[u8]) = (0x65, &[0]);

fn frame((command, payload): (u8, &[u8])) -> Vec<u8> {
    FrameBuf::new(command, payload).unwrap().as_bytes().to_vec()
}

/// A player, a clock that only the test moves, and what the peer was sent.
struct Stage {
    player: Player,
    start: Instant,
    now: Instant,
    sent: Vec<(Duration, Vec<u8>)>,
    fates: Vec<(RequestId, Fate)>,
    events: Vec<Event>,
    room: bool,
}

impl Stage {
    fn new(rules: Rules, confirmed: bool) -> Self {
        let now = Instant::now();
        let mut player = Player::new(rules, confirmed, false, now);
        player.connected(now);
        let (sent, fates, events) = (Vec::new(), Vec::new(), Vec::new());
        Stage { player, start: now, now, sent, fates, events, room: true }
    }

    fn vacuum(confirmed: bool) -> Self {
        Stage::new(Rules::Vacuum(Settings::default()), confirmed)
    }

    fn drain(&mut self) {
        let mut bytes = Vec::new();
        while let Some(output) = self.player.poll_output(self.room, &mut bytes) {
            match output {
                Output::Transmit(()) => {
                    self.sent.push((self.now - self.start, std::mem::take(&mut bytes)));
                }
                Output::Event(event) => self.events.push(event),
                Output::Reply(id, fate) => self.fates.push((id, fate.unwrap())),
                _ => panic!("neither jobs nor reconnections are wanted"),
            }
        }
    }

    fn ask(&mut self, request: Request) {
        let origin = Origin {
            by: "the test".into(),
            client: 0,
            robot: "it".into(),
            epoch: 0,
            received: self.now,
            presence: Presence::default(),
        };
        self.player.request(self.now, request, &origin);
        self.drain();
    }

    fn send(&mut self, at: Duration, bytes: Vec<u8>) {
        self.ask(Request::Send { at, bytes });
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now = self.player.poll_timeout().map_or(end, |at| at.clamp(self.now, end));
            self.player.handle_timeout(self.now);
            self.drain();
            // A player that wants to be called again and again at one time would hang here.
            if self.player.poll_timeout().is_some_and(|at| at <= self.now) {
                self.now += Duration::from_micros(1);
            }
        }
    }

    fn close(&mut self) {
        self.player.close(self.now, &"the test".into());
        self.drain();
    }

    /// The stream as a controller reads it.
    fn frames(&self) -> Vec<(Duration, u8, Vec<u8>)> {
        let mut deframer = Deframer::new();
        let mut frames = Vec::new();
        for (at, bytes) in &self.sent {
            deframer.push(bytes, |piece| {
                if let What::Frame(frame) = piece.what {
                    frames.push((*at, frame.command(), frame.payload().to_vec()));
                }
            });
        }
        frames
    }

    fn commands(&self) -> Vec<(u8, Vec<u8>)> {
        self.frames().into_iter().map(|(_, command, payload)| (command, payload)).collect()
    }
}

fn owned(frames: &[(u8, &[u8])]) -> Vec<(u8, Vec<u8>)> {
    frames.iter().map(|(command, payload)| (*command, payload.to_vec())).collect()
}

#[test]
fn pieces_go_out_at_their_times() {
    let mut stage = Stage::vacuum(false);
    for at in [0, 20, 40, 1000] {
        stage.send(at * MS, frame(HEARTBEAT));
    }
    stage.run(Duration::from_secs(2));
    let times: Vec<_> = stage.sent.iter().map(|(at, _)| at.as_millis()).collect();
    assert_eq!(times, [0, 20, 40, 1000]);
    assert!(stage.fates.iter().all(|(_, fate)| *fate == Fate::Sent), "{:?}", stage.fates);
}

#[test]
fn nothing_moves_without_being_confirmed() {
    let mut stage = Stage::vacuum(false);
    for (index, what) in [HEARTBEAT, FORWARD, TANK, STILL].into_iter().enumerate() {
        stage.send(index as u32 * MS, frame(what));
    }
    stage.ask(Request::End);
    stage.run(Duration::from_secs(1));
    assert_eq!(stage.commands(), owned(&[HEARTBEAT, STILL]));
    let left = |(_, fate): &&(RequestId, Fate)| *fate == Fate::LeftOut("moves the robot");
    assert_eq!(stage.fates.iter().filter(left).count(), 2);
    assert_eq!(stage.events.last(), Some(&Event::Ended(None)));
}

#[test]
fn a_frame_behind_the_beginning_of_another_is_seen() {
    let mut stage = Stage::vacuum(false);
    // A length of 251, of which the frame that follows would be a part until it is given up.
    stage.send(Duration::ZERO, vec![0xFA, 0xFB, 0xFB]);
    stage.send(MS, frame(FORWARD));
    stage.send(2 * MS, vec![1; 251]);
    stage.ask(Request::End);
    stage.run(Duration::from_secs(1));
    assert_eq!(stage.commands(), []);
    assert_eq!(stage.sent.len(), 2, "{:?}", stage.fates);
}

#[test]
fn a_stop_is_not_the_end_of_a_frame_that_has_none() {
    let mut stage = Stage::vacuum(false);
    stage.send(Duration::ZERO, frame((0x65, &[1])));
    // Wheel speeds whose last byte is the first of any frame.
    stage.send(MS, vec![0xFA, 0xFB, 7, 0x67, 0xAA, 0xFE, 0x51, 1, 0x65]);
    stage.ask(Request::End);
    stage.run(Duration::from_secs(1));
    assert_eq!(stage.commands(), owned(&[(0x65, &[1]), STILL, IDLE]));
}

#[test]
fn the_end_of_the_file_is_a_stop() {
    let mut stage = Stage::vacuum(true);
    for (index, what) in [NAVIGATION, FORWARD, FORWARD].into_iter().enumerate() {
        stage.send(index as u32 * 20 * MS, frame(what));
    }
    stage.ask(Request::End);
    stage.run(Duration::from_secs(1));
    assert_eq!(stage.commands(), owned(&[NAVIGATION, FORWARD, FORWARD, STILL, IDLE]));
    assert!(stage.player.is_closed());
}

#[test]
fn what_switched_nothing_on_ends_without_a_stop() {
    let mut stage = Stage::vacuum(true);
    stage.send(MS, frame(HEARTBEAT));
    stage.ask(Request::End);
    stage.run(Duration::from_secs(1));
    assert_eq!(stage.commands(), owned(&[HEARTBEAT]));
}

#[test]
fn an_interruption_overtakes_what_waits() {
    let mut stage = Stage::vacuum(true);
    for (index, what) in [NAVIGATION, TANK, TANK, TANK].into_iter().enumerate() {
        stage.send(index as u32 * 20 * MS, frame(what));
    }
    stage.run(30 * MS);
    stage.close();
    stage.run(Duration::from_secs(1));
    let zero_wheels: (u8, &[u8]) = (0x67, &[0; 4]);
    assert_eq!(stage.commands(), owned(&[NAVIGATION, TANK, STILL, zero_wheels, IDLE]));
    assert!(stage.fates.iter().any(|(_, fate)| *fate == Fate::Ended));
}

#[test]
fn a_pause_in_the_file_ends_a_velocity() {
    let mut stage = Stage::vacuum(true);
    stage.send(Duration::ZERO, frame(NAVIGATION));
    stage.send(Duration::ZERO, frame(FORWARD));
    stage.send(2000 * MS, frame(FORWARD));
    stage.run(1900 * MS);
    let frames = stage.frames();
    let (at, command, payload) = frames.last().unwrap();
    assert_eq!((at.as_millis(), *command, &payload[..]), (300, 0x66, &[0; 8][..]));
    assert!(matches!(stage.events.last(), Some(Event::Still(_))), "{:?}", stage.events);
    // Neither a latch nor an end: the file goes on.
    stage.run(200 * MS);
    assert_eq!(stage.commands().last(), Some(&(FORWARD.0, FORWARD.1.to_vec())));
}

#[test]
fn a_reader_that_stalls_ends_it_with_a_stop() {
    let mut stage = Stage::vacuum(true);
    stage.send(Duration::ZERO, frame(NAVIGATION));
    stage.send(10 * MS, frame(FORWARD));
    stage.run(Duration::from_secs(3));
    assert_eq!(stage.commands()[..2], owned(&[NAVIGATION, FORWARD])[..]);
    assert_eq!(stage.commands().last(), Some(&(IDLE.0, IDLE.1.to_vec())));
    let still = stage.frames().into_iter().find(|frame| frame.1 == 0x66 && frame.2 == [0; 8]);
    assert!(still.unwrap().0 <= 320 * MS);
    assert!(matches!(stage.events.last(), Some(Event::Ended(Some(_)))), "{:?}", stage.events);
}

#[test]
fn a_reader_may_take_its_time_while_nothing_is_on() {
    let mut stage = Stage::vacuum(true);
    stage.send(Duration::ZERO, frame(HEARTBEAT));
    stage.run(Duration::from_secs(10));
    stage.send(MS, frame(HEARTBEAT));
    stage.run(MS);
    assert_eq!(stage.commands(), owned(&[HEARTBEAT, HEARTBEAT]));
}

#[test]
fn speeds_over_a_limit_are_refused_and_end_the_one_before() {
    let fast: (u8, &[u8]) = (0x66, &[0x2D, 1, 0, 0, 0, 0, 0, 0]);
    let spin: (u8, &[u8]) = (0x66, &[0, 0, 0, 0, 0xE9, 3, 0, 0]);
    let wheels: (u8, &[u8]) = (0x67, &[0x2D, 1, 0, 0]);
    let short: (u8, &[u8]) = (0x66, &[1]);
    for over in [fast, spin, wheels, short] {
        let mut stage = Stage::vacuum(true);
        stage.send(Duration::ZERO, frame(NAVIGATION));
        stage.send(20 * MS, frame(FORWARD));
        stage.send(40 * MS, frame(over));
        stage.send(60 * MS, frame(HEARTBEAT));
        stage.run(100 * MS);
        assert_eq!(stage.commands(), owned(&[NAVIGATION, FORWARD, STILL, HEARTBEAT]), "{over:?}");
        assert!(matches!(stage.fates[2].1, Fate::Refused(_)), "{:?}", stage.fates);
    }
}

#[test]
fn a_bumper_ends_forward_motion() {
    let mut stage = Stage::vacuum(true);
    stage.send(Duration::ZERO, frame(NAVIGATION));
    stage.send(20 * MS, frame(FORWARD));
    stage.send(60 * MS, frame(FORWARD));
    stage.run(30 * MS);
    let mut payload = [0; STATUS_LEN];
    payload[Flag::BumperLeft.offset()] = Flag::BumperLeft.mask();
    stage.player.handle_input(stage.now, (), &frame((0x15, &payload)));
    stage.drain();
    stage.run(50 * MS);
    assert_eq!(stage.commands(), owned(&[NAVIGATION, FORWARD, STILL]));
    assert!(matches!(stage.fates.last(), Some((_, Fate::Refused(_)))), "{:?}", stage.fates);
}

#[test]
fn a_pause_of_the_computer_ends_it_with_a_stop() {
    let mut stage = Stage::vacuum(true);
    stage.send(Duration::ZERO, frame(NAVIGATION));
    stage.send(20 * MS, frame(FORWARD));
    stage.send(5000 * MS, frame(FORWARD));
    stage.run(30 * MS);
    stage.now += Duration::from_secs(4);
    stage.player.paused(stage.now, Duration::from_secs(4));
    stage.drain();
    stage.run(Duration::from_secs(5));
    assert_eq!(stage.commands(), owned(&[NAVIGATION, FORWARD, STILL, IDLE]));
}

#[test]
fn no_more_is_on_its_way_than_a_stop_can_wait_for() {
    let mut stage = Stage::vacuum(true);
    for _ in 0..60 {
        stage.send(Duration::ZERO, frame(FORWARD));
    }
    // 6 ms of a line of 115200 baud.
    let bytes: usize = stage.sent.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(bytes <= 70, "{bytes} bytes at once");
    stage.run(Duration::from_secs(1));
    assert_eq!(stage.fates.iter().filter(|(_, fate)| *fate == Fate::Sent).count(), 60);
}

#[test]
fn a_port_that_takes_nothing_gets_the_stop_alone() {
    let mut stage = Stage::vacuum(true);
    stage.send(Duration::ZERO, frame(NAVIGATION));
    stage.run(10 * MS);
    stage.room = false;
    stage.send(10 * MS, frame(FORWARD));
    stage.run(30 * MS);
    stage.close();
    stage.room = true;
    stage.drain();
    assert_eq!(stage.commands(), owned(&[NAVIGATION, STILL, IDLE]));
}

fn datagram(message: &teach::Message<'_>, layout: teach::Layout, number: u16) -> Vec<u8> {
    message.to_vec(layout, teach::Sequence(number)).unwrap()
}

fn play(value: f32) -> teach::Play<'static> {
    let keyframe = teach::Keyframe { joint: 3, time_ms: 100, value };
    teach::Play {
        action_id: 1,
        frame_count: 0,
        duration_ms: 0,
        interpolation: teach::Interpolation::Linear,
        keyframes: teach::Keyframes::new(&[keyframe]).unwrap(),
        rest: &[],
    }
}

#[test]
fn what_no_document_has_passes_only_when_confirmed() {
    let unknown = (0xE7, &[1, 2, 3][..]);
    let all = [HEARTBEAT, unknown];
    for (confirmed, wanted) in [(false, &[HEARTBEAT][..]), (true, &[HEARTBEAT, unknown])] {
        let mut stage = Stage::vacuum(confirmed);
        all.iter().for_each(|one| stage.send(MS, frame(*one)));
        stage.ask(Request::End);
        stage.run(Duration::from_secs(1));
        assert_eq!(stage.commands(), owned(wanted), "{:?}", stage.fates);
        let strange = datagram(
            &teach::Message::Unknown { command: 0x77, payload: &[1; 4] },
            teach::Layout::Compact,
            1,
        );
        let mut stage = Stage::new(Rules::Teach, confirmed);
        stage.send(MS, strange);
        stage.ask(Request::End);
        stage.run(Duration::from_secs(1));
        assert_eq!(stage.sent.len(), usize::from(confirmed), "{:?}", stage.fates);
    }
}

#[test]
fn what_is_saved_is_within_limits_too() {
    for confirmed in [false, true] {
        let mut stage = Stage::new(Rules::Teach, confirmed);
        for value in [0.5, 2.5] {
            let save = teach::Save {
                name: teach::Name::new("wave").unwrap(),
                timestamp: 0,
                duration_ms: 100,
                frame_count: 1,
                flags: 1,
                keyframes: play(value).keyframes,
                rest: &[],
            };
            stage.send(MS, datagram(&teach::Message::Save(save), teach::Layout::Compact, 1));
        }
        stage.ask(Request::End);
        stage.run(Duration::from_secs(1));
        assert_eq!(stage.sent.len(), 1, "{:?}", stage.fates);
        assert!(matches!(&stage.fates[1].1, Fate::Refused(why) if why.starts_with("save")));
    }
}

#[test]
fn arms_are_moved_when_confirmed_and_within_their_limits() {
    for layout in [teach::Layout::Documented, teach::Layout::Compact] {
        let list = datagram(&teach::Message::ListRequest { rest: &[] }, layout, 1);
        let good = datagram(&teach::Message::Play(play(0.5)), layout, 2);
        let over = datagram(&teach::Message::Play(play(2.5)), layout, 3);
        let mut damaged = list.clone();
        damaged[20] ^= 1;
        let all = [list.clone(), good.clone(), over, damaged];
        let mut shy = Stage::new(Rules::Teach, false);
        all.iter().for_each(|bytes| shy.send(MS, bytes.clone()));
        shy.ask(Request::End);
        shy.run(Duration::from_secs(1));
        assert_eq!(shy.sent.len(), 1, "{layout}: {:?}", shy.fates);
        assert_eq!(shy.sent[0].1, list);
        let mut bold = Stage::new(Rules::Teach, true);
        all.iter().for_each(|bytes| bold.send(MS, bytes.clone()));
        bold.ask(Request::End);
        bold.run(Duration::from_secs(1));
        let exit = datagram(&teach::Message::Exit { mode_flags: 0, rest: &[] }, layout, 3);
        let sent: Vec<_> = bold.sent.iter().map(|(_, bytes)| bytes.clone()).collect();
        assert_eq!(sent, [list, good, exit], "{layout}");
        assert!(matches!(bold.fates[2].1, Fate::Refused(_)), "{:?}", bold.fates);
    }
}

/// A piece of a log: a frame, or bytes that are none, and the time to the next.
fn piece() -> impl Strategy<Value = (Vec<u8>, u32)> {
    let velocity = prop_oneof![
        prop::array::uniform8(any::<u8>()).prop_map(|payload| frame((0x66, &payload))),
        (-400..400_i32, -1200..1200_i32).prop_map(|(linear, angular)| {
            frame((0x66, &[linear.to_le_bytes(), angular.to_le_bytes()].concat()))
        }),
        (-400..400_i16, -400..400_i16).prop_map(|(left, right)| {
            frame((0x67, &[left.to_le_bytes(), right.to_le_bytes()].concat()))
        }),
    ];
    let any_frame = (any::<u8>(), prop::collection::vec(any::<u8>(), 0..12))
        .prop_map(|(command, payload)| frame((command, &payload)));
    // Frames cut in two, whose halves stand around other pieces.
    let half = (velocity.clone(), 1..12_usize, any::<bool>()).prop_map(|(bytes, at, first)| {
        let (a, b) = bytes.split_at(at.min(bytes.len()));
        if first { a.to_vec() } else { b.to_vec() }
    });
    let rubbish = prop::collection::vec(prop_oneof![Just(0xFA), Just(0xFB), any::<u8>()], 1..20);
    let known = prop_oneof![Just(frame(NAVIGATION)), Just(frame(STILL)), Just(frame(HEARTBEAT))];
    (prop_oneof![4 => velocity, 2 => known, 1 => any_frame, 2 => half, 1 => rubbish], 0..500_u32)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_log_moves_anything_without_being_confirmed(log in prop::collection::vec(piece(), 1..40)) {
        let mut stage = Stage::vacuum(false);
        let mut at = 0;
        for (bytes, pause) in log {
            stage.send(at * MS, bytes);
            at += pause;
            stage.run(MS * pause / 2);
        }
        stage.ask(Request::End);
        stage.run(Duration::from_secs(60));
        for (at, command, payload) in stage.frames() {
            prop_assert!(!turns_wheels(command, &payload), "{at:?} {command:02X} {payload:02X?}");
        }
    }

    #[test]
    fn whatever_the_log_limits_and_dead_man_hold_and_the_end_is_a_stop(
        log in prop::collection::vec(piece(), 1..40),
        cut in 0..20_000_u64,
    ) {
        let mut stage = Stage::vacuum(true);
        let (mut at, mut passed) = (0, 0);
        for (bytes, pause) in log {
            stage.send(at * MS, bytes);
            at += pause;
            if passed < cut {
                stage.run(MS * pause);
                passed += u64::from(pause);
            }
        }
        stage.close();
        stage.run(Duration::from_secs(1));
        let frames = stage.frames();
        let mut moving: Option<Duration> = None;
        for (at, command, payload) in &frames {
            let turns = turns_wheels(*command, payload);
            if turns {
                match command {
                    0x66 => {
                        let number = |at: usize| {
                            i32::from_le_bytes(payload[at..at + 4].try_into().unwrap())
                        };
                        prop_assert_eq!(payload.len(), 8);
                        prop_assert!(number(0).abs() <= 300 && number(4).abs() <= 1000);
                    }
                    _ => {
                        let number = |at: usize| {
                            i16::from_le_bytes(payload[at..at + 2].try_into().unwrap())
                        };
                        prop_assert_eq!(payload.len(), 4);
                        prop_assert!(number(0).abs() <= 300 && number(2).abs() <= 300);
                        prop_assert!((number(0) - number(2)).abs() <= 233);
                    }
                }
            }
            // A velocity is renewed, or ended, within the dead-man's time.
            if let Some(since) = moving {
                prop_assert!(*at <= since + 301 * MS, "{at:?} after {since:?}");
            }
            moving = match command {
                0x66 | 0x67 if turns => Some(*at),
                0x66 => None,
                _ => moving,
            };
        }
        if frames.iter().any(|(_, command, payload)| turns_wheels(*command, payload)) {
            let last: Vec<_> = frames.iter().rev().take(3).collect();
            prop_assert_eq!((last[0].1, &last[0].2[..]), (0x65, &[0][..]));
            let zero = last[1..].iter().any(|frame| frame.1 == 0x66 && frame.2 == [0; 8]);
            prop_assert!(zero, "{last:?}");
        }
        prop_assert!(stage.player.is_closed());
    }
}
