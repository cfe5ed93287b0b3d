//! Frames, commands and payloads of the motor controller.

mod deframer;
mod status;

use std::{collections::BTreeSet, ops::ControlFlow};

use proptest::{collection::vec, prelude::*, sample::select};
use sinew_wire::{
    Error, Got, Wanted, explain,
    gd32::{
        Animation, BOOT, Body, Colour, Command, DockIr, Frame, FrameBuf, HANDSHAKE,
        LIDAR_PREPARATION, LedMode, MAX_FRAME, MAX_PAYLOAD, MESSAGES, Meaning, Message, Mode,
        Phase, Profile, STATUS_LEN, Sender, Status, Switch, Velocity, Version, WheelSpeeds,
        checksum,
    },
};

use crate::support::{bit_flips, bytes, refused, slow_checksum, text, truncations, vectors};

/// Document 003's master table: command, name, a payload, and what it must be typed as.
const HOST: [(u8, &str, &[u8], Body<'static>); 33] = {
    use Body::*;
    [
        (0x06, "Heartbeat", &[], Heartbeat),
        (0x07, "Version Request", &[], VersionRequest),
        (0x08, "Initialize/IMU Zero", &[], Initialize),
        (0x04, "MCU Sleep", &[], McuSleep),
        (0x05, "Wakeup Ack", &[], WakeupAck),
        (0x0A, "Reset Error Code", &[], ResetErrorCode),
        (0x0C, "Protocol Sync", &[1], ProtocolSync(1)),
        (0x0D, "Request STM32 Data", &[], RequestData),
        (0x65, "Motor Mode", &[2], MotorMode(Mode::Navigation)),
        (0x66, "Motor Velocity", &[0x6A, 0xFF, 0xFF, 0xFF, 0xF4, 1, 0, 0], Velocity(VELOCITY)),
        (0x67, "Motor Speed", &[0x9C, 0xFF, 0xC8, 0], WheelSpeeds(WHEELS)),
        (0x68, "Air Pump (Vacuum)", &[0x4C, 0x1D], Vacuum(7500)),
        (0x69, "Side Brush", &[50], SideBrush(50)),
        (0x6A, "Main Brush", &[60], MainBrush(60)),
        (0x6B, "Motor Controller Init", &[0x64], MotorInit(HANDSHAKE)),
        (0x17, "Lidar Config", &[1, 0xF0, 0xDF, 0xFA], LidarConfig([1, 0xF0, 0xDF, 0xFA])),
        (0x18, "Lidar Query", &[], LidarQuery),
        (0x19, "Lidar Enable", &[1], LidarEnable(Switch::On)),
        (0x71, "Lidar PWM", &[60, 0, 0, 0], LidarPwm(60)),
        (0x7C, "Unknown Lidar", &[0, 0xFF, 0xFF], UnknownLidar([0, 0xFF, 0xFF])),
        (0x97, "Lidar Power", &[0], LidarPower(Switch::Off)),
        (0x78, "Cliff IR Control", &[7], CliffIr(Switch::Other(7))),
        (0x79, "Cliff IR Direction", &[3], CliffIrDirection(3)),
        (0x86, "Dock IR Sensor", &[0x10], DockIr(APPROACH)),
        (0x9D, "Unknown Sensor", &[1], UnknownSensor(1)),
        (0x8D, "Button LED State", &[14], Led(LedMode(14))),
        (0x99, "Main Board Power", &[1], MainBoardPower(Switch::On)),
        (0x9A, "Main Board Restart", &[], MainBoardRestart),
        (0x9B, "Charger Power", &[0], ChargerPower(Switch::Off)),
        (0xA1, "IMU Factory Calibrate", &[], ImuCalibrate),
        (0xA2, "IMU Calibrate State", &[], ImuState),
        (0xA3, "Compass Calibrate", &[], CompassCalibrate),
        (0xA4, "Compass Cal State", &[], CompassState),
    ]
};
const VELOCITY: Velocity = Velocity { linear: -150, angular: 500 };
const WHEELS: WheelSpeeds = WheelSpeeds { left: -100, right: 200 };
const APPROACH: DockIr = DockIr::Approach;

/// Document 003's response table.
fn controller() -> [(u8, &'static str, &'static [u8], Body<'static>); 8] {
    const RAW: &[u8; STATUS_LEN] = &[0; STATUS_LEN];
    const LIDAR: [u8; 8] = [4, 0, 0, 0, 0x7F, 0, 0, 0];
    let status = Body::Status { fields: Status::default(), raw: RAW };
    let version = Body::Version(Version(b"\x04V1.0"));
    [
        (0x06, "Heartbeat Ack", &[], Body::HeartbeatAck),
        (0x07, "Version Response", b"\x04V1.0", version),
        (0x08, "Init Ack", &[], Body::InitializeAck),
        (0x0C, "Protocol Sync Ack", &[1], Body::ProtocolSyncAck(1)),
        (0x15, "Status Packet", RAW, status),
        (0x17, "Lidar Config Ack", &[1], Body::LidarConfigAck(1)),
        (0x18, "Lidar Query Response", &LIDAR, Body::LidarState(LIDAR)),
        (0xA2, "IMU Cal Response", &[1], Body::ImuStateAnswer(1)),
    ]
}

/// Both tables, with 0xA2's second meaning and who sends each row.
fn all_rows() -> Vec<(u8, &'static str, &'static [u8], Body<'static>, Sender)> {
    let prepare = Body::LidarPrepare(LIDAR_PREPARATION);
    let prepare = (0xA2, "IMU Calibrate State", &LIDAR_PREPARATION[..], prepare);
    let host = HOST.into_iter().chain([prepare]);
    let host = host.map(|(a, b, c, d)| (a, b, c, d, Sender::Host));
    let controller = controller().into_iter();
    let controller = controller.map(|(a, b, c, d)| (a, b, c, d, Sender::Controller));
    host.chain(controller).collect()
}

fn parse(frame: &[u8], sender: Option<Sender>) -> sinew_wire::Result<Message<'_>> {
    Message::parse(&Frame::new_checked(frame)?, sender)
}

#[test]
fn every_vector_decodes_to_its_fields_and_encodes_to_its_bytes() {
    for vector in vectors("gd32.json") {
        let name = text(&vector, "name");
        let (wire, payload) = (bytes(&vector, "frame"), bytes(&vector, "payload"));
        let frame = Frame::new_checked(&wire).unwrap();
        assert_eq!(frame.command(), vector["command"], "{name}");
        assert_eq!(frame.payload(), payload, "{name}");
        assert_eq!(frame.bytes(), wire, "{name}");

        let message = Message::parse(&frame, None).unwrap();
        assert!(message.extra.is_empty(), "{name}");
        assert!(!matches!(message.body, Body::Unknown { .. }), "{name}");
        // Without a check 0x08 is only ever received; what is sent is what was captured.
        let sent = match frame.check() {
            Some(_) => &wire[..],
            None => &[0xFA, 0xFB, 0x03, 0x08, 0x00, 0x08],
        };
        assert_eq!(message.frame().unwrap().as_bytes(), sent, "{name}");
        let framed = FrameBuf::new(frame.command(), &payload).unwrap();
        assert_eq!(framed.as_bytes(), sent, "{name}");
    }
}

#[test]
fn the_vectors_carry_what_their_names_say() {
    let profile = Profile::default();
    let velocity = |linear, angular| Body::Velocity(profile.velocity(linear, angular).unwrap());
    let wanted = [
        ("velocity 0.2 m/s, 0 rad/s", velocity(0.2, 0.0)),
        ("velocity -0.15 m/s, 0.5 rad/s", velocity(-0.15, 0.5)),
        ("wheel speeds 0.1 / 0.2 m/s", Body::WheelSpeeds(WheelSpeeds { left: 100, right: 200 })),
        ("vacuum 75 %", Body::Vacuum(profile.vacuum(75).unwrap())),
        ("lidar pwm 60 %", Body::LidarPwm(60)),
        ("led 4", Body::Led(LedMode(4))),
        ("imu state query", Body::ImuState),
        ("lidar prep", Body::LidarPrepare(LIDAR_PREPARATION)),
        ("handshake", Body::MotorInit(HANDSHAKE)),
        ("0x08 without a check", Body::Initialize),
    ];
    let vectors = vectors("gd32.json");
    for (name, body) in wanted {
        let vector = vectors.iter().find(|vector| vector["name"] == name);
        let wire = bytes(vector.unwrap(), "frame");
        assert_eq!(parse(&wire, None).unwrap().body, body, "{name}");
    }
}

#[test]
fn the_boot_sequence_is_the_captured_one_in_order() {
    let captured = vectors("gd32_boot.json");
    assert_eq!(captured.len(), BOOT.len());
    for (index, (step, vector)) in BOOT.iter().zip(&captured).enumerate() {
        assert_eq!(usize::from(step.step), index + 1);
        assert_eq!(step.step, vector["step"]);
        assert_eq!(step.command.code(), vector["command"]);
        let frame = step.frame().unwrap();
        assert_eq!(frame.as_bytes(), bytes(vector, "frame"), "{step:?}");
    }
    let phases = BOOT.map(|step| step.phase);
    assert!(phases[..4].iter().all(|p| *p == Phase::SystemInit));
    assert!(phases[4..10].iter().all(|p| *p == Phase::HardwareConfig));
    assert!(phases[10..].iter().all(|p| *p == Phase::ActuatorInit));
}

#[test]
fn an_odd_last_byte_is_xored_into_the_check_not_added() {
    // Document 003's frame FA FB 07 17 01 F0 DF FA 07 1A; adding would give 08 DA.
    assert_eq!(checksum(&[0x17, 0x01, 0xF0, 0xDF, 0xFA]), 0x071A);
    assert_eq!(checksum(&[0x01, 0x01, 0x01]), 0x0100);
    assert_eq!(checksum(&[0xFF, 0xFF, 0x00, 0x02]), 0x0001);
    assert_eq!(checksum(&[0x08]), 0x0008);
    assert_eq!(checksum(&[]), 0);
}

#[test]
fn every_row_of_both_tables_is_typed_named_and_framed() {
    for (code, name, payload, body, sender) in all_rows() {
        let frame = FrameBuf::new(code, payload).unwrap();
        let message = parse(frame.as_bytes(), Some(sender)).unwrap();
        assert_eq!(message, Message::from(body), "{name}");
        assert_eq!(message.frame().unwrap(), frame, "{name}");
        assert_eq!(body.name(), name);
        assert_eq!(body.command().code(), code, "{name}");
        assert_eq!(body.sender(), Some(sender), "{name}");
    }
}

#[test]
fn every_entry_of_the_table_round_trips_and_is_explained() {
    for entry in MESSAGES {
        let (code, length) = (entry.command.code(), entry.length().unwrap_or(8));
        let payload: Vec<u8> = (1..).take(length).collect();
        let frame = FrameBuf::new(code, &payload).unwrap();
        let message = parse(frame.as_bytes(), Some(entry.sender)).unwrap();
        assert_eq!(message.body.entry(), Some(entry));
        assert!(message.extra.is_empty(), "{entry:?}: the fields are the payload");
        assert_eq!(message.frame().unwrap(), frame, "{entry:?}");

        let from_robot = Some(entry.sender == Sender::Controller);
        let options = explain::Options { from_robot, ..Default::default() };
        let mut elements = Vec::new();
        let _ = explain::explain(frame.as_bytes(), &options, &mut |element| {
            elements.push(element);
            ControlFlow::Continue(())
        });
        let [element] = &elements[..] else { panic!("{entry:?}: {elements:?}") };
        assert!(element.valid && element.problems.is_empty(), "{entry:?}");
        let fields: Vec<_> = element.rows.iter().filter(|row| row.value.is_some()).collect();
        assert_eq!(fields.is_empty(), entry.fields.is_empty(), "{entry:?}");
        assert!(element.rows.iter().all(|row| row.name != "rest"), "{entry:?}");
        for field in entry.fields.iter().filter(|field| field.meaning != Meaning::Status) {
            let row = fields.iter().find(|row| row.name == field.name).unwrap();
            assert_eq!(row.length, field.length().unwrap_or(length), "{entry:?}");
        }
    }
}

#[test]
fn the_host_s_messages_have_words_of_their_own() {
    let mut words = BTreeSet::new();
    for entry in MESSAGES {
        assert_eq!(entry.word.is_some(), entry.sender == Sender::Host, "{entry:?}");
        assert!(entry.word.is_none_or(|word| words.insert(word)), "{entry:?}");
        assert!(!entry.about.is_empty(), "{entry:?}");
    }
}

#[test]
fn the_command_list_is_the_documents_and_nothing_else() {
    let mut codes: Vec<u8> = HOST.iter().map(|row| row.0).chain([0x15]).collect();
    codes.sort_unstable();
    let mut listed: Vec<u8> = Command::ALL.iter().map(|command| command.code()).collect();
    listed.sort_unstable();
    assert_eq!(listed, codes);
    for code in 0..=u8::MAX {
        let command = Command::from(code);
        assert_eq!(command.code(), code);
        let unknown = matches!(command, Command::Unknown(_));
        assert_eq!(unknown, !codes.contains(&code), "{command}");
        let answers = controller().iter().find(|row| row.0 == code).map(|row| row.1);
        assert_eq!(command.answer_name(), answers, "{command}");
    }
}

#[test]
fn a_short_payload_is_refused_with_both_lengths() {
    for (code, name, payload, _, sender) in all_rows() {
        for short in truncations(payload) {
            // A version is as long as it is, and 0xA2 without payload is another question.
            if code == 0x07 || code == 0xA2 && sender == Sender::Host && short.is_empty() {
                continue;
            }
            let frame = FrameBuf::new(code, short).unwrap();
            let refusal = Error {
                field: "payload length",
                wanted: Wanted::AtLeast(payload.len() as u64),
                got: Got::Number(short.len() as i64),
            };
            assert_eq!(parse(frame.as_bytes(), Some(sender)), Err(refusal), "{name}");
        }
    }
}

#[test]
fn without_a_sender_the_payload_tells_answers_from_questions() {
    let telling = [0x07, 0x15, 0x17, 0x18, 0xA2];
    for (code, name, payload, body, sender) in all_rows() {
        if sender == Sender::Host || telling.contains(&code) {
            let frame = FrameBuf::new(code, payload).unwrap();
            let message = parse(frame.as_bytes(), None).unwrap();
            assert_eq!(message.body, body, "{name}");
        }
    }
}

#[test]
fn impossible_lengths_are_refused_by_name() {
    let refusals: [(&[u8], &str); 11] = [
        (&[], "frame length"),
        (&[0xFA], "frame length"),
        (&[0xFA, 0xFB], "frame length"),
        (&[0xFA, 0xFB, 0x00], "LEN"),
        (&[0xFA, 0xFB, 0x00, 0x08], "LEN"),
        (&[0xFA, 0xFB, 0x01, 0x06], "LEN"),
        (&[0xFA, 0xFB, 0x02, 0x08, 0x00], "LEN"),
        (&[0xFA, 0xFB, 0xC8, 0x15, 0x00, 0x15], "frame length"),
        (&[0xFA, 0xFB, 0x03, 0x06, 0x00, 0x06, 0x00], "frame length"),
        (&[0xFA, 0xFB, 0x03, 0x06, 0x00, 0x07], "check"),
        (&[0xFB, 0xFA, 0x03, 0x06, 0x00, 0x06], "sync"),
    ];
    for (bytes, field) in refusals {
        assert_eq!(refused(Frame::new_checked(bytes)), field, "{bytes:02x?}");
    }
}

#[test]
fn damage_never_leaves_a_vector_frame_as_it_was() {
    for vector in vectors("gd32.json") {
        let wire = bytes(&vector, "frame");
        let whole = Frame::new_checked(&wire).unwrap();
        let content = |frame: Frame<'_>| (frame.command(), frame.payload().to_vec());
        for cut in truncations(&wire) {
            let cut = Frame::new_checked(cut).map(content);
            assert_ne!(cut, Ok(content(whole)));
        }
        for flipped in bit_flips(&wire) {
            let flipped = Frame::new_checked(&flipped).map(content);
            assert_ne!(flipped, Ok(content(whole)));
        }
    }
}

#[test]
fn the_longest_payload_fits_and_one_more_byte_does_not() {
    let payload = [0xA5; MAX_PAYLOAD + 1];
    let frame = FrameBuf::new(0x42, &payload[1..]).unwrap();
    assert_eq!(frame.as_bytes().len(), MAX_FRAME);
    assert_eq!(frame.as_bytes()[2], 255);
    let read = Frame::new_checked(frame.as_bytes()).unwrap();
    assert_eq!(read.payload(), &payload[1..]);
    assert_eq!(refused(FrameBuf::new(0x42, &payload)), "payload length");
    let message = Message { body: Body::SideBrush(1), extra: &payload[1..] };
    assert_eq!(refused(message.frame()), "payload");
}

#[test]
fn nineteen_led_modes_and_then_orange() {
    use Animation::*;
    use Colour::*;
    let document = [
        (Off, None),
        (Blue, Stable),
        (Blue, Stable),
        (Orange, Stable),
        (Orange, SlowWobble),
        (Orange, FastBlinkThenOff),
        (Orange, MediumBlink),
        (Red, Stable),
        (Red, MediumBlink),
        (Red, Stable),
        (OrangeRed, AlternatingBlink),
        (Blue, MediumBlink),
        (Blue, SlowWobble),
        (Blue, Stable),
        (Blue, FastBlinkThenOn),
        (RedToBlue, Sequence),
        (Red, MediumBlink),
        (Purple, Stable),
        (Orange, Stable),
    ];
    for value in 0..=u8::MAX {
        let mode = LedMode(value);
        let wanted = document.get(usize::from(value)).copied();
        let shown = (mode.colour(), mode.animation());
        assert_eq!(shown, wanted.unwrap_or((Orange, Stable)), "{value}");
        assert!(!mode.purpose().is_empty());
    }
}

#[test]
fn a_version_is_length_prefixed_or_ends_at_a_nul() {
    let versions: [(&[u8], &[u8], Option<i32>); 9] = [
        (b"\x04V1.0", b"V1.0", None),
        (b"\x04V1.0rest", b"V1.0", Some(i32::from_le_bytes(*b"0res"))),
        (b"\x00rest", b"", None),
        (b"V1.0\0rest", b"V1.0", Some(i32::from_le_bytes(*b"\0res"))),
        (b"V1.0", b"V1.0", None),
        (b"\x80\x81\0rest", b"\x80\x81", None),
        (b"\xFF", b"\xFF", None),
        (b"", b"", None),
        (b"\x03abc\xFE\xFF\xFF\xFF", b"abc", Some(-2)),
    ];
    for (payload, text, code) in versions {
        let frame = FrameBuf::new(0x07, payload).unwrap();
        let message = parse(frame.as_bytes(), Some(Sender::Controller)).unwrap();
        assert_eq!(message.body, Body::Version(Version(payload)));
        assert_eq!(Version(payload).text(), text, "{payload:02x?}");
        assert_eq!(Version(payload).code(), code, "{payload:02x?}");
    }
}

proptest! {
    #[test]
    fn the_check_is_the_slow_one(covered in vec(any::<u8>(), 0..=300)) {
        prop_assert_eq!(checksum(&covered), slow_checksum(&covered));
    }

    #[test]
    fn whatever_is_typed_goes_back_out_as_it_came(
        code in prop_oneof![select(Command::ALL).prop_map(Command::code), any::<u8>()],
        payload in prop_oneof![vec(any::<u8>(), 0..12), vec(any::<u8>(), 90..=MAX_PAYLOAD)],
        sender in prop_oneof![
            Just(None),
            Just(Some(Sender::Host)),
            Just(Some(Sender::Controller)),
        ],
    ) {
        let frame = FrameBuf::new(code, &payload).unwrap();
        match parse(frame.as_bytes(), sender) {
            Ok(message) => {
                prop_assert_eq!(message.frame().unwrap(), frame);
                let unknown = Body::Unknown { command: code, payload: &payload };
                let documented = all_rows().iter().any(|row| {
                    row.0 == code && sender.is_none_or(|sender| sender == row.4)
                });
                prop_assert_eq!(message.body == unknown, !documented);
            }
            Err(error) => prop_assert_eq!(error.field, "payload length"),
        }
    }

    #[test]
    fn a_message_with_surplus_bytes_keeps_them(
        (_, _, _, body, sender) in select(all_rows()),
        extra in vec(any::<u8>(), 0..=100),
    ) {
        // These two read on to the payload's end, so nothing is left over.
        prop_assume!(!matches!(body, Body::Version(_) | Body::ImuState));
        let message = Message { body, extra: &extra };
        let frame = message.frame().unwrap();
        prop_assert_eq!(parse(frame.as_bytes(), Some(sender)), Ok(message));
    }

    #[test]
    fn an_unknown_command_is_kept_whole(
        code in any::<u8>().prop_filter("documented", |code| {
            matches!(Command::from(*code), Command::Unknown(_))
        }),
        payload in vec(any::<u8>(), 0..=MAX_PAYLOAD),
    ) {
        let body = Body::Unknown { command: code, payload: &payload };
        let frame = Message::from(body).frame().unwrap();
        for sender in [None, Some(Sender::Host), Some(Sender::Controller)] {
            prop_assert_eq!(parse(frame.as_bytes(), sender), Ok(Message::from(body)));
        }
        prop_assert_eq!(body.sender(), None);
        prop_assert_eq!(body.name(), "Unknown");
    }

    #[test]
    fn numbers_of_either_sign_survive_the_wire(
        linear in any::<i32>(),
        angular in any::<i32>(),
        left in any::<i16>(),
        right in any::<i16>(),
        vacuum in any::<u16>(),
        byte in any::<u8>(),
    ) {
        let bodies = [
            Body::Velocity(Velocity { linear, angular }),
            Body::WheelSpeeds(WheelSpeeds { left, right }),
            Body::Vacuum(vacuum),
            Body::LidarPwm(linear),
            Body::MotorMode(byte.into()),
            Body::DockIr(byte.into()),
            Body::LidarPower(byte.into()),
            Body::Led(LedMode(byte)),
        ];
        for body in bodies {
            let frame = Message::from(body).frame().unwrap();
            prop_assert_eq!(parse(frame.as_bytes(), None), Ok(Message::from(body)));
        }
    }
}
