//! `sinew service`: the files that it makes, by the programs that read them, and the daemon as
//! systemd runs it.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

use crate::{
    doctor::found,
    support::{Dir, Ended, Process, run, until},
};

const UNIT: &str = "etc/systemd/system/sinew.service";
const RULES: &str = "etc/udev/rules.d/70-sinew.rules";
/// The exposure that `systemd-analyze security` may find, of 10.
const EXPOSURE: f64 = 2.5;

fn service(dir: &Dir, args: &[&str]) -> Ended {
    run(dir, &[&["service"], args].concat())
}

#[test]
fn it_prints_the_files_and_the_commands() {
    let dir = Dir::new();
    let text = service(&dir, &["--port", "/dev/ttyS3"]).ok().stdout;
    for wanted in [
        "# /etc/systemd/system/sinew.service\n",
        "# /etc/udev/rules.d/70-sinew.rules\n",
        "#   sudo systemctl enable --now sinew\n",
        &format!("ExecStart={} serve --vacuum serial:/dev/ttyS3\n", env!("CARGO_BIN_EXE_sinew")),
        "\nUser=sinew\n",
        "\nDeviceAllow=/dev/ttyS3 rw\n",
        "KERNEL==\"ttyS3\", GROUP=\"sinew\", MODE=\"0660\", SYMLINK+=\"sinew-vacuum\"",
    ] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    assert_eq!(service(&dir, &["--port", "/dev/ttyS3", "--print"]).ok().stdout, text);
    let json = service(&dir, &["--port", "/dev/ttyS3", "--json"]).ok().json();
    let files = json["files"].as_array().unwrap();
    assert!(files.iter().all(|file| text.contains(file["text"].as_str().unwrap())), "{json}");
    assert!(json["next"].as_array().is_some_and(|next| next.len() >= 5), "{json}");
    // Nothing else happens.
    assert_eq!(fs::read_dir(dir.join("")).unwrap().count(), 0);
}

#[test]
fn it_follows_the_configuration() {
    let dir = Dir::new();
    let tokens = dir.tokens();
    let config = format!(
        "[server]\nlines = \"0.0.0.0:5556\"\ntoken_file = \"{tokens}\"\nlibrary = \"/srv/motions\"\n\
         [[robot]]\nname = \"left\"\nlink = \"serial:/dev/ttyS1\"\n\
         [[robot]]\nname = \"right\"\nlink = \"serial:/dev/ttyS2\"\n"
    );
    let path = dir.file("two.toml", &config);
    let ended = service(&dir, &["--config", &path, "--user", "ann", "--binary", "/opt/sinew"]).ok();
    for wanted in [
        &format!("ExecStart=/opt/sinew serve --config {path}\n"),
        "\nUser=ann\nGroup=ann\n",
        "DeviceAllow=/dev/ttyS1 rw\nDeviceAllow=/dev/ttyS2 rw\n",
        "ReadWritePaths=-/srv/motions\n",
        "SYMLINK+=\"sinew-left\"",
        "SYMLINK+=\"sinew-right\"",
        &format!("#   sudo chown ann: {tokens} && sudo chmod 600 {tokens}\n"),
    ] {
        assert!(ended.stdout.contains(wanted), "{wanted} in {ended:?}");
    }
    assert!(!ended.stdout.contains("IPAddressDeny"), "{ended:?}");
    assert!(!ended.stdout.contains("--vacuum"), "{ended:?}");

    for (text, wanted) in [
        ("[server]\ntpc = \"off\"", "did you mean server.tcp?"),
        ("[server]\ntoken_file = \"tokens\"\n[[robot]]\nlink = \"sim:\"", "whole path"),
        ("[[robot]]\nlink = \"serial:port\"", "below /dev"),
    ] {
        let path = dir.file("wrong.toml", text);
        let ended = service(&dir, &["--config", &path]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(wanted), "{wanted} in {ended:?}");
        assert_eq!(ended.stdout, "", "{ended:?}");
    }
    for (args, wanted) in [
        (&[][..], "--port /dev/ttyS3"),
        (&["--port", "/dev/ttyS3", "--user", "a b"], "--user"),
        (&["--port", "/dev/ttyS3", "--force"], "--write"),
    ] {
        let ended = service(&dir, args);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(wanted), "{wanted} in {ended:?}");
    }
}

