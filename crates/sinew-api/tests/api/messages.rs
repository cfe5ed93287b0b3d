use serde_json::{Value, json};
use sinew_api::{
    Access, Authenticated, Change, DaemonMessage, Event, LinkReport, Ready, ReadyRobot,
    RobotReport, Robots,
};
use sinew_robot::{Code, Refusal, capability::Capability};

fn report() -> Value {
    json!({
        "name": "vacuum", "kind": "double", "fresh": true,
        "link": { "state": "failed", "step": 3, "reason": "no answer" },
        "capabilities": ["drive", "components", "sensors"],
        "sensors": ["gd32_status", "gd32_version"],
        "holder": "ann", "stopped_by": null, "last_seen_ms": 7, "state": { "changes": 0 },
    })
}

fn written(message: &DaemonMessage) -> Value {
    let value = serde_json::from_str(&message.to_text()).unwrap();
    assert_eq!(serde_json::from_value::<DaemonMessage>(value).unwrap(), *message, "it is read so");
    serde_json::from_str(&message.to_text()).unwrap()
}

#[test]
fn a_reply_has_its_req_and_data_or_an_error() {
    let req = json!({ "a": 1 });
    let done = written(&DaemonMessage::reply(Some(&req), &Ok(json!([1]))));
    assert_eq!(done, json!({ "type": "Reply", "req": { "a": 1 }, "ok": true, "data": [1] }));
    let refusal = Refusal::new(Code::NotReady, "it sleeps");
    let failed = written(&DaemonMessage::reply(None, &Err(refusal)));
    let error = json!({ "code": "not_ready", "message": "it sleeps" });
    assert_eq!(failed, json!({ "type": "Reply", "ok": false, "error": error }));
    // There is a member also where there is nothing to say.
    let text = DaemonMessage::reply(Some(&Value::Null), &Ok(Value::Null)).to_text();
    assert_eq!(text, r#"{"type":"Reply","req":null,"ok":true,"data":null}"#);
}

#[test]
fn without_req_success_is_silent() {
    assert_eq!(DaemonMessage::answer(None, &Ok(Value::Null)), None);
    let refusal = Refusal::new(Code::Busy, "no");
    let error = DaemonMessage::answer(None, &Err(refusal)).unwrap();
    let wanted = json!({ "type": "Error", "error": { "code": "busy", "message": "no" } });
    assert_eq!(written(&error), wanted);
    assert!(DaemonMessage::answer(Some(&json!(1)), &Ok(Value::Null)).is_some());
}

#[test]
fn robots_are_read_and_written_as_they_were() {
    let robots = json!({ "robots": [report()], "warnings": ["open"] });
    let read: Robots = serde_json::from_value(robots.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), robots);
    let robot = &read.robots[0];
    assert!(robot.capabilities.contains(&Capability::Drive));
    assert_eq!(robot.link.reason.as_deref(), Some("no answer"));
    assert_eq!(robot.link.details["step"], 3);
    // Where there are several drivers, each has its link.
    let mut several = report();
    several["links"] = json!({ "lidar": { "state": "ready" } });
    let read: RobotReport = serde_json::from_value(several.clone()).unwrap();
    assert_eq!(read.links["lidar"].state, "ready");
    assert_eq!(serde_json::to_value(&read).unwrap(), several);
}

#[test]
fn a_link_is_what_its_driver_reports() {
    let link = LinkReport::new(json!({ "state": "booting", "step": 4 }));
    assert_eq!((link.state.as_str(), &link.details["step"]), ("booting", &json!(4)));
    assert_eq!(serde_json::to_value(&link).unwrap(), json!({ "state": "booting", "step": 4 }));
    assert_eq!(LinkReport::new(json!(7)), LinkReport::default());
}

#[test]
fn an_event_of_topic_state_tells_about_its_robot() {
    let event = |topic: &str| {
        let message =
            json!({ "type": "Event", "topic": topic, "robot": "vacuum", "data": report() });
        match serde_json::from_value(message).unwrap() {
            DaemonMessage::Event(event) => event,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(event("state").state().unwrap().name, "vacuum");
    let other: Event = event("events");
    assert_eq!((other.topic.as_str(), other.state()), ("events", None));
    let lost = serde_json::from_value(json!({ "type": "Lost", "count": 3 })).unwrap();
    assert!(matches!(lost, DaemonMessage::Lost(lost) if lost.count == 3));
}

#[test]
fn the_daemon_says_where_it_listens_and_what_a_client_may_do() {
    let (name, kind) = ("vacuum".to_owned(), "crl200s".to_owned());
    let lines = Some("127.0.0.1:5556".to_owned());
    let robots = vec![ReadyRobot { name, kind }];
    let ready = DaemonMessage::Ready(Ready { tcp: None, lines, http: None, sangam: None, robots });
    let wanted = json!({
        "type": "ready", "tcp": null, "lines": "127.0.0.1:5556", "http": null, "sangam": null,
        "robots": [{ "name": "vacuum", "kind": "crl200s" }],
    });
    assert_eq!(written(&ready), wanted);
    let auth = Authenticated { access: Access::Control, name: "ann".into() };
    let wanted = json!({ "access": "control", "name": "ann" });
    assert_eq!(serde_json::to_value(&auth).unwrap(), wanted);
}

#[test]
fn what_counts_is_less_than_news_and_ages_are_nothing() {
    let state = json!({
        "led": 3, "counters": { "frames": 7 }, "scan": { "turns": 2, "rate": 5.0 },
    });
    let mut told = report();
    told["state"] = state;
    told["links"] = json!({ "lidar": { "state": "ready", "last_seen_ms": 4, "counters": 1 } });
    let read = |value: &Value| serde_json::from_value::<RobotReport>(value.clone()).unwrap();
    let before = read(&told);
    for (pointer, value, change) in [
        ("/last_seen_ms", json!(9), Change::None),
        ("/links/lidar/last_seen_ms", json!(null), Change::None),
        ("/state/counters/frames", json!(8), Change::Counts),
        ("/state/scan/turns", json!(3), Change::Counts),
        ("/links/lidar/counters", json!(2), Change::Counts),
        ("/state/scan/rate", json!(4.9), Change::News),
        ("/state/led", json!(4), Change::News),
        ("/state", json!({}), Change::News),
        ("/links/lidar/state", json!("lost"), Change::News),
        ("/links", json!({}), Change::News),
        ("/link/step", json!(4), Change::News),
        ("/link/reason", json!(null), Change::News),
        ("/holder", json!(null), Change::News),
        ("/stopped_by", json!("ann"), Change::News),
        ("/fresh", json!(false), Change::News),
        ("/sensors", json!([]), Change::News),
    ] {
        let mut after = told.clone();
        *after.pointer_mut(pointer).unwrap() = value;
        assert_eq!(read(&after).change_since(&before), change, "{pointer}");
    }
    assert_eq!(before.change_since(&before), Change::None);
}
