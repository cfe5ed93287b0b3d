use std::fs;

use proptest::prelude::*;
use sinew_io::library::Library;
use sinew_robot::{Code, teach::new_name};
use tempfile::TempDir;

use super::{code, files, library, motion, names, refusal};

/// What would be a path, or another name, were it not escaped.
const HOSTILE: [&str; 15] = [
    "../x",
    "/etc/passwd",
    ".",
    "..",
    "a/b",
    "a\\b",
    "CON",
    "%2F",
    "%2f",
    "/",
    "a.json",
    ".json",
    " ",
    "ääääääääääääääb",
    "🤖🤖🤖🤖🤖🤖🤖abc",
];

#[test]
fn a_name_never_becomes_a_path() {
    let (dir, library) = library();
    for (index, name) in HOSTILE.iter().enumerate() {
        library.add(&motion(name, 2 + index as u32)).unwrap();
        assert_eq!(code(library.add(&motion(name, 2))), Code::Refused);
    }
    let mut wanted = HOSTILE.to_vec();
    wanted.sort_unstable();
    assert_eq!(names(&library), wanted);
    for (index, name) in HOSTILE.iter().enumerate() {
        assert_eq!(library.load(name).unwrap(), motion(name, 2 + index as u32));
    }
    assert_eq!(files(dir.path()), ["motions"]);
    for file in files(library.dir()) {
        assert!(!file.starts_with('.') && file.ends_with(".json"), "{file}");
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_%.".contains(c);
        assert!(file.chars().all(plain), "{file}");
    }
    library.rename("../x", "../../y").unwrap();
    assert_eq!(files(dir.path()), ["motions"]);
    library.delete("../../y").unwrap();
}

/// Characters that move a cursor, end a line or turn the direction of writing.
const UNSHOWABLE: [&str; 14] = [
    "two\nlines",
    "\u{1}",
    "bell\u{7}",
    "\u{1b}[31mred",
    "delete\u{7f}",
    "next\u{85}line",
    "\u{9b}31m",
    "arabic\u{61c}",
    "left\u{200e}",
    "right\u{200f}",
    "line\u{2028}",
    "paragraph\u{2029}",
    "gnp\u{202e}.wave",
    "\u{2066}isolate\u{2069}",
];

#[test]
fn new_names_hold_nothing_that_cannot_be_shown() {
    let (_dir, library) = library();
    library.add(&motion("wave", 3)).unwrap();
    for name in UNSHOWABLE {
        for refusal in [
            refusal(library.add(&motion(name, 2))),
            refusal(library.keep(&motion(name, 2))),
            refusal(library.replace(&motion(name, 2)).map(drop)),
            refusal(library.import(&motion(name, 2), false, true).map(drop)),
            refusal(library.rename("wave", name)),
        ] {
            assert_eq!(refusal.code, Code::InvalidArgument, "{name:?}");
            assert!(!refusal.message.contains(name), "{refusal:?}");
        }
    }
    assert_eq!(files(library.dir()), ["wave.json"]);
}

/// However it came there: it is listed as it is called, and can be had and got rid of.
#[test]
fn a_file_whose_name_cannot_be_shown_is_a_motion_all_the_same() {
    let (_dir, library) = library();
    library.add(&motion("wave", 3)).unwrap();
    for name in UNSHOWABLE {
        let escaped: String = name.bytes().map(escape).collect();
        let path = library.dir().join(format!("{escaped}.json"));
        fs::copy(library.dir().join("wave.json"), path).unwrap();
        assert_eq!(library.load(name).unwrap(), motion(name, 3));
        assert!(names(&library).contains(&name.into()));
        library.rename(name, "shown").unwrap();
        assert_eq!(names(&library), ["shown", "wave"], "{name:?}");
        library.delete("shown").unwrap();
    }
}

fn escape(byte: u8) -> String {
    match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

#[test]
fn the_escape_is_as_documented() {
    let (_dir, library) = library();
    library.add(&motion("Wave_2-a é/.%", 2)).unwrap();
    assert_eq!(files(library.dir()), ["Wave_2-a%20%C3%A9%2F%2E%25.json"]);
}

#[test]
fn what_a_robot_cannot_store_is_no_name() {
    let (_dir, library) = library();
    for name in ["", "a\0b", &"x".repeat(32), &"é".repeat(16)] {
        assert_eq!(code(library.add(&motion(name, 2))), Code::InvalidArgument);
        assert_eq!(code(library.replace(&motion(name, 2))), Code::InvalidArgument);
        assert_eq!(code(library.import(&motion(name, 2), false, false)), Code::InvalidArgument);
        assert_eq!(code(library.load(name)), Code::InvalidArgument);
        assert_eq!(code(library.delete(name)), Code::InvalidArgument);
        assert_eq!(code(library.rename("wave", name)), Code::InvalidArgument);
    }
    library.add(&motion(&"x".repeat(31), 2)).unwrap();
}

#[test]
fn a_file_copied_by_hand_is_a_motion_of_its_own_name() {
    let (_dir, library) = library();
    library.add(&motion("wave", 5)).unwrap();
    fs::copy(library.dir().join("wave.json"), library.dir().join("my%20wave.json")).unwrap();
    assert_eq!(names(&library), ["my wave", "wave"]);
    assert_eq!(library.load("my wave").unwrap(), motion("my wave", 5));
}

#[test]
fn a_file_that_the_escape_would_not_make_is_told_with_the_right_name() {
    let (_dir, library) = library();
    library.add(&motion("wave", 5)).unwrap();
    let long = format!("{}.json", "x".repeat(32));
    let others =
        ["my wave.json", "%2f.json", "%.json", "%+f.json", "%41.json", "%C3.json", "%00.json"];
    for other in others.iter().copied().chain([".x.json", long.as_str()]) {
        fs::copy(library.dir().join("wave.json"), library.dir().join(other)).unwrap();
    }
    let listing = library.list().unwrap();
    assert_eq!(listing.motions.len(), 1);
    assert_eq!(listing.problems.len(), others.len() + 2);
    let mine = listing.problems.iter().find(|problem| problem.file == "my wave.json").unwrap();
    assert!(mine.message.contains("my%20wave.json"), "{}", mine.message);
}

/// Names that are likely to meet, were the escape not what it is.
fn name() -> impl Strategy<Value = String> {
    let near =
        prop::collection::vec(prop::sample::select(vec!['a', '%', '2', 'F', '/', '.']), 1..5);
    let any = prop::collection::vec(any::<char>(), 1..31);
    let text = prop_oneof![near, any].prop_map(String::from_iter);
    text.prop_filter("not a name", |text| new_name(text).is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn different_names_are_different_files_in_the_directory(
        wanted in prop::collection::btree_set(name(), 1..8),
    ) {
        let dir = TempDir::new().unwrap();
        let library = Library::new(dir.path().join("a/b"));
        for name in &wanted {
            library.add(&motion(name, 1)).unwrap();
        }
        prop_assert!(names(&library).iter().eq(&wanted));
        prop_assert_eq!(files(library.dir()).len(), wanted.len());
        prop_assert_eq!(files(dir.path()), ["a"]);
        prop_assert_eq!(files(&dir.path().join("a")), ["b"]);
    }
}