#[test]
fn files_that_say_something_else_are_kept() {
    let dir = Dir::new();
    let root = dir.join("root").display().to_string();
    let write = |more: &[&str]| {
        service(&dir, &[&["--port", "/dev/ttyS3", "--write", &root], more].concat())
    };
    let states = |ended: Ended| -> Vec<String> {
        let files = ended.ok().json()["files"].as_array().unwrap().clone();
        files.iter().map(|file| file["state"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(states(write(&["--json"])), ["written", "written"]);
    let (unit, rules) = (Path::new(&root).join(UNIT), Path::new(&root).join(RULES));
    let text = fs::read_to_string(&unit).unwrap();
    for file in [&unit, &rules] {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o644);
    }
    let ended = write(&[]).ok();
    assert!(ended.stderr.contains("unchanged") && ended.stderr.contains("systemctl"), "{ended:?}");
    assert_eq!(ended.stdout, "", "{ended:?}");

    fs::write(&unit, "[Unit]\n").unwrap();
    fs::remove_file(&rules).unwrap();
    let ended = write(&[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("--force"), "{ended:?}");
    assert_eq!(fs::read_to_string(&unit).unwrap(), "[Unit]\n");
    assert!(!rules.exists(), "nothing is written by halves");
    assert_eq!(states(write(&["--json", "--force"])), ["overwritten", "written"]);
    assert_eq!(fs::read_to_string(&unit).unwrap(), text);
    let left = fs::read_dir(unit.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "nothing else is left there");
}

/// Runs a program of systemd's; says so where it is not.
fn systemd(program: &str, args: &[&str]) -> Option<Output> {
    let output = Command::new(program).args(args).env("SYSTEMD_COLORS", "0").output();
    if output.is_err() {
        eprintln!("skipped: {program} is not installed");
    }
    output.ok()
}

/// The files for a robot at a port, and for robots and clients in the network.
fn written(dir: &Dir) -> [PathBuf; 2] {
    let far = "[server]\nhttp = \"0.0.0.0:8787\"\nlegacy_open = true\ntcp = \"0.0.0.0:5555\"\n\
               lines = \"10.0.0.7:5556\"\n[[robot]]\nlink = \"serial:/dev/ttyUSB0\"\n";
    let robot = if cfg!(feature = "g1") { "[[robot]]\nlink = \"udp:192.168.86.3\"\n" } else { "" };
    let far = dir.file("far.toml", &format!("{far}{robot}"));
    [("near", &["--port", "/dev/ttyS3"][..]), ("far", &["--config", &far])].map(|(name, args)| {
        let root = dir.join(name);
        service(dir, &[args, &["--write", root.to_str().unwrap()]].concat()).ok();
        root
    })
}

#[test]
fn systemd_finds_no_fault_with_the_unit() {
    let dir = Dir::new();
    for root in written(&dir) {
        let unit = root.join(UNIT).display().to_string();
        let Some(output) = systemd("systemd-analyze", &["verify", "--man=no", &unit]) else {
            return;
        };
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        // It looks at the machine's other units as well.
        assert!(!said.contains("sinew"), "{said}");
    }
}

#[test]
fn the_service_is_little_exposed() {
    let dir = Dir::new();
    for root in written(&dir) {
        let unit = root.join(UNIT).display().to_string();
        let args = ["security", "--offline=true", "--no-pager", "--json=short", &unit];
        let Some(output) = systemd("systemd-analyze", &args) else { return };
        if String::from_utf8_lossy(&output.stderr).contains("unrecognized option") {
            eprintln!("skipped: systemd-analyze is too old for security --offline");
            return;
        }
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(rows.as_array().is_some_and(|rows| rows.len() > 50), "{output:?}");
        let threshold = format!("--threshold={}", (EXPOSURE * 10.0) as u32);
        let args = ["security", "--offline=true", "--no-pager", &threshold, &unit];
        let output = systemd("systemd-analyze", &args).unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let overall = said.lines().last().unwrap_or_default();
        println!("{}: {overall}", root.display());
        assert!(output.status.success(), "{said}");
        let words: Vec<_> = overall.split_whitespace().collect();
        let found = words.iter().find_map(|word| word.parse::<f64>().ok()).unwrap();
        assert!(found > 0.0 && found < EXPOSURE, "{overall}");
    }
}

#[test]
fn udev_finds_no_fault_with_the_rule() {
    let dir = Dir::new();
    for root in written(&dir) {
        let rules = root.join(RULES).display().to_string();
        // The group need not be there yet.
        let args = ["verify", "--resolve-names=never", &rules];
        let Some(output) = systemd("udevadm", &args) else { return };
        if String::from_utf8_lossy(&output.stderr).contains("Unknown command") {
            eprintln!("skipped: udevadm is too old for verify");
            return;
        }
        assert!(output.status.success(), "{output:?}");
    }
}

/// What makes a system of its own: namespaces, and a control group to begin with.
struct Cell {
    group: PathBuf,
    unshare: Command,
}

impl Cell {
    /// None where it is not allowed, or systemd is not here; that is said.
    fn new() -> Option<Self> {
        let without = |what: &str| {
            eprintln!("skipped: the service was not run by systemd: {what}");
            None
        };
        if !Path::new("/lib/systemd/systemd").exists() {
            return without("it is not installed");
        }
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let Some(mount) = mounts.find(|fields| fields.get(2) == Some(&"cgroup2")) else {
            return without("there is no cgroup2");
        };
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let group = Path::new(mount[1]).join(own).join(format!("sinew-e2e-{}", std::process::id()));
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--pid", "--net", "--cgroup", "--uts", "--ipc", "--fork"]);
        unshare.arg("--kill-child=KILL");
        let mut probe = Command::new("unshare");
        probe.args(unshare.get_args());
        let probe = probe.args(["mount", "-t", "tmpfs", "tmpfs", "/tmp"]).output();
        if !probe.is_ok_and(|output| output.status.success()) || fs::create_dir(&group).is_err() {
            return without("it takes root");
        }
        Some(Cell { group, unshare })
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        fn remove(dir: &Path) {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    remove(&entry.path());
                }
            }
            let _ = fs::remove_dir(dir);
        }
        until("the end of what ran there", || {
            remove(&self.group);
            (!self.group.exists()).then_some(())
        });
    }
}

#[test]
fn systemd_runs_the_daemon_with_its_rights_and_no_others() {
    let dir = Dir::new();
    let Some(cell) = Cell::new() else { return };
    let (work, out) = (dir.join("work"), dir.join("out"));
    fs::create_dir(&work).unwrap();
    fs::create_dir(&out).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/systemd.sh");
    // It enters its group before its namespaces begin there.
    let mut command = Command::new("sh");
    command.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]).arg(&cell.group);
    command.arg(cell.unshare.get_program()).args(cell.unshare.get_args());
    let binary = env::var_os("SINEW_E2E_BINARY").unwrap_or(env!("CARGO_BIN_EXE_sinew").into());
    command.args(["sh", script]).arg(binary).args([&work, &out]);
    let systemd = Process::spawn(&mut command);
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    until(&format!("the service; {}", read("log")), || out.join("done").exists().then_some(()));
    drop(systemd);

    // Its own user, no capabilities, a filter of system calls.
    let process = read("process");
    let has = |key: &str, value: &str| {
        let line = process.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        assert!(line.split_whitespace().next() == Some(value), "{key} {line}, wanted {value}");
    };
    has("Uid:", "64321");
    has("NoNewPrivs:", "1");
    has("Seccomp:", "2");
    let limits = read("limits");
    assert!(limits.contains("Max open files            8192"), "{limits}");
    if out.join("no-limits").exists() {
        eprintln!("left out: LimitRTPRIO and LimitNICE, since limits cannot be raised here");
    } else {
        has("CapBnd:", "0000000000000000");
    }
    let tried = read("tried");
    let tried: Vec<_> = tried.lines().collect();
    let wanted = [
        "state yes",
        "etc no",
        "usr no",
        "home no",
        "other no",
        "port yes",
        "mount no",
        "namespace no",
        "unix no",
        "inet yes",
        "processes no",
    ];
    assert_eq!(tried, wanted);
    // The robot was ready, and the heartbeat has its priority.
    let doctor: Value = serde_json::from_str(&read("doctor")).unwrap();
    for name in ["daemon", "robot vacuum", "real time", "port /dev/ttyV0", "address http"] {
        assert_eq!(found(&doctor, name)["state"], "ok", "{doctor}");
    }
    let after: Value = serde_json::from_str(&read("doctor-after")).unwrap();
    assert_eq!(found(&after, "port /dev/ttyV0")["state"], "ok", "{after}");
    assert_eq!(found(&after, "daemon")["mend"], "sudo systemctl start sinew", "{after}");
    // It came back, and ended well when it was told to.
    let stopped = read("stopped");
    for wanted in ["Result=success", "ExecMainStatus=0", "NRestarts=1", "ActiveState=inactive"] {
        assert!(stopped.lines().any(|line| line == wanted), "{wanted} in {stopped}");
    }
}
