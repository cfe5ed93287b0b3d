use serde_json::{Value, json};
use sinew_robot::{
    Code, Refusal,
    component::Verb,
    vacuum::{
        Command,
        components::{COMPONENTS, parse},
    },
};

fn control(id: &str, action: Value) -> Result<Command, Refusal> {
    parse(&json!(id), &action, true)
}

/// A whole `ComponentControl` message.
fn message(text: &str) -> Result<Command, Refusal> {
    let message: Value = serde_json::from_str(text).unwrap();
    assert_eq!(message["type"], "ComponentControl");
    parse(&message["id"], &message["action"], true)
}

#[test]
fn every_cell_of_the_table_gives_its_command() {
    let none = json!(null);
    let cells: Vec<(&str, &str, Value, Command)> = vec![
        ("drive", "Enable", none.clone(), Command::DriveEnable { mode: 2 }),
        ("drive", "Enable", json!({"mode": {"U8": 0}}), Command::DriveEnable { mode: 0 }),
        ("drive", "Disable", none.clone(), Command::DriveDisable),
        ("drive", "Reset", none.clone(), Command::DriveReset),
        (
            "drive",
            "Configure",
            json!({"linear": {"F32": 0.25}, "angular": {"F32": -0.5}}),
            Command::Velocity { linear: 0.25, angular: -0.5 },
        ),
        (
            "drive",
            "Configure",
            json!({"left": {"F32": 0.25}, "right": {"F32": -0.5}}),
            Command::Tank { left: 0.25, right: -0.5 },
        ),
        ("vacuum", "Enable", none.clone(), Command::Vacuum { percent: 100 }),
        ("vacuum", "Disable", none.clone(), Command::Vacuum { percent: 0 }),
        ("vacuum", "Configure", json!({"speed": {"U8": 7}}), Command::Vacuum { percent: 7 }),
        ("main_brush", "Enable", none.clone(), Command::MainBrush { percent: 100 }),
        ("main_brush", "Disable", none.clone(), Command::MainBrush { percent: 0 }),
        ("main_brush", "Configure", json!({"speed": {"U8": 7}}), Command::MainBrush { percent: 7 }),
        ("side_brush", "Enable", none.clone(), Command::SideBrush { percent: 100 }),
        ("side_brush", "Disable", none.clone(), Command::SideBrush { percent: 0 }),
        ("side_brush", "Configure", json!({"speed": {"U8": 7}}), Command::SideBrush { percent: 7 }),
        ("water_pump", "Enable", none.clone(), Command::WaterPump { percent: 100 }),
        ("water_pump", "Disable", none.clone(), Command::WaterPump { percent: 0 }),
        (
            "water_pump",
            "Configure",
            json!({"speed": {"U32": 7}}),
            Command::WaterPump { percent: 7 },
        ),
        ("led", "Configure", json!({"state": {"U8": 255}}), Command::Led { state: 255 }),
        ("lidar", "Enable", none.clone(), Command::LidarOn { pwm: 60 }),
        ("lidar", "Enable", json!({"pwm": {"U8": 100}}), Command::LidarOn { pwm: 100 }),
        ("lidar", "Disable", none.clone(), Command::LidarOff),
        ("imu", "Enable", none.clone(), Command::ImuState),
        ("imu", "Reset", none.clone(), Command::ImuCalibrate),
        ("compass", "Enable", none.clone(), Command::CompassState),
        ("compass", "Reset", none.clone(), Command::CompassCalibrate),
        ("cliff_ir", "Enable", none.clone(), Command::CliffIr { on: true }),
        ("cliff_ir", "Disable", none.clone(), Command::CliffIr { on: false }),
        (
            "cliff_ir",
            "Configure",
            json!({"direction": {"U8": 9}}),
            Command::CliffIrDirection { direction: 9 },
        ),
        ("main_board", "Enable", none.clone(), Command::MainBoard { on: true }),
        ("main_board", "Disable", none.clone(), Command::MainBoard { on: false }),
        ("main_board", "Reset", none.clone(), Command::MainBoardRestart),
        ("charger", "Enable", none.clone(), Command::Charger { on: true }),
        ("charger", "Disable", none.clone(), Command::Charger { on: false }),
        ("mcu", "Enable", none.clone(), Command::McuWake),
        ("mcu", "Disable", none.clone(), Command::McuSleep),
        ("mcu", "Reset", none.clone(), Command::McuClearErrors),
    ];
    for (id, verb, config, command) in &cells {
        let mut action = json!({"type": verb});
        if !config.is_null() {
            action["config"] = config.clone();
        }
        assert_eq!(control(id, action), Ok(command.clone()), "{id} {verb} {config}");
    }
    // And no other cell of the 12 x 4 gives any.
    for component in COMPONENTS {
        for verb in Verb::ALL {
            let known = cells.iter().any(|cell| cell.0 == component.id && cell.1 == verb.name());
            let refusal = control(component.id, json!({"type": verb.name()}));
            if !known {
                let refusal = refusal.unwrap_err();
                assert_eq!(refusal.code, Code::Unsupported);
                for action in component.actions {
                    assert!(refusal.message.contains(action.verb.name()), "{refusal}");
                }
            }
        }
    }
    assert_eq!(COMPONENTS.len(), 13);
}

