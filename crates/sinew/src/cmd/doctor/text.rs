//! Findings for people: aligned, as wide as the terminal.

use super::{Finding, State};
use crate::output::{BOLD, GREEN, PLAIN, RED, YELLOW, printable};

/// As wide as the longest state.
const STATE: usize = 7;
/// A terminal that leaves messages less room than this has names in lines of their own.
const ROOM: usize = 36;

/// How wide the terminal is.
pub(super) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| size.ws_col.into()).filter(|columns| *columns > 0).unwrap_or(80)
}

/// The lines to print, none wider than `width`; without one, each text is one line.
pub(super) fn lines(findings: &[Finding], width: Option<usize>) -> Vec<String> {
    let names = findings.iter().map(|finding| finding.name.chars().count()).max();
    let beside = STATE + 2 + names.unwrap_or_default() + 2;
    let width = width.unwrap_or(usize::MAX);
    let indent = if width < beside + ROOM { 2 } else { beside };
    let mut lines = Vec::new();
    for finding in findings {
        let name = printable(&finding.name);
        let state = state(finding.state);
        let mut texts =
            wrap(&printable(&finding.message), width.saturating_sub(indent), "").into_iter();
        if indent == beside {
            let first = texts.next().unwrap_or_default();
            let column = beside - STATE - 4;
            lines.push(format!("{state}  {name:<column$}  {first}"));
        } else {
            let shown =
                wrap(&name, width.saturating_sub(STATE + 2), "").join(&format!("\n{:9}", ""));
            lines.extend(
                format!("{state}  {}{shown}{PLAIN}", BOLD.render()).lines().map(Into::into),
            );
        }
        lines.extend(texts.map(|text| format!("{:indent$}{text}", "")));
        let command = finding.mend.iter().flat_map(|mend| {
            let pieces =
                wrap(&format!("$ {}", printable(mend)), width.saturating_sub(indent), " \\");
            pieces.into_iter().map(|piece| format!("{:indent$}{}{piece}{PLAIN}", "", BOLD.render()))
        });
        lines.extend(command);
    }
    lines.push(summary(findings));
    lines
}

fn state(state: State) -> String {
    let (colour, word) = match state {
        State::Ok => (GREEN, "ok"),
        State::Warning => (YELLOW, "warning"),
        State::Problem => (RED, "problem"),
    };
    format!("{}{word:<STATE$}{PLAIN}", colour.render())
}

fn summary(findings: &[Finding]) -> String {
    let count = |state, word: &str| {
        let count = findings.iter().filter(|finding| finding.state == state).count();
        let plural = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{count} {word}{plural}"))
    };
    let counts = [count(State::Problem, "problem"), count(State::Warning, "warning")];
    let counts: Vec<_> = counts.into_iter().flatten().collect();
    match counts.is_empty() {
        true => "nothing is wrong".into(),
        false => counts.join(", "),
    }
}

/// Breaks a text between words, so that no line is wider than `width`; `joint` ends every line that
/// goes on. A word that is too long is broken, unless there is a joint: a command is still one when
/// the terminal breaks it.
fn wrap(text: &str, width: usize, joint: &str) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    let room = width.saturating_sub(length(joint)).max(1);
    let longest = if joint.is_empty() { room } else { usize::MAX };
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= room => *line += &format!(" {word}"),
            last => {
                if let Some(line) = last {
                    line.push_str(joint);
                }
                let letters: Vec<_> = word.chars().collect();
                lines.extend(letters.chunks(longest).map(String::from_iter));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Vec<Finding> {
        let long = "ann may not use it: it is root's and group dialout's, mode 660";
        vec![
            Finding::ok("no sinew.toml here; no robots").about("configuration"),
            Finding::problem(long)
                .mend("sudo usermod -aG dialout ann-with-a-long-name")
                .about("port /dev/serial/by-id/usb-FTDI_FT232R_USB_UART_A10K-if00-port0"),
            Finding::warning("a".repeat(300)).about("robot vacuum"),
        ]
    }

    /// Without colours.
    fn plain(line: &str) -> String {
        anstream::adapter::strip_str(line).to_string()
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 40..=200 {
            for line in lines(&findings(), Some(width)) {
                let line = plain(&line);
                assert!(line.chars().count() <= width, "{width}: {line:?}");
            }
        }
        // Smaller ones break lines, and nothing else.
        (0..40).for_each(|width| assert!(!lines(&findings(), Some(width)).is_empty()));
    }

    #[test]
    fn in_a_pipe_each_text_is_one_line() {
        let lines: Vec<_> = lines(&findings(), None).iter().map(|line| plain(line)).collect();
        assert_eq!(lines.len(), 3 + 1 + 1);
        assert!(lines[1].ends_with("dialout's, mode 660"), "{lines:?}");
        assert_eq!(lines[2].trim(), "$ sudo usermod -aG dialout ann-with-a-long-name");
        assert_eq!(lines[4], "1 problem, 1 warning");
    }

    #[test]
    fn a_command_over_several_lines_is_still_one() {
        let pieces = wrap("sudo usermod -aG dialout ann", 16, " \\");
        assert_eq!(pieces, ["sudo usermod \\", "-aG dialout \\", "ann"]);
    }
}
