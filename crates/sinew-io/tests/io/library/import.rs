use std::{
    fs::{self, File},
    time::{Duration, SystemTime},
};

use sinew_io::library::{Imported, MAX_UNFINISHED};
use sinew_robot::{
    Code,
    trajectory::{Document, Keyframe},
};

use super::{code, files, library, motion, names, part, refusal};

#[test]
fn a_motion_comes_in_one_part() {
    let (_dir, library) = library();
    let imported = library.import(&motion("wave", 30), false, false).unwrap();
    assert_eq!(imported, Imported { frames: 30, keyframes: 0 });
    assert_eq!(library.load("wave").unwrap(), motion("wave", 30));
    assert_eq!(files(library.dir()), ["wave.json"]);
}

#[test]
fn a_motion_comes_in_three_parts_and_appears_at_once() {
    let (_dir, library) = library();
    let keyframe = Keyframe { joint: 1, time_ms: 40, value: 0.5 };
    let with_keyframe = |mut document: Document| {
        document.keyframes.push(keyframe);
        document
    };
    let first = library.import(&part("wave", 1000, 10), false, true).unwrap();
    assert_eq!(first.frames, 10);
    assert_eq!(names(&library), [""; 0]);
    assert_eq!(code(library.load("wave")), Code::NotFound);
    let second = with_keyframe(part("wave", 1200, 10));
    assert_eq!(library.import(&second, true, true).unwrap().frames, 20);
    assert_eq!(names(&library), [""; 0]);
    let third = library.import(&part("wave", 1400, 10), true, false).unwrap();
    assert_eq!(third, Imported { frames: 30, keyframes: 1 });
    assert_eq!(library.load("wave").unwrap(), with_keyframe(motion("wave", 30)));
    assert_eq!(files(library.dir()), ["wave.json"]);
}

#[test]
fn a_name_that_is_taken_is_refused_at_once() {
    let (_dir, library) = library();
    library.import(&motion("bow", 5), false, true).unwrap();
    library.add(&motion("wave", 5)).unwrap();
    library.add(&motion("bow", 6)).unwrap();
    for more in [false, true] {
        assert_eq!(code(library.import(&motion("wave", 5), false, more)), Code::Refused);
        assert_eq!(code(library.import(&part("bow", 2000, 5), true, more)), Code::Refused);
    }
    assert_eq!(library.load("bow").unwrap(), motion("bow", 6));
}

#[test]
fn only_what_has_begun_goes_on() {
    let (_dir, library) = library();
    assert_eq!(code(library.import(&motion("wave", 5), true, false)), Code::NotFound);
    library.import(&motion("wave", 5), false, false).unwrap();
    library.delete("wave").unwrap();
    assert_eq!(code(library.import(&motion("wave", 5), true, true)), Code::NotFound);
}

#[test]
fn a_part_has_to_go_on_in_time() {
    let (_dir, library) = library();
    library.import(&part("wave", 1000, 10), false, true).unwrap();
    let again = refusal(library.import(&part("wave", 1180, 10), true, false));
    assert_eq!(again.code, Code::InvalidArgument);
    assert!(again.message.contains("time_ms"), "{again}");
    let late = refusal(library.import(&part("wave", 1000 + 600_001, 1), true, false));
    assert_eq!(late.code, Code::InvalidArgument);
    let finished = library.import(&part("wave", 1200, 10), true, false).unwrap();
    assert_eq!(finished.frames, 20);
}

#[test]
fn a_new_beginning_replaces_the_unfinished_one() {
    let (_dir, library) = library();
    library.import(&motion("wave", 10), false, true).unwrap();
    library.import(&motion("wave", 3), false, true).unwrap();
    assert_eq!(library.import(&part("wave", 5000, 1), true, true).unwrap().frames, 4);
    library.import(&motion("wave", 2), false, false).unwrap();
    assert_eq!(library.load("wave").unwrap(), motion("wave", 2));
    assert_eq!(files(library.dir()), ["wave.json"]);
}

#[test]
fn a_motion_of_nothing_is_refused() {
    let (_dir, library) = library();
    assert_eq!(code(library.import(&motion("wave", 0), false, false)), Code::InvalidArgument);
    library.import(&motion("wave", 0), false, true).unwrap();
    assert_eq!(code(library.import(&motion("wave", 0), true, false)), Code::InvalidArgument);
    library.import(&motion("wave", 1), true, false).unwrap();
}

#[test]
fn only_so_many_are_unfinished_at_once() {
    let (_dir, library) = library();
    for number in 0..MAX_UNFINISHED {
        library.import(&motion(&number.to_string(), 5), false, true).unwrap();
    }
    // Files of the same age would be told apart by nothing.
    let oldest = library.dir().join("3.part");
    let age = SystemTime::now() - Duration::from_secs(60);
    File::options().append(true).open(oldest).unwrap().set_modified(age).unwrap();
    library.import(&motion("more", 5), false, true).unwrap();
    let gone = library.import(&part("3", 2000, 1), true, false);
    assert_eq!(code(gone), Code::NotFound, "the oldest had to go");
    library.import(&part("0", 2000, 1), true, false).unwrap();
    library.import(&part("more", 2000, 1), true, false).unwrap();
}

#[test]
fn an_unfinished_import_that_is_damaged_is_told_and_can_begin_again() {
    let (_dir, library) = library();
    library.import(&motion("wave", 5), false, true).unwrap();
    fs::write(library.dir().join("wave.part"), "{").unwrap();
    let refusal = refusal(library.import(&part("wave", 2000, 5), true, false));
    assert_eq!(refusal.code, Code::Refused);
    assert!(refusal.message.contains("wave.part"), "{refusal}");
    library.import(&motion("wave", 5), false, true).unwrap();
}

#[test]
fn the_longest_recording_fits() {
    let (_dir, library) = library();
    let mut longest = motion("long", 0);
    for frame in 0..60_000 {
        let value = -1.234_567_9 - frame as f32 / 60_000.0;
        longest.recording.push(frame * 10, [value; 12]).unwrap();
    }
    library.import(&longest, false, false).unwrap();
    assert_eq!(library.load("long").unwrap(), longest);
    assert_eq!(library.list().unwrap().motions[0].duration_ms, 599_990);
}
