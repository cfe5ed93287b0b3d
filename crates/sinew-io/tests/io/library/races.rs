use std::{
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::Barrier,
    thread,
};

use sinew_io::library::{Error, Library};

use super::{library, motion, names, part};

/// Two handles are as good as two daemons.
#[test]
fn of_two_that_add_the_same_name_one_wins() {
    let (_dir, library) = library();
    for round in 0..20 {
        let name = format!("wave {round}");
        let barrier = Barrier::new(2);
        let add = |frames| {
            let library = Library::new(library.dir().into());
            barrier.wait();
            library.add(&motion(&name, frames)).map(|()| frames)
        };
        let results = thread::scope(|scope| {
            [2, 3]
                .map(|frames| scope.spawn(move || add(frames)))
                .map(|thread| thread.join().unwrap())
        });
        let won: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
        let lost: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
        assert!(won.len() == 1 && lost.len() == 1, "{results:?}");
        assert!(matches!(lost[0], Error::Taken(_)), "{results:?}");
        assert_eq!(library.load(&name).unwrap(), motion(&name, *won[0]));
    }
}

#[test]
fn of_two_that_rename_to_the_same_name_one_wins() {
    let (_dir, library) = library();
    for round in 0..20 {
        library.replace(&motion("a", 2)).unwrap();
        library.replace(&motion("b", 2)).unwrap();
        let name = format!("wave {round}");
        let won = thread::scope(|scope| {
            let threads =
                ["a", "b"].map(|from| scope.spawn(|| library.rename(from, &name).is_ok()));
            threads.map(|thread| thread.join().unwrap())
        });
        assert_ne!(won[0], won[1]);
    }
}

#[test]
fn a_reader_sees_a_whole_motion_while_it_is_replaced() {
    let (_dir, library) = library();
    library.add(&motion("wave", 2)).unwrap();
    let replace = || {
        for round in 0..60 {
            let frames = if round % 2 == 0 { 2000 } else { 2 };
            library.replace(&motion("wave", frames)).unwrap();
        }
    };
    while_running(replace, || {
        let frames = library.load("wave").unwrap().recording.len();
        assert!(frames == 2 || frames == 2000);
        assert_eq!(names(&library), ["wave"]);
    });
}

#[test]
fn a_listing_has_a_new_motion_whole_or_not_at_all() {
    let (_dir, library) = library();
    let add = || {
        for round in 0..60 {
            library.add(&motion(&format!("wave {round}"), 2000)).unwrap();
        }
    };
    while_running(add, || {
        let listing = library.list().unwrap();
        assert_eq!(listing.problems, []);
        assert!(listing.motions.iter().all(|entry| entry.frames == 2000));
    });
}

fn while_running(work: impl FnOnce() + Send, check: impl Fn()) {
    thread::scope(|scope| {
        let work = scope.spawn(work);
        while !work.is_finished() {
            check();
        }
    });
}

const DIRECTORY: &str = "SINEW_TEST_LIBRARY";
const WRITTEN: &str = "written";
const IMPORTED: &str = "imported";

#[test]
fn a_killed_writer_leaves_whole_motions() {
    let (_dir, library) = library();
    for round in 0..20 {
        write_and_kill(library.dir(), WRITES, 1 + round % 4);
        let names = names(&library);
        for name in &names {
            let found = library.load(name).unwrap();
            let whole = |frames: &u32| found == motion(name, *frames);
            let wanted: &[u32] = if name == IMPORTED { &[410] } else { &[10, 400] };
            assert!(wanted.iter().any(whole), "{name} has {} frames", found.recording.len());
        }
        assert!(names.contains(&"0".into()));
    }
}

/// The last that was acknowledged and the one before it are there, wherever the kill came.
#[test]
fn a_killed_writer_loses_nothing_that_it_said_was_kept() {
    let (_dir, library) = library();
    let mut last = 0;
    for round in 0..40 {
        last += write_and_kill(library.dir(), KEEPS, 1 + round % 5) as u32;
        let listing = library.list().unwrap();
        assert_eq!(listing.problems, []);
        let frames: Vec<_> = listing.motions.iter().map(|motion| motion.frames as u32).collect();
        // One more may be there, and then what it made the older one's older one may have gone.
        let (before, after) = (last.max(2) - 1, last + 1);
        let whole = frames.contains(&before) || frames.contains(&after);
        assert!(frames.contains(&last) && whole, "{last} of {frames:?}");
        // The next writer goes on from what is there.
        last = frames.into_iter().max().unwrap();
    }
}

const WRITES: &str = "library::races::writes_until_it_is_killed";
const KEEPS: &str = "library::races::keeps_until_it_is_killed";

/// Runs a test below as a process of its own, until it has written so often; tells how often.
fn write_and_kill(dir: &Path, test: &str, writes: usize) -> usize {
    let mut child = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut lines = lines.filter(|line| line.ends_with(WRITTEN));
    let written = lines.by_ref().take(writes).count();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(written, writes);
    written + lines.count()
}

#[test]
#[ignore = "another test runs it as a process, and kills it"]
fn writes_until_it_is_killed() {
    let Some(dir) = env::var_os(DIRECTORY) else { return };
    let library = Library::new(dir.into());
    for round in 0_u32.. {
        let frames = if round % 2 == 0 { 400 } else { 10 };
        library.replace(&motion(&(round % 3).to_string(), frames)).unwrap();
        println!("{WRITTEN}");
        let _ = library.delete(IMPORTED);
        library.import(&part(IMPORTED, 1000, 10), false, true).unwrap();
        library.import(&part(IMPORTED, 1200, 400), true, false).unwrap();
        println!("{WRITTEN}");
    }
}

#[test]
#[ignore = "another test runs it as a process, and kills it"]
fn keeps_until_it_is_killed() {
    let Some(dir) = env::var_os(DIRECTORY) else { return };
    let library = Library::new(dir.into());
    let newest = library.list().unwrap().motions.into_iter().map(|motion| motion.frames).max();
    for frames in newest.unwrap_or(0) as u32 + 1.. {
        library.keep(&motion("wave", frames)).unwrap();
        println!("{WRITTEN}");
    }
}
