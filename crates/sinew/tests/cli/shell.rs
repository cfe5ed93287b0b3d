//! Completions and manual pages, by the programs that read them.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::{Run, sinew};

/// Whether a program is here; says so where it is not.
fn is_here(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

fn ran(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

fn completions(shell: &str) -> String {
    let Run { code, stdout, .. } = sinew(&["completions", shell]);
    assert_eq!(code, 0);
    stdout
}

/// What bash offers for the last of these words.
fn bash_offers(script: &Path, words: &[&str]) -> Vec<String> {
    let program = format!(
        "source {}\n\
         set -- $(complete -p sinew | grep -o -e '-F [^ ]*')\n\
         COMP_WORDS=({}) COMP_CWORD={}\n\
         $2 sinew \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words.len() - 1,
    );
    let output = ran(Command::new("bash").args(["--norc", "-c", &program]));
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(Into::into).collect()
}

#[test]
fn bash_completes_commands_and_flags() {
    if !is_here("bash") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("sinew.bash");
    fs::write(&script, completions("bash")).unwrap();
    ran(Command::new("bash").arg("-n").arg(&script));
    assert_eq!(bash_offers(&script, &["sinew", "deco"]), ["decode"]);
    assert_eq!(bash_offers(&script, &["sinew", "completions", "fi"]), ["fish"]);
    let flags = bash_offers(&script, &["sinew", "decode", "--js"]);
    assert_eq!(flags, ["--json"]);
}

#[test]
fn zsh_and_fish_read_their_scripts() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["zsh", "fish"] {
        let text = completions(shell);
        assert!(text.contains("decode"), "{shell}: {text}");
        let script = dir.path().join(shell);
        fs::write(&script, text).unwrap();
        if is_here(shell) {
            let output = ran(Command::new(shell).arg("-n").arg(&script));
            assert!(output.stderr.is_empty(), "{output:?}");
        }
    }
    let unknown = sinew(&["completions", "tcsh"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("bash, zsh, fish"), "{}", unknown.stderr);
}

/// What groff has to say about a page, and what it makes of it. That a word is longer than a line is
/// no fault of a page.
fn typeset(page: &str) -> (String, String) {
    let mut groff = Command::new("groff")
        .args([
            "-man", "-ww", "-Wbreak", "-Tutf8", "-K", "utf8", "-P-c", "-P-b", "-P-u", "-rLL=80n",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = groff.stdin.take().unwrap();
    let text = page.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).unwrap());
    let output = groff.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{output:?}");
    (String::from_utf8(output.stderr).unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn every_command_has_a_manual_page_without_faults() {
    let dir = tempfile::tempdir().unwrap();
    let man = dir.path().join("man1");
    let written = sinew(&["man", man.to_str().unwrap(), "--json"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let files = written.json()["files"].as_array().unwrap().clone();
    assert_eq!(files.len(), fs::read_dir(&man).unwrap().count());
    for name in ["sinew.1", "sinew-decode.1", "sinew-encode-gd32-led.1", "sinew-man.1"] {
        assert!(man.join(name).is_file(), "{name}");
    }
    let main = sinew(&["man"]);
    assert_eq!(main.stdout, fs::read_to_string(man.join("sinew.1")).unwrap());
    if !is_here("groff") {
        return;
    }
    for file in &files {
        let page = fs::read_to_string(file.as_str().unwrap()).unwrap();
        let (faults, text) = typeset(&page);
        assert_eq!(faults, "", "{file}");
        assert!(text.contains("SYNOPSIS"), "{file}: {text}");
    }
    let (_, text) = typeset(&main.stdout);
    for wanted in ["EXIT STATUS", "sinew-decode(1)", "sinew.toml"] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
}

#[cfg(feature = "daemon")]
#[test]
fn a_table_stays_one_in_a_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(sinew(&["man", dir.path().to_str().unwrap()]).code, 0);
    let page = fs::read_to_string(dir.path().join("sinew-control.1")).unwrap();
    if is_here("groff") {
        let (_, text) = typeset(&page);
        let is_row = |line: &&str| line.trim_start().starts_with("lidar ");
        assert_eq!(text.lines().filter(is_row).count(), 2, "{text}");
    }
}
