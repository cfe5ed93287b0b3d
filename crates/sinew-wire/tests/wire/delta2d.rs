//! Lidar frames, one by one and in streams, and the turns they make.

mod deframer;
mod turns;

use std::ops::ControlFlow;

use proptest::{collection::vec, prelude::*};
use serde_json::Value;
use sinew_wire::{
    Error,
    delta2d::{
        Body, Command, DEGREE, Frame, FrameBuf, MAX_FRAME, MAX_PAYLOAD, METRE, Measurement,
        Message, Sample, TURNS_PER_SECOND, TYPE, VERSION, checksum,
    },
    explain::{Options, Proto, explain, recognise},
};

use crate::support::{bit_flips, bytes, refused, text, truncations, vectors};

fn all() -> Vec<(Value, Vec<u8>)> {
    let with_frame = |vector: Value| {
        let frame = bytes(&vector, "frame");
        (vector, frame)
    };
    vectors("delta2d.json").into_iter().map(with_frame).collect()
}

fn number(vector: &Value, key: &str) -> i64 {
    vector[key].as_i64().unwrap()
}

/// The rest of a payload that a vector says is not understood.
fn rest(vector: &Value) -> Vec<u8> {
    if vector["rest"].is_string() { bytes(vector, "rest") } else { Vec::new() }
}

#[test]
fn vectors_are_read_and_written() {
    for (vector, frame) in all() {
        let name = text(&vector, "name");
        let read = Frame::new_checked(&frame).unwrap();
        assert_eq!(i64::from(read.command()), number(&vector, "command"), "{name}");
        assert_eq!(read.payload(), bytes(&vector, "payload"), "{name}");
        assert!(read.fits(), "{name}");
        let message = Message::parse(&read).unwrap();
        assert_eq!(message.frame().unwrap().as_bytes(), frame, "{name}");
        assert_eq!(message.rest, rest(&vector), "{name}");
        if vector["version"].is_null() {
            assert_eq!((message.version, message.kind), (VERSION, TYPE), "{name}");
            let written = FrameBuf::new(read.command(), read.payload()).unwrap();
            assert_eq!(written.as_bytes(), frame, "{name}");
        } else {
            let wanted = (number(&vector, "version"), number(&vector, "kind"));
            assert_eq!((message.version.into(), message.kind.into()), wanted, "{name}");
        }
    }
}

#[test]
fn fields_have_the_values_of_the_vectors() {
    let close = |got: f32, wanted: &Value| (f64::from(got) - wanted.as_f64().unwrap()).abs() < 1e-4;
    let mut measurements = 0;
    for (vector, frame) in all() {
        let name = text(&vector, "name");
        let message = Message::parse(&Frame::new_checked(&frame).unwrap()).unwrap();
        match message.body {
            Body::Measurement(measurement) => {
                measurements += 1;
                assert_eq!(i64::from(measurement.speed), number(&vector, "speed"), "{name}");
                assert_eq!(i64::from(measurement.offset), number(&vector, "offset"), "{name}");
                assert_eq!(i64::from(measurement.start), number(&vector, "start"), "{name}");
                let degrees = f32::from(measurement.start) * DEGREE;
                assert!(close(degrees, &vector["start_deg"]), "{name}");
                let wanted = vector["samples"].as_array().unwrap();
                assert_eq!(measurement.samples().len(), wanted.len(), "{name}");
                for (index, sample) in measurement.samples().enumerate() {
                    assert_eq!(Some(u64::from(sample.quality)), wanted[index][0].as_u64());
                    assert_eq!(Some(u64::from(sample.distance)), wanted[index][1].as_u64());
                    assert_eq!(Some(sample.has_echo()), vector["echo"][index].as_bool(), "{name}");
                    let metres = f32::from(sample.distance) * METRE;
                    assert!(close(metres, &vector["metres"][index]), "{name}");
                    assert_eq!(Sample::from(<[u8; 3]>::from(sample)), sample);
                }
            }
            Body::Speed(speed) => {
                assert_eq!(i64::from(speed), number(&vector, "speed"), "{name}");
                assert!(close(f32::from(speed) * TURNS_PER_SECOND, &vector["speed_hz"]), "{name}");
            }
            Body::Other(code) => assert_eq!(i64::from(code), number(&vector, "command"), "{name}"),
        }
    }
    assert!(measurements >= 5);
}