#[test]
fn the_examples_of_document_003_give_their_commands() {
    let examples = [
        (
            r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": {"linear": {"F32": 0.2}, "angular": {"F32": 0.0}}}}"#,
            Command::Velocity { linear: 0.2, angular: 0.0 },
        ),
        (
            r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": {"linear": {"F32": 0.0}, "angular": {"F32": 0.5}}}}"#,
            Command::Velocity { linear: 0.0, angular: 0.5 },
        ),
        (
            r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": {"left": {"F32": 0.1}, "right": {"F32": 0.2}}}}"#,
            Command::Tank { left: 0.1, right: 0.2 },
        ),
        (
            r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Disable"}}"#,
            Command::DriveDisable,
        ),
        (
            r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Reset"}}"#,
            Command::DriveReset,
        ),
        (
            r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Enable"}}"#,
            Command::DriveEnable { mode: 2 },
        ),
        (
            r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Enable", "config": {"mode": {"U8": 2}}}}"#,
            Command::DriveEnable { mode: 2 },
        ),
        (
            r#"{"type": "ComponentControl", "id": "vacuum", "action": {"type": "Configure", "config": {"speed": {"U8": 75}}}}"#,
            Command::Vacuum { percent: 75 },
        ),
        (
            r#"{"type": "ComponentControl", "id": "imu", "action": {"type": "Reset"}}"#,
            Command::ImuCalibrate,
        ),
        (
            r#"{"type": "ComponentControl", "id": "led", "action": {"type": "Configure", "config": {"state": {"U8": 4}}}}"#,
            Command::Led { state: 4 },
        ),
        (
            r#"{"type": "ComponentControl", "id": "main_board", "action": {"type": "Enable"}}"#,
            Command::MainBoard { on: true },
        ),
        (
            r#"{"type": "ComponentControl", "id": "main_board", "action": {"type": "Reset"}}"#,
            Command::MainBoardRestart,
        ),
        (
            r#"{"type": "ComponentControl", "id": "charger", "action": {"type": "Enable"}}"#,
            Command::Charger { on: true },
        ),
        (
            r#"{"type": "ComponentControl", "id": "charger", "action": {"type": "Disable"}}"#,
            Command::Charger { on: false },
        ),
        (
            r#"{"type": "ComponentControl", "id": "mcu", "action": {"type": "Disable"}}"#,
            Command::McuSleep,
        ),
        (
            r#"{"type": "ComponentControl", "id": "mcu", "action": {"type": "Enable"}}"#,
            Command::McuWake,
        ),
        (
            r#"{"type": "ComponentControl", "id": "mcu", "action": {"type": "Reset"}}"#,
            Command::McuClearErrors,
        ),
    ];
    for (text, command) in examples {
        assert_eq!(message(text), Ok(command), "{text}");
    }
}

#[test]
fn plain_numbers_and_booleans_are_accepted_too() {
    let velocity = json!({"type": "Configure", "config": {"linear": 0.25, "angular": -1}});
    assert_eq!(control("drive", velocity), Ok(Command::Velocity { linear: 0.25, angular: -1.0 }));
    let speed = |value: Value| json!({"type": "Configure", "config": {"speed": value}});
    assert_eq!(control("vacuum", speed(json!(75))), Ok(Command::Vacuum { percent: 75 }));
    assert_eq!(control("vacuum", speed(json!(75.0))), Ok(Command::Vacuum { percent: 75 }));
    assert_eq!(control("vacuum", speed(json!(true))), Ok(Command::Vacuum { percent: 1 }));
}

