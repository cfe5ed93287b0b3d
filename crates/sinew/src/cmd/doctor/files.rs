//! The configuration, and the files that it names.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use sinew_server::Tokens;

use super::{Context, Finding};
use crate::{daemon::Daemon, system::shell_word};

pub(super) fn configuration(context: &Context) -> Vec<Finding> {
    let file = context.file.as_deref();
    let finding = match (&context.wrong, file) {
        (Some(wrong), Some(file)) => {
            Finding::problem(wrong).mend(format!("${{EDITOR:-vi}} {}", shell_word(file)))
        }
        (Some(wrong), None) => Finding::problem(wrong).mend("sinew doctor --help"),
        (None, file) => {
            let from = file.map_or("no sinew.toml here".into(), |file| file.display().to_string());
            let robots = &context.config.robot;
            let robots: Vec<_> =
                robots.iter().map(|robot| format!("{} at {}", robot.name, robot.link)).collect();
            let robots = if robots.is_empty() { "no robots".into() } else { robots.join(", ") };
            Finding::ok(format!("{from}; {robots}"))
        }
    };
    vec![finding]
}

pub(super) fn tokens(context: &Context) -> Vec<Finding> {
    let file = context.config.server.token_file.as_deref();
    if let Some(file) = file
        && let Err(error) = Tokens::load(file)
    {
        return vec![token_file(context, file, &error)];
    }
    // By the rules that the daemon itself starts by.
    let offered = match Daemon::offered(&context.config) {
        Ok(offered) => offered,
        Err(error) => return vec![Finding::problem(format!("{error:#}"))],
    };
    if let Err(error) = offered.check() {
        let problem = Finding::problem(error.to_string());
        let is_sangam = offered.sangam.is_some_and(|address| !address.ip().is_loopback());
        if is_sangam && !offered.legacy_open {
            // No token would help.
            return vec![problem];
        }
        let new = file.map_or_else(|| PathBuf::from("/etc/sinew.tokens"), Into::into);
        return vec![problem.mend(make_tokens(&new))];
    }
    let mut findings: Vec<_> = offered.warnings().into_iter().map(Finding::warning).collect();
    match file {
        Some(file) => findings.push(Finding::ok(format!("{} is in order", file.display()))),
        None if findings.is_empty() => {
            findings.push(Finding::ok("none needed: clients come by loopback only"));
        }
        None => {}
    }
    findings
}

/// What is wrong with a file of tokens.
fn token_file(context: &Context, file: &Path, error: &io::Error) -> Finding {
    let problem = Finding::problem(error.to_string());
    let word = shell_word(file);
    match (error.kind(), fs::metadata(file)) {
        (io::ErrorKind::NotFound, _) => problem.mend(make_tokens(file)),
        // What the service's user alone can read is as it should be, for the service.
        (io::ErrorKind::PermissionDenied, Ok(metadata)) if metadata.mode() & 0o066 == 0 => {
            let owner = context.system.user_name(metadata.uid());
            let message = format!("{} can be read by {owner} alone", file.display());
            match context.service_user().is_some_and(|user| user.uid == metadata.uid()) {
                true => Finding::ok(message),
                false => Finding::warning(message).mend("sudo sinew doctor"),
            }
        }
        (io::ErrorKind::PermissionDenied, _) => problem.mend(format!("chmod 600 {word}")),
        _ => problem.mend(format!("${{EDITOR:-vi}} {word}")),
    }
}

/// Makes a file of tokens with a secret of 32 characters.
fn make_tokens(file: &Path) -> String {
    let file = shell_word(file);
    let secret = "head -c 16 /dev/urandom | od -An -v -tx1 | tr -d ' \\n'";
    format!("(umask 077; echo control $({secret}) >> {file})")
}

/// Where motions are kept.
#[cfg(feature = "g1")]
pub(super) fn library(context: &Context) -> Vec<Finding> {
    use rustix::fs::{Access, access};
    use sinew_robot::capability::Capability;

    let library = &context.config.server.library;
    if context.is_service() {
        return vec![Finding::ok("the service keeps motions where its unit says")];
    }
    let there = library.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("."));
    let shown = library.display();
    if access(there, Access::WRITE_OK | Access::EXEC_OK).is_ok() && there.is_dir() {
        let state = if there == library { "can be written" } else { "will be made when needed" };
        return vec![Finding::ok(format!("{shown} {state}"))];
    }
    let message =
        format!("no motion can be kept in {shown}: {} cannot be written", there.display());
    let teaches = |capabilities: &[Capability]| capabilities.contains(&Capability::Teach);
    let finding = match context.config.robot.iter().any(|robot| teaches(robot.kind.capabilities()))
    {
        true => Finding::problem(message),
        false => Finding::warning(message),
    };
    let (dir, user) = (shell_word(library), rustix::process::geteuid().as_raw());
    let user = shell_word(context.system.user_name(user));
    vec![finding.mend(format!("sudo install -d -o {user} {dir}"))]
}
