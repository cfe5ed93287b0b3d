//! Teaching datagrams in both layouts.

mod messages;
mod round_trip;

use proptest::prelude::*;
use serde_json::{Value, json};
use sinew_wire::teach::{
    Action, Actions, Command, Datagram, Keyframes, Layout, MAGIC, Message, Name, PORT, Sender,
    Sequence,
};

use crate::support::{bit_flips, bytes, refused, text, truncations, vectors};

const LAYOUTS: [Layout; 2] = [Layout::Documented, Layout::Compact];

/// A vector's datagram in both layouts.
fn both(vector: &Value) -> [(Layout, Vec<u8>); 2] {
    LAYOUTS.map(|layout| (layout, bytes(vector, &layout.to_string())))
}

fn sender(vector: &Value) -> Option<Sender> {
    (vector["fields"]["from"] == "robot").then_some(Sender::Robot)
}

/// Any command with any payload, in a datagram of its own.
fn datagram(layout: Layout, command: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; layout.overhead() + payload.len()];
    let len = Datagram::emit(layout, Sequence(7), command, payload, &mut out);
    assert_eq!(len, Ok(out.len()));
    out
}

/// A message's fields as the vectors write them.
fn fields(message: &Message<'_>) -> Value {
    let keyframes = |keyframes: &Keyframes| {
        let keyframes = keyframes.iter();
        keyframes.map(|k| json!([k.joint, k.time_ms, k.value])).collect::<Value>()
    };
    match message {
        Message::ControlMode { .. }
        | Message::ParameterSync { .. }
        | Message::Subscribe { .. }
        | Message::ListRequest { .. } => json!({}),
        Message::Ready { ready, .. } => json!({ "ready": ready }),
        Message::Maintain { mode_flags, .. } | Message::Exit { mode_flags, .. } => {
            json!({ "mode_flags": mode_flags })
        }
        Message::Record { flag, .. } => json!({ "recording": *flag == 1 }),
        Message::Answer { status, .. } => json!({ "from": "robot", "status": status }),
        Message::Status(status) => json!({
            "from": "robot",
            "positions": status.positions,
            "velocities": status.velocities,
            "time_ms": status.time_ms,
            "mode": status.mode,
            "flags": status.flags,
        }),
        Message::Enter(state) => json!({
            "mode_flags": state.mode_flags,
            "positions": state.positions,
            "velocities": state.velocities,
            "imu": state.imu,
            "feet": state.feet,
            "timestamp_ms": state.timestamp_ms,
        }),
        Message::List(actions) => {
            let actions = actions.iter();
            let actions: Value = actions
                .map(|a| json!({ "name": a.name.as_str().unwrap(), "metadata": a.metadata }))
                .collect();
            json!({ "actions": actions })
        }
        Message::Save(save) => json!({
            "name": save.name.as_str().unwrap(),
            "timestamp": save.timestamp,
            "duration_ms": save.duration_ms,
            "frame_count": save.frame_count,
            "flags": save.flags,
            "keyframes": keyframes(&save.keyframes),
        }),
        Message::Play(play) => json!({
            "action_id": play.action_id,
            "frame_count": play.frame_count,
            "duration_ms": play.duration_ms,
            "interpolation": play.interpolation.to_string(),
            "keyframes": keyframes(&play.keyframes),
        }),
        Message::Unknown { .. } => panic!("no vector is unknown"),
    }
}

/// Equal but for the rounding of decimal fractions to f32.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() < 1e-6
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| alike(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, a)| other.get(key).is_some_and(|b| alike(a, b)))
        }
        _ => one == other,
    }
}

/// The message without the padding it came with, as a sender would make it.
fn fresh<'a>(message: Message<'a>, actions: &'a [Action]) -> Message<'a> {
    let mut message = message;
    match &mut message {
        Message::ControlMode { rest }
        | Message::ParameterSync { rest }
        | Message::Subscribe { rest }
        | Message::ListRequest { rest }
        | Message::Ready { rest, .. }
        | Message::Maintain { rest, .. }
        | Message::Exit { rest, .. }
        | Message::Record { rest, .. }
        | Message::Answer { rest, .. } => *rest = &[],
        Message::Status(status) => status.rest = &[],
        Message::Enter(state) => state.rest = &[],
        Message::Save(save) => save.rest = &[],
        Message::Play(play) => play.rest = &[],
        Message::List(list) => *list = Actions::new(actions).unwrap(),
        Message::Unknown { .. } => {}
    }
    message
}

