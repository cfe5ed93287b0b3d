//! The status packet, and what a profile makes of its numbers.

use proptest::prelude::*;
use sinew_wire::gd32::{EncoderOrder, EncoderWidth, Flag, Profile, STATUS_LEN, Status, Velocity};

use crate::support::{bytes, refused, vectors};

/// The bits that a status keeps: all of the flag bytes, known or not, and the fields.
const KNOWN: [u8; STATUS_LEN] = {
    let mut mask = [0; STATUS_LEN];
    let mut at = 0x00;
    while at <= 0x08 {
        mask[at] = 0xFF;
        at += 1;
    }
    mask[0x46] = 0xFF;
    let mut at = 0x10;
    while at < 0x42 {
        if at < 0x20 || at >= 0x28 {
            mask[at] = 0xFF;
        }
        at += 1;
    }
    mask
};

fn with<const N: usize>(at: usize, bytes: [u8; N]) -> [u8; STATUS_LEN] {
    let mut raw = [0; STATUS_LEN];
    raw[at..at + N].copy_from_slice(&bytes);
    raw
}

fn changed(change: impl Fn(&mut Status)) -> Status {
    let mut status = Status::default();
    change(&mut status);
    status
}

#[test]
fn a_flag_can_be_cleared_without_touching_its_neighbours() {
    for &flag in Flag::ALL {
        let mut status = Status::parse(&[0xFF; STATUS_LEN]).unwrap();
        status.set(flag, false);
        for &other in Flag::ALL {
            assert_eq!(status.is(other), other != flag);
        }
        status.set(flag, true);
        assert_eq!(status, Status::parse(&[0xFF; STATUS_LEN]).unwrap());
    }
}

#[test]
fn each_field_stands_at_its_own_offset_and_bit() {
    let flagged = |flag| changed(|status| status.set(flag, true));
    let one =
        |place: usize, value: i16| core::array::from_fn(|i| if i == place { value } else { 0 });
    let word = (-1234i16).to_le_bytes();
    let (long, longer) = (0x0102_0304u32, 0x0102_0304_0506_0708u64);
    #[rustfmt::skip]
    let fields = [
        (with(0x01, [1 << 1]), flagged(Flag::BumperRight)),
        (with(0x01, [1 << 2]), flagged(Flag::BumperLeft)),
        (with(0x03, [1 << 0]), flagged(Flag::CliffLeftSide)),
        (with(0x03, [1 << 1]), flagged(Flag::CliffLeftFront)),
        (with(0x03, [1 << 2]), flagged(Flag::CliffRightFront)),
        (with(0x03, [1 << 3]), flagged(Flag::CliffRightSide)),
        (with(0x04, [1 << 2]), flagged(Flag::DustboxAttached)),
        (with(0x07, [1 << 0]), flagged(Flag::OnDock)),
        (with(0x07, [1 << 1]), flagged(Flag::Charging)),
        (with(0x08, [151]), changed(|status| status.battery_decivolts = 151)),
        (with(0x10, longer.to_le_bytes()), changed(|status| status.encoders = [longer, 0])),
        (with(0x18, longer.to_le_bytes()), changed(|status| status.encoders = [0, longer])),
        (with(0x28, word), changed(|status| status.set_gyro(one(0, -1234)))),
        (with(0x2C, word), changed(|status| status.set_gyro(one(1, -1234)))),
        (with(0x30, word), changed(|status| status.set_gyro(one(2, -1234)))),
        (with(0x2A, word), changed(|status| status.set_accel(one(0, -1234)))),
        (with(0x2E, word), changed(|status| status.set_accel(one(1, -1234)))),
        (with(0x32, word), changed(|status| status.set_accel(one(2, -1234)))),
        (with(0x34, word), changed(|status| status.set_gravity(one(0, -1234)))),
        (with(0x36, word), changed(|status| status.set_gravity(one(1, -1234)))),
        (with(0x38, word), changed(|status| status.set_gravity(one(2, -1234)))),
        (with(0x3A, long.to_le_bytes()), changed(|status| status.start_button = long)),
        (with(0x3E, long.to_le_bytes()), changed(|status| status.dock_button = long)),
        (with(0x46, [99]), changed(|status| status.water_tank = 99)),
    ];
    for (raw, status) in fields {
        assert_eq!(Status::parse(&raw), Ok(status));
        let mut written = [0; STATUS_LEN];
        status.emit(&mut written);
        assert_eq!(written, raw);
    }
}

