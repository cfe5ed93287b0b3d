//! Disks that are full, and what becomes of it when they are not any more.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sinew_record::{
    Converter,
    read::Ending,
    recorder::{Options, Recorder, Told},
};

use crate::support::{noise, numbers, read_file, until};

/// A disk of so many kB that goes with the test.
struct Disk(PathBuf, #[allow(dead_code, reason = "it goes last")] tempfile::TempDir);

impl Disk {
    /// None where that is not allowed, which is said.
    fn new(kilobytes: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k"), "tmpfs"]).arg(&path);
        let mounted = mount.output();
        match mounted {
            Ok(mounted) if mounted.status.success() => Some(Disk(path, dir)),
            why => {
                eprintln!("\n*** SKIPPED: no disk of its own (that takes root): {why:?}\n");
                assert!(!may_mount(), "root can mount");
                None
            }
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn may_mount() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:\t"));
    let capabilities = capabilities.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    // CAP_SYS_ADMIN.
    capabilities.is_some_and(|bits| bits & (1 << 21) != 0)
}

fn start(path: &Path) -> std::io::Result<Recorder> {
    let options = Options {
        path: path.into(),
        rotation: Default::default(),
        force: true,
        about: BTreeMap::new(),
    };
    Recorder::start(options, Converter::new(vec!["g1".into()]))
}

#[test]
fn what_cannot_be_written_at_all_is_said_at_once() {
    let error = start(Path::new("/dev/full")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{error}");
    assert!(start(Path::new("/no/such/directory/a.mcap")).is_err());
}

#[test]
fn a_full_disk_is_said_and_nothing_is_lost_while_there_is_memory() {
    let Some(disk) = Disk::new(1000) else { return };
    let ballast = disk.0.join("ballast");
    fs::write(&ballast, vec![1; 700_000]).unwrap();
    let path = disk.0.join("a.mcap");
    let recorder = start(&path).unwrap();
    let mut number = 0;
    let trouble = until("a full disk", || {
        for _ in 0..20 {
            recorder.take(number, Told::Frame(noise(number, 1000)));
            number += 1;
        }
        assert!(number < 20_000, "the disk takes everything");
        std::thread::sleep(std::time::Duration::from_millis(20));
        recorder.status().trouble
    });
    assert!(trouble.contains("No space left"), "{trouble}");
    // What is there is whole, up to the last chunk that fitted.
    let (there, ending, damaged) = read_file(&path);
    assert_eq!((ending, damaged), (Ending::Unfinished, 0));
    let there = numbers(&there);
    assert_eq!(there, (0..there.len() as u64).collect::<Vec<_>>());
    fs::remove_file(&ballast).unwrap();
    until("room", || recorder.status().trouble.is_none().then_some(()));
    let status = recorder.finish();
    assert_eq!((status.lost(), &status.trouble), (0, &None));
    let (all, ending, _) = read_file(&path);
    assert_eq!(ending, Ending::Whole);
    assert_eq!(numbers(&all), (0..number).collect::<Vec<_>>());
}

#[test]
fn what_a_full_disk_costs_is_counted_and_it_goes_on_in_a_new_file() {
    let Some(disk) = Disk::new(60_000) else { return };
    let ballast = disk.0.join("ballast");
    fs::write(&ballast, vec![1; 59_000_000]).unwrap();
    let path = disk.0.join("a.mcap");
    let recorder = start(&path).unwrap();
    let mut number = 0;
    let mut send = |count: u64| {
        for _ in 0..count {
            recorder.take(number, Told::Frame(noise(number, 100_000)));
            number += 1;
        }
        number
    };
    // What waits for the disk is bounded: 32 MB here, and 32 MB before the recorder.
    until("a recorder that is full", || {
        let sent = send(20);
        assert!(sent < 5000, "it takes everything");
        std::thread::sleep(std::time::Duration::from_millis(100));
        (recorder.status().trouble.is_some() && sent > 450).then_some(())
    });
    fs::remove_file(&ballast).unwrap();
    until("room", || recorder.status().trouble.is_none().then_some(()));
    until("a new file", || (recorder.status().files.len() == 2).then_some(()));
    let sent = send(10);
    let status = recorder.finish();
    assert_eq!(status.trouble, None);
    let (first, ending, _) = read_file(&status.files[0]);
    assert_eq!(ending, Ending::Whole);
    let first = numbers(&first);
    assert_eq!(first, (0..first.len() as u64).collect::<Vec<_>>(), "no gap in a file");
    let (second, ending, _) = read_file(&status.files[1]);
    assert_eq!(ending, Ending::Whole);
    let second = numbers(&second);
    assert_eq!(second[second.len() - 10..], (sent - 10..sent).collect::<Vec<_>>());
    assert!(status.lost_on_disk > 0);
    let there = (first.len() + second.len()) as u64;
    assert_eq!(there + status.lost(), sent, "{status:?}");
}

#[test]
fn a_recorder_that_ends_with_a_full_disk_leaves_whole_chunks_and_says_what_is_missing() {
    let Some(disk) = Disk::new(200) else { return };
    let path = disk.0.join("a.mcap");
    let recorder = start(&path).unwrap();
    for number in 0..2000 {
        recorder.take(number, Told::Frame(noise(number, 1000)));
    }
    let status = recorder.finish();
    assert!(status.trouble.unwrap().contains("No space left"));
    let (there, ending, damaged) = read_file(&path);
    assert_eq!((ending, damaged), (Ending::Unfinished, 0));
    assert_eq!(there.len() as u64 + status.lost_on_disk, 2000);
}
