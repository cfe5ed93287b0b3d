use serde_json::{Value, json};
use sinew_api::{Access, Request, Rules};
use sinew_robot::capability::Capability;

fn rules(message: Value) -> Rules {
    Request::from_value(message).asked.unwrap().rules()
}

fn control(id: &str, verb: &str) -> Value {
    json!({ "type": "ComponentControl", "id": id, "action": { "type": verb } })
}

fn teach(op: &str) -> Value {
    json!({ "type": "Teach", "op": op })
}

fn mapping(op: &str) -> Value {
    json!({ "type": "Mapping", "op": op })
}

fn go_to() -> Value {
    json!({ "type": "Mapping", "op": "go_to", "pose": { "x": 1, "y": 2 }, "confirm": true })
}

fn with(mut message: Value, member: &str, value: Value) -> Value {
    message[member] = value;
    message
}

#[test]
fn looking_takes_a_token_that_may_read_and_nothing_else() {
    let looking = [
        json!({ "type": "Robots" }),
        json!({ "type": "Ping" }),
        json!({ "type": "Subscribe", "topics": [] }),
        teach("list"),
        teach("library"),
        with(teach("show"), "name", "a".into()),
        mapping("info"),
        with(mapping("save"), "format", "ply".into()),
        json!({ "type": "Ack", "topic": "cloud", "seq": 1 }),
    ];
    for message in looking {
        let rules = rules(message);
        assert_eq!((rules.access, rules.controls, rules.urgent), (Access::Read, false, false));
    }
}

#[test]
fn whatever_stops_is_any_clients_right_and_waits_for_nothing() {
    for message in [
        json!({ "type": "Stop" }),
        control("drive", "Reset"),
        control("drive", "Disable"),
        teach("stop"),
    ] {
        let rules = rules(message);
        assert_eq!((rules.access, rules.controls, rules.urgent), (Access::Read, false, true));
        assert_eq!(rules.connection, None);
    }
}

#[test]
fn what_reaches_a_robot_takes_its_controls() {
    let some = [
        (control("led", "Configure"), Capability::Components),
        (control("vacuum", "Disable"), Capability::Components),
        (control("drive", "Enable"), Capability::Drive),
        (control("drive", "Configure"), Capability::Drive),
        (json!({ "type": "Dock" }), Capability::Drive),
        (json!({ "type": "Boot" }), Capability::Components),
        (json!({ "type": "ProtocolSync" }), Capability::Components),
        (json!({ "type": "Raw", "command": 1, "confirm": true }), Capability::Components),
        (teach("enter"), Capability::Teach),
        (with(teach("play"), "id", 1.into()), Capability::Teach),
        // It moves the robot, wherever the motion is from.
        (with(with(teach("play"), "name", "a".into()), "library", true.into()), Capability::Teach),
        (mapping("start"), Capability::Mapping),
        (mapping("stop"), Capability::Mapping),
        (mapping("pause"), Capability::Mapping),
        (mapping("resume"), Capability::Mapping),
        (mapping("close"), Capability::Mapping),
        (with(mapping("download"), "name", "a".into()), Capability::Mapping),
        (go_to(), Capability::Mapping),
    ];
    for (message, capability) in some {
        let rules = rules(message);
        assert_eq!((rules.access, rules.controls, rules.urgent), (Access::Control, true, false));
        assert_eq!(rules.capability, Some(capability));
    }
}

#[test]
fn what_is_of_the_library_alone_takes_a_token_that_may_control_but_no_controls() {
    let named = |op| with(teach(op), "name", "a".into());
    for message in [teach("save"), with(named("rename"), "new_name", "b".into()), named("delete")] {
        for (library, controls) in [(json!(true), false), (json!(false), true), (json!(null), true)]
        {
            let rules = rules(with(message.clone(), "library", library));
            assert_eq!((rules.access, rules.controls), (Access::Control, controls));
        }
    }
}

#[test]
fn what_goes_on_moving_needs_a_connection_to_lose() {
    let connection = |message| rules(message).connection;
    let driving = "driving by POST: there is no connection whose loss would stop the robot";
    assert_eq!(connection(json!({ "type": "Dock" })), Some(driving));
    assert_eq!(connection(control("drive", "Configure")), Some(driving));
    assert_eq!(connection(control("drive", "Enable")), None);
    let play = with(teach("play"), "name", "a".into());
    let looped = "loop by POST: there is no connection whose loss would end it";
    assert_eq!(connection(play.clone()), None);
    assert_eq!(connection(with(play.clone(), "loop", false.into())), None);
    assert_eq!(connection(with(play, "loop", true.into())), Some(looped));
    // It is about what is saved, which does not move yet.
    assert_eq!(connection(with(teach("save"), "loop", true.into())), None);
    let walking = "walking by POST: there is no connection whose loss would stop the robot";
    assert_eq!(connection(go_to()), Some(walking));
    assert_eq!(connection(mapping("resume")), Some(walking));
    for op in ["start", "stop", "info", "pause", "close"] {
        assert_eq!(connection(mapping(op)), None);
    }
    let lasting = "this needs a connection that lasts: use /ws";
    for message in [
        json!({ "type": "Subscribe", "topics": [] }),
        json!({ "type": "TakeControl" }),
        json!({ "type": "Auth", "name": "a" }),
        json!({ "type": "Ack", "topic": "map", "seq": 1 }),
    ] {
        assert_eq!(connection(message), Some(lasting));
    }
}

#[test]
fn a_token_is_shown_before_anything_is_allowed() {
    let auth = rules(json!({ "type": "Auth", "token": "x" }));
    assert_eq!((auth.access, auth.urgent), (Access::Nothing, true));
    let take = rules(json!({ "type": "TakeControl" }));
    assert_eq!((take.access, take.controls), (Access::Control, false));
}
