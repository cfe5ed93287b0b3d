//! Files of maps: what is in them, and other formats of them. No daemon is asked.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{Run, sinew, text, vectors};

/// As some programs write colours: declared as floats, written as whole numbers.
const PCD: &str = "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z rgb\n\
                   SIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 3\nHEIGHT 1\n\
                   VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 3\nDATA ascii\n\
                   -0.155508 -0.00138 0.52603 1146861\n1 2 3 16711935\n-4 5.5 -6 0\n";

fn in_dir(run: impl FnOnce(&Path)) {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path());
}

fn map(args: &[&str], paths: &[&Path]) -> Run {
    let paths: Vec<_> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    sinew(&[&["map"], args, &paths].concat())
}

#[test]
fn info_says_what_a_pcd_file_holds() {
    in_dir(|dir| {
        let file = dir.join("a map of ours");
        fs::write(&file, PCD).unwrap();
        let said = map(&["info", "--json"], &[&file]);
        assert_eq!(
            said.json(),
            json!({
                "format": "pcd", "points": 3, "fields": ["x", "y", "z", "rgb"],
                "bounds": { "min": [-4.0, -0.00138, -6.0], "max": [1.0, 5.5, 3.0] },
            })
        );
        let said = map(&["info"], &[&file]);
        assert_eq!(said.code, 0);
        for line in ["format   PCD, ascii", "points   3", "fields   x y z rgb"] {
            assert!(said.stdout.contains(line), "{}", said.stdout);
        }
    });
}

#[test]
fn info_says_how_messages_are_read() {
    in_dir(|dir| {
        for vector in vectors("slam.json") {
            let hex = text(&vector, "message");
            let bytes: Vec<u8> = (0..hex.len() / 2)
                .map(|index| u8::from_str_radix(&hex[index * 2..index * 2 + 2], 16).unwrap())
                .collect();
            let file = dir.join("message.bin");
            fs::write(&file, &bytes).unwrap();
            let said = map(&["info", "--json"], &[&file]).json();
            let decoded = sinew(&["decode", &format!("@{}", file.display()), "--json", "--raw"]);
            let decoded = &decoded.json()[0];
            assert_eq!(said["format"], "messages");
            assert_eq!(said["frames"], 1);
            for member in ["points", "reading"] {
                assert_eq!(said[member], decoded[member], "{member} of {vector}");
            }
            if decoded["channels"].as_array().is_some_and(|channels| channels.len() == 6) {
                assert_eq!(said["channels"], decoded["channels"]);
            }
        }
    });
}

#[test]
fn a_file_goes_through_all_formats_and_comes_back() {
    in_dir(|dir| {
        let first = dir.join("first");
        fs::write(&first, PCD).unwrap();
        let mut from = first;
        let steps: [(&str, &[&str]); 5] = [
            ("1.ply", &[]),
            ("2.pcd", &["--encoding", "compressed"]),
            ("3.PLY", &[]),
            ("4.pcd", &[]),
            ("5.pcd", &["--encoding", "ascii"]),
        ];
        for (name, options) in steps {
            let to = dir.join(name);
            let said = map(&[&["convert", "--json"], options].concat(), &[&from, &to]);
            assert_eq!((said.code, &said.json()["points"]), (0, &json!(3)), "{}", said.stderr);
            from = to;
        }
        let last = fs::read_to_string(&from).unwrap();
        assert_eq!(last, PCD.replace("TYPE F F F F", "TYPE F F F U"));
    });
}

#[test]
fn what_cannot_be_converted_leaves_nothing_behind() {
    in_dir(|dir| {
        let (good, bad) = (dir.join("good"), dir.join("bad.pcd"));
        fs::write(&good, PCD).unwrap();
        fs::write(&bad, PCD.replace("POINTS 3", "POINTS 4000000000")).unwrap();
        let out = dir.join("out.ply");
        let said = map(&["convert", "--json"], &[&bad, &out]);
        assert_eq!((said.code, &said.json()["ok"]), (1, &Value::Bool(false)));
        assert!(said.stderr.contains("POINTS"), "{}", said.stderr);
        assert!(!out.exists());
        assert_eq!(map(&["convert"], &[&good, &dir.join("out.xyz")]).code, 2);
        assert_eq!(map(&["convert", "--encoding", "ascii"], &[&good, &out]).code, 2);
        assert_eq!(map(&["convert"], &[&dir.join("none"), &out]).code, 1);
        fs::write(&out, "kept").unwrap();
        assert_eq!(map(&["convert"], &[&good, &out]).code, 1);
        assert_eq!(fs::read_to_string(&out).unwrap(), "kept");
        assert_eq!(map(&["convert", "--force"], &[&good, &out]).code, 0);
        assert!(fs::read(&out).unwrap().starts_with(b"ply\n"));
        assert_eq!(fs::read_dir(dir).unwrap().count(), 3, "no file half written");
    });
}
