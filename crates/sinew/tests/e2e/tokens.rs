//! Files with secrets, and guesses.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    clients::{auth, connect, post, request, stop},
    support::{CONTROL_TOKEN, Dir, Process, READ_TOKEN, Rig},
};

const SERVE: [&str; 10] = [
    "serve",
    "--json",
    "--vacuum",
    "sim:",
    "--tcp",
    "off",
    "--http",
    "off",
    "--lines",
    "127.0.0.1:0",
];

/// What a daemon with this token file says first, and the code it ends with if it does.
fn start(dir: &Dir, tokens: &str) -> (Value, Option<(i32, String)>) {
    let mut daemon = Process::sinew(dir, &[&SERVE[..], &["--token-file", tokens]].concat());
    let said: Value = serde_json::from_str(&daemon.line()).unwrap();
    let ended = (said["type"] != "ready").then(|| daemon.wait());
    (said, ended.map(|ended| (ended.code.unwrap(), ended.stderr)))
}

#[test]
fn a_token_file_that_others_can_read_is_refused() {
    let dir = Dir::new();
    let tokens = dir.tokens();
    assert_eq!(start(&dir, &tokens).0["type"], "ready");
    for mode in [0o644, 0o640, 0o604, 0o666] {
        fs::set_permissions(&tokens, fs::Permissions::from_mode(mode)).unwrap();
        let (said, ended) = start(&dir, &tokens);
        let (code, stderr) = ended.unwrap_or_else(|| panic!("{mode:o}: {said}"));
        assert_eq!((code, &said["ok"]), (1, &json!(false)), "{mode:o}: {said} {stderr}");
        assert!(stderr.contains(&tokens), "{stderr}");
        assert!(!stderr.contains(CONTROL_TOKEN), "{stderr}");
    }
    for mode in [0o600, 0o400] {
        fs::set_permissions(&tokens, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(start(&dir, &tokens).0["type"], "ready", "{mode:o}");
    }
}

#[test]
fn a_token_under_16_characters_is_refused() {
    let dir = Dir::new();
    let short = "0123456789abcde";
    for (number, text) in
        [format!("control {short}\n"), format!("control {CONTROL_TOKEN}\nread {short}\n")]
            .iter()
            .enumerate()
    {
        let tokens = dir.secret(&format!("short-{number}"), text);
        let (said, ended) = start(&dir, &tokens);
        let (code, stderr) = ended.unwrap_or_else(|| panic!("{said}"));
        assert_eq!((code, &said["ok"]), (1, &json!(false)), "{said} {stderr}");
        assert!(stderr.contains("16"), "{stderr}");
        assert!(!stderr.contains(short), "{stderr}");
    }
    let tokens = dir.secret("sixteen", &format!("control {short}f\n"));
    assert_eq!(start(&dir, &tokens).0["type"], "ready");
}

/// How long guesses are made, and how many answers there may be meanwhile: one a second, and those
/// at both ends.
const GUESSING: Duration = Duration::from_secs(3);
const ANSWERS: usize = 5;

/// Tries one wrong token after another, each on a connection of its own; how many were answered.
fn guess(address: &str) -> usize {
    let end = Instant::now() + GUESSING;
    let mut answers = 0;
    for number in 0.. {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let mut socket = connect(address);
        socket.set_read_timeout(Some(left)).unwrap();
        socket.write_all(format!("{}\n", auth(&format!("guess-{number:016}"))).as_bytes()).unwrap();
        let mut line = String::new();
        // Where too many wait already, the connection ends without an answer.
        if BufReader::new(socket).read_line(&mut line).is_ok_and(|count| count > 0) {
            assert!(line.contains("unauthorized"), "{line}");
            answers += 1;
        } else {
            thread::sleep(Duration::from_millis(5));
        }
    }
    answers
}

#[test]
fn guesses_are_answered_once_a_second_and_right_tokens_at_once() {
    let dir = Dir::new();
    let rig = Rig::with(&["--token-file", &dir.tokens()]);
    let lines = rig.address("lines").to_owned();
    let guessers: Vec<_> = (0..4)
        .map(|_| {
            let lines = lines.clone();
            thread::spawn(move || guess(&lines))
        })
        .collect();
    let begin = Instant::now();
    while begin.elapsed() < GUESSING - Duration::from_secs(1) {
        for token in [READ_TOKEN, CONTROL_TOKEN] {
            let asked = Instant::now();
            let mut client = rig.lines();
            client.ok(auth(token));
            client.ok(stop());
            let bearer = format!("Authorization: Bearer {token}\r\n");
            assert_eq!(post(rig.address("http"), &bearer, &stop()).0, 200);
            let took = asked.elapsed();
            assert!(took < Duration::from_millis(500), "{took:?}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    let answers: usize = guessers.into_iter().map(|guesser| guesser.join().unwrap()).sum();
    assert!((1..=ANSWERS).contains(&answers), "{answers} answers in {GUESSING:?}");
}

#[test]
fn guesses_by_http_are_answered_once_a_second() {
    let dir = Dir::new();
    let rig = Rig::with(&["--token-file", &dir.tokens()]);
    let http = rig.address("http");
    let begin = Instant::now();
    for number in 0..3 {
        let bearer = format!("Authorization: Bearer guess-{number:016}\r\n");
        let (status, _, body) = request(http, "GET /api/v1/robots", &bearer, "");
        assert_eq!(status, 401, "{body}");
        assert!(body.contains("unauthorized"), "{body}");
    }
    let took = begin.elapsed();
    assert!(took > Duration::from_millis(1_500), "three answers in {took:?}");
    let asked = Instant::now();
    let bearer = format!("Authorization: Bearer {READ_TOKEN}\r\n");
    assert_eq!(request(http, "GET /api/v1/robots", &bearer, "").0, 200);
    assert!(asked.elapsed() < Duration::from_millis(500));
}
