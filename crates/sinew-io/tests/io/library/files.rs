use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

use proptest::prelude::*;
use sinew_io::library::Library;
use sinew_robot::{
    Code,
    trajectory::{Document, G1_ARMS},
};

use super::{code, files, library, motion, names, refusal};

/// Makes a file look untouched for an hour and a bit.
fn age(path: &Path) {
    let time = SystemTime::now() - Duration::from_secs(3700);
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn what_is_no_motion_is_told_and_nothing_else_is_lost() {
    let (_dir, library) = library();
    library.add(&motion("wave", 5)).unwrap();
    let whole = fs::read_to_string(library.dir().join("wave.json")).unwrap();
    let path = |name: &str| library.dir().join(format!("{name}.json"));
    let contents = [
        ("empty", String::new()),
        ("cut", whole[..whole.len() / 2].into()),
        ("version", whole.replace("\"version\": 1", "\"version\": 2")),
        ("list", "[]".into()),
        ("deep", "[".repeat(1 << 20)),
        ("number", whole.replace("1000", "1e999")),
        ("surplus", format!("{whole}}}")),
        // What none but a reader of the whole motion finds.
        ("joint", whole.replace("left_elbow", "third_elbow")),
        ("narrow", whole.replace("[1020, ", "[1020, 0.5, ")),
        ("order", whole.replace("[1040, ", "[1020, ")),
        ("fraction", whole.replace("[1020, ", "[1020.5, ")),
        ("name", whole.replace("\"wave\"", "7")),
        ("nothing", Document::default().to_json(&G1_ARMS)),
        ("string", format!("{{\"version\": \"{}\"}}", "x".repeat(1 << 20))),
    ];
    for (name, content) in &contents {
        fs::write(path(name), content).unwrap();
    }
    fs::write(path("bytes"), [0xff; 64]).unwrap();
    fs::create_dir(path("directory")).unwrap();
    File::create(path("large")).unwrap().set_len(17 << 20).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    fs::write(library.dir().join("notes.txt"), "not ours").unwrap();

    let listing = library.list().unwrap();
    assert_eq!(listing.motions.len(), 1);
    assert_eq!(listing.problems.len(), contents.len() + 4);
    for problem in &listing.problems {
        let name = problem.file.strip_suffix(".json").unwrap();
        assert!(!problem.message.is_empty() && problem.message.len() < 300);
        let refusal = refusal(library.load(name));
        assert_eq!(refusal.code, Code::Refused);
        assert!(refusal.message.contains(&problem.file), "{refusal}");
        assert!(refusal.message.len() < 500, "{refusal}");
    }
    assert_eq!(library.load("wave").unwrap(), motion("wave", 5));
    assert_eq!(library.list().unwrap(), listing);
    library.replace(&motion("cut", 2)).unwrap();
    library.delete("large").unwrap();
    assert_eq!(library.list().unwrap().problems.len(), listing.problems.len() - 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_is_a_motion_or_a_problem(place in any::<prop::sample::Index>(), byte: u8) {
        let (_dir, library) = library();
        library.add(&motion("wave", 3)).unwrap();
        let path = library.dir().join("wave.json");
        let mut bytes = fs::read(&path).unwrap();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        fs::write(&path, bytes).unwrap();
        let listing = library.list().unwrap();
        prop_assert_eq!(listing.motions.len() + listing.problems.len(), 1);
        match library.load("wave") {
            Ok(document) => {
                prop_assert_eq!(listing.motions[0].frames, document.recording.len());
                prop_assert_eq!(listing.motions[0].duration_ms, document.duration_ms());
            }
            Err(_) => prop_assert_eq!(listing.problems.len(), 1),
        }
    }
}

#[test]
fn a_crowded_directory_is_not_read_to_its_end() {
    let (_dir, library) = library();
    library.add(&motion("wave", 5)).unwrap();
    for number in 0..10_000 {
        File::create(library.dir().join(format!("{number}.txt"))).unwrap();
    }
    let listing = library.list().unwrap();
    assert_eq!(listing.problems.len(), 1);
    assert!(listing.problems[0].message.contains("10000"), "{:?}", listing.problems);
    assert_eq!(code(library.add(&motion("bow", 5))), Code::Refused);
    assert!(library.replace(&motion("wave", 6)).unwrap());
}

#[test]
fn a_second_listing_reads_only_what_has_changed() {
    let (_dir, library) = library();
    library.add(&motion("wave", 5)).unwrap();
    library.add(&motion("bow", 5)).unwrap();
    let first = library.list().unwrap();
    let path = library.dir().join("wave.json");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let changed = fs::read_to_string(&path).unwrap().replace("1790000000", "1790000001");
    fs::write(&path, changed).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(modified).unwrap();
    assert_eq!(library.list().unwrap(), first, "it looks the same, so it was not read");
    file.set_modified(modified + Duration::from_secs(1)).unwrap();
    let second = library.list().unwrap();
    assert_eq!(second.motions[0], first.motions[0]);
    assert_eq!(second.motions[1].created, 1_790_000_001);
}

#[test]
fn a_listing_follows_each_replacement() {
    let (_dir, library) = library();
    for created in 0..10 {
        library.replace(&Document { created, ..motion("wave", 5) }).unwrap();
        assert_eq!(library.list().unwrap().motions[0].created, created);
    }
}

#[test]
fn leftovers_of_killed_writers_are_removed_and_others_are_not() {
    let (_dir, library) = library();
    fs::create_dir(library.dir()).unwrap();
    for name in [".sinew-old.tmp", ".sinew-new.tmp", "old.tmp", ".hidden"] {
        fs::write(library.dir().join(name), "{").unwrap();
    }
    for name in [".sinew-old.tmp", "old.tmp", ".hidden"] {
        age(&library.dir().join(name));
    }
    assert_eq!(names(&library), [""; 0]);
    assert_eq!(files(library.dir()).len(), 4);
    library.add(&motion("wave", 5)).unwrap();
    assert_eq!(files(library.dir()), [".hidden", ".sinew-new.tmp", "old.tmp", "wave.json"]);
}

#[test]
fn imports_that_do_not_go_on_are_forgotten() {
    let (_dir, library) = library();
    library.import(&motion("old", 5), false, true).unwrap();
    library.import(&motion("new", 5), false, true).unwrap();
    age(&library.dir().join("old.part"));
    library.import(&motion("wave", 5), false, false).unwrap();
    assert_eq!(files(library.dir()), ["new.part", "wave.json"]);
    assert_eq!(names(&library), ["wave"]);
}

#[test]
fn a_motion_behind_a_link_is_read() {
    let (dir, library) = library();
    library.add(&motion("wave", 5)).unwrap();
    let elsewhere = dir.path().join("elsewhere.json");
    fs::rename(library.dir().join("wave.json"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, library.dir().join("linked.json")).unwrap();
    assert_eq!(names(&library), ["linked"]);
    assert_eq!(library.load("linked").unwrap(), motion("linked", 5));
}

#[test]
fn files_are_as_readable_as_any_others() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, library) = library();
    library.add(&motion("wave", 5)).unwrap();
    fs::write(library.dir().join("notes"), "").unwrap();
    let mode = |name| fs::metadata(library.dir().join(name)).unwrap().permissions().mode();
    assert_eq!(mode("wave.json"), mode("notes"));
}

#[test]
fn a_library_is_shared_between_threads() {
    fn shared<T: Send + Sync + std::fmt::Debug>() {}
    shared::<Library>();
}
