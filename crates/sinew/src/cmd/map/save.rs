//! The map that the daemon makes, as a file.

use std::{
    io::{Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use serde_json::json;
use sinew_robot::{
    capability::Capability,
    map::file::{Raster, pgm},
    mapping::{self, Request},
};

use super::{super::Usage, ask, http, write};
use crate::{
    DONE,
    client::{Client, Daemon},
    output::printable_json,
    progress::Progress,
    say::say,
};

/// The longest picture in grey that is taken: its place has to be read before it is written.
const MAX_PICTURE: u64 = 256 << 20;
/// What a picture's place stands in, at the most.
const MAX_HEAD: usize = 4096;

/// Write the map that is being made to a file.
///
/// The name says the format: .pcd and .ply hold all points, .pgm is the ground from above for ROS's
/// map_server, with a .yaml beside it, .png a picture for people.
#[derive(clap::Args)]
pub(super) struct Args {
    /// What to write, or - for standard output.
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// The format, whatever the name says.
    #[arg(long, value_parser = ["pcd", "ply", "pgm", "png"])]
    format: Option<String>,
    /// Write a .pcd as text.
    #[arg(long, conflicts_with = "compressed")]
    ascii: bool,
    /// Write a .pcd compressed.
    #[arg(long)]
    compressed: bool,
    /// Write over files that are there.
    #[arg(long)]
    force: bool,
}

impl Args {
    fn format(&self) -> Result<mapping::Format, Usage> {
        let shown = self.out.display();
        let ending = self.out.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let format = match self.format.clone().or(ending).as_deref() {
            Some("pcd") if self.ascii => mapping::Format::PcdAscii,
            Some("pcd") if self.compressed => mapping::Format::PcdCompressed,
            Some("pcd") => mapping::Format::Pcd,
            Some("ply") => mapping::Format::Ply,
            Some("pgm") => mapping::Format::Pgm,
            Some("png") => mapping::Format::Png,
            _ if is_standard(&self.out) => {
                return Err(Usage("standard output needs --format pcd, ply, pgm or png".into()));
            }
            _ => {
                let wanted = "wanted a name with .pcd, .ply, .pgm or .png, or --format";
                return Err(Usage(format!("{shown}: {wanted}")));
            }
        };
        let has_encodings = matches!(
            format,
            mapping::Format::Pcd | mapping::Format::PcdAscii | mapping::Format::PcdCompressed
        );
        match (self.ascii || self.compressed) && !has_encodings {
            true => Err(Usage("--ascii and --compressed are for .pcd".into())),
            false => Ok(format),
        }
    }

    /// The description beside a picture for map_server.
    fn yaml(&self, format: mapping::Format) -> Option<PathBuf> {
        let wanted = format == mapping::Format::Pgm && !is_standard(&self.out);
        wanted.then(|| self.out.with_extension("yaml"))
    }
}

fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

pub(super) fn run(args: &Args, daemon: &Daemon, json: bool) -> anyhow::Result<u8> {
    let format = args.format()?;
    let yaml = args.yaml(format);
    let force = args.force;
    if yaml.as_ref() == Some(&args.out) {
        return Err(Usage("a picture and its .yaml need two names".into()).into());
    }
    // A file that cannot be written needs no daemon.
    if !force {
        [Some(&args.out), yaml.as_ref()]
            .into_iter()
            .flatten()
            .try_for_each(|file| write::check_free(file))?;
    }
    let mut client = daemon.connect_for(Some(Capability::Mapping))?;
    let mut progress = Progress::new();
    progress.show("the daemon writes the map", None);
    let mut map = get(&mut client, daemon, format)?;
    progress.end();
    let length = map.length;
    let bytes = match &yaml {
        None => write::whole(&mut map, length, Some(&args.out), force)?,
        Some(yaml) => {
            let mut picture = Vec::new();
            map.take(MAX_PICTURE + 1).read_to_end(&mut picture)?;
            ensure!(picture.len() as u64 <= MAX_PICTURE, "the picture is over {MAX_PICTURE} bytes");
            let image = args.out.file_name().unwrap_or_default().to_string_lossy();
            let said = "the daemon sent no picture that says where it is";
            let description = pgm::yaml(&place(&picture).context(said)?, &image);
            let bytes = write::whole(&mut &*picture, length, Some(&args.out), force)?;
            write::whole(&mut description.as_bytes(), None, Some(yaml), force)?;
            bytes
        }
    };
    if is_standard(&args.out) {
        return Ok(DONE);
    }
    let beside = yaml.as_ref().map(|yaml| format!(" and {}", yaml.display())).unwrap_or_default();
    say(&format!("wrote the map to {}{beside}: {bytes} bytes", args.out.display()));
    if json {
        let mut said = json!({ "file": args.out, "format": format, "bytes": bytes });
        if let Some(yaml) = yaml {
            said["yaml"] = json!(yaml);
        }
        writeln!(std::io::stdout().lock(), "{}", printable_json(&said))?;
    }
    Ok(DONE)
}

fn get(
    client: &mut Client,
    daemon: &Daemon,
    format: mapping::Format,
) -> anyhow::Result<http::File> {
    let Some(robot) = client.choose(Capability::Mapping)? else {
        // The daemon says what is wrong.
        ask(client, &Request::Info)?;
        bail!("none of the robots, or more than one, makes maps");
    };
    let at = http::address(client)?;
    let path =
        format!("/api/v1/robots/{}/map?format={}", http::escaped(&robot.name), format.name());
    http::get(at, daemon.token(), &path)
}

/// Where a picture in grey is, by the comment in its head (`# resolution R origin X Y`), and how
/// large it is; its squares are not read.
fn place(picture: &[u8]) -> Option<Raster> {
    let head = &picture[..picture.len().min(MAX_HEAD)];
    let mut sizes = Vec::new();
    let (mut resolution, mut origin) = (None, None);
    let mut rest = head.strip_prefix(b"P5")?;
    // The width, the height and the brightest grey; comments stand between them.
    while sizes.len() < 3 {
        rest = rest.trim_ascii_start();
        if rest.first()? == &b'#' {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let comment = String::from_utf8_lossy(&rest[..end]);
            resolution = resolution.or(numbers_behind(&comment, "resolution"));
            origin = origin.or(numbers_behind(&comment, "origin"));
            rest = &rest[end..];
        } else {
            let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
            sizes.push(str::from_utf8(&rest[..end]).ok()?.parse::<usize>().ok()?);
            rest = &rest[end..];
        }
    }
    let [resolution] = resolution?;
    let fits = resolution > 0.0 && sizes[2] == 255;
    let (width, height) = (sizes[0], sizes[1]);
    fits.then_some(Raster { width, height, origin: origin?, resolution, squares: Vec::new() })
}

/// The numbers behind a word, whatever else stands around them.
fn numbers_behind<const N: usize>(text: &str, word: &str) -> Option<[f64; N]> {
    let (_, behind) = text.split_once(word)?;
    let is_of_number = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let mut words = behind.split(|c| !is_of_number(c)).filter(|word| !word.is_empty());
    let mut numbers = [0.0; N];
    for number in &mut numbers {
        *number = words.next()?.parse().ok().filter(|number: &f64| number.is_finite())?;
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &str) -> Option<(usize, usize, [f64; 2], f64)> {
        let raster = place(head.as_bytes())?;
        Some((raster.width, raster.height, raster.origin, raster.resolution))
    }

    #[test]
    fn a_picture_says_where_it_is() {
        let wanted = Some((3, 2, [-1.25, 4e-2], 0.05));
        for head in [
            "P5\n# resolution 0.05 origin -1.25 0.04\n3 2\n255\n......",
            "P5 3 2\n# resolution: 0.05\n# origin: [-1.25, 4e-2, 0]\n255\n",
            "P5\n# made here\n# origin=-1.25,0.04 resolution=5e-2\n3\n2 255 ",
        ] {
            assert_eq!(read(head), wanted, "{head:?}");
        }
    }

    #[test]
    fn no_other_bytes_are_taken_for_a_place() {
        let whole = "P5\n# resolution 0.05 origin -1.25 0.04\n3 2\n255\n";
        for cut in 0..whole.len() - 1 {
            assert_eq!(read(&whole[..cut]), None, "{cut}");
        }
        for (from, to) in [
            ("P5", "P2"),
            ("0.05", "nan"),
            ("0.05", "0"),
            ("0.05", "-1"),
            ("0.04", "inf"),
            ("-1.25", ""),
            ("255", "65535"),
            ("3 2", "3 99999999999999999999999"),
            ("3 2", "-3 2"),
            ("origin", "from"),
        ] {
            assert_eq!(read(&whole.replace(from, to)), None, "{from} as {to}");
        }
    }

    #[test]
    fn the_name_or_the_flag_says_the_format() {
        let args = |out: &str, format: Option<&str>| Args {
            out: out.into(),
            format: format.map(Into::into),
            ascii: false,
            compressed: false,
            force: false,
        };
        let format = |args: Args| args.format().map(mapping::Format::name).map_err(|error| error.0);
        assert_eq!(format(args("a.PCD", None)).as_deref(), Ok("pcd"));
        assert_eq!(format(args("a.pgm", None)).as_deref(), Ok("pgm"));
        assert_eq!(format(args("a.txt", Some("ply"))).as_deref(), Ok("ply"));
        assert_eq!(format(args("-", Some("png"))).as_deref(), Ok("png"));
        let text = Args { ascii: true, ..args("a.pcd", None) };
        assert_eq!(format(text).as_deref(), Ok("pcd-ascii"));
        let packed = Args { compressed: true, ..args("a.pcd", None) };
        assert_eq!(format(packed).as_deref(), Ok("pcd-compressed"));
        for wrong in [args("a", None), args("a.xyz", None), args("-", None)] {
            assert!(format(wrong).is_err_and(|said| said.contains("pcd, ply, pgm or png")
                || said.contains(".pcd, .ply, .pgm or .png")));
        }
        assert!(format(Args { ascii: true, ..args("a.ply", None) }).is_err());
    }
}
