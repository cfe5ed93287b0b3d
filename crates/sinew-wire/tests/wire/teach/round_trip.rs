//! Messages of any content, written and read back.

use proptest::{collection::vec, prelude::*};
use sinew_wire::teach::{
    Action, Actions, Command, Datagram, Interpolation, KEYFRAME_SLOTS, Keyframe, Keyframes,
    Message, Name, Play, Save, Sender, Sequence, State, Status,
};

use super::{LAYOUTS, datagram};

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
