//! `sinew man`: manual pages.

use std::{fs, io::Write, path::PathBuf};

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;
use serde_json::json;

use crate::DONE;

/// Print the manual page, or write those of all commands.
///
/// `sinew man | man -l -` shows it; `sinew man ~/.local/share/man/man1` installs all of them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to write a page for each command.
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// A page, and the name of its file.
struct Page {
    file: String,
    text: String,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let mut pages = pages()?;
    let mut out = std::io::stdout().lock();
    let Some(dir) = &args.dir else {
        let page = pages.swap_remove(0);
        match json {
            true => writeln!(out, "{}", json!({ "page": page.text }))?,
            false => out.write_all(page.text.as_bytes())?,
        }
        return Ok(DONE);
    };
    let failed = || format!("cannot write to {}", dir.display());
    fs::create_dir_all(dir).with_context(failed)?;
    for page in &pages {
        fs::write(dir.join(&page.file), &page.text).with_context(failed)?;
    }
    match json {
        true => {
            let files: Vec<_> = pages.iter().map(|page| dir.join(&page.file)).collect();
            writeln!(out, "{}", json!({ "files": files }))?;
        }
        false => eprintln!("{} pages written to {}", pages.len(), dir.display()),
    }
    Ok(DONE)
}

/// All pages, the main one first.
fn pages() -> anyhow::Result<Vec<Page>> {
    let mut command = crate::Args::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, &mut pages)?;
    if let Some(main) = pages.first_mut() {
        main.text += MORE;
    }
    Ok(pages)
}

fn add_pages(command: &clap::Command, pages: &mut Vec<Page>) -> anyhow::Result<()> {
    let version = command.get_version().unwrap_or_default();
    let man = Man::new(command.clone()).source(format!("sinew {version}")).manual("Sinew");
    let mut text = Vec::new();
    man.render(&mut text)?;
    pages.push(Page { file: man.get_filename(), text: set(&String::from_utf8(text)?) });
    command.get_subcommands().try_for_each(|command| add_pages(command, pages))
}

/// A page with its lines as they fall: paths and commands stretch badly, and what stands after the
/// arguments is a table.
fn set(page: &str) -> String {
    let page = page.replacen(".SH NAME\n", ".ad l\n.nh\n.SH NAME\n", 1);
    match page.split_once(".SH EXTRA\n") {
        None => page,
        Some((before, table)) => {
            let (table, after) = table.split_once(".SH ").unwrap_or((table, ""));
            format!("{before}.SH NOTES\n.nf\n{table}.fi\n.SH {after}")
        }
    }
}

/// What clap does not know.
const MORE: &str = "\
.SH \"EXIT STATUS\"
.TP
0
Done.
.TP
1
Asked and failed: refused, invalid, not found.
.TP
2
Wrong usage; of
.BR sinew-decode (1),
also that nothing was recognised.
.SH FILES
.TP
.I sinew.toml
The configuration, in the directory in which
.B sinew serve
is started, unless
.B \\-\\-config
names another one.
";
