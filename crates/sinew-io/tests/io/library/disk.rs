//! A disk that is really full.

use std::{
    env,
    fs::{self, File},
    io::Write,
    process::Command,
};

use sinew_io::library::{Error, Library};
use sinew_robot::{Code, Refusal, trajectory::Document};
use tempfile::TempDir;

use super::motion;

const DIRECTORY: &str = "SINEW_TEST_DISK";
/// What the second argument of the script below is told to do.
const FULL: &str =
    "mount -t tmpfs -o size=256k tmpfs \"$1\" && exec \"$0\" \"$2\" --exact --ignored --nocapture";
/// Files of at most 64 KiB: as good as a disk without room for a large one.
const SMALL: &str = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$2\" --exact --ignored --nocapture";

#[test]
fn on_a_full_disk_nothing_acknowledged_is_lost() {
    let (dir, test) = (TempDir::new().unwrap(), "library::disk::saves_until_the_disk_is_full");
    let run = |program: &str, args: &[&str]| {
        let this = env::current_exe().unwrap();
        let command = &mut Command::new(program);
        command.args(args).arg(this).arg(dir.path()).arg(test).env(DIRECTORY, dir.path());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (said.contains("1 passed"), said)
    };
    let mounted = Command::new("unshare")
        .args(["-rm", "sh", "-c", "mount -t tmpfs -o size=256k tmpfs \"$0\""])
        .arg(dir.path())
        .output()
        .is_ok_and(|output| output.status.success());
    let (passed, said) = if mounted {
        run("unshare", &["-rm", "sh", "-c", FULL])
    } else {
        eprintln!("NO MOUNT ALLOWED HERE: files are limited to 64 KiB instead of a full disk");
        run("bash", &["-c", SMALL])
    };
    assert!(passed, "{said}");
}

/// Frames so that a motion of this size is not written when a disk has 256 KiB or less.
const LARGE: u32 = 1500;

#[test]
#[ignore = "another test runs it as a process on a small disk"]
fn saves_until_the_disk_is_full() {
    let Some(dir) = env::var_os(DIRECTORY) else { return };
    let library = Library::new(dir.into());
    // What lies below the mark, what has the name, and what is to take its place.
    for frames in [100, 101] {
        library.keep(&motion("wave", frames)).unwrap();
    }
    library.add(&motion("bow", 102)).unwrap();
    let before = library.list().unwrap();
    assert_eq!(before.motions.len(), 3);
    fill(&library);
    let is_full = |result: Result<(), Error>, what: &str| {
        let refusal = Refusal::from(result.expect_err(what));
        assert_eq!(refusal.code, Code::Refused, "{what}");
        let said = ["No space left", "File too large"];
        assert!(said.iter().any(|said| refusal.message.contains(said)), "{what}: {refusal}");
        assert_eq!(library.list().unwrap(), before, "{what}");
        for (name, frames) in [("wave~", 100), ("wave", 101), ("bow", 102)] {
            assert_eq!(library.load(name).unwrap(), motion(name, frames), "{what}");
        }
    };
    let large = |name: &str| motion(name, LARGE);
    for _ in 0..3 {
        is_full(library.keep(&large("wave")).map(drop), "keep");
        is_full(library.keep(&large("new")).map(drop), "keep what is new");
        is_full(library.add(&large("new")), "add");
        is_full(library.replace(&large("wave")).map(drop), "replace");
        is_full(library.import(&large("new"), false, true).map(drop), "begin an import");
        is_full(library.import(&large("new"), false, false).map(drop), "import");
    }
    // Names take no room.
    library.rename("bow", "nod").unwrap();
    library.delete("nod").unwrap();
    let _ = fs::remove_file(library.dir().join("fill"));
    assert_eq!(library.keep(&motion("wave", 103)).unwrap().as_deref(), Some("wave~"));
    assert_eq!(library.load("wave").unwrap(), motion("wave", 103));
    assert_eq!(library.load("wave~").unwrap(), motion("wave~", 101));
}

/// Writes until nothing more can be written; where only files are limited, that is one file.
fn fill(library: &Library) {
    let mut file = File::create(library.dir().join("fill")).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    let text = Document::default().to_json(&sinew_robot::trajectory::G1_ARMS);
    assert!(file.write_all(text.as_bytes()).is_err());
}
