use serde_json::json;
use sinew_robot::vacuum::sensors::{Gd32Status, gd32_status, gd32_version};
use sinew_wire::gd32::{Flag, Profile, STATUS_LEN, Status};

fn status() -> Status {
    let mut status = Status::default();
    status.battery_decivolts = 144;
    status.encoders = [0x1_2345, 0x2_0007];
    status.start_button = 1;
    status.set(Flag::Charging, true);
    status.set(Flag::CliffRightSide, true);
    status
}

#[test]
fn the_status_group_has_every_sensor_with_its_type() {
    let wanted = json!({
        "is_charging": {"Bool": true},
        "is_dock_connected": {"Bool": false},
        "battery_voltage": {"F32": 14.4},
        "battery_level": {"U8": 45},
        "wheel_left": {"U16": 7},
        "wheel_right": {"U16": 0x2345},
        "bumper_left": {"Bool": false},
        "bumper_right": {"Bool": false},
        "cliff_left_side": {"Bool": false},
        "cliff_left_front": {"Bool": false},
        "cliff_right_front": {"Bool": false},
        "cliff_right_side": {"Bool": true},
        "dustbox_attached": {"Bool": false},
        "start_button": {"U16": 1},
        "dock_button": {"U16": 0},
    });
    assert_eq!(gd32_status(&status(), None, &Profile::DOCUMENT), wanted);
}

#[test]
fn the_raw_packet_is_there_when_asked_for() {
    let mut raw = [0; STATUS_LEN];
    status().emit(&mut raw);
    let values = gd32_status(&status(), Some(&raw), &Profile::DOCUMENT);
    assert_eq!(values["raw_packet"], json!({"Bytes": raw.to_vec()}));
    assert_eq!(values.as_object().unwrap().len(), 16);
}

#[test]
fn the_profile_says_which_wheel_is_which() {
    let values = gd32_status(&status(), None, &Profile::LATER);
    assert_eq!(values["wheel_left"], json!({"U16": 0x2345}));
    assert_eq!(values["wheel_right"], json!({"U16": 7}));
}

#[test]
fn the_version_group_has_text_and_number() {
    assert_eq!(
        gd32_version("v1", Some(-3)),
        json!({"version_string": {"String": "v1"}, "version_code": {"I32": -3}})
    );
    assert_eq!(gd32_version("", None)["version_code"], json!({"I32": 0}));
}

#[test]
fn later_states_have_gyroscope_accelerometer_and_tilt_too() {
    let mut status = status();
    status.set_gyro([1, -2, 3]);
    status.set_accel([4, -5, 6]);
    status.set_gravity([-7, 8, -32768]);
    let values = |gyro| {
        let profile = &Profile::LATER;
        serde_json::to_value(Gd32Status { status: &status, raw: None, profile, gyro }).unwrap()
    };
    let before = gd32_status(&status, None, &Profile::LATER);
    for (gyro, wanted) in [(status.gyro(), [1, -2, 3]), (status.gyro_ros(), [3, -2, -1])] {
        let mut all = values(Some(gyro)).as_object().unwrap().clone();
        let measured = [("gyro", wanted), ("accel", [4, -5, 6]), ("tilt", [-7, 8, -32768])];
        for (sensor, wanted) in measured {
            for (axis, wanted) in ["x", "y", "z"].iter().zip(wanted) {
                let value = all.remove(&format!("{sensor}_{axis}"));
                assert_eq!(value, Some(json!({ "I16": wanted })), "{sensor} {axis}");
            }
        }
        assert_eq!(serde_json::Value::from(all), before, "and all the others");
    }
}
