//! `sinew map save`.

use std::{fs, process::Command};

use serde_json::json;
use sinew_robot::map::file::{Ground, Raster, pgm};

use super::fake::{Fake, file};
use crate::support::CONTROL_TOKEN;

/// A picture as the daemon sends it: its comment says where it is.
fn picture() -> Vec<u8> {
    let mut raster = Raster::unknown(7, 5, [-1.25, 2.5], 0.05);
    raster.set(0, 0, Ground::Occupied);
    raster.set(6, 4, Ground::Free);
    let plain = pgm::write(&raster);
    let rest = plain.strip_prefix(b"P5\n").unwrap();
    let rest = match rest.first() {
        // The comment is there already.
        Some(b'#') => {
            rest.split_inclusive(|byte| *byte == b'\n').skip(1).collect::<Vec<_>>().concat()
        }
        _ => rest.to_vec(),
    };
    [&b"P5\n# resolution 0.05 origin -1.25 2.5\n"[..], &rest].concat()
}

/// One that sends the name of the format that it was asked for.
fn names() -> Fake {
    Fake::with_files(|head| {
        let format = head.split_once("format=").unwrap().1.split(' ').next().unwrap();
        file(format.repeat(40_000).as_bytes())
    })
}

#[test]
fn the_name_says_what_is_asked_for_and_the_file_is_what_came() {
    let fake = names();
    for (args, format) in [
        (&["a.pcd"][..], "pcd"),
        (&["b.PCD", "--ascii"], "pcd-ascii"),
        (&["c.pcd", "--compressed"], "pcd-compressed"),
        (&["d.ply"], "ply"),
        (&["e.png"], "png"),
        (&["f", "--format", "ply"], "ply"),
    ] {
        let said = fake.map(&[&["save", "--json"], args].concat()).ok().json();
        let bytes = format.repeat(40_000).into_bytes();
        assert_eq!(said, json!({ "file": args[0], "format": format, "bytes": bytes.len() }));
        assert_eq!(fs::read(fake.dir.join(args[0])).unwrap(), bytes);
    }
    let out = fake.map(&["save", "-", "--format", "png"]).ok();
    assert_eq!(out.stdout.trim_end(), "png".repeat(40_000));
    let head = &fake.asked()[0];
    assert!(head.starts_with("GET /api/v1/robots/a%20robot/map?format=pcd HTTP/1.1\r\n"), "{head}");
    let ended = fake.map(&["save", "a.ply"]).ok();
    assert!(ended.stderr.contains("wrote the map to a.ply: 120000 bytes"), "{ended:?}");
    fake.map(&["save", "b.ply", "--token", CONTROL_TOKEN]).ok();
    let head = fake.asked().pop().unwrap();
    assert!(head.contains(&format!("Authorization: Bearer {CONTROL_TOKEN}\r\n")), "{head}");
}

#[test]
fn no_file_is_written_over_and_wrong_names_are_said_before_the_daemon_is_asked() {
    let fake = names();
    for name in ["a.ply", "b.yaml"] {
        fs::write(fake.dir.join(name), "mine").unwrap();
    }
    // The description beside a picture is a file, too.
    for name in ["a.ply", "b.pgm"] {
        let ended = fake.map(&["save", name]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("--force writes over it"), "{ended:?}");
    }
    for args in [
        &["save", "a"][..],
        &["save", "a.xyz"],
        &["save", "-"],
        &["save", "a.ply", "--ascii"],
        &["save", "a.pcd", "--ascii", "--compressed"],
        &["save", "a.yaml", "--format", "pgm"],
    ] {
        let ended = fake.map(args);
        assert_eq!(ended.code, Some(2), "{ended:?}");
    }
    assert!(fake.map(&["save", "a.xyz"]).stderr.contains(".pcd, .ply, .pgm or .png"));
    assert_eq!(fake.asked().len(), 0);
    assert_eq!(fs::read(fake.dir.join("a.ply")).unwrap(), b"mine");
    fake.map(&["save", "a.ply", "--force"]).ok();
    assert!(fs::read(fake.dir.join("a.ply")).unwrap().starts_with(b"plyply"));
}

#[test]
fn what_does_not_come_whole_leaves_nothing_behind() {
    let short = Fake::with_files(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nply".to_vec());
    let refused = Fake::with_files(|_| {
        let error = json!({ "code": "not_ready", "message": "there is no map yet" });
        let body = json!({ "type": "Error", "error": error }).to_string();
        let head = format!("HTTP/1.1 409 Conflict\r\nContent-Length: {}\r\n\r\n", body.len());
        (head + &body).into_bytes()
    });
    let rubbish = Fake::with_files(|_| file(b"P5\n3 2\n255\n......"));
    let closed = Fake::with_files(|_| Vec::new());
    for (fake, name, why) in [
        (&short, "a.ply", "3 bytes of the map came, of 99"),
        (&short, "a.pgm", "no picture that says where it is"),
        (&refused, "a.pcd", "there is no map yet"),
        (&rubbish, "a.pgm", "no picture that says where it is"),
        (&closed, "a.png", "no HTTP"),
    ] {
        let ended = fake.map(&["save", name]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(why), "{ended:?}");
        assert_eq!(fs::read_dir(fake.dir.join(".")).unwrap().count(), 0, "{name}");
    }
}

/// Reads a picture and its description as ROS's map_server does, with other programs' readers.
const READER: &str = include_str!("ros.py");

#[test]
fn a_picture_for_ros_has_its_description_beside_it_and_numpy_reads_both() {
    let fake = Fake::with_files(|_| file(&picture()));
    let said = fake.map(&["save", "the flat.pgm", "--json"]).ok().json();
    assert_eq!(said["yaml"], "the flat.yaml");
    assert_eq!(fs::read(fake.dir.join("the flat.pgm")).unwrap(), picture());
    let yaml = fs::read_to_string(fake.dir.join("the flat.yaml")).unwrap();
    assert!(yaml.contains("resolution: 0.05\norigin: [-1.250000, 2.500000, 0.000000]"), "{yaml}");
    let numpy = Command::new("python3").args(["-c", "import numpy"]).output();
    if !numpy.is_ok_and(|numpy| numpy.status.success()) {
        eprintln!("NO NUMPY HERE: the picture is not read by it");
        return;
    }
    let mut python = Command::new("python3");
    python.args(["-c", READER, "the flat.yaml"]).current_dir(fake.dir.join("."));
    let read = python.output().unwrap();
    let read: serde_json::Value = serde_json::from_slice(&read.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&read.stderr)));
    let places = json!({ "occupied": [[-1.25, 2.5]], "free": [[-0.95, 2.7]], "mode": "trinary" });
    assert_eq!(read, places);
}
