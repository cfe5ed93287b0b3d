//! A robot that maps.

use std::{collections::BTreeSet, fs, path::Path};

use sinew_io::Around;
use sinew_robot::{
    Code,
    map::file,
    mapping::{Format, Request},
};
use sinew_sim::g1::UnitreeOptions;
use sinew_wire::slam::Reading;

use super::bench::{Mapped, alike, recording, standing};

#[test]
fn a_robot_that_stands_gives_a_map_that_stands_and_stays_until_it_is_cleared() {
    let robot = Mapped::simulated(standing(Reading::Packed), Vec::new());
    for format in Format::ALL {
        let refusal = robot.export(format).unwrap_err();
        assert_eq!(refusal.code, Code::NotReady, "{refusal}");
        assert_eq!(robot.ask(Request::Save { format }).unwrap_err().code, Code::NotReady);
    }
    assert!(robot.ask(Request::Info).unwrap()["voxels"].is_null());
    let mut reader = robot.reader();
    assert_eq!((reader.read(), reader.read(), reader.len()), (1, 0, 0), "of an empty map, too");
    // Nothing is subscribed, and clouds are taken all the same.
    robot.ask(Request::Start).unwrap();
    // Shots are random: what is far away takes minutes until each cell was hit. What is near was.
    let near = |cells: BTreeSet<[i64; 3]>| {
        let is_near = |cell: &&[i64; 3]| cell.iter().map(|axis| axis * axis).sum::<i64>() < 60 * 60;
        cells.iter().filter(is_near).count()
    };
    let seen = [20, 40, 80].map(|clouds| {
        robot.until("a map", |robot| robot.clouds() >= clouds);
        (near(robot.cells()), robot.cells().len())
    });
    eprintln!("cells within 3 m, and all, after 20, 40, 80 clouds: {seen:?}");
    let [_, (before, _), (after, _)] = seen;
    assert!(before > 1000 && after.abs_diff(before) * 100 < before, "{before}, {after}");

    robot.ask(Request::Stop { name: Some("hall".into()) }).unwrap();
    robot.until("an end", |robot| robot.state("/mapping/active") == false);
    robot.until("all of it", |_| {
        reader.read();
        reader.len() == robot.state("/map/voxels").as_u64().unwrap()
    });
    assert!(reader.epoch > 1 && reader.pose.is_some());
    let info = robot.ask(Request::Info).unwrap();
    assert_eq!(info["voxels"], reader.len());
    let width =
        info["bounds"]["max"][0].as_f64().unwrap() - info["bounds"]["min"][0].as_f64().unwrap();
    assert!((2.0..60.0).contains(&width), "{info}");
    for format in Format::ALL {
        assert_eq!(robot.ask(Request::Save { format }).unwrap()["format"], format.name());
        let bytes = robot.export(format).unwrap();
        match format {
            Format::Pgm => assert!(bytes.starts_with(b"P5\n# resolution 0.05 origin ")),
            Format::Png => assert!(bytes.starts_with(b"\x89PNG")),
            _ => assert_eq!(file::read(&bytes).unwrap().points.len() as u64, reader.len()),
        }
    }

    let epoch = reader.epoch;
    robot.ask(Request::Clear).unwrap();
    assert_eq!(robot.export(Format::Ply).unwrap_err().code, Code::NotReady);
    assert!(robot.ask(Request::Info).unwrap()["voxels"].is_null());
    reader.read();
    assert!(reader.epoch > epoch && reader.len() == 0);
    robot.shut_down();
}

#[test]
fn the_next_start_begins_a_new_map_and_close_leaves_the_old_one() {
    let robot = Mapped::simulated(UnitreeOptions::default(), Vec::new());
    let mut reader = robot.reader();
    robot.ask(Request::Start).unwrap();
    robot.until("a map", |robot| robot.clouds() >= 10);
    robot.ask(Request::Close).unwrap();
    robot.until("an end", |robot| robot.state("/mapping/active") == false);
    robot.until("a map", |_| {
        reader.read();
        reader.len() > 0 && reader.len() == robot.state("/map/voxels").as_u64().unwrap()
    });
    let epoch = reader.epoch;
    robot.ask(Request::Start).unwrap();
    robot.until("the next", |_| {
        reader.read();
        reader.epoch > epoch && reader.len() > 0
    });
    robot.shut_down();
}

#[test]
fn messages_are_what_the_robot_sent_without_the_validation() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("sent");
    let options = UnitreeOptions {
        revalidate_every: Some(std::time::Duration::from_millis(300)),
        ..Default::default()
    };
    let robot = Mapped::simulated(options, vec![Around::record(&file).unwrap()]);
    robot.ask(Request::Start).unwrap();
    robot.until("clouds", |robot| robot.clouds() >= 10);
    robot.shut_down();
    let heard = robot.messages();
    drop(robot);
    let sent = sent(&file);
    assert!(heard.len() > 50, "{}", heard.len());
    let heard: Vec<_> = heard.into_iter().map(|(_, _, bytes)| bytes).collect();
    // What was on its way at the end has not come; all before has, in its order.
    assert_eq!(heard, sent[..heard.len()]);
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).to_lowercase();
    assert!(!heard.iter().any(|bytes| text(bytes).contains("validation")));
}

/// What a robot's own record says that it sent; the validation is not in there.
fn sent(path: &Path) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(",RX,"));
    let byte = |digits: &str| u8::from_str_radix(digits, 16).unwrap();
    lines.map(|(_, hex)| hex.split(' ').map(byte).collect()).collect()
}

#[test]
fn packed_and_documented_clouds_and_a_recording_give_the_same_map() {
    let dir = tempfile::tempdir().unwrap();
    let map = |layout| {
        let robot = Mapped::simulated(standing(layout), Vec::new());
        robot.ask(Request::Start).unwrap();
        robot.until("a map", |robot| robot.clouds() >= 60);
        robot.ask(Request::Stop { name: None }).unwrap();
        robot.until("an end", |robot| robot.state("/mapping/active") == false);
        robot.shut_down();
        robot
    };
    let [packed, documented] = [Reading::Packed, Reading::Documented].map(map);
    let share = alike(&packed.cells(), &documented.cells());
    eprintln!("{:.2} % of packed and documented cells within one cell", share * 100.0);
    assert!(share > 0.98, "{share}");

    for (robot, name) in [(packed, "packed"), (documented, "documented")] {
        let file = dir.path().join(name);
        fs::write(&file, recording(&robot.messages())).unwrap();
        let (replay, reason) = Mapped::replayed(&file, "?speed=200");
        assert_eq!(reason, "the recording is over");
        let (cells, again) = (robot.cells(), replay.cells());
        let share = alike(&cells, &again);
        let same = cells.intersection(&again).count();
        eprintln!("{name}: {same} of {} cells the same, {:.2} % near", cells.len(), share * 100.0);
        assert!(share > 0.99, "{share}");
        replay.shut_down();
    }
}
