//! The command line: what it prints, and with which code it ends.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    clients::Lines,
    support::{ALL_OFF, Dir, FORWARD, Rig, STILL, await_robots, frame, run, serve, sinew, until},
};

fn lines_of(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn commands_talk_to_the_daemon() {
    let rig = Rig::start();
    let ask = |args: &[&str]| rig.cli(args).wait();

    let robots = ask(&["robots"]).ok().stdout;
    let rows: Vec<Vec<_>> = robots.lines().map(|row| row.split_whitespace().collect()).collect();
    let titles = ["NAME", "KIND", "LINK", "HOLDER", "CAN"];
    assert_eq!(rows[0], titles);
    assert_eq!(rows[1], ["vacuum", "crl200s", "ready", "-", "drive,", "components,", "sensors"]);
    assert!(!robots.contains('\x1b'), "colours are for terminals");
    let robots = ask(&["robots", "--json"]).ok().json();
    assert_eq!((&robots[0]["name"], &robots[0]["kind"]), (&json!("vacuum"), &json!("crl200s")));
    assert_eq!(robots[0]["capabilities"], json!(["drive", "components", "sensors"]));

    let status = ask(&["status"]).ok().stdout;
    for wanted in ["vacuum (crl200s)  ready", "battery    75 %, 15.0 V", "velocity   0.00 m/s"] {
        assert!(status.contains(wanted), "{wanted} in {status}");
    }
    let status = ask(&["status", "--json"]).ok().json();
    assert_eq!(status["link"]["state"], "ready");
    assert_eq!(status["fresh"], true);
    let unknown = ask(&["status", "--robot", "nobody"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("nobody") && unknown.stderr.contains("vacuum"), "{unknown:?}");
    assert_eq!(ask(&["vacuum", "led", "3", "--robot", "nobody"]).code, Some(1));

    let watched = lines_of(&ask(&["watch", "--for", "500ms", "--json"]).ok().stdout);
    assert!(watched.iter().all(|message| message["type"] == "Event"));
    assert!(watched.iter().any(|message| message["topic"] == "state"));

    let mark = rig.quiet();
    assert_eq!(ask(&["control", "led", "Configure", "state=4"]).ok().stdout, "");
    let typed = ask(&["control", "led", "Configure", r#"state={"U8":5}"#, "--json"]);
    assert_eq!(typed.ok().json(), json!({ "ok": true }));
    ask(&["vacuum", "led", "6"]).ok();
    ask(&["vacuum", "set", "main-brush", "40"]).ok();
    // The end of each client stops the wheels, which is said once while it is repeated.
    rig.expect(mark, "components", &["8D 04", STILL, "8D 05", "8D 06", "65 02", "6A 28"]);
    // The lidar waits for its turn, and the command line for the lidar.
    ask(&["vacuum", "lidar", "on", "--pwm", "50"]).ok();
    rig.await_frame(mark, "71 32 00 00 00");
    let mark = rig.quiet();
    assert_eq!(ask(&["stop", "--json"]).ok().json(), json!({ "ok": true }));
    rig.expect(mark, "stop", &[&[STILL], &ALL_OFF[..]].concat());

    // What is wrong, what is refused.
    let mark = rig.quiet();
    for (args, code, what) in [
        (&["control", "led", "Configure", "state"][..], 2, "NAME=VALUE"),
        (&["control", "led", "Enable"], 1, "led supports Configure"),
        (&["control", "led", "Configure", "state=300"], 1, "0 to 255"),
        (&["control", "mcu", "Disable"], 1, "add --confirm"),
        // A verb in any case.
        (&["control", "mcu", "disable"], 1, "add --confirm"),
        (&["vacuum", "imu", "calibrate"], 1, "add --confirm"),
        (&["vacuum", "raw", "0x99", "00"], 1, "add --confirm"),
        (&["vacuum", "raw", "0x199"], 2, "0x199"),
        (&["vacuum", "set", "vacuum", "101"], 2, "101"),
        (&["vacuum", "drive", "--linear", "0.2"], 2, "--for"),
        (&["vacuum", "drive", "--for", "soon"], 2, "500ms"),
        (&["fly"], 2, "fly"),
        (&["status", "--frobnicate"], 2, "--frobnicate"),
    ] {
        let ended = ask(args);
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(what), "{args:?}: {ended:?}");
        assert_eq!(ended.stdout, "");
    }
    rig.expect(mark, "nothing", &[]);
    // The drive is enabled before the speed is refused.
    let fast = ask(&["vacuum", "drive", "--linear", "0.5", "--for", "1s"]);
    assert_eq!(fast.code, Some(1));
    assert!(fast.stderr.contains("0.3 m/s"), "{fast:?}");
    assert!(rig.velocities(mark).iter().all(|sent| *sent == frame(STILL)));
    ask(&["vacuum", "raw", "0x8D", "07", "--confirm"]).ok();
    rig.await_frame(mark, "8D 07");
}

#[test]
fn the_list_of_components_needs_no_daemon() {
    let dir = Dir::new();
    let list = run(&dir, &["control"]).ok().stdout;
    assert_eq!(list.lines().count(), 34, "{list}");
    assert!(list.contains("mcu          Disable    - "), "{list}");
    assert!(list.contains("lidar        Enable     [pwm]"), "{list}");
    let help = run(&dir, &["control", "--help"]).ok().stdout;
    assert!(help.contains("lidar        Enable     [pwm]"), "{help}");
    let list = run(&dir, &["control", "--json"]).ok().json();
    assert_eq!(list.as_array().unwrap().len(), 13);
}

#[test]
fn a_link_runs_a_daemon_of_its_own() {
    let dir = Dir::new();
    let status = run(&dir, &["status", "--link", "sim:", "--json"]).ok().json();
    assert_eq!(status["link"]["state"], "ready");
    assert_eq!(status["state"]["version"], "SIM");
}

#[test]
fn the_configuration_in_force_is_printed() {
    let dir = Dir::new();
    let config = run(&dir, &["config", "--json"]).ok().json();
    assert_eq!(config["server"]["tcp"], "127.0.0.1:5555");
    dir.file("sinew.toml", "[server]\nhttp = \"off\"\n[[robot]]\nlink = \"sim:\"\nname = \"v\"\n");
    let text = run(&dir, &["config", "--deadman-ms", "250"]).ok().stdout;
    for wanted in ["http = \"off\"", "deadman_ms = 250", "name = \"v\"", "max_linear = 0.3"] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    // What is printed is a configuration.
    let path = dir.file("again.toml", &text);
    assert_eq!(run(&dir, &["config", "--config", &path]).ok().stdout, text);

    for (text, wanted) in [
        ("[server]\ntpc = \"off\"", "did you mean server.tcp?"),
        ("[sever]\ntcp = \"off\"", "did you mean server?"),
        ("[[robot]]\nlink = \"sim:\"\ndeadmann_ms = 3", "did you mean robot.deadman_ms?"),
        ("[[robot]]\nlink = \"sim:\"\ndeadman_ms = 3", "50 to 2000"),
        ("[[robot]]\nlink = \"sim\"", "wanted serial:PATH or sim:"),
        ("[server]\ntcp = \"here\"", "wanted ADDRESS:PORT or off"),
        ("[server]\nlegacy_hold_ms = 10001", "legacy_hold_ms: wanted 0 to 10000, got 10001"),
        ("[server]\nlegacy_hold = 1", "did you mean server.legacy_hold_ms?"),
        ("[server", "TOML"),
    ] {
        let path = dir.file("wrong.toml", text);
        for command in ["config", "serve"] {
            let ended = run(&dir, &[command, "--config", &path]);
            assert_eq!(ended.code, Some(1), "{text}: {ended:?}");
            assert!(ended.stderr.contains(wanted), "{text}: {ended:?}");
            assert!(ended.stderr.contains("wrong.toml"), "{text}: {ended:?}");
        }
    }
    let missing = run(&dir, &["config", "--config", "nowhere.toml"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("nowhere.toml"), "{missing:?}");
}

#[cfg(feature = "g1")]
#[test]
fn a_robot_takes_the_settings_of_its_kind_and_no_others() {
    let dir = Dir::new();
    let g1 = |more: &str| dir.file("g1.toml", &format!("[[robot]]\nkind = \"g1\"\n{more}"));
    for setting in ["deadman_ms = 200", "profile = \"later\""] {
        let wrong = run(&dir, &["config", "--config", &g1(&format!("link = \"sim:\"\n{setting}"))]);
        assert_eq!(wrong.code, Some(1), "{wrong:?}");
        assert!(wrong.stderr.contains("wanted one of name, kind, link, cycle_ms"), "{wrong:?}");
    }
    let own = g1("link = \"sim:\"\nidle_exit_ms = 60000");
    let config = run(&dir, &["config", "--json", "--config", &own]).ok().json();
    let robot = &config["robot"][0];
    assert_eq!((&robot["name"], &robot["idle_exit_ms"]), (&json!("g1"), &json!(60000)));
    assert!(robot["deadman_ms"].is_null() && robot["profile"].is_null(), "{robot}");
    // By flags.
    let set = ["config", "--json", "--g1", "sim:", "--vacuum", "sim:", "--set"];
    let config = run(&dir, &[&set[..], &["g1.idle_exit_ms=5000"]].concat()).ok().json();
    assert_eq!(config["robot"][1]["idle_exit_ms"], json!(5000), "{config}");
    assert_eq!(run(&dir, &[&set[..], &["vacuum.idle_exit_ms=5000"]].concat()).code, Some(1));
    assert_eq!(run(&dir, &[&set[..], &["g2.idle_exit_ms=5000"]].concat()).code, Some(2));
    assert_eq!(run(&dir, &["config", "--set", "idle_exit_ms=5000"]).code, Some(2), "no robot");
    // A name is looked up when its link is opened.
    let config =
        run(&dir, &["config", "--json", "--config", &g1("link = \"udp:nowhere.invalid\"")]);
    assert_eq!(config.ok().json()["robot"][0]["link"], "udp:nowhere.invalid:49504");
}

#[cfg(feature = "g1")]
#[test]
fn a_link_is_of_the_kind_that_can_do_it() {
    let dir = Dir::new();
    let list = run(&dir, &["teach", "list", "--link", "sim:", "--json"]).ok().json();
    assert_eq!(
        list["actions"][0],
        json!({ "id": 99, "name": "release_arm", "kind": "preset", "duration_ms": null })
    );
    run(&dir, &["vacuum", "led", "3", "--link", "sim:"]).ok();
    let wrong = run(&dir, &["vacuum", "led", "3", "--link", "g1=sim:"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
}

#[test]
fn a_server_needs_no_port_where_it_has_the_usual_one() {
    let dir = Dir::new();
    // An address that no other program uses, so that the usual port is free there.
    let daemon = ["--tcp", "off", "--http", "off", "--lines", "127.86.87.88:5556"];
    let serve = [&["serve", "--json", "--vacuum", "sim:"][..], &daemon].concat();
    let daemon = crate::support::Process::sinew(&dir, &serve);
    daemon.ready();
    let robots = run(&dir, &["robots", "--json", "--server", "127.86.87.88"]).ok().json();
    assert_eq!(robots[0]["name"], "vacuum");
}

#[test]
fn an_idle_daemon_ends_at_once() {
    let rig = Rig::start();
    let mut daemon = rig.daemon;
    // A client that only listens, and does not go by itself.
    let mut client = crate::clients::Lines::connect(rig.ready["lines"].as_str().unwrap());
    client.ok(json!({ "type": "Subscribe", "topics": ["events"] }));
    let begin = std::time::Instant::now();
    daemon.signal("TERM");
    daemon.wait().ok();
    let took = begin.elapsed();
    assert!(took < std::time::Duration::from_millis(500), "{took:?}");
}

#[test]
fn two_robots_are_told_apart_by_name() {
    let dir = Dir::new();
    let robots = "[[robot]]\nname = \"left\"\nlink = \"sim:\"\n\
                  [[robot]]\nname = \"right\"\nlink = \"sim:?seed=2\"\n";
    let config = dir.file("two.toml", robots);
    let ports = ["--tcp", "off", "--lines", "127.0.0.1:0", "--http", "off"];
    let args = [&["serve", "--json", "--config", &config][..], &ports].concat();
    let daemon = crate::support::Process::sinew(&dir, &args);
    let ready = daemon.ready();
    assert_eq!(ready["robots"][1], json!({ "name": "right", "kind": "crl200s" }));
    let server = ready["lines"].as_str().unwrap();
    let ask = |args: &[&str]| run(&dir, &[args, &["--server", server]].concat());
    until("both to boot", || {
        let robots = ask(&["robots", "--json"]).ok().json();
        let ready = |robot: &Value| robot["link"]["state"] == "ready";
        robots.as_array().unwrap().iter().all(ready).then_some(())
    });
    let ended = ask(&["vacuum", "led", "5"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("left, right"), "{ended:?}");
    // All are shown; as JSON, a list.
    let status = ask(&["status"]).ok().stdout;
    assert!(status.contains("left (crl200s)  ready") && status.contains("right (crl200s)  ready"));
    assert_eq!(ask(&["status", "--json"]).ok().json()[1]["name"], "right");
    ask(&["vacuum", "led", "5", "--robot", "right"]).ok();
    let led = |name: &str| {
        ask(&["status", "--json", "--robot", name]).ok().json()["state"]["led"].clone()
    };
    assert_eq!((led("left"), led("right")), (json!(1), json!(5)));

    let all = ask(&["stop", "--all", "--json"]).ok().json();
    assert_eq!((&all["ok"], &all["stopped"]), (&json!(true), &json!(["left", "right"])));
    assert_eq!(all["not_reached"], json!([]));
    assert!(all["ms"].as_f64().is_some_and(|ms| ms > 0.0 && ms < 5000.0), "{all}");
    let said = ask(&["stop", "--all"]).ok().stderr;
    assert!(said.starts_with("stopped left and right in ") && said.ends_with(" ms\n"), "{said}");
    assert_eq!(ask(&["stop"]).ok().stderr, "stopped left and right\n");
    let both = ask(&["stop", "--all", "--robot", "left"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn a_simulated_vacuum_that_reports_seldom_is_not_lost() {
    let dir = Dir::new();
    let (_daemon, ready) = serve(sinew(&dir), "sim:?rate=10", &["--tcp", "off", "--http", "off"]);
    let server = ready["lines"].as_str().unwrap();
    await_robots(&dir, server);
    let mut client = Lines::connect(server);
    client.ok(json!({ "type": "Subscribe", "topics": ["events", "sensors/gd32_status"] }));
    let begin = Instant::now();
    let mut readings = 0;
    // 3 s: fifteen times as long as a link of the usual rate may be silent.
    while readings < 30 {
        let message = client.next();
        assert!(message["data"]["link"].is_null(), "{message}");
        readings += usize::from(message["topic"] == "sensors/gd32_status");
    }
    // The first may have come at once.
    let took = begin.elapsed();
    assert!(took > Duration::from_millis(2800), "{took:?}");
    let robot = client.ok(json!({ "type": "Robots" }))["robots"][0].clone();
    assert_eq!((&robot["link"]["state"], &robot["fresh"]), (&json!("ready"), &json!(true)));
}

#[test]
fn watch_ends_on_ctrl_c_and_tells_events() {
    let rig = Rig::start();
    let mut watch = rig.cli(&["watch", "--json"]);
    watch.line();
    let mark = rig.mark();
    rig.cli(&["vacuum", "drive", "--linear", "0.2", "--for", "200ms"]).wait().ok();
    rig.await_frame(mark, FORWARD);
    until("the event", || {
        let message: Value = serde_json::from_str(&watch.line()).unwrap();
        (message["data"]["event"] == "enabled").then_some(())
    });
    watch.signal("INT");
    watch.wait().ok();
}
