use std::fs;

use sinew_io::maps::Maps;

#[test]
fn a_map_is_kept_under_its_name_and_replaced_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let maps = Maps::new(dir.path().join("maps/g1"));
    let path = maps.keep("the flat", b"one").unwrap();
    assert_eq!(path, dir.path().join("maps/g1/the flat.pcd"));
    assert_eq!(maps.file("the flat"), Some(path.clone()));
    assert_eq!(maps.file("the flat.pcd"), Some(path.clone()));
    assert_eq!(maps.keep("the flat", b"another").unwrap(), path);
    assert_eq!(fs::read(&path).unwrap(), b"another");
    assert_eq!(fs::read_dir(dir.path().join("maps/g1")).unwrap().count(), 1);
}

#[test]
fn no_name_leads_out_of_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let maps = Maps::new(dir.path().join("g1"));
    for name in ["", "..", "../x", "/etc/x", ".x", "a/b", "a\0b"] {
        assert_eq!(maps.file(name), None, "{name:?}");
        assert!(maps.keep(name, b"x").is_err(), "{name:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
