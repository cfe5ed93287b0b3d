//! Who may do what, when several want something.

use serde_json::json;

use crate::{
    clients::{control, drive, led},
    support::{ALL_OFF, CONTROL_TOKEN, FORWARD, READ_TOKEN, Rig, STILL, run, until},
};

#[test]
fn one_client_holds_the_controls_and_anyone_may_stop() {
    let rig = Rig::with(&["--deadman-ms", "2000"]);
    let (mut holder, mut other) = (rig.lines(), rig.lines());
    holder.ok(control("drive", "Enable"));
    let mark = rig.quiet();
    let refusal = other.fails(led(77), "busy");
    assert!(refusal.contains(&holder.name()), "{refusal}");
    holder.ok(drive(0.2));
    rig.expect(mark, "only the holder's command", &[FORWARD]);

    // Stopping is for everybody; who goes on streaming is refused.
    let mark = rig.mark();
    other.ok(json!({ "type": "Stop" }));
    let refusal = holder.fails(drive(0.2), "not_ready");
    assert!(refusal.contains(&other.name()), "{refusal}");
    for _ in 0..5 {
        holder.fails(drive(0.2), "not_ready");
    }
    let stop = [&[STILL], &ALL_OFF[..]].concat();
    rig.expect(mark, "the stop", &stop);
    rig.quiet();
    rig.expect(mark, "nothing but the stop", &stop);
    assert_eq!(rig.robot()["stopped_by"], other.name());
    assert_eq!(rig.robot()["holder"], holder.name());

    // Who takes the controls has them until it leaves.
    other.ok(json!({ "type": "TakeControl", "name": "the other" }));
    let refusal = holder.fails(control("drive", "Enable"), "busy");
    assert!(refusal.contains("the other"), "{refusal}");
    other.ok(control("drive", "Enable"));
    let mark = rig.quiet();
    other.ok(drive(0.2));
    rig.await_frame(mark, FORWARD);
    drop(other);
    rig.await_frame(mark, STILL);
    until("the controls to be free", || rig.robot()["holder"].is_null().then_some(()));
    holder.fails(drive(0.2), "not_ready");
    holder.ok(control("drive", "Enable"));
    holder.ok(drive(0.2));
}

#[test]
fn clients_of_all_ports_share_one_pair_of_controls() {
    let rig = Rig::start();
    let mut old = rig.prefixed();
    let mark = rig.mark();
    old.send(led(9).to_string().as_bytes());
    rig.await_frame(mark, "8D 09");
    let refusal = rig.lines().fails(led(10), "busy");
    assert!(refusal.contains(&format!("tcp {}", old.socket.local_addr().unwrap())), "{refusal}");
    drop(old);
    until("the controls to be free", || rig.robot()["holder"].is_null().then_some(()));
    rig.lines().ok(led(10));
}

#[test]
fn a_read_only_token_may_look_and_stop_but_not_drive() {
    let dir = crate::support::Dir::new();
    let tokens = dir.tokens();
    let lines = ["--tcp", "off", "--http", "off", "--lines", "0.0.0.0:0"];
    let rig = Rig::booting(&[&lines[..], &["--token-file", &tokens]].concat());
    assert_eq!(rig.ready["tcp"], json!(null));
    assert_eq!(rig.ready["http"], json!(null));
    let mut stranger = rig.lines();
    let refusal = stranger.fails(json!({ "type": "Robots" }), "unauthorized");
    assert!(refusal.contains("a token is needed"), "{refusal}");
    stranger.fails(json!({ "type": "Stop" }), "unauthorized");
    stranger.fails(json!({ "type": "Auth", "token": "guess" }), "unauthorized");

    let (mut reader, mut driver) = (rig.lines(), rig.lines());
    reader.ok(json!({ "type": "Auth", "token": READ_TOKEN }));
    driver.ok(json!({ "type": "Auth", "token": CONTROL_TOKEN }));
    until("the robot", || {
        let robots = reader.ok(json!({ "type": "Robots" }));
        (robots["robots"][0]["link"]["state"] == "ready").then_some(())
    });
    let mark = rig.quiet();
    for refused in [control("drive", "Enable"), drive(0.1), json!({ "type": "TakeControl" })] {
        reader.fails(refused, "unauthorized");
    }
    rig.expect(mark, "nothing", &[]);
    driver.ok(control("drive", "Enable"));
    driver.ok(drive(0.2));
    rig.await_frame(mark, FORWARD);
    let mark = rig.mark();
    reader.ok(json!({ "type": "Stop" }));
    rig.expect(mark, "the stop", &[&[STILL], &ALL_OFF[..]].concat());
    driver.fails(drive(0.2), "not_ready");

    // The command line says the same.
    let ask = |token: &str, args: &[&str]| {
        let port = rig.address("lines").rsplit(':').next().unwrap().to_owned();
        let server = format!("127.0.0.1:{port}");
        run(&dir, &[args, &["--server", &server, "--token", token]].concat())
    };
    ask(READ_TOKEN, &["status"]).ok();
    ask(READ_TOKEN, &["stop"]).ok();
    let refused = ask(READ_TOKEN, &["vacuum", "led", "3"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("may look and stop, not control"), "{refused:?}");
    assert_eq!(ask("guess", &["status"]).code, Some(1));
}

#[test]
fn the_network_is_not_listened_to_without_a_token() {
    let dir = crate::support::Dir::new();
    for port in ["--tcp", "--lines", "--http"] {
        let mut args = vec!["serve", "--vacuum", "sim:", "--json"];
        for other in ["--tcp", "--lines", "--http"] {
            args.extend([other, if other == port { "0.0.0.0:0" } else { "off" }]);
        }
        let ended = run(&dir, &args);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("token"), "{ended:?}");
        assert_eq!(ended.json()["ok"], false, "no ready line: {ended:?}");
    }
}