#[test]
fn every_vector_decodes_to_its_fields_in_both_layouts() {
    for vector in vectors("teach.json") {
        let name = text(&vector, "name");
        for (layout, wire) in both(&vector) {
            assert_eq!(wire.len(), vector[format!("{layout}_len")], "{name}");
            let datagram = Datagram::new_checked(&wire).unwrap();
            assert_eq!(datagram.layout, layout, "{name}");
            assert_eq!(datagram.sequence.0, vector["sequence"], "{name}");
            assert_eq!(datagram.command, vector["command"], "{name}");
            assert_eq!(datagram.payload.len(), wire.len() - layout.overhead());
            assert!(datagram.reserved_as_documented(), "{name}");

            let message = Message::parse(&datagram, sender(&vector)).unwrap();
            let (got, mut wanted) = (fields(&message), vector["fields"].clone());
            if let Message::List(_) = message {
                wanted.as_object_mut().unwrap().remove("from");
            }
            assert!(alike(&got, &wanted), "{name}: {got} is not {wanted}");
            assert_eq!(message.command().code(), datagram.command, "{name}");
            message.problems(|problem| panic!("{name}: {problem}"));
        }
    }
}

#[test]
fn every_vector_encodes_to_its_bytes_in_both_layouts() {
    for vector in vectors("teach.json") {
        let name = text(&vector, "name");
        for (layout, wire) in both(&vector) {
            let datagram = Datagram::new_checked(&wire).unwrap();
            let message = Message::parse(&datagram, sender(&vector)).unwrap();
            let actions: Vec<Action> = match message {
                Message::List(actions) => actions.iter().collect(),
                _ => Vec::new(),
            };
            for message in [message, fresh(message, &actions)] {
                let written = message.to_vec(layout, datagram.sequence);
                assert_eq!(written.as_ref(), Ok(&wire), "{name}");
                let mut exact = vec![0xAA; wire.len()];
                let len = message.emit(layout, datagram.sequence, &mut exact);
                assert_eq!((len, &exact), (Ok(wire.len()), &wire), "{name}");
            }
        }
    }
}

#[test]
fn a_buffer_that_is_too_small_is_refused_whatever_its_size() {
    for vector in vectors("teach.json") {
        for (layout, wire) in both(&vector) {
            let datagram = Datagram::new_checked(&wire).unwrap();
            let message = Message::parse(&datagram, sender(&vector)).unwrap();
            for len in 0..wire.len() {
                let mut short = vec![0; len];
                let result = message.emit(layout, datagram.sequence, &mut short);
                assert!(result.is_err(), "{} in {len} bytes", text(&vector, "name"));
            }
        }
    }
}

#[test]
fn damage_to_a_vector_is_always_found() {
    for vector in vectors("teach.json") {
        let name = text(&vector, "name");
        for (layout, wire) in both(&vector) {
            for cut in truncations(&wire) {
                assert!(Datagram::new_checked(cut).is_err(), "{name}, {layout}");
            }
            for flipped in bit_flips(&wire) {
                assert!(Datagram::new_checked(&flipped).is_err(), "{name}, {layout}");
            }
            let longer = [&wire[..], &[0]].concat();
            let field = refused(Datagram::new_checked(&longer));
            assert_eq!(field, "datagram length", "{name}, {layout}");
        }
    }
}

#[test]
fn the_complete_examples_of_the_documents_are_no_datagrams() {
    let examples = vectors("teach_documents.json");
    let complete = |example: &&Value| example["complete"] == true;
    assert!(examples.iter().filter(complete).count() >= 10);
    for example in examples.iter().filter(complete) {
        let wire = bytes(example, "hex");
        assert!(Datagram::new_checked(&wire).is_err(), "{example}");
        // Both layouts have their check at the end, over all that precedes it.
        let (covered, check) = wire.split_last_chunk().unwrap();
        assert_ne!(slow_crc32(covered), u32::from_be_bytes(*check), "{example}");
    }
    for example in examples {
        let wire = bytes(&example, "hex");
        assert!(Datagram::new_checked(&wire).is_err(), "{example}");
    }
}

/// CRC-32 (IEEE), bit by bit.
fn slow_crc32(covered: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in covered {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = crc & 1;
            crc = (crc >> 1) ^ (0xEDB8_8320 * carry);
        }
    }
    !crc
}

#[test]
fn the_check_is_the_ieee_crc_of_all_before_it() {
    assert_eq!(slow_crc32(b"123456789"), 0xCBF4_3926);
    for layout in LAYOUTS {
        let wire = datagram(layout, 0x55, b"some payload");
        let (covered, check) = wire.split_last_chunk().unwrap();
        assert_eq!(u32::from_be_bytes(*check), slow_crc32(covered));
    }
}

