//! Datagrams that mean no good: each is counted and changes nothing.

use std::net::SocketAddr;

use fastrand::Rng;
use sinew_robot::teach::{Counters as HostCounters, Event, LinkState as Link, Output};
use sinew_sim::g1::Counters;
use sinew_wire::teach::{Command, Datagram, JOINTS, Layout, Message, Sequence, Status};

use crate::harness::{LAYOUTS, Pair, host_address, ms};

/// What makes a number that came before an old one.
const MEMORY: std::time::Duration = ms(5000);

/// Sends the robot something.
pub(crate) fn at_robot(pair: &mut Pair, rng: &mut Rng) {
    pair.robot.handle_timeout(pair.now);
    pair.drain();
    let known = pair.taken_by_robot.clone();
    let known = known.filter(|(at, _)| pair.now - *at < MEMORY).map(|(_, bytes)| bytes);
    let stranger = SocketAddr::from(([192, 0, 2, 1], rng.u16(1..)));
    let (from, bytes) = match known {
        Some(bytes) if rng.u8(0..4) == 0 => (host_address(), bytes),
        _ => (if rng.bool() { host_address() } else { stranger }, rubbish(rng)),
    };
    let (before, count) = (seen(pair), counted(pair.robot.counters()));
    let counters = pair.robot.counters();
    pair.robot.handle_datagram(pair.now, from, &bytes);
    assert_eq!(pair.robot.poll_output(), None, "no answer to {bytes:02x?}");
    assert_eq!(seen(pair), before, "{bytes:02x?} changes nothing");
    assert_eq!(counted(pair.robot.counters()), count + 1, "{bytes:02x?} is counted");
    assert_eq!(pair.robot.counters().answered, counters.answered);
    assert_eq!(pair.robot.counters().received, counters.received + 1);
    pair.rules.tally.hostile += 1;
}

/// Sends the host something.
pub(crate) fn at_host(pair: &mut Pair, rng: &mut Rng) {
    if pair.is_frozen() || pair.host.state().link == Link::Closed {
        return;
    }
    pair.host.handle_timeout(pair.now);
    pair.drain();
    let known = pair.taken_by_host.clone();
    let known = known.filter(|(at, _)| pair.now - *at < MEMORY).map(|(_, bytes)| bytes);
    let bytes = match known {
        Some(bytes) if rng.u8(0..4) == 0 => bytes,
        _ if rng.u8(0..4) == 0 => impossible(rng),
        _ => rubbish(rng),
    };
    let mut before = pair.host.state().clone();
    let due = pair.host.poll_timeout();
    pair.host.handle_input(pair.now, &bytes);
    match pair.host.poll_output() {
        None | Some(Output::Event(Event::EncryptedPeer)) => {}
        Some(output) => panic!("{output:?} because of {bytes:02x?}"),
    }
    let mut after = pair.host.state().clone();
    assert_eq!(noticed(&after.counters), noticed(&before.counters) + 1, "{bytes:02x?} is counted");
    assert_eq!(after.counters.received, before.counters.received);
    (before.counters, after.counters) = Default::default();
    assert_eq!(format!("{after:?}"), format!("{before:?}"), "{bytes:02x?} changes nothing");
    assert_eq!(pair.host.poll_timeout(), due);
    pair.rules.tally.hostile += 1;
}

fn seen(pair: &Pair) -> impl PartialEq + std::fmt::Debug + use<> {
    let robot = &pair.robot;
    let stored = robot.actions().to_vec();
    let arms = (robot.joints(), robot.velocities());
    (robot.mode(), arms, robot.recorded_frames(), robot.clients(), stored, robot.poll_timeout())
}

fn counted(counters: Counters) -> u64 {
    let Counters { foreign, malformed, unknown, duplicates, old, .. } = counters;
    foreign + malformed + unknown + duplicates + old
}

fn noticed(counters: &HostCounters) -> u64 {
    counters.foreign + counters.unknown + counters.malformed + counters.stale
}

/// Something that neither side can take for a datagram of the other.
fn rubbish(rng: &mut Rng) -> Vec<u8> {
    let layout = LAYOUTS[rng.usize(0..2)];
    let number = Sequence(rng.u16(..));
    let mut bytes = valid(rng, layout, number);
    match rng.u8(0..6) {
        0 => bytes = (0..rng.usize(0..300)).map(|_| rng.u8(..)).collect(),
        1 => bytes.truncate(rng.usize(0..bytes.len())),
        2 => bytes.push(rng.u8(..)),
        3 => {
            let place = rng.usize(0..bytes.len());
            bytes[place] ^= 1 << rng.u8(0..8);
        }
        4 => {
            // A record of the encrypted link.
            bytes = vec![0x17, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, 1, 0x0E, 0, 44];
            bytes.extend((0..44).map(|_| rng.u8(..)));
        }
        _ => {
            let mut command = rng.u8(..);
            while !matches!(Command::from(command), Command::Unknown(_)) {
                command = rng.u8(..);
            }
            let payload: Vec<u8> = (0..rng.usize(0..300)).map(|_| rng.u8(..)).collect();
            bytes = emitted(layout, number, command, &payload);
        }
    }
    bytes
}

fn valid(rng: &mut Rng, layout: Layout, number: Sequence) -> Vec<u8> {
    let message = match rng.u8(0..5) {
        0 => Message::Exit { mode_flags: 0, rest: &[] },
        1 => Message::Maintain { mode_flags: 1, rest: &[] },
        2 => Message::ListRequest { rest: &[] },
        3 => Message::Answer { command: Command::Save, status: 0, rest: &[] },
        _ => Message::Status(status()),
    };
    message.to_vec(layout, number).unwrap()
}

/// A good datagram whose content cannot be.
fn impossible(rng: &mut Rng) -> Vec<u8> {
    let layout = LAYOUTS[rng.usize(0..2)];
    let number = Sequence(rng.u16(..));
    let mut status = status();
    match rng.u8(0..4) {
        0 => status.positions[rng.usize(0..JOINTS)] = f32::NAN,
        1 => status.velocities[rng.usize(0..JOINTS)] = f32::INFINITY,
        // More actions than the list is long, and an answer without a status.
        2 => {
            let mut list = [0; 100];
            list[1] = 200;
            return emitted(layout, number, Command::List.code(), &list);
        }
        _ => return emitted(layout, number, Command::Save.code(), &[0, 0]),
    }
    Message::Status(status).to_vec(layout, number).unwrap()
}

fn status() -> Status<'static> {
    let (positions, velocities) = ([0.5; JOINTS], [0.0; JOINTS]);
    Status { positions, velocities, time_ms: 77, mode: 3, flags: 7, rest: &[] }
}

fn emitted(layout: Layout, number: Sequence, command: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 400];
    let length = Datagram::emit(layout, number, command, payload, &mut out).unwrap();
    out.truncate(length);
    out
}