#[test]
fn types_of_numbers_are_taken_for_one_another_where_the_value_fits() {
    let speed = |value: Value| json!({"type": "Configure", "config": {"speed": value}});
    let drive =
        |value: Value| json!({"type": "Configure", "config": {"linear": value, "angular": 0}});
    for tag in ["U8", "U16", "U32", "U64", "I8", "I16", "I32", "I64", "F32", "F64"] {
        assert_eq!(control("vacuum", speed(json!({tag: 50}))), Ok(Command::Vacuum { percent: 50 }));
        let velocity = Command::Velocity { linear: 1.0, angular: 0.0 };
        assert_eq!(control("drive", drive(json!({tag: 1}))), Ok(velocity), "{tag}");
    }
    for tag in ["F32", "F64"] {
        let velocity = Command::Velocity { linear: -0.2, angular: 0.0 };
        assert_eq!(control("drive", drive(json!({tag: -0.2}))), Ok(velocity), "{tag}");
        let whole = control("vacuum", speed(json!({tag: 50.0})));
        assert_eq!(whole, Ok(Command::Vacuum { percent: 50 }), "{tag}");
    }
}

#[test]
fn bad_values_are_refused_with_what_was_wanted_and_what_came() {
    let configure = |config: Value| json!({"type": "Configure", "config": config});
    let cases: Vec<(&str, Value, &[&str])> = vec![
        ("drive", configure(json!({"linear": 0.1})), &["linear and angular", "angular"]),
        ("drive", configure(json!({"angular": 0.1})), &["linear and angular", "linear"]),
        ("drive", configure(json!({"left": 0.1})), &["left and right", "right"]),
        ("drive", configure(json!({"right": 0.1})), &["left and right", "left"]),
        ("drive", configure(json!({"linear": 0.1, "right": 0.1})), &["mixture"]),
        (
            "drive",
            configure(json!({"linear": 0, "angular": 0, "left": 0, "right": 0})),
            &["mixture"],
        ),
        ("drive", configure(json!({})), &["linear"]),
        ("drive", json!({"type": "Configure"}), &["linear"]),
        ("drive", configure(json!({"linear": "NaN", "angular": 0})), &["finite", "NaN"]),
        ("drive", configure(json!({"linear": {"F32": "Infinity"}, "angular": 0})), &["finite"]),
        ("drive", configure(json!({"linear": null, "angular": 0})), &["finite", "null"]),
        ("drive", configure(json!({"linear": 1e39, "angular": 0})), &["finite"]),
        (
            "drive",
            configure(json!({"linear": {"U8": 0.5}, "angular": 0})),
            &["F32", r#"{"U8":0.5}"#],
        ),
        ("drive", configure(json!({"linear": {"F64": 1e39}, "angular": 0})), &["F32", "1e+39"]),
        ("drive", configure(json!({"linear": {"Bool": true}, "angular": 0})), &["F32", "Bool"]),
        ("drive", configure(json!({"linear": {"F32": true}, "angular": 0})), &["F32", "true"]),
        ("drive", configure(json!({"linear": {"F32": 1, "U8": 1}, "angular": 0})), &["F32"]),
        ("drive", configure(json!({"linear": 0, "angular": 0, "speed": 0})), &["speed"]),
        ("drive", json!({"type": "Enable", "config": {"mode": 1}}), &["0 or 2", "1"]),
        ("drive", json!({"type": "Enable", "config": {"mode": {"U8": 3}}}), &["0 or 2"]),
        ("drive", json!({"type": "Disable", "config": {"mode": 0}}), &["no config", "mode"]),
        ("vacuum", configure(json!({"speed": {"U8": 101}})), &["0 to 100", "101"]),
        ("vacuum", configure(json!({"speed": -1})), &["0 to 100", "-1"]),
        ("vacuum", configure(json!({"speed": 50.5})), &["whole", "50.5"]),
        ("vacuum", configure(json!({"speed": {"U8": 300}})), &["0 to 100"]),
        (
            "vacuum",
            configure(json!({"speed": {"U32": 101}})),
            &["0 to 100", "U8", r#"{"U32":101}"#],
        ),
        ("vacuum", configure(json!({"speed": {"I64": -1}})), &["0 to 100", "-1"]),
        ("vacuum", configure(json!({"speed": {"F64": 50.5}})), &["whole", "50.5"]),
        ("vacuum", configure(json!({"speed": {"String": "50"}})), &["0 to 100", "String"]),
        ("led", configure(json!({"state": {"I8": 200}})), &["U8", r#"{"I8":200}"#]),
        ("vacuum", configure(json!({"speed": [1]})), &["0 to 100"]),
        ("vacuum", configure(json!({"power": 1})), &["speed", "power"]),
        ("vacuum", configure(json!([1])), &["object"]),
        ("led", configure(json!({"state": 256})), &["0 to 255", "256"]),
        ("lidar", json!({"type": "Enable", "config": {"pwm": 101}}), &["0 to 100", "101"]),
        ("cliff_ir", configure(json!({"direction": -1})), &["0 to 255"]),
        ("toaster", json!({"type": "Enable"}), &["drive", "mcu", "toaster"]),
        ("drive", json!({"type": "Explode"}), &["Enable", "Explode"]),
        ("drive", json!({}), &["Enable", "nothing"]),
        ("drive", json!("Enable"), &["object"]),
        ("drive", json!({"type": "Enable", "speed": 1}), &["type and config", "speed"]),
    ];
    for (id, action, words) in cases {
        let refusal = control(id, action.clone()).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidArgument, "{id} {action}");
        for word in words {
            assert!(refusal.message.contains(word), "{id} {action}: {refusal}");
        }
    }
    let refusal = parse(&json!(5), &json!({"type": "Enable"}), true).unwrap_err();
    assert_eq!(refusal.code, Code::InvalidArgument);
}

#[test]
fn a_long_bad_value_is_cut_in_the_message() {
    let config = json!({"speed": "ä".repeat(10_000)});
    let refusal = control("vacuum", json!({"type": "Configure", "config": config})).unwrap_err();
    assert!(refusal.message.len() < 400);
}

#[test]
fn what_can_hurt_needs_confirm_and_nothing_else_does() {
    let hurts = [
        ("main_board", "Disable"),
        ("main_board", "Reset"),
        ("mcu", "Disable"),
        ("imu", "Reset"),
        ("compass", "Reset"),
    ];
    for component in COMPONENTS {
        for action in component.actions {
            let name = action.verb.name();
            let asked = parse(&json!(component.id), &json!({"type": name}), false);
            let refused = asked.is_err_and(|refusal| refusal.code == Code::NotConfirmed);
            assert_eq!(refused, hurts.contains(&(component.id, name)), "{} {name}", component.id);
            assert_eq!(refused, action.confirm);
        }
    }
}

#[test]
fn the_state_shows_when_an_action_is_in_force() {
    let is_in_force = |id: &str, action: Value, state: Value| {
        let component = COMPONENTS.iter().find(|component| component.id == id).unwrap();
        component.is_in_force(&action, state.as_object().unwrap())
    };
    let configure = json!({ "type": "Configure", "config": { "speed": { "U8": 40 } } });
    for id in ["vacuum", "main_brush", "side_brush", "water_pump"] {
        for (action, wanted) in [
            (json!({ "type": "Enable" }), 100),
            (json!({ "type": "Disable" }), 0),
            (configure.clone(), 40),
        ] {
            assert!(is_in_force(id, action.clone(), json!({ id: wanted })));
            assert!(!is_in_force(id, action.clone(), json!({ id: 41 })));
            assert!(!is_in_force(id, action, json!({})));
        }
    }
    let lidar = |config: Value| json!({ "type": "Enable", "config": config });
    assert!(is_in_force("lidar", lidar(json!({ "pwm": 50 })), json!({ "lidar": 50 })));
    assert!(is_in_force("lidar", lidar(json!({})), json!({ "lidar": 60 })));
    assert!(!is_in_force("lidar", lidar(json!({})), json!({ "lidar": null })));
    // What the state does not show was done at once.
    assert!(is_in_force(
        "led",
        json!({ "type": "Configure", "config": { "state": 3 } }),
        json!({})
    ));
    assert!(is_in_force("lidar", json!({ "type": "Disable" }), json!({ "lidar": 50 })));
}