#[test]
fn the_layouts_differ_in_header_and_in_what_the_length_counts() {
    let payload = [0xAB; 5];
    let documented = datagram(Layout::Documented, 0x42, &payload);
    let compact = datagram(Layout::Compact, 0x42, &payload);
    assert_eq!(documented[..6], MAGIC);
    assert_eq!(documented[6..15], [0, 7, 0, 0, 0, 1, 0x42, 0, 5]);
    assert_eq!(documented.len(), 19 + 5);
    assert_eq!(compact[..6], MAGIC);
    assert_eq!(compact[6..13], [0, 7, 0, 1, 0x42, 0, 9]);
    assert_eq!(compact.len(), 13 + 9);
    assert_eq!(PORT, 49504);
    assert_eq!(Layout::default(), Layout::Documented);
}

#[test]
fn a_length_that_fits_both_layouts_is_settled_by_bytes_8_to_12() {
    for command in 0..=u8::MAX {
        // As compact, the documented header's 01 and command read as a length of 256 + command.
        let payload = vec![0x5A; 250 + usize::from(command)];
        let wire = datagram(Layout::Documented, command, &payload);
        for layout in LAYOUTS {
            assert_eq!(layout.declared_len(&wire), Some(wire.len()));
        }
        let read = Datagram::new_checked(&wire).unwrap();
        assert_eq!((read.layout, read.command), (Layout::Documented, command));
        assert_eq!(read.payload, payload);
    }
    // The other way round the payload's first two bytes read as the documented length.
    let mut payload = vec![0x5A; 40];
    payload[..2].copy_from_slice(&38u16.to_be_bytes());
    let wire = datagram(Layout::Compact, 0x41, &payload);
    for layout in LAYOUTS {
        assert_eq!(layout.declared_len(&wire), Some(wire.len()));
    }
    let read = Datagram::new_checked(&wire).unwrap();
    assert_eq!((read.layout, read.command), (Layout::Compact, 0x41));
    assert_eq!(read.payload, payload);
}

#[test]
fn other_reserved_bytes_are_kept_and_noticed() {
    for (layout, reserved) in [(Layout::Documented, 8..12), (Layout::Compact, 8..10)] {
        let mut wire = datagram(layout, 0x0E, &[0; 44]);
        wire[9] = 0x77;
        let covered = wire.len() - 4;
        let check = slow_crc32(&wire[..covered]);
        wire[covered..].copy_from_slice(&check.to_be_bytes());
        let read = Datagram::new_checked(&wire).unwrap();
        assert_eq!(read.layout, layout);
        assert_eq!(read.reserved, &wire[reserved]);
        assert!(!read.reserved_as_documented());
    }
}

#[test]
fn a_compact_length_without_room_for_the_check_is_refused() {
    // The last four bytes are then the header's own, and some header is its own check.
    for len in 0u8..4 {
        let mut wire = [0; 16];
        wire[..6].copy_from_slice(&MAGIC);
        let covered = 9 + usize::from(len);
        let whole = covered + 4;
        let wire = (0..1u32 << 24).find_map(|guess| {
            wire[6..9].copy_from_slice(&guess.to_be_bytes()[1..]);
            let check = slow_crc32(&wire[..covered]).to_be_bytes();
            let mut wire = wire;
            wire[covered..whole].copy_from_slice(&check);
            (wire[11..13] == [0, len]).then_some(wire)
        });
        let wire = &wire.unwrap()[..whole];
        assert_eq!(refused(Datagram::new_checked(wire)), "datagram length");
        assert_eq!(Layout::Compact.declared_len(wire), None);
    }
}

#[test]
fn what_does_not_begin_like_a_datagram_is_refused_by_its_header() {
    let wire = datagram(Layout::Documented, 0x09, &[0; 44]);
    for at in 0..MAGIC.len() {
        let mut other = wire.clone();
        other[at] ^= 0xFF;
        assert_eq!(refused(Datagram::new_checked(&other)), "header");
        assert_eq!(refused(Datagram::layout_of(&other)), "header");
    }
}

#[test]
fn a_payload_beyond_its_length_field_is_refused() {
    let mut out = vec![0; 70_000];
    for (layout, most) in [(Layout::Documented, 65_535), (Layout::Compact, 65_531)] {
        let payload = vec![0; most + 1];
        let mut emit = |payload| Datagram::emit(layout, Sequence(0), 1, payload, &mut out);
        assert_eq!(refused(emit(&payload)), "payload length");
        assert_eq!(emit(&payload[1..]), Ok(most + layout.overhead()));
        assert_eq!(
            Datagram::new_checked(&out[..most + layout.overhead()]).unwrap().payload.len(),
            most
        );
    }
}