#[test]
fn a_bit_outside_flags_and_fields_is_not_kept() {
    for bit in 0..STATUS_LEN * 8 {
        let (at, mask) = (bit / 8, 1u8 << (bit % 8));
        let status = Status::parse(&with(at, [mask])).unwrap();
        let known = KNOWN[at] & mask != 0;
        assert_eq!(status != Status::default(), known, "byte {at:#04x}, {mask:#04x}");
    }
}

#[test]
fn the_status_vector_reads_as_little_endian() {
    let vectors = vectors("gd32.json");
    let vector = vectors.iter().find(|vector| vector["command"] == 0x15).unwrap();
    let status = Status::parse(&bytes(vector, "payload")).unwrap();
    // Byte n of the payload is n.
    let flags: Vec<_> = Flag::ALL.iter().copied().filter(|flag| status.is(*flag)).collect();
    use Flag::*;
    assert_eq!(flags, [CliffLeftSide, CliffLeftFront, DustboxAttached, OnDock, Charging]);
    assert_eq!(status.battery_decivolts, 8);
    assert_eq!(status.encoders, [0x1716_1514_1312_1110, 0x1F1E_1D1C_1B1A_1918]);
    assert_eq!(status.gyro(), [0x2928, 0x2D2C, 0x3130]);
    assert_eq!(status.accel(), [0x2B2A, 0x2F2E, 0x3332]);
    assert_eq!(status.gravity(), [0x3534, 0x3736, 0x3938]);
    assert_eq!((status.start_button, status.dock_button), (0x3D3C_3B3A, 0x4140_3F3E));
    assert_eq!(status.water_tank, 0x46);
}

#[test]
fn a_short_status_is_refused() {
    for len in 0..STATUS_LEN {
        let raw = [0; STATUS_LEN];
        assert_eq!(refused(Status::parse(&raw[..len])), "payload length");
    }
}

#[test]
fn the_battery_is_empty_at_13_5_volts_and_full_at_15_5() {
    let percents = [(0, 0), (134, 0), (135, 0), (136, 5), (145, 50), (155, 100), (255, 100)];
    for (battery_decivolts, percent) in percents {
        let status = changed(|status| status.battery_decivolts = battery_decivolts);
        assert_eq!(status.battery_percent(), percent, "{battery_decivolts}");
        let volts = f32::from(battery_decivolts) / 10.0;
        assert!((status.battery_volts() - volts).abs() < 1e-6);
    }
}

#[test]
fn the_gyroscope_turns_into_ros_axes() {
    let turned = |gyro| changed(|status| status.set_gyro(gyro)).gyro_ros();
    assert_eq!(turned([1, 2, 3]), [3, 2, -1]);
    assert_eq!(turned([i16::MIN, 0, 0]), [0, 0, i16::MAX]);
}

#[test]
fn the_profile_decides_which_encoder_is_left_and_how_wide_it_is() {
    let status = changed(|status| status.encoders = [0x1_0001, 0x2_0002]);
    assert_eq!(Profile::DOCUMENT.encoders(&status), (0x2_0002, 0x1_0001));
    assert_eq!(Profile::LATER.encoders(&status), (1, 2));
    assert_eq!(Profile::default(), Profile::DOCUMENT);
    let mixed = Profile {
        encoder_order: EncoderOrder::LeftFirst,
        encoder_width: EncoderWidth::Bits64,
        ..Profile::DOCUMENT
    };
    assert_eq!(mixed.encoders(&status), (0x1_0001, 0x2_0002));
}

