use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{sinew, sinew_with_input};

#[allow(dead_code, reason = "the tests of the library use more of it")]
#[path = "../../../sinew-capture/tests/capture/write.rs"]
pub(crate) mod write;

/// 300 records of a data channel.
fn capture() -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    let record = |number| {
        let payload = write::record(&mut random, number, 44);
        (number * 20_000, write::udp(write::ENDS, &payload))
    };
    write::pcap(101, &(1..=300).map(record).collect::<Vec<_>>())
}

fn files() -> (TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().unwrap();
    let whole = capture();
    let paths = ["whole.pcap", "cut.pcap", "text.txt", "empty"].map(|name| dir.path().join(name));
    let contents = [&whole[..], &whole[..whole.len() - 9], b"no capture at all", b""];
    for (path, content) in paths.iter().zip(contents) {
        fs::write(path, content).unwrap();
    }
    (dir, paths.to_vec())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_capture_is_told_to_people() {
    let (_dir, paths) = files();
    let run = sinew(&["inspect", text(&paths[0])]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for words in [
        "300 packets",
        "192.168.86.10:41000 - 192.168.86.3:7000",
        "Enter Teaching Mode",
        "These are no commands",
        "300 of 300",
        "right in 0 of 300",
    ] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    assert!(!run.stdout.contains('\u{1b}'), "colours in a pipe");
    assert_eq!(sinew(&["inspect", text(&paths[0]), "--quiet"]).stdout, run.stdout);
}

#[test]
fn a_capture_comes_from_a_pipe_too() {
    let run = sinew_with_input(&["inspect", "-", "--json"], &capture());
    assert_eq!(run.code, 0);
    let report = run.json();
    assert_eq!((&report["file"], &report["packets"]), (&"-".into(), &300.into()));
    assert_eq!(report["truncated"], false);
    assert_eq!(report["verdicts"][0]["kind"], "dtls_taken_for_commands");
}

#[test]
fn a_file_that_is_cut_off_is_read_and_nothing_readable_fails() {
    let (_dir, paths) = files();
    let run = sinew(&["inspect", text(&paths[1]), "--json"]);
    assert_eq!((run.code, &run.json()["truncated"]), (0, &true.into()));
    assert_eq!(run.json()["packets"], 299);
    for (path, words) in [(&paths[2], "neither pcap nor pcapng"), (&paths[3], "it is empty")] {
        let run = sinew(&["inspect", text(path)]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""));
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
    let run = sinew(&["inspect", "/nowhere", "--json"]);
    assert_eq!((run.code, &run.json()["ok"]), (1, &false.into()));
}

#[test]
fn several_files_are_a_line_each() {
    let (_dir, paths) = files();
    let (whole, cut, wrong) = (text(&paths[0]), text(&paths[1]), text(&paths[2]));
    let run = sinew(&["inspect", whole, cut, "--json"]);
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((run.code, lines.len()), (0, 2));
    assert_eq!((&lines[0]["file"], &lines[1]["file"]), (&whole.into(), &cut.into()));
    // One that cannot be read keeps none of the others back.
    let run = sinew(&["inspect", wrong, whole, "--json"]);
    assert_eq!((run.code, run.stdout.lines().count()), (1, 2));
    assert!(run.stdout.contains("\"packets\":300"));
}

#[test]
fn payloads_are_listed_and_filtered() {
    let (_dir, paths) = files();
    let file = text(&paths[0]);
    let run = sinew(&["inspect", file, "--list", "--filter", "time=0.1..0.2"]);
    assert_eq!((run.code, run.stdout.lines().count()), (0, 6));
    assert!(run.stdout.contains("application data, epoch 1, sequence 6"), "{}", run.stdout);
    let run = sinew(&["inspect", file, "--list", "--json", "--filter", "command=0x0d"]);
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line["command"] == 0x0D && line["protocol"] == "dtls"));
    let run = sinew(&["inspect", file, "--filter", "color=red"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("wanted flow, time, protocol or command"), "{}", run.stderr);
}

#[test]
fn payloads_are_extracted_with_where_they_come_from() {
    let (dir, paths) = files();
    let out = dir.path().join("out");
    let run = sinew(&["inspect", text(&paths[0]), "--extract", text(&out)]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let index: Value =
        serde_json::from_str(&fs::read_to_string(out.join("flow000_dtls.json")).unwrap()).unwrap();
    let bytes = fs::read(out.join("flow000_dtls.bin")).unwrap();
    assert_eq!(index["a"], "192.168.86.10:41000");
    let payloads = index["payloads"].as_array().unwrap();
    assert_eq!((payloads.len(), bytes.len()), (300, 300 * 57));
    let third = payloads[2]["offset"].as_u64().unwrap() as usize;
    assert_eq!(bytes[third..third + 11], [0x17, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, 0, 3]);
    // What is there is not overwritten.
    let run = sinew(&["inspect", text(&paths[0]), "--extract", text(&out)]);
    assert_eq!(run.code, 1);
}

/// A tap's log of a velocity that is sent fifty times a second.
fn log(speed: u8) -> Vec<u8> {
    let frame = sinew_wire::gd32::FrameBuf::new(0x66, &[speed, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    let hex: Vec<String> = frame.as_bytes().iter().map(|byte| format!("{byte:02X}")).collect();
    let row = |n: u32| format!("{},TX,{}\n", n * 20_000, hex.join(" "));
    (0..100).map(row).collect::<String>().into_bytes()
}

#[test]
fn two_captures_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b, page] = ["a.csv", "b.csv", "diff.html"].map(|name| dir.path().join(name));
    fs::write(&a, log(0x64)).unwrap();
    fs::write(&b, log(0xC8)).unwrap();
    let (a, b, page) = (text(&a), text(&b), text(&page));
    let run = sinew(&["inspect", "--diff", a, b, "--html", page]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for words in ["changed gd32 serial host - device", "0x66 Motor Velocity", "linear", "64 -> C8"]
    {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    assert!(fs::read_to_string(page).unwrap().contains("Motor Velocity"));
    let run = sinew(&["inspect", "--diff", a, a]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("no difference"), "{}", run.stdout);
    let run = sinew_with_input(&["inspect", "--diff", "-", b, "--json"], &log(0xC8));
    assert_eq!((run.code, &run.json()["same"]), (0, &true.into()));
    assert_eq!(sinew(&["inspect", "--diff", a, "/nowhere"]).code, 1);
    for wrong in [
        &["inspect", "--diff", a][..],
        &["inspect", "--diff", a, b, a],
        &["inspect", "--diff", "-", "-"],
    ] {
        assert_eq!(sinew(wrong).code, 2);
    }
}
