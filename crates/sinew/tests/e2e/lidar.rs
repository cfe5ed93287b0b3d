//! The vacuum's lidar, on a line of its own.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    clients::{Lines, Prefixed, control},
    support::{Dir, Process, run, serve, sinew, until},
};

#[test]
fn the_lidar_of_a_simulated_vacuum_is_a_second_port_whose_turns_are_published() {
    let dir = Dir::new();
    let sim = Process::sinew(&dir, &["sim", "vacuum", "--json"]);
    let ready = sim.ready();
    let [link, lidar] = ["link", "lidar"].map(|key| ready[key].as_str().unwrap().to_owned());
    assert!(lidar.starts_with("serial:/dev/pts/") && lidar != link, "{ready}");

    let (mut daemon, ready) = serve(sinew(&dir), &link, &["--lidar", &lidar]);
    let [lines, tcp] = ["lines", "tcp"].map(|key| ready[key].as_str().unwrap().to_owned());
    let ask = |args: &[&str]| run(&dir, &[args, &["--server", &lines]].concat());
    let robot = || ask(&["status", "--json"]).ok().json();
    until("boot", || (robot()["link"]["state"] == "ready").then_some(()));
    assert_eq!(robot()["links"]["lidar"]["state"], "silent");

    let mut client = Lines::connect(&lines);
    // On a machine so busy that the simulator is late a command may fall into the time after a switch
    // of modes in which the controller hears none.
    let mut enabled = None;
    until("the lidar to turn", || {
        if enabled.is_none_or(|at: Instant| at.elapsed() > Duration::from_secs(6)) {
            enabled = Some(Instant::now());
            client.ok(control("lidar", "Enable"));
        }
        (robot()["links"]["lidar"]["state"] == "turning").then_some(())
    });
    let mut legacy = Prefixed::connect(&tcp);
    let turn = legacy.next_of("sensors/lidar");
    let scan = turn["values"]["scan"]["PointCloud2D"].as_array().unwrap();
    assert!((300..=360).contains(&scan.len()), "{} points", scan.len());
    assert_eq!(turn["values"].as_object().unwrap().len(), 1, "as document 003 has it");
    let said = ask(&["status"]).ok().stdout;
    assert!(said.contains("turning") && said.contains("turns/s"), "{said}");

    // The simulator goes, and with it both lines.
    drop(sim);
    until("the lidar's line to be gone", || {
        let lidar = &robot()["links"]["lidar"];
        (lidar["state"] == "disconnected" && lidar["reason"].is_string()).then_some(())
    });
    daemon.signal("TERM");
    assert_eq!(daemon.wait().code, Some(0));
}

#[test]
fn a_lidar_is_a_setting_like_others() {
    let dir = Dir::new();
    let config = |args: &[&str]| {
        let vacuum = ["config", "--json", "--vacuum", "serial:/dev/ttyS3"];
        run(&dir, &[&vacuum[..], args].concat())
    };
    let lidar = |ended: Value| ended["robot"][0]["lidar"].clone();
    assert_eq!(lidar(config(&[]).ok().json()), json!("auto"));
    let given = config(&["--lidar", "serial:/dev/ttyS1"]).ok().json();
    assert_eq!(lidar(given), json!("serial:/dev/ttyS1"));
    let file = dir.file(
        "sinew.toml",
        "[[robot]]\nlink = \"serial:/dev/ttyS3\"\nlidar = \"serial:/dev/ttyS1\"\nlidar_view = \"robot\"\n",
    );
    let from_file = run(&dir, &["config", "--json", "--config", &file]).ok().json();
    assert_eq!(lidar(from_file.clone()), json!("serial:/dev/ttyS1"));
    assert_eq!(from_file["robot"][0]["lidar_view"], "robot");
    let wrong = config(&["--lidar", "udp:1.2.3.4"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.stderr.contains("lidar: wanted serial:, off or auto"), "{wrong:?}");
}
