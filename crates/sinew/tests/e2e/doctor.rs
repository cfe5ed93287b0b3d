//! `sinew doctor`: each fault is named, and its command mends it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    os::unix::fs::{PermissionsExt, chown},
    process::{Command, Stdio},
    thread,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use serde_json::{Value, json};

use crate::support::{Dir, Ended, Process, Rig, run, simulator, sinew};

/// What was found under a name.
#[track_caller]
pub(crate) fn found<'a>(checks: &'a Value, name: &str) -> &'a Value {
    let all = checks["checks"].as_array().unwrap();
    let found = all.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {checks}"))
}

/// Sees that something was found, with these words and this command; gives the command.
#[track_caller]
fn expect<'a>(checks: &'a Value, name: &str, state: &str, words: &str, mend: &str) -> &'a str {
    let check = found(checks, name);
    assert_eq!(check["state"], state, "{check}");
    assert!(check["message"].as_str().unwrap().contains(words), "{words} in {check}");
    let command = check["mend"].as_str().unwrap_or_default();
    assert!(command.contains(mend), "{mend} in {check}");
    command
}

/// Runs it with addresses of its own; others may use the usual ones.
fn doctor(dir: &Dir, args: &[&str]) -> Ended {
    let (any, free) = ("127.0.0.1:0", nowhere());
    let mut all = vec!["doctor", "--json"];
    for (port, address) in [("--tcp", any), ("--lines", &free), ("--http", any)] {
        if !args.contains(&port) {
            all.extend([port, address]);
        }
    }
    run(dir, &[&all, args].concat())
}

/// An address at which nothing listens.
fn nowhere() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn a_daemon_that_is_well_has_no_problem() {
    let rig = Rig::start();
    let (tcp, lines, http) = (rig.address("tcp"), rig.address("lines"), rig.address("http"));
    let port = format!("serial:{}", rig.dir.join("port").display());
    let args = ["--tcp", tcp, "--lines", lines, "--http", http, "--vacuum", &port];
    let checks = doctor(&rig.dir, &args).ok().json();
    assert_eq!(checks["ok"], true, "{checks}");
    expect(&checks, "daemon", "ok", env!("CARGO_PKG_VERSION"), "");
    expect(&checks, "clock", "ok", "agree", "");
    expect(&checks, "robot vacuum", "ok", "ready", "");
    for name in ["tcp", "lines", "http"] {
        expect(&checks, &format!("address {name}"), "ok", "in use by sinew", "");
    }
    let port = rig.dir.join("port").display().to_string();
    expect(&checks, &format!("port {port}"), "ok", "in use by sinew", "");
    // By the daemon's threads, not by what this user may do.
    let wanted = if rig.daemon.errors().contains("no real-time") { "warning" } else { "ok" };
    expect(&checks, "real time", wanted, "the daemon's heartbeat", "");
    // The robot goes on.
    assert_eq!(rig.robot()["link"]["state"], "ready");
}

