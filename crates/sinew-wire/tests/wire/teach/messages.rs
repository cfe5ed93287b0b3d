//! What the ten commands carry.

use proptest::{collection::vec, prelude::*};
use sinew_wire::teach::{
    Action, Actions, Command, Datagram, Interpolation, KEYFRAME_SLOTS, Keyframe, Keyframes, Layout,
    Message, Name, Play, Save, Sender, Sequence, State, Status,
};

use super::{LAYOUTS, datagram};
use crate::support::refused;

/// Types a command's payload and looks at what came of it.
#[track_caller]
fn parsed<R>(
    layout: Layout,
    command: u8,
    payload: &[u8],
    sender: Option<Sender>,
    look: impl FnOnce(sinew_wire::Result<Message<'_>>) -> R,
) -> R {
    let wire = datagram(layout, command, payload);
    look(Message::parse(&Datagram::new_checked(&wire).unwrap(), sender))
}

const HOST: Option<Sender> = Some(Sender::Host);
const ROBOT: Option<Sender> = Some(Sender::Robot);

fn actions(count: usize) -> Vec<Action> {
    let action = |index| Action {
        name: Name::new(&format!("action_{index}")).unwrap(),
        metadata: index as u32,
    };
    (0..count).map(action).collect()
}

#[test]
fn a_datagram_of_a_requests_size_is_a_request_unless_the_robot_sent_it() {
    for layout in LAYOUTS {
        let payload = vec![0; layout.payload_len(44)];
        for (command, code, _) in Command::TABLE {
            parsed(layout, code, &payload, ROBOT, |message| {
                assert!(
                    matches!(message, Ok(Message::Answer { command: c, status: 0, .. }) if c == command)
                );
            });
            if matches!(command, Command::Save | Command::Play) {
                continue;
            }
            for sender in [None, HOST] {
                parsed(layout, code, &payload, sender, |message| {
                    let message = message.unwrap();
                    assert!(!matches!(message, Message::Answer { .. }), "{message:?}");
                    assert_eq!(message.command(), command);
                });
            }
        }
    }
}

#[test]
fn a_payload_needs_its_fields_and_may_have_more() {
    let needs = [
        (0x09, HOST, 4),
        (0x0A, HOST, 4),
        (0x0B, HOST, 4),
        (0x0C, HOST, 4),
        (0x0D, HOST, 4),
        (0x0E, HOST, 4),
        (0x0F, HOST, 4),
        (0x1A, HOST, 4),
        (0x2B, HOST, 208),
        (0x2B, ROBOT, 4),
        (0x41, HOST, 176),
        (0x41, ROBOT, 4),
    ];
    for layout in LAYOUTS {
        for (code, sender, needs) in needs {
            for len in 0..needs {
                parsed(layout, code, &vec![0; len], sender, |message| {
                    assert_eq!(refused(message), "payload length", "{code:#04x}, {len}");
                });
            }
            for len in [needs, needs + 1, 300] {
                parsed(layout, code, &vec![0; len], sender, |message| {
                    assert!(message.is_ok(), "{code:#04x}, {len}: {message:?}");
                });
            }
        }
    }
}

#[test]
fn the_length_tells_a_full_state_from_maintenance() {
    for layout in LAYOUTS {
        parsed(layout, 0x0D, &[1; 143], None, |message| {
            let message = message.unwrap();
            assert!(
                matches!(message, Message::Maintain { mode_flags: 0x0101_0101, rest } if rest.len() == 139)
            );
        });
        parsed(layout, 0x0D, &[1; 144], None, |message| {
            assert!(matches!(message, Ok(Message::Enter(State { flags: 0, rest: &[], .. }))));
        });
    }
    parsed(Layout::Documented, 0x0D, &[1; 148], None, |message| {
        let flags = 0x0101_0101;
        assert!(
            matches!(message, Ok(Message::Enter(State { flags: f, rest: &[], .. })) if f == flags)
        );
    });
    parsed(Layout::Compact, 0x0D, &[1; 148], None, |message| {
        assert!(matches!(message, Ok(Message::Enter(State { flags: 0, rest: &[1, 1, 1, 1], .. }))));
    });
}

#[test]
fn the_length_tells_a_pushed_status_from_a_subscription() {
    for layout in LAYOUTS {
        for sender in [None, ROBOT] {
            parsed(layout, 0x0B, &[0; 108], sender, |message| {
                assert!(matches!(message, Ok(Message::Status(_))));
            });
        }
        parsed(layout, 0x0B, &[0; 107], None, |message| {
            assert!(matches!(message, Ok(Message::Subscribe { .. })));
        });
        parsed(layout, 0x0B, &[0; 107], ROBOT, |message| {
            assert!(matches!(message, Ok(Message::Answer { .. })));
        });
    }
}

#[test]
fn a_known_sender_outweighs_a_surplus_of_bytes() {
    let surplus = [0; 300];
    for layout in LAYOUTS {
        parsed(layout, 0x0B, &surplus, HOST, |message| {
            assert!(matches!(message, Ok(Message::Subscribe { rest }) if rest == surplus));
        });
        parsed(layout, 0x1A, &surplus, HOST, |message| {
            assert!(matches!(message, Ok(Message::ListRequest { rest }) if rest == surplus));
        });
        parsed(layout, 0x0D, &surplus, ROBOT, |message| {
            let message = message.unwrap();
            assert!(matches!(message, Message::Answer { command: Command::Enter, status: 0, .. }));
        });
    }
}

#[test]
fn a_list_grows_past_six_actions_and_past_fifteen() {
    for layout in LAYOUTS {
        for count in (0..=16).chain([100]) {
            let actions = actions(count);
            let message = Message::List(Actions::new(&actions).unwrap());
            let wire = message.to_vec(layout, Sequence(0)).unwrap();
            let payload = layout.payload_len(220).max(2 + 36 * count);
            assert_eq!(wire.len(), layout.overhead() + payload);
            let read = Datagram::new_checked(&wire).unwrap();
            for sender in [None, ROBOT] {
                let Ok(Message::List(list)) = Message::parse(&read, sender) else {
                    panic!("{count} actions are no list");
                };
                assert_eq!((list.len(), list.is_empty()), (count, count == 0));
                assert!(list.iter().eq(actions.iter().copied()));
                assert!(list.rest().iter().all(|byte| *byte == 0));
                assert_eq!(list.rest().len(), payload - 2 - 36 * count);
            }
            let mut problems = Vec::new();
            message.problems(|problem| problems.push(problem.field));
            assert_eq!(problems.is_empty(), count <= 15, "{count}: {problems:?}");
        }
    }
}

#[test]
fn a_list_without_padding_is_still_a_list() {
    let mut payload = vec![0; 2 + 36];
    payload[1] = 1;
    payload[2..6].copy_from_slice(b"wave");
    payload[37] = 9;
    for layout in LAYOUTS {
        parsed(layout, 0x1A, &payload, ROBOT, |message| {
            let Ok(Message::List(list)) = message else {
                panic!("{message:?}");
            };
            let only = list.iter().next().unwrap();
            assert_eq!((list.len(), only.metadata), (1, 9));
            assert_eq!(only.name.as_str(), Ok("wave"));
        });
        parsed(layout, 0x1A, &[0, 0], ROBOT, |message| {
            assert!(matches!(message, Ok(Message::List(list)) if list.is_empty()));
        });
        // A refusal has the size of a request; its status is no count of actions.
        for failure in [5u32, u32::MAX] {
            let mut refusal = vec![0; layout.payload_len(44)];
            refusal[..4].copy_from_slice(&failure.to_be_bytes());
            for len in [4, refusal.len()] {
                parsed(layout, 0x1A, &refusal[..len], ROBOT, |message| {
                    assert!(matches!(message, Ok(Message::Answer { status, .. }) if status == failure));
                });
            }
        }
    }
}

#[test]
fn a_list_that_counts_more_than_it_holds_is_refused() {
    for (count, len) in [(7, 2 + 36 * 7 - 1), (65_535, 220), (7, 220)] {
        let mut payload = vec![0; len];
        payload[..2].copy_from_slice(&u16::to_be_bytes(count));
        for layout in LAYOUTS {
            parsed(layout, 0x1A, &payload, None, |message| {
                assert_eq!(refused(message), "action list");
            });
        }
    }
    let too_many = actions(1821);
    let message = Message::List(Actions::new(&too_many).unwrap());
    let written = message.to_vec(Layout::Documented, Sequence(0));
    assert_eq!(refused(written), "payload length");
    let beyond_the_count = vec![too_many[0]; 65_536];
    assert_eq!(refused(Actions::new(&beyond_the_count)), "action count");
}

#[test]
fn only_the_documented_layout_carries_state_flags() {
    let mut state = State {
        mode_flags: 1,
        positions: [0.0; 12],
        velocities: [0.0; 12],
        imu: [0.0; 6],
        feet: [0.0; 4],
        timestamp_ms: 5,
        flags: 0,
        rest: &[],
    };
    for layout in LAYOUTS {
        let wire = Message::Enter(state).to_vec(layout, Sequence(0)).unwrap();
        assert_eq!(wire.len(), layout.overhead() + layout.payload_len(148));
    }
    state.flags = 0x8000_0000;
    let message = Message::Enter(state);
    let documented = message.to_vec(Layout::Documented, Sequence(0)).unwrap();
    let read = Datagram::new_checked(&documented).unwrap();
    assert_eq!(Message::parse(&read, None), Ok(message));
    assert_eq!(refused(message.to_vec(Layout::Compact, Sequence(0))), "flags");
}

#[test]
fn a_keyframe_of_zeros_travels_with_a_negative_zero() {
    let at = |joint, time_ms, value| Keyframe { joint, time_ms, value };
    let keyframes = [at(0, 0, 0.0), at(1, 0, -0.0), at(0, 0, -0.0), at(0, 1, 0.0)];
    let play = Play {
        action_id: 1,
        frame_count: 0,
        duration_ms: 0,
        interpolation: Interpolation::Smooth,
        keyframes: Keyframes::new(&keyframes).unwrap(),
        rest: &[],
    };
    let wire = Message::Play(play).to_vec(Layout::Documented, Sequence(0)).unwrap();
    let slots = &wire[15 + 16..];
    assert_eq!(slots[..8], [0, 0, 0, 0, 0x80, 0, 0, 0]);
    assert_eq!(slots[8..16], [0, 1, 0, 0, 0x80, 0, 0, 0]);
    assert_eq!(slots[32..160], [0; 128]);
    let read = Datagram::new_checked(&wire).unwrap();
    let Ok(Message::Play(read)) = Message::parse(&read, None) else {
        panic!("no play");
    };
    let signs: Vec<_> = read.keyframes.iter().map(|k| k.value.is_sign_negative()).collect();
    assert_eq!(signs, [false, true, false, false]);
    assert_eq!(read.keyframes.slots()[4..], [None; 16]);
}

#[test]
fn twenty_keyframes_fit_and_one_more_does_not() {
    let keyframes = [Keyframe::default(); KEYFRAME_SLOTS + 1];
    assert_eq!(Keyframes::new(&keyframes[1..]).unwrap().iter().count(), 20);
    assert_eq!(refused(Keyframes::new(&keyframes)), "keyframes");
}

#[test]
fn what_the_documents_do_not_allow_is_reported_not_refused() {
    let problems = |command, payload: &[u8]| {
        parsed(Layout::Documented, command, payload, None, |message| {
            let mut fields = Vec::new();
            message.unwrap().problems(|problem| fields.push(problem.field));
            fields
        })
    };
    let mut play = [0; 184];
    assert_eq!(problems(0x41, &play), ["action_id"]);
    (play[3], play[15]) = (16, 3);
    assert_eq!(problems(0x41, &play), ["action_id", "interpolation"]);
    (play[3], play[15]) = (15, 2);
    assert_eq!(problems(0x41, &play), [""; 0]);
    let mut save = [0; 220];
    assert_eq!(problems(0x2B, &save), ["name length in bytes"]);
    (save[0], save[37]) = (b'a', 1);
    assert_eq!(problems(0x2B, &save), ["duration_ms"]);
    assert_eq!(problems(0x0F, &[0, 0, 0, 2]), ["recording"]);
    assert_eq!(problems(0x0F, &[0, 0, 0, 1]), [""; 0]);
}

/// Anything a message may be made of; `kind` says which message.
#[derive(Debug, Clone)]
struct Parts {
    kind: u8,
    words: [u32; 4],
    floats: [u32; 34],
    keyframes: Vec<Keyframe>,
    name: [u8; 32],
    actions: Vec<Action>,
    rest: Vec<u8>,
}

const KINDS: u8 = 15;

fn parts() -> impl Strategy<Value = Parts> {
    let bits = prop_oneof![
        Just(0),
        Just(0x8000_0000),
        Just(0x7F80_0001),
        Just(0xFFC0_0000),
        any::<u32>(),
    ];
    let keyframe = (0u16..3, 0u16..3, bits).prop_map(|(joint, time_ms, bits)| Keyframe {
        joint,
        time_ms,
        value: f32::from_bits(bits),
    });
    let action = any::<([u8; 32], u32)>()
        .prop_map(|(name, metadata)| Action { name: Name::from_field(name), metadata });
    let fixed = any::<([u32; 4], [u32; 34], [u8; 32])>();
    let lists = (vec(keyframe, 0..=20), vec(action, 0..=20), vec(any::<u8>(), 0..=100));
    (0..KINDS, fixed, lists).prop_map(|(kind, fixed, lists)| Parts {
        kind,
        words: fixed.0,
        floats: fixed.1,
        name: fixed.2,
        keyframes: lists.0,
        actions: lists.1,
        rest: lists.2,
    })
}

impl Parts {
    /// The message and who sends it.
    fn message(&self) -> (Message<'_>, Sender) {
        let [a, b, c, d] = self.words;
        let rest = &self.rest[..];
        let floats = self.floats.map(f32::from_bits);
        let (positions, velocities) =
            (*floats.first_chunk().unwrap(), *floats[12..].first_chunk().unwrap());
        let keyframes = Keyframes::new(&self.keyframes).unwrap();
        let message = match self.kind {
            0 => Message::ControlMode { rest },
            1 => Message::ParameterSync { rest },
            2 => Message::Subscribe { rest },
            3 => Message::Ready { ready: a, rest },
            4 => Message::Maintain { mode_flags: a, rest },
            5 => Message::Exit { mode_flags: a, rest },
            6 => Message::Record { flag: a, rest },
            7 => Message::ListRequest { rest },
            8 => Message::Enter(State {
                mode_flags: a,
                positions,
                velocities,
                imu: *floats[24..].first_chunk().unwrap(),
                feet: *floats[30..].first_chunk().unwrap(),
                timestamp_ms: b,
                flags: 0,
                rest,
            }),
            9 => Message::Save(Save {
                name: Name::from_field(self.name),
                timestamp: a,
                duration_ms: b,
                frame_count: c,
                flags: d,
                keyframes,
                rest,
            }),
            10 => Message::Play(Play {
                action_id: a,
                frame_count: b,
                duration_ms: c,
                interpolation: Interpolation::from(d % 5),
                keyframes,
                rest,
            }),
            11 => Message::Unknown { command: 0x80 | self.name[0], payload: rest },
            12 => {
                let status = Status { positions, velocities, time_ms: a, mode: b, flags: c, rest };
                return (Message::Status(status), Sender::Robot);
            }
            13 => {
                let actions = Actions::new(&self.actions).unwrap();
                return (Message::List(actions), Sender::Robot);
            }
            _ => {
                let (command, ..) = Command::TABLE[usize::from(self.name[0]) % 10];
                // Only a list is told from its refusal by its size.
                let rest = if command == Command::List { &[] } else { rest };
                let status = if command == Command::List { a & 0xFFFF } else { a };
                let answer = Message::Answer { command, status, rest };
                return (answer, Sender::Robot);
            }
        };
        (message, Sender::Host)
    }
}

/// All typed fields as numbers, so that NaNs compare by their bits.
fn numbers(message: &Message<'_>) -> Vec<u32> {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect();
    let slots = |keyframes: &Keyframes| {
        let slots = keyframes.slots().iter();
        slots
            .flat_map(|slot| match *slot {
                None => [1, 0, 0, 0],
                Some(k) if k == Keyframe::default() => [2, 0, 0, 0],
                Some(k) => [3, k.joint.into(), k.time_ms.into(), k.value.to_bits()],
            })
            .collect()
    };
    let name = |name: &Name| name.as_field().map(u32::from).to_vec();
    let head = u32::from(message.command().code());
    let body: Vec<Vec<u32>> = match message {
        Message::ControlMode { .. }
        | Message::ParameterSync { .. }
        | Message::Subscribe { .. }
        | Message::ListRequest { .. } => vec![],
        Message::Ready { ready: word, .. }
        | Message::Maintain { mode_flags: word, .. }
        | Message::Exit { mode_flags: word, .. }
        | Message::Record { flag: word, .. }
        | Message::Answer { status: word, .. } => vec![vec![*word]],
        Message::Enter(s) => vec![
            vec![s.mode_flags, s.timestamp_ms, s.flags],
            bits(&s.positions),
            bits(&s.velocities),
            bits(&s.imu),
            bits(&s.feet),
        ],
        Message::Status(s) => {
            vec![vec![s.time_ms, s.mode, s.flags], bits(&s.positions), bits(&s.velocities)]
        }
        Message::List(list) => {
            let actions = list.iter();
            actions.map(|a| [name(&a.name), vec![a.metadata]].concat()).collect()
        }
        Message::Save(s) => vec![
            name(&s.name),
            vec![s.timestamp, s.duration_ms, s.frame_count, s.flags],
            slots(&s.keyframes),
        ],
        Message::Play(p) => vec![
            vec![p.action_id, p.frame_count, p.duration_ms, p.interpolation.into()],
            slots(&p.keyframes),
        ],
        Message::Unknown { payload, .. } => vec![payload.iter().copied().map(u32::from).collect()],
    };
    [vec![head], body.concat()].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn every_message_survives_both_layouts(parts in parts(), sequence in any::<u16>()) {
        let (message, sender) = parts.message();
        for layout in LAYOUTS {
            let wire = message.to_vec(layout, Sequence(sequence)).unwrap();
            let datagram = Datagram::new_checked(&wire).unwrap();
            prop_assert_eq!((datagram.layout, datagram.sequence.0), (layout, sequence));
            let read = Message::parse(&datagram, Some(sender)).unwrap();
            prop_assert_eq!(
                std::mem::discriminant(&read),
                std::mem::discriminant(&message)
            );
            prop_assert_eq!(numbers(&read), numbers(&message));
            let padding = read.rest().strip_prefix(message.rest()).unwrap();
            prop_assert!(padding.iter().all(|byte| *byte == 0));
            prop_assert_eq!(read.to_vec(layout, datagram.sequence), Ok(wire.clone()));
        }
    }

    #[test]
    fn used_slots_keep_their_places_between_unused_ones(
        slots in vec((0u8..3, any::<[u8; 8]>()), KEYFRAME_SLOTS),
        compact in any::<bool>(),
    ) {
        let slots = slots.iter().map(|(kind, bytes)| match kind {
            0 => [0; 8],
            1 => [0, 0, 0, 0, 0x80, 0, 0, 0],
            _ => *bytes,
        });
        let slots: Vec<[u8; 8]> = slots.collect();
        let layout = LAYOUTS[usize::from(compact)];
        for (command, before, len) in [(0x41, 16, 184), (0x2B, 48, 220)] {
            let mut payload = [vec![1; before], slots.concat()].concat();
            payload.resize(layout.payload_len(len), 0);
            let wire = datagram(layout, command, &payload);
            let message = Message::parse(&Datagram::new_checked(&wire).unwrap(), None).unwrap();
            let keyframes = match message {
                Message::Save(save) => save.keyframes,
                Message::Play(play) => play.keyframes,
                other => panic!("{other:?}"),
            };
            for (slot, bytes) in keyframes.slots().iter().zip(&slots) {
                prop_assert_eq!(slot.is_none(), *bytes == [0; 8]);
            }
            let used = slots.iter().filter(|bytes| **bytes != [0; 8]).count();
            prop_assert_eq!(keyframes.iter().count(), used);
            prop_assert_eq!(message.to_vec(layout, Sequence(7)), Ok(wire.clone()));
        }
    }
}
