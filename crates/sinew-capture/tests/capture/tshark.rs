//! Agreement with tshark, where it is installed.

use std::{collections::BTreeMap, fs, process::Command};

use crate::{
    inspect,
    write::{self, Ends, Stamped, back},
};

/// On ports that tshark knows nothing about.
const ENDS: Ends = ((10, 41_000), (3, 41_001));

/// How many frames tshark takes for what, by the last protocol that it names; none without tshark.
fn tshark(file: &[u8]) -> Option<BTreeMap<String, u64>> {
    let directory = std::env::temp_dir();
    let path = directory.join(format!("sinew-capture-{}-{}.pcap", std::process::id(), file.len()));
    fs::write(&path, file).unwrap();
    let output = Command::new("tshark")
        .args(["-n", "-T", "fields", "-e", "frame.protocols", "-r"])
        .arg(&path)
        .output();
    fs::remove_file(&path).unwrap();
    let Ok(output) = output else {
        println!("skipped: tshark is not installed (apt-get install tshark)");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut counts = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let name = line.rsplit(':').next().unwrap_or_default();
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    Some(counts)
}

fn ours(file: &[u8]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for flow in &inspect(file).flows {
        *counts.entry(flow.protocol.name().to_owned()).or_default() += flow.packets;
    }
    counts
}

#[test]
fn tshark_sees_the_same() {
    let mut random = fastrand::Rng::with_seed(3);
    let stun = [&[0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42][..], &[5; 12]].concat();
    let mut packets: Vec<Stamped> = Vec::new();
    for number in 0..200 {
        let record = write::record(&mut random, number, 44);
        packets.push((number * 1000, write::ethernet(0x0800, &write::udp(ENDS, &record))));
        if number % 4 == 0 {
            packets.push((number * 1000, write::ethernet(0x0800, &write::udp(back(ENDS), &stun))));
        }
        let six = write::ipv6_udp(((1, 9000), (2, 9001)), &record);
        packets.push((number * 1000, write::ethernet(0x86DD, &six)));
    }
    for file in [write::pcap(1, &packets), write::pcapng(1, &packets)] {
        let Some(theirs) = tshark(&file) else { return };
        let ours = ours(&file);
        assert_eq!(theirs["dtls"], ours["dtls"], "{theirs:?}");
        assert_eq!(theirs["stun"], ours["stun"], "{theirs:?}");
        assert_eq!(theirs.values().sum::<u64>(), ours.values().sum::<u64>());
    }
}

#[test]
fn tshark_sees_as_many_in_a_file_that_is_cut_off() {
    let mut random = fastrand::Rng::with_seed(3);
    let packets: Vec<_> =
        (0..20).map(|n| (n, write::udp(ENDS, &write::record(&mut random, n, 44)))).collect();
    let file = write::pcap(101, &packets);
    let report = inspect(&file[..file.len() - 30]);
    assert_eq!(report.packets, 19);
    let path = std::env::temp_dir().join(format!("sinew-capture-cut-{}.pcap", std::process::id()));
    fs::write(&path, &file[..file.len() - 30]).unwrap();
    let output = Command::new("tshark").args(["-n", "-r"]).arg(&path).output();
    fs::remove_file(&path).unwrap();
    match output {
        Err(_) => println!("skipped: tshark is not installed (apt-get install tshark)"),
        Ok(output) => {
            assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 19);
        }
    }
}
