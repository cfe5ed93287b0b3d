//! Files as programs of others read them. `SINEW_TEST_PYTHON` names the Python to ask; without
//! numpy or plyfile the parts that need them are left out, and that is said.

use std::{env, ffi::OsString, fs, process::Command};

use serde_json::Value;
use sinew_robot::map::file::{
    Ground, Kind, Points, Raster, pcd, pgm,
    picture::{self, Drawing},
    ply,
};

use crate::support::mixed;

/// What the reader found; none when it lacks what it needs.
fn found(what: &str, file: &[u8]) -> Option<Value> {
    let python = env::var_os("SINEW_TEST_PYTHON").unwrap_or(OsString::from("python3"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/map/readers.py");
    let name = format!("sinew-map-{}-{:?}.{what}", std::process::id(), std::thread::current().id());
    let path = env::temp_dir().join(name);
    fs::write(&path, file).unwrap();
    let output = Command::new(python).arg(script).arg(what).arg(&path).output();
    let _ = fs::remove_file(&path);
    let Ok(output) = output else {
        eprintln!("skipped: there is no python3 to read a {what} file by");
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    if value.is_null() {
        eprintln!("skipped: this Python has no library for {what} files");
        return None;
    }
    Some(value)
}

/// The numbers of all points, one after another.
fn numbers(points: &Points, kind_of: fn(Kind, &str) -> Kind) -> Vec<Vec<f64>> {
    points
        .rows()
        .map(|row| {
            let mut rest = row;
            let mut numbers = Vec::new();
            for field in points.fields() {
                let kind = kind_of(field.kind, &field.name);
                for _ in 0..field.count {
                    numbers.push(kind.value(rest).unwrap());
                    rest = &rest[kind.size()..];
                }
            }
            numbers
        })
        .collect()
}

fn same(found: &Value, wanted: &[Vec<f64>], single: bool) {
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), wanted.len());
    for (row, wanted) in rows.iter().zip(wanted) {
        let row = row.as_array().unwrap();
        assert_eq!(row.len(), wanted.len());
        for (got, wanted) in row.iter().zip(wanted) {
            // Text holds as many digits as a number of 32 bits needs, and no more; JSON's reader may
            // be off by the last bits.
            let got = got.as_f64().unwrap();
            let rounded = single && (got as f32).to_bits() == (*wanted as f32).to_bits();
            let near = (got - wanted).abs() <= wanted.abs() * 1e-14;
            assert!(near || rounded, "{got} read, {wanted} written");
        }
    }
}

#[test]
fn pcd_as_another_reader_has_it() {
    let points = mixed(60, 21);
    let as_text = |kind, name: &str| if name == "rgb" { Kind::U32 } else { kind };
    for (encoding, kind_of) in [
        (pcd::Encoding::Ascii, as_text as fn(Kind, &str) -> Kind),
        (pcd::Encoding::Binary, |kind, _| kind),
        (pcd::Encoding::Compressed, |kind, _| kind),
    ] {
        let Some(found) = found("pcd", &pcd::write(&points, encoding)) else { return };
        same(&found, &numbers(&points, kind_of), encoding == pcd::Encoding::Ascii);
    }
}

#[test]
fn ply_as_plyfile_has_it() {
    let file = ply::write(&mixed(60, 22)).unwrap();
    let Some(found) = found("ply", &file) else { return };
    let (points, _) = ply::read(&file).unwrap();
    same(&found, &numbers(&points, |kind, _| kind), false);
    let names: Vec<_> = points.fields().iter().map(|field| Value::from(&*field.name)).collect();
    assert_eq!(found["fields"], Value::Array(names));
}

#[test]
fn pictures_as_others_have_them() {
    let mut raster = Raster::unknown(40, 20, [0.0; 2], 0.05);
    (0..40).for_each(|column| raster.set(column, 19, Ground::Occupied));
    (0..40).for_each(|column| raster.set(column, 0, Ground::Free));
    if let Some(found) = found("pgm", &pgm::write(&raster)) {
        let row = |grey: u8| Value::from(vec![grey; 40]);
        assert_eq!((&found[0], &found[1], &found[19]), (&row(0), &row(205), &row(254)));
    }
    let drawing =
        Drawing { path: vec![[0.1, 0.5], [1.9, 0.5]], dock: Some([0.5, 0.5]), robot: None };
    if let Some(found) = found("png", &picture::write(&raster, &drawing)) {
        assert_eq!(found["size"], serde_json::json!([160, 80]));
        let inks: Vec<_> = found["inks"].as_array().unwrap().iter().map(Value::as_u64).collect();
        assert_eq!((inks[1], inks[2]), (Some(640), Some(640)));
        assert!(inks[3] > Some(100) && inks[4] > Some(50) && inks[5] == Some(0), "{inks:?}");
    }
}
