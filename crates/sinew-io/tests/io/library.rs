mod disk;
mod files;
mod import;
mod keep;
mod names;
mod races;

use std::{fs, path::Path};

use sinew_io::library::{Entry, Error, Library, MAX_MOTIONS};
use sinew_robot::{
    Code, Refusal,
    trajectory::{Document, Keyframe},
};
use tempfile::TempDir;

/// A library in a directory that is yet to be made.
fn library() -> (TempDir, Library) {
    let dir = TempDir::new().unwrap();
    let library = Library::new(dir.path().join("motions"));
    (dir, library)
}

/// A motion with a frame every 20 ms from some beginning.
fn motion(name: &str, frames: u32) -> Document {
    part(name, 1000, frames)
}

fn part(name: &str, from_ms: u32, frames: u32) -> Document {
    let mut document =
        Document { name: name.into(), created: 1_790_000_000, ..Document::default() };
    for frame in 0..frames {
        let time_ms = from_ms + frame * 20;
        document.recording.push(time_ms, [time_ms as f32 / 3000.0; 12]).unwrap();
    }
    document
}

fn names(library: &Library) -> Vec<String> {
    let listing = library.list().unwrap();
    assert_eq!(listing.problems, []);
    listing.motions.into_iter().map(|entry| entry.name).collect()
}

/// What is in a directory, by name.
fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    refusal(result).code
}

/// What a client is told.
fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> Refusal {
    result.unwrap_err().into()
}

#[test]
fn a_motion_comes_back_as_it_was_kept() {
    let (_dir, library) = library();
    let mut wave = motion("wave", 50);
    wave.keyframes.push(Keyframe { joint: 3, time_ms: 1500, value: -0.5 });
    library.add(&wave).unwrap();
    assert_eq!(library.load("wave").unwrap(), wave);
    assert_eq!(Library::new(library.dir().into()).load("wave").unwrap(), wave);
    let entry = Entry {
        name: "wave".into(),
        created: 1_790_000_000,
        duration_ms: wave.duration_ms(),
        frames: 50,
        keyframes: 1,
    };
    assert_eq!(library.list().unwrap().motions, [entry]);
    assert_eq!(files(library.dir()), ["wave.json"]);
}

#[test]
fn a_listing_tells_of_recordings_and_of_keyframes_alone() {
    let (_dir, library) = library();
    let keyframe = |time_ms| Keyframe { joint: 0, time_ms, value: 1.0 };
    let keyframes = vec![keyframe(400), keyframe(100)];
    library.add(&Document { name: "b".into(), keyframes, ..Document::default() }).unwrap();
    library.add(&motion("a", 11)).unwrap();
    let listing = library.list().unwrap();
    let told = listing
        .motions
        .iter()
        .map(|entry| (entry.name.as_str(), entry.duration_ms, entry.frames, entry.keyframes));
    assert!(told.eq([("a", 200, 11, 0), ("b", 400, 0, 2)]));
}

#[test]
fn nothing_is_made_before_a_motion_comes() {
    let (dir, library) = library();
    assert_eq!(names(&library), [""; 0]);
    assert_eq!(code(library.load("wave")), Code::NotFound);
    assert_eq!(code(library.delete("wave")), Code::NotFound);
    assert_eq!(code(library.rename("wave", "bow")), Code::NotFound);
    assert_eq!(code(library.add(&motion("wave", 0))), Code::InvalidArgument);
    assert_eq!(files(dir.path()), [""; 0]);
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let (_dir, library) = library();
    library.add(&motion("wave", 5)).unwrap();
    let refusal = refusal(library.add(&motion("wave", 6)));
    assert_eq!(refusal.code, Code::Refused);
    assert!(refusal.message.contains("\"wave\""), "{refusal}");
    assert_eq!(library.load("wave").unwrap(), motion("wave", 5));
    assert_eq!(files(library.dir()), ["wave.json"]);
}

