//! Saves over a motion that is there.

use std::{
    fs::{self, File},
    sync::Barrier,
    thread,
};

use sinew_io::library::{Library, MAX_MOTIONS};
use sinew_robot::Code;

use super::{code, library, motion, names, refusal};

#[test]
fn what_had_the_name_gets_a_mark_and_what_had_the_mark_goes() {
    let (_dir, library) = library();
    assert_eq!(library.keep(&motion("wave", 1)).unwrap(), None);
    for frames in 2..6 {
        assert_eq!(library.keep(&motion("wave", frames)).unwrap().as_deref(), Some("wave~"));
        assert_eq!(names(&library), ["wave", "wave~"]);
        assert_eq!(library.load("wave").unwrap(), motion("wave", frames));
        assert_eq!(library.load("wave~").unwrap(), motion("wave~", frames - 1));
    }
}

#[test]
fn a_name_without_room_for_the_mark_is_refused_when_it_is_taken() {
    let (_dir, library) = library();
    let (longest, marked) = ("x".repeat(31), "y".repeat(30));
    assert_eq!(library.keep(&motion(&longest, 1)).unwrap(), None);
    assert_eq!(code(library.keep(&motion(&longest, 2))), Code::Refused);
    assert_eq!(library.load(&longest).unwrap(), motion(&longest, 1));
    for frames in 1..4 {
        library.keep(&motion(&marked, frames)).unwrap();
    }
    let older = format!("{marked}~");
    assert_eq!(names(&library), [longest, marked, older]);
}

/// A name may be cut anywhere but inside a character.
#[test]
fn long_names_of_any_letters_are_put_aside_and_come_back() {
    let (_dir, library) = library();
    for name in ["é".repeat(15), "波".repeat(10), format!("a{}", "👋".repeat(7))] {
        for frames in 1..4 {
            library.keep(&motion(&name, frames)).unwrap();
        }
        assert_eq!(library.load(&name).unwrap().recording.len(), 3);
        assert_eq!(library.load(&format!("{name}~")).unwrap().recording.len(), 2);
    }
    assert_eq!(names(&library).len(), 6);
}

#[test]
fn a_motion_whose_mark_is_blocked_has_another_name() {
    let (_dir, library) = library();
    library.keep(&motion("wave", 1)).unwrap();
    // Nothing can be renamed over a directory.
    fs::create_dir(library.dir().join("wave%7E.json")).unwrap();
    let older = library.keep(&motion("wave", 2)).unwrap().unwrap();
    assert_eq!(library.load("wave").unwrap(), motion("wave", 2));
    assert_eq!(library.load(&older).unwrap(), motion(&older, 1));
}

/// What an earlier kill left aside is a motion like any other.
#[test]
fn what_lies_aside_is_left_alone() {
    let (_dir, library) = library();
    library.add(&motion("wave~2", 7)).unwrap();
    for frames in 1..4 {
        library.keep(&motion("wave", frames)).unwrap();
    }
    assert_eq!(names(&library), ["wave", "wave~", "wave~2"]);
    assert_eq!(library.load("wave~2").unwrap(), motion("wave~2", 7));
}

#[test]
fn a_full_library_refuses_before_it_changes_anything() {
    let (_dir, library) = library();
    library.add(&motion("wave", 2)).unwrap();
    for number in 1..MAX_MOTIONS {
        let copy = library.dir().join(format!("{number}.json"));
        fs::copy(library.dir().join("wave.json"), copy).unwrap();
    }
    assert_eq!(code(library.keep(&motion("wave", 3))), Code::Refused);
    assert_eq!(code(library.keep(&motion("new", 3))), Code::Refused);
    assert_eq!(library.load("wave").unwrap(), motion("wave", 2));
    library.rename("1", "wave~").unwrap();
    assert_eq!(library.keep(&motion("wave", 3)).unwrap().as_deref(), Some("wave~"));
    assert_eq!(names(&library).len(), MAX_MOTIONS);
}

/// Two handles are as good as two daemons. Each save was acknowledged, so the last two are there.
#[test]
fn of_two_that_keep_the_same_name_neither_is_lost() {
    let (_dir, library) = library();
    for round in 0..30 {
        let name = format!("wave {round}");
        library.keep(&motion(&name, 1)).unwrap();
        let barrier = Barrier::new(2);
        let keep = |frames| {
            let library = Library::new(library.dir().into());
            barrier.wait();
            library.keep(&motion(&name, frames)).unwrap();
        };
        let keep = &keep;
        thread::scope(|scope| {
            for frames in [2, 3] {
                scope.spawn(move || keep(frames));
            }
        });
        let listing = library.list().unwrap();
        let frames: Vec<_> = listing.motions.iter().map(|motion| motion.frames).collect();
        assert!(frames.contains(&2) && frames.contains(&3), "{frames:?}");
        for motion in listing.motions {
            library.delete(&motion.name).unwrap();
        }
    }
}

/// A process that hangs, or was stopped, does not hang the others.
#[test]
fn a_library_that_another_process_holds_is_busy_and_can_be_read() {
    let (_dir, library) = library();
    library.add(&motion("wave", 1)).unwrap();
    let held = File::open(library.dir()).unwrap();
    held.lock().unwrap();
    let refusal = refusal(library.keep(&motion("wave", 2)));
    assert_eq!(refusal.code, Code::Busy);
    assert!(refusal.message.contains("another process"), "{refusal}");
    assert_eq!(library.load("wave").unwrap(), motion("wave", 1));
    assert_eq!(names(&library), ["wave"]);
    drop(held);
    library.keep(&motion("wave", 2)).unwrap();
}