#[test]
fn a_frame_that_is_cut_off_is_none() {
    for (_, frame) in all() {
        for cut in truncations(&frame) {
            assert_eq!(refused(Frame::new_checked(cut)), "frame length");
        }
        let longer = [&frame[..], &[0]].concat();
        assert_eq!(refused(Frame::new_checked(&longer)), "frame length");
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    for (vector, frame) in all() {
        for flipped in bit_flips(&frame) {
            let field = refused(Frame::new_checked(&flipped));
            let known = ["sync", "LEN", "payload length", "check", "frame length"];
            assert!(known.contains(&field), "{}: {field}", text(&vector, "name"));
        }
    }
}

#[test]
fn lengths_that_contradict_each_other_are_refused() {
    let good = FrameBuf::new(0xAE, &[60]).unwrap();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.as_bytes().to_vec();
        bytes[at] = byte;
        Frame::new_checked(&bytes).unwrap_err()
    };
    assert_eq!(with(2, 10).to_string(), "LEN: wanted 9, got 10");
    assert_eq!(with(7, 3).to_string(), "LEN: wanted 11, got 9");
    assert_eq!(with(0, 0xAB).to_string(), "sync: wanted 0xaa, got 0xab");
    let sum = checksum(&good.as_bytes()[..9]);
    let wanted = format!("check: wanted 0x{sum:04x}, got 0x{:04x}", sum ^ 1);
    assert_eq!(with(10, good.as_bytes()[10] ^ 1).to_string(), wanted);
    // Both lengths agree, and are too great to be believed.
    let n = MAX_PAYLOAD as u16 + 1;
    let [high, low] = n.to_be_bytes();
    let [len_high, len_low] = (8 + n).to_be_bytes();
    let header = [0xAA, len_high, len_low, 1, 0x61, 0xAD, high, low];
    let error: Error = Frame::new_checked(&header).unwrap_err();
    assert_eq!(error.field, "payload length");
    assert_eq!(refused(FrameBuf::new(0xAD, &[0; MAX_PAYLOAD + 1])), "payload length");
    let longest = FrameBuf::new(0xAD, &[0; MAX_PAYLOAD]).unwrap();
    assert_eq!(longest.as_bytes().len(), MAX_FRAME);
}

#[test]
fn a_payload_too_short_for_its_command_is_an_error() {
    for (command, payload) in [(0xAD, &[1, 2, 3, 4][..]), (0xAD, &[]), (0xAE, &[])] {
        let frame = FrameBuf::new(command, payload).unwrap();
        let frame = Frame::new_checked(frame.as_bytes()).unwrap();
        assert_eq!(refused(Message::parse(&frame)), "payload");
    }
}

#[test]
fn frames_are_recognised_and_explained() {
    for (vector, frame) in all() {
        let name = text(&vector, "name");
        let mut elements = Vec::new();
        let options = Options { proto: Some(Proto::Delta2d), ..Options::default() };
        let _ = explain(&frame, &options, &mut |element| {
            elements.push(element);
            ControlFlow::Continue(())
        });
        let [element] = &elements[..] else { panic!("{name}: {} elements", elements.len()) };
        assert!(element.valid, "{name}");
        let json = Value::Object(element.to_json());
        assert_eq!(json["command"], vector["command"], "{name}");
        let rows: usize = element.rows.iter().map(|row| row.length).sum();
        assert_eq!(rows, frame.len(), "{name}: every byte has a row");
        if let Some(start) = vector["start_deg"].as_f64() {
            assert!((json["fields"]["start_deg"].as_f64().unwrap() - start).abs() < 1e-4);
            let samples = json["fields"]["samples"].as_array().unwrap();
            assert_eq!(samples.len(), vector["samples"].as_array().unwrap().len(), "{name}");
        }
        assert_eq!(recognise(&frame), Proto::Delta2d, "{name}");
        let behind = [&[0x00, 0x17], &frame[..]].concat();
        assert_eq!(recognise(&behind), Proto::Delta2d, "{name}");
    }
}

#[test]
fn a_damaged_frame_is_explained_as_one() {
    let mut damaged = FrameBuf::new(0xAE, &[60]).unwrap().as_bytes().to_vec();
    damaged[8] ^= 1;
    let stream = [&damaged[..], FrameBuf::new(0xAE, &[61]).unwrap().as_bytes()].concat();
    let mut seen = Vec::new();
    let _ = explain(&stream, &Options::default(), &mut |element| {
        let problem = element.problems.first().map(|problem| problem.field);
        seen.push((element.proto, element.valid, problem));
        ControlFlow::Continue(())
    });
    assert_eq!(seen, [(Proto::Delta2d, false, Some("check")), (Proto::Delta2d, true, None)]);
}

#[test]
fn commands_round_trip() {
    for code in 0..=255 {
        assert_eq!(Command::from(code).code(), code);
    }
    assert_eq!(Command::Measurement.to_string(), "Measurement (0xAD)");
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        (speed, offset, start) in any::<(u8, i16, u16)>(),
        samples in vec(any::<[u8; 3]>(), 0..=60),
        rest in vec(any::<u8>(), 0..3),
        (version, kind) in any::<(u8, u8)>(),
    ) {
        let body = Body::Measurement(Measurement { speed, offset, start, samples: &samples });
        let message = Message { version, kind, body, rest: &rest };
        let frame = message.frame().unwrap();
        let read = Frame::new_checked(frame.as_bytes()).unwrap();
        prop_assert_eq!(Message::parse(&read).unwrap(), message);
    }

    #[test]
    fn the_check_is_the_sum_whatever_the_length(bytes in vec(any::<u8>(), 0..MAX_FRAME)) {
        let mut sum = 0u16;
        for byte in &bytes {
            sum = sum.wrapping_add(u16::from(*byte));
        }
        prop_assert_eq!(checksum(&bytes), sum);
    }
}
