//! What the ten commands carry.

use sinew_wire::teach::{
    Action, Actions, Command, Datagram, Interpolation, KEYFRAME_SLOTS, Keyframe, Keyframes, Layout,
    Message, Name, Play, Sender, Sequence, State,
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
                    assert!(
                        matches!(message, Ok(Message::Answer { status, .. }) if status == failure)
                    );
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