#[test]
fn an_encoder_moves_on_through_its_wrap() {
    let (narrow, wide) = (Profile::LATER, Profile::DOCUMENT);
    assert_eq!(narrow.encoder_delta(0xFFFE, 0x0003), 5);
    assert_eq!(narrow.encoder_delta(0x0003, 0xFFFE), -5);
    assert_eq!(wide.encoder_delta(0xFFFE, 0x0003), -0xFFFB);
    assert_eq!(wide.encoder_delta(u64::MAX - 1, 3), 5);
    assert_eq!(wide.encoder_delta(3, u64::MAX - 1), -5);
}

#[test]
fn a_profile_scales_velocity_and_vacuum() {
    let (document, later) = (Profile::DOCUMENT, Profile::LATER);
    let velocity = |linear, angular| Ok(Velocity { linear, angular });
    assert_eq!(document.velocity(0.2, -0.5), velocity(200, -500));
    assert_eq!(document.velocity(0.0005, -0.0005), velocity(1, -1));
    assert_eq!(document.velocity(-0.0, 0.0), velocity(0, 0));
    assert_eq!(later.velocity(0.2, -0.5), velocity(105, -262));
    assert_eq!(document.vacuum(75), Ok(7500));
    assert_eq!(document.vacuum(100), Ok(10_000));
    assert_eq!(later.vacuum(0), Ok(0));
    assert_eq!(later.vacuum(75), Ok(1238));
    assert_eq!(later.vacuum(100), Ok(1650));
}

#[test]
fn what_has_no_wire_value_is_refused_by_name() {
    let profiles = [Profile::DOCUMENT, Profile::LATER];
    for profile in profiles {
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e7, -1e7] {
            assert_eq!(refused(profile.velocity(wrong, 0.0)), "linear");
            assert_eq!(refused(profile.velocity(0.0, wrong)), "angular");
        }
        for percent in 101..=u8::MAX {
            assert_eq!(refused(profile.vacuum(percent)), "vacuum");
        }
    }
    for vacuum_scale in [f32::NAN, f32::INFINITY, 1000.0, -1.0] {
        let profile = Profile { vacuum_scale, ..Profile::DOCUMENT };
        assert_eq!(refused(profile.vacuum(100)), "vacuum");
    }
}

proptest! {
    #[test]
    fn writing_a_status_changes_its_own_bits_only(
        read in any::<[u8; STATUS_LEN]>(),
        mut written in any::<[u8; STATUS_LEN]>(),
    ) {
        let status = Status::parse(&read).unwrap();
        let before = written;
        status.emit(&mut written);
        prop_assert_eq!(Status::parse(&written), Ok(status));
        for at in 0..STATUS_LEN {
            prop_assert_eq!(written[at] & KNOWN[at], read[at] & KNOWN[at]);
            prop_assert_eq!(written[at] & !KNOWN[at], before[at] & !KNOWN[at]);
        }
    }

    #[test]
    fn any_step_is_measured_from_any_count(
        before in any::<u64>(),
        above in any::<u64>(),
        step in any::<i16>(),
        long_step in any::<i64>(),
    ) {
        let now = before.wrapping_add_signed(step.into()) & 0xFFFF | above << 16;
        prop_assert_eq!(Profile::LATER.encoder_delta(before, now), i64::from(step));
        let now = before.wrapping_add_signed(long_step);
        prop_assert_eq!(Profile::DOCUMENT.encoder_delta(before, now), long_step);
    }

    #[test]
    fn a_velocity_is_rounded_to_the_nearest_unit(
        linear in -100.0f32..100.0,
        angular in -100.0f32..100.0,
    ) {
        for profile in [Profile::DOCUMENT, Profile::LATER] {
            let velocity = profile.velocity(linear, angular).unwrap();
            let scale = f64::from(profile.velocity_scale);
            for (wire, wanted) in [(velocity.linear, linear), (velocity.angular, angular)] {
                let off = f64::from(wire) - f64::from(wanted) * scale;
                prop_assert!(off.abs() <= 0.5 + 1e-9);
            }
        }
    }
}