#[test]
fn a_robot_that_is_down_is_a_problem_with_its_reason() {
    let dir = Dir::new();
    let more = ["--lines", "127.0.0.1:0"];
    let (_daemon, ready) = crate::support::serve(sinew(&dir), "serial:/dev/nope", &more);
    let ended = doctor(&dir, &["--server", ready["lines"].as_str().unwrap()]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let mend = "sinew status --robot vacuum";
    expect(&ended.json(), "robot vacuum", "problem", "No such file", mend);
}

#[test]
fn without_a_daemon_it_says_how_to_start_one() {
    let dir = Dir::new();
    let server = nowhere();
    // It need not run, unless it was asked for.
    let checks = doctor(&dir, &["--lines", &server, "--vacuum", "sim:"]).ok().json();
    let mend = "sinew serve --link 'crl200s=sim:?seed=1'";
    expect(&checks, "daemon", "warning", "Connection refused", mend);
    expect(&checks, "address lines", "ok", "is free", "");
    let ended = doctor(&dir, &["--server", &server]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    expect(&ended.json(), "daemon", "problem", &server, "sinew serve");
    let checks = doctor(&dir, &["--tcp", "off", "--lines", &server]).ok().json();
    expect(&checks, "address tcp", "ok", "off", "");
}

#[test]
fn a_wrong_configuration_is_explained() {
    let dir = Dir::new();
    let path = dir.file("wrong.toml", "[server]\ntpc = \"off\"");
    let ended = doctor(&dir, &["--config", &path]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let mend = format!("${{EDITOR:-vi}} {path}");
    expect(&ended.json(), "configuration", "problem", "did you mean server.tcp?", &mend);
    // The rest is looked at all the same.
    expect(&ended.json(), "tokens", "ok", "", "");
    let path = dir.file("right.toml", "[[robot]]\nlink = \"sim:\"\nname = \"left\"");
    let checks = doctor(&dir, &["--config", &path, "--server", &nowhere()]).json();
    expect(&checks, "configuration", "ok", "left at sim:", "");
    expect(&checks, "daemon", "problem", "", &format!("sinew serve --config {path}"));
}

/// Does what was advised.
#[track_caller]
fn mend(dir: &Dir, command: &str) {
    let status = Command::new("sh").args(["-c", command]).current_dir(dir.join("")).status();
    assert!(status.unwrap().success(), "{command}");
}

#[test]
fn the_commands_for_token_files_mend_them() {
    let dir = Dir::new();
    let tokens = dir.join("the tokens").display().to_string();
    let lines = nowhere().replace("127.0.0.1", "0.0.0.0");
    let look = || doctor(&dir, &["--lines", &lines, "--token-file", &tokens]);
    let missing = look();
    assert_eq!(missing.code, Some(1), "{missing:?}");
    mend(&dir, expect(&missing.json(), "tokens", "problem", "No such file", "umask 077"));
    expect(&look().ok().json(), "tokens", "ok", "in order", "");

    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o644)).unwrap();
    let open = look();
    assert_eq!(open.code, Some(1), "{open:?}");
    mend(&dir, expect(&open.json(), "tokens", "problem", "other users", "chmod 600 '"));
    expect(&look().ok().json(), "tokens", "ok", "in order", "");

    fs::write(&tokens, "control short\n").unwrap();
    let short = look();
    assert_eq!(short.code, Some(1), "{short:?}");
    expect(&short.json(), "tokens", "problem", "at least 16 characters", "EDITOR");
    assert!(!short.stdout.contains("control short"), "{short:?}");
    // A file without any is as good as none.
    fs::write(&tokens, "# nothing\n").unwrap();
    mend(&dir, expect(&look().json(), "tokens", "problem", "needs a token file", "umask 077"));
    expect(&look().ok().json(), "tokens", "ok", "in order", "");

    let none = doctor(&dir, &["--lines", &lines]);
    assert_eq!(none.code, Some(1), "{none:?}");
    expect(&none.json(), "tokens", "problem", "needs a token file", "/etc/sinew.tokens");
    let args = ["--tcp", &lines, "--legacy-open"];
    expect(&doctor(&dir, &args).ok().json(), "tokens", "warning", "without a token", "");
}

#[test]
fn ports_that_cannot_be_used_are_named() {
    let dir = Dir::new();
    let file = dir.file("file", "");
    for (path, words) in [("/dev/nope", "vacuum's port is not there"), (&file, "is no serial port")]
    {
        let ended = doctor(&dir, &["--vacuum", &format!("serial:{path}")]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        expect(&ended.json(), &format!("port {path}"), "problem", words, "");
    }
}

/// `sinew` as a user without rights; says so where that cannot be.
fn as_nobody(dir: &Dir) -> Option<Command> {
    let mut probe = Command::new("setpriv");
    let id = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"];
    if !probe.args(id).arg("true").status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: it takes root to be another user");
        return None;
    }
    fs::set_permissions(dir.join(""), fs::Permissions::from_mode(0o755)).unwrap();
    // Another user may not reach where this was built.
    fs::copy(env!("CARGO_BIN_EXE_sinew"), dir.join("sinew")).unwrap();
    let mut command = Command::new("setpriv");
    command.args(id).arg(dir.join("sinew")).current_dir(dir.join(""));
    command.env("HOME", "/nonexistent").env_remove("XDG_DATA_HOME").env_remove("SINEW_TOKEN");
    Some(command)
}

#[test]
fn rights_that_a_user_lacks_are_named_with_the_group() {
    let dir = Dir::new();
    let Some(mut command) = as_nobody(&dir) else { return };
    let _robot = simulator(&dir);
    let port = dir.join("port").display().to_string();
    let device = fs::canonicalize(&port).unwrap();
    chown(&device, None, Some(20)).unwrap();
    fs::set_permissions(&device, fs::Permissions::from_mode(0o660)).unwrap();
    let tokens = dir.tokens();
    let lines = nowhere();
    command.args(["doctor", "--json", "--tcp", "off", "--http", "off", "--lines", &lines]);
    command.args(["--vacuum", &format!("serial:{port}"), "--token-file", &tokens]);
    let ended = Process::spawn(&mut command).wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let checks = ended.json();
    let (name, mend) = (format!("port {port}"), "sudo usermod -aG dialout nobody");
    expect(&checks, &name, "problem", "mode 660", mend);
    // A file that only its owner can read may be as it should be.
    expect(&checks, "tokens", "warning", "alone", "sudo sinew doctor");
    let setcap = format!("sudo setcap cap_sys_nice+ep {}", dir.join("sinew").display());
    expect(&checks, "real time", "warning", "no real-time priority", &setcap);
    #[cfg(feature = "g1")]
    expect(&checks, "library", "warning", "cannot be written", "sudo install -d -o nobody");
}

#[test]
fn few_descriptors_are_a_warning() {
    let dir = Dir::new();
    let mut command = crate::support::sinew_with_descriptors(&dir, 200);
    command.args(["doctor", "--json", "--tcp", "off", "--http", "off", "--lines", "127.0.0.1:0"]);
    let ended = Process::spawn(&mut command).wait();
    expect(&ended.json(), "open files", "warning", "200", "prlimit --nofile");
}

#[test]
fn an_address_in_use_is_named_with_its_process() {
    let dir = Dir::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ended = doctor(&dir, &["--lines", &address.to_string()]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let checks = ended.json();
    let (by, mend) =
        (format!("(process {})", std::process::id()), format!("= :{}'", address.port()));
    expect(&checks, "address lines", "problem", &by, &mend);
    // It accepts, and says nothing.
    expect(&checks, "daemon", "problem", "no answer", "ss -ltnp");
    let ended = doctor(&dir, &["--http", "192.0.2.1:8787"]);
    expect(&ended.json(), "address http", "problem", "192.0.2.1:8787", "ip address");
}

/// Something at a daemon's address: what it says to each line, by the `type` that was asked for.
fn fake(reply: impl Fn(&str, &Value) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            for line in BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok) {
                let asked: Value = serde_json::from_str(&line).unwrap();
                let text = reply(asked["type"].as_str().unwrap(), &asked["req"]);
                if (&stream).write_all(text.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    address
}

#[test]
fn a_daemon_of_another_version_is_a_warning_and_so_is_its_clock() {
    let dir = Dir::new();
    let server = fake(|asked, req| {
        let data = match asked {
            "Ping" => json!({ "build": "0.0.1\u{1b}[2J", "time_ms": 1 }),
            _ => json!({ "robots": [], "warnings": ["a word of warning"] }),
        };
        format!("{}\n", json!({ "type": "Reply", "req": req, "ok": true, "data": data }))
    });
    let ended = doctor(&dir, &["--server", &server, "--vacuum", "sim:"]).ok();
    assert!(!ended.stdout.contains('\u{1b}'), "{ended:?}");
    let checks = ended.json();
    let mend = format!("kill {}; sinew serve", std::process::id());
    expect(&checks, "daemon", "warning", "0.0.1", &mend);
    expect(&checks, "clock", "warning", "behind", "timedatectl");
    expect(&checks, "robot", "warning", "none", "sinew serve");
    assert!(ended.stdout.contains("a word of warning"), "{checks}");
}

#[test]
fn what_is_no_daemon_is_told_from_one() {
    let dir = Dir::new();
    for reply in
        ["HTTP/1.1 400 Bad Request\r\n\r\n", "\u{0}\u{0}\n", "[]\n", "7\n", "{\"req\":1}\n"]
    {
        let server = fake(move |_, _| reply.into());
        let ended = doctor(&dir, &["--server", &server]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        expect(&ended.json(), "daemon", "problem", "is none", "ss -ltnp");
    }
}

#[test]
fn a_token_that_is_wrong_or_missing_is_a_problem() {
    let dir = Dir::new();
    let rig = Rig::booting(&["--token-file", &dir.tokens()]);
    let server = rig.address("lines");
    let ended = doctor(&dir, &["--server", server, "--token", "not-the-right-one"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    expect(&ended.json(), "daemon", "problem", "token", "export SINEW_TOKEN");
    assert!(!ended.stdout.contains("not-the-right-one"), "{ended:?}");
}

#[test]
fn nothing_is_changed() {
    let dir = Dir::new();
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(dir.join("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    dir.file("sinew.toml", "[[robot]]\nlink = \"sim:\"\n");
    let before = names();
    doctor(&dir, &["--server", &nowhere()]);
    assert_eq!(names(), before);
}

/// What it shows on a terminal of so many columns.
fn on_terminal(dir: &Dir, columns: u16, args: &[&str]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = fs::File::options().read(true).write(true).open(path).unwrap();
    let mut child = sinew(dir)
        .arg("doctor")
        .args(args)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(slave)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        // The end of a pseudo-terminal is an error.
        let _ = fs::File::from(master).read_to_end(&mut bytes);
        String::from_utf8(bytes).unwrap()
    });
    child.wait().unwrap();
    reader.join().unwrap()
}

/// A text without colours; nothing else may stand in it.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain += before;
        let (numbers, after) = after.split_once('m').unwrap();
        assert!(numbers.chars().all(|c| c.is_ascii_digit() || c == ';'), "{text:?}");
        rest = after;
    }
    plain + rest
}

#[test]
fn a_terminal_of_any_width_shows_it_without_broken_lines() {
    let dir = Dir::new();
    let server = nowhere();
    let args =
        ["--vacuum", "serial:/dev/nope", "--lines", &server, "--tcp", "off", "--http", "off"];
    for columns in [40, 60, 80, 200] {
        let shown = on_terminal(&dir, columns, &args);
        assert!(shown.contains("\u{1b}["), "{shown:?}");
        let plain = without_colours(&shown);
        for line in plain.lines() {
            assert!(line.chars().count() <= usize::from(columns), "{columns}: {line:?}");
        }
        // What is said is the same, however it is broken.
        let words: Vec<_> = plain.split_whitespace().filter(|word| *word != "\\").collect();
        let text = words.join(" ");
        for wanted in [
            "problem port /dev/nope vacuum's port is not there $ sudo dmesg | grep tty",
            "$ sinew serve --link crl200s=serial:/dev/nope",
            "1 problem",
        ] {
            assert!(text.contains(wanted), "{columns}: {wanted} in {text}");
        }
    }
}