#[test]
fn replacing_tells_whether_there_was_one() {
    let (_dir, library) = library();
    assert!(!library.replace(&motion("wave", 5)).unwrap());
    assert!(library.replace(&motion("wave", 6)).unwrap());
    assert_eq!(library.load("wave").unwrap().recording.len(), 6);
}

#[test]
fn a_motion_is_renamed_and_says_so() {
    let (_dir, library) = library();
    library.add(&motion("wave", 5)).unwrap();
    library.add(&motion("bow", 6)).unwrap();
    library.rename("wave", "hello").unwrap();
    assert_eq!(names(&library), ["bow", "hello"]);
    assert_eq!(library.load("hello").unwrap(), motion("hello", 5));
    assert_eq!(code(library.rename("wave", "x")), Code::NotFound);
    assert_eq!(code(library.rename("wave", "bow")), Code::NotFound);
    assert_eq!(code(library.rename("hello", "bow")), Code::Refused);
    assert_eq!(code(library.rename("hello", "hello")), Code::Refused);
    assert_eq!(code(library.rename("hello", "")), Code::InvalidArgument);
    assert_eq!(library.load("bow").unwrap(), motion("bow", 6));
    assert_eq!(library.load("hello").unwrap(), motion("hello", 5));
}

#[test]
fn a_deleted_motion_is_gone() {
    let (_dir, library) = library();
    library.add(&motion("wave", 5)).unwrap();
    library.delete("wave").unwrap();
    assert_eq!(code(library.delete("wave")), Code::NotFound);
    assert_eq!(code(library.load("wave")), Code::NotFound);
    assert_eq!(names(&library), [""; 0]);
    library.add(&motion("wave", 6)).unwrap();
}

#[test]
fn a_full_library_takes_no_more_and_says_what_to_do() {
    let (_dir, library) = library();
    library.add(&motion("0", 2)).unwrap();
    for number in 1..MAX_MOTIONS {
        let copy = library.dir().join(format!("{number}.json"));
        fs::copy(library.dir().join("0.json"), copy).unwrap();
    }
    assert_eq!(names(&library).len(), MAX_MOTIONS);
    let refusal = refusal(library.add(&motion("more", 2)));
    assert_eq!(refusal.code, Code::Refused);
    assert!(refusal.message.contains("delete"), "{refusal}");
    assert_eq!(code(library.replace(&motion("more", 2))), Code::Refused);
    assert_eq!(code(library.import(&motion("more", 2), false, true)), Code::Refused);
    assert!(library.replace(&motion("7", 3)).unwrap());
    library.rename("7", "seven").unwrap();
    library.delete("8").unwrap();
    library.add(&motion("more", 2)).unwrap();
    fs::copy(library.dir().join("0.json"), library.dir().join("by-hand.json")).unwrap();
    let listing = library.list().unwrap();
    assert_eq!((listing.motions.len(), listing.problems.len()), (MAX_MOTIONS, 1));
}

#[test]
fn what_would_be_too_large_to_read_is_not_written() {
    let (_dir, library) = library();
    let keyframe = Keyframe { joint: 0, time_ms: 0, value: 1.0 };
    let keyframes = vec![keyframe; 300_000];
    let huge = Document { name: "huge".into(), keyframes, ..Document::default() };
    assert_eq!(code(library.add(&huge)), Code::Refused);
    assert_eq!(code(library.load("huge")), Code::NotFound);
}

#[test]
fn an_error_of_the_system_names_the_path() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let library = Library::new(file.join("motions"));
    let path = file.display().to_string();
    for refusal in [
        refusal(library.list()),
        refusal(library.load("wave")),
        refusal(library.add(&motion("wave", 5))),
        refusal(library.delete("wave")),
        refusal(library.rename("wave", "bow")),
        refusal(library.import(&motion("wave", 5), false, false)),
    ] {
        assert_eq!(refusal.code, Code::Refused);
        assert!(refusal.message.contains(&path), "{refusal}");
        assert!(refusal.message.contains("Not a directory"), "{refusal}");
        assert!(refusal.message.starts_with("the disk: cannot "), "{refusal}");
    }
}
