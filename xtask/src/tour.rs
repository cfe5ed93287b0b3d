//! A guided tour of `sinew decode` and `sinew encode`.

use std::{
    env, fs,
    io::{self, Write},
    path::Path,
    process::{self, Command},
};

use serde_json::Value;

use crate::tools::{Failure, cargo, root, succeed, target_dir};

/// Longest hex that is shown whole.
const SHOWN_DIGITS: usize = 64;

/// A command of the tour, and what to make of it.
struct Stop {
    says: &'static str,
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::Usage(format!("tour takes no {argument}")));
    }
    succeed(&mut cargo(["build", "--release", "--quiet", "-p", "sinew"]))?;
    let sinew = target_dir().join("release/sinew");
    let directory = env::temp_dir().join(format!("sinew-tour-{}", process::id()));
    let tour = tour(&directory).and_then(|stops| walk(&sinew, &directory, &stops));
    // What is left in the temporary directory does no harm, and the tour's own error matters more.
    let _ = fs::remove_dir_all(&directory);
    match tour {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| Failure::Task(format!("the tour ended early: {error}"))),
    }
}

fn tour(directory: &Path) -> io::Result<Vec<Stop>> {
    fs::create_dir_all(directory)?;
    for (file, vectors, name) in [
        ("g1_slam.bin", "slam.json", "packed, 7 points (not a multiple of 12)"),
        ("go2_voxel.bin", "voxel.json", "five cells"),
    ] {
        fs::write(directory.join(file), bytes(&vector(vectors, name, "message")?))?;
    }
    let velocity = vector("gd32.json", "velocity 0.2 m/s, 0 rad/s", "frame")?;
    let heartbeat = "fafb03060006";
    let stream = format!("{velocity}00fafb0201{heartbeat}");
    let save = vector("teach.json", "save wave", "documented")?;
    let list = vector("teach.json", "list request", "compact")?;
    // Type, version, epoch 1, a sequence number that ends in "command" 0x0D, 44 encrypted bytes.
    let record = format!("17fefd0001000000012a0d002c{}", "5a3c96e1".repeat(11));
    let stop = |says, arguments: &[&str]| Stop {
        says,
        arguments: arguments.iter().map(|argument| argument.to_string()).collect(),
    };
    Ok(vec![
        stop("A frame to the vacuum's motor controller: drive at 0.2 m/s.", &["decode", &velocity]),
        stop(
            "A serial stream: rubbish between two frames is found, counted and stepped over.",
            &["decode", &stream],
        ),
        stop(
            "A G1's teaching datagram in the documented layout: store an action called wave.",
            &["decode", &save],
        ),
        stop("The compact layout of the same protocol: ask for the actions.", &["decode", &list]),
        stop(
            "What captures hold instead: an encrypted DTLS record that looks like the above.",
            &["decode", &record],
        ),
        stop(
            "A G1's SLAM cloud from a file, with the reading that its data speaks for.",
            &["decode", "@g1_slam.bin"],
        ),
        stop(
            "A GO2's voxel map: the same envelope, another format, here with its points.",
            &["decode", "--points", "@go2_voxel.bin"],
        ),
        stop(
            "The other way: the bytes that drive the vacuum at 0.2 m/s.",
            &["encode", "gd32", "velocity", "--linear", "0.2", "--angular", "0"],
        ),
        stop(
            "And those that start a recording on a G1.",
            &["encode", "teach", "record", "--start", "--layout", "compact"],
        ),
    ])
}

fn walk(sinew: &Path, directory: &Path, stops: &[Stop]) -> io::Result<()> {
    for Stop { says, arguments } in stops {
        let shown: Vec<_> = arguments.iter().map(|argument| shortened(argument)).collect();
        let mut out = io::stdout().lock();
        writeln!(out, "# {says}\n$ sinew {}", shown.join(" "))?;
        out.flush()?;
        // `decode` exits with 1 when there is rubbish, which is what the tour shows.
        let status = Command::new(sinew).args(arguments).current_dir(directory).status()?;
        if !matches!(status.code(), Some(0 | 1)) {
            return Err(io::Error::other(format!("sinew {}: {status}", arguments.join(" "))));
        }
        writeln!(out)?;
    }
    Ok(())
}

fn shortened(argument: &str) -> String {
    match argument.split_at_checked(SHOWN_DIGITS) {
        Some((start, rest)) if !rest.is_empty() => {
            format!("{start}… ({} bytes)", argument.len() / 2)
        }
        _ => argument.into(),
    }
}

/// A member of a named vector.
fn vector(file: &str, name: &str, member: &str) -> io::Result<String> {
    let text = fs::read_to_string(root().join("vectors").join(file))?;
    let vectors: Vec<Value> = serde_json::from_str(&text)?;
    let named = vectors.iter().find(|vector| vector["name"] == name);
    let found = named.and_then(|vector| vector[member].as_str()).map(String::from);
    found.ok_or_else(|| io::Error::other(format!("vectors/{file} has no {name} with a {member}")))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    let pairs = hex.as_bytes().as_chunks::<2>().0;
    pairs.iter().map(|&[high, low]| digit(high) << 4 | digit(low)).collect()
}

#[cfg(test)]
mod tests {
    use super::{bytes, shortened, vector};

    #[test]
    fn vectors_of_the_tour_are_found_by_name() {
        let frame = vector("gd32.json", "velocity 0.2 m/s, 0 rad/s", "frame");
        assert_eq!(frame.ok().as_deref(), Some("fafb0b66c80000000000000066c8"));
        for (file, name, member) in [
            ("teach.json", "save wave", "documented"),
            ("teach.json", "list request", "compact"),
            ("slam.json", "packed, 7 points (not a multiple of 12)", "message"),
            ("voxel.json", "five cells", "message"),
        ] {
            assert!(vector(file, name, member).is_ok(), "{file}: {name}");
        }
        assert!(vector("gd32.json", "no such name", "frame").is_err());
    }

    #[test]
    fn hex_is_decoded_and_long_hex_is_cut_for_show() {
        assert_eq!(bytes("00fAfb17"), [0x00, 0xFA, 0xFB, 0x17]);
        assert_eq!(shortened("decode"), "decode");
        assert_eq!(shortened(&"ab".repeat(32)), "ab".repeat(32));
        assert_eq!(shortened(&"ab".repeat(33)), format!("{}… (33 bytes)", "ab".repeat(32)));
    }
}