#[test]
fn ten_commands_have_names_and_the_rest_are_kept() {
    let codes = [0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x1A, 0x2B, 0x41];
    for code in 0..=u8::MAX {
        let command = Command::from(code);
        assert_eq!(command.code(), code);
        let unknown = command == Command::Unknown(code);
        assert_eq!(unknown, !codes.contains(&code));
        assert_eq!(unknown, command.name() == "Unknown");
    }
}

#[test]
fn a_name_is_1_to_31_bytes_without_nul() {
    let letters = "abcdefghijklmnopqrstuvwxyz012345";
    for len in 1..=31 {
        let name = Name::new(&letters[..len]).unwrap();
        assert_eq!(name.as_str(), Ok(&letters[..len]));
        assert_eq!(&name.as_field()[..len], &letters.as_bytes()[..len]);
        assert!(name.as_field()[len..].iter().all(|byte| *byte == 0));
    }
    assert_eq!(refused(Name::new("")), "name length in bytes");
    assert_eq!(refused(Name::new(letters)), "name length in bytes");
    assert_eq!(refused(Name::new("a\0b")), "name");
    assert_eq!(refused(Name::new("a\0")), "name");
}

#[test]
fn a_name_too_long_in_bytes_is_refused_not_cut() {
    let fits = "волна_привет_ok";
    assert_eq!(Name::new(fits).unwrap().as_str(), Ok(fits));
    let longest = format!("{}x", "é".repeat(15));
    assert_eq!(longest.len(), 31);
    assert_eq!(Name::new(&longest).unwrap().as_str(), Ok(&longest[..]));
    assert_eq!(refused(Name::new(&"é".repeat(16))), "name length in bytes");
}

#[test]
fn a_received_name_may_be_anything_and_is_kept() {
    let mut hidden = [0; 32];
    hidden[..9].copy_from_slice(b"wave\0rest");
    assert_eq!(Name::from_field(hidden).as_str(), Ok("wave"));
    assert_eq!(Name::from_field(hidden).as_field(), &hidden);
    let refusals = [
        ([0; 32], "name length in bytes"),
        ([b'x'; 32], "name length in bytes"),
        ([[0xC3; 31].as_slice(), &[0]].concat().try_into().unwrap(), "name"),
    ];
    for (field, refusal) in refusals {
        let name = Name::from_field(field);
        assert_eq!(refused(name.as_str()), refusal);
        assert_eq!(name.as_field(), &field);
        assert!(!format!("{name:?}").is_empty());
    }
}

proptest! {
    #[test]
    fn of_two_numbers_the_newer_is_less_than_half_the_circle_ahead(
        start in any::<u16>(),
        ahead in 1u16..0x8000,
    ) {
        let (old, new) = (Sequence(start), Sequence(start.wrapping_add(ahead)));
        prop_assert!(new.is_newer_than(old));
        prop_assert!(!old.is_newer_than(new));
        prop_assert!(!old.is_newer_than(old));
        prop_assert_eq!(new.since(old), ahead as i16);
        prop_assert_eq!(old.since(new), -(ahead as i16));
        prop_assert!(old.next().is_newer_than(old));
        prop_assert_eq!(old.next().since(old), 1);
    }

    #[test]
    fn any_datagram_comes_back_in_its_layout(
        compact in any::<bool>(),
        sequence in any::<u16>(),
        command in any::<u8>(),
        payload in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let layout = LAYOUTS[usize::from(compact)];
        let mut out = vec![0; layout.overhead() + payload.len()];
        let sequence = Sequence(sequence);
        let len = Datagram::emit(layout, sequence, command, &payload, &mut out).unwrap();
        let read = Datagram::new_checked(&out[..len]).unwrap();
        prop_assert!(read.reserved_as_documented());
        prop_assert_eq!(
            (read.layout, read.sequence, read.command, read.payload),
            (layout, sequence, command, &payload[..])
        );
    }
}

#[test]
fn the_number_after_the_last_is_zero() {
    assert_eq!(Sequence(u16::MAX).next(), Sequence(0));
    assert!(Sequence(0).is_newer_than(Sequence(u16::MAX)));
    assert!(!Sequence(u16::MAX).is_newer_than(Sequence(0)));
}
