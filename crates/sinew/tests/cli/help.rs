//! The help of every command, word for word.

use std::{collections::BTreeSet, env, fs, process::Command};

use crate::golden;

/// The help of a command, as wide as most terminals.
fn help(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sinew"))
        .args(command)
        .arg("--help")
        .env("COLUMNS", "80")
        .env_remove("SINEW_LOG")
        .env_remove("SINEW_TOKEN")
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that a help names.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // What is indented more is more about the one before.
    let names =
        lines.filter_map(|line| line.strip_prefix("  ").filter(|name| !name.starts_with(' ')));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The help of a command and of all below it.
fn all_of(command: &[&str], text: &mut String) {
    let own = help(command);
    let lines: Vec<_> = own.lines().map(str::trim_end).collect();
    text.push_str(&format!("$ sinew {} --help\n{}\n\n", command.join(" "), lines.join("\n")));
    for below in subcommands(&own) {
        all_of(&[command, &[below.as_str()]].concat(), text);
    }
}

#[test]
fn the_help_is_as_it_was_read_last() {
    let own = help(&[]);
    let mut files = BTreeSet::from(["sinew.txt".to_owned()]);
    golden::check("help/sinew", &own);
    for command in subcommands(&own) {
        let mut text = String::new();
        all_of(&[command.as_str()], &mut text);
        golden::check(&format!("help/{command}"), &text);
        files.insert(format!("{command}.txt"));
    }
    let kept = fs::read_dir(golden::path("help")).unwrap();
    let kept: BTreeSet<_> =
        kept.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(kept, files, "files of commands that are no more, or are new");
    assert!(files.len() > 10, "{files:?}");
}

#[test]
fn every_flag_and_argument_is_explained() {
    let mut text = String::new();
    for command in subcommands(&help(&[])) {
        all_of(&[command.as_str()], &mut text);
    }
    let lines: Vec<_> = text.lines().collect();
    for pair in lines.windows(2) {
        // Long help has what a flag means below it.
        let [flag, below] = pair else { continue };
        let is_flag =
            flag.starts_with("      --") || flag.starts_with("  -") || flag.starts_with("  <");
        if is_flag && !flag.trim().contains("  ") {
            assert!(below.starts_with("          "), "{flag:?} is not explained");
        }
    }
}
