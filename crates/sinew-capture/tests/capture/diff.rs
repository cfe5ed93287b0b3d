//! Two captures beside each other.

use std::{fmt::Write, io::Cursor};

use serde_json::Value;
use sinew_capture::{Analysis, Capture, Diff, Filter, Page, Profile, Report};
use sinew_wire::{
    gd32,
    teach::{Layout, Message, Sequence},
};

use crate::write::{self, Ends, Stamped, back};

fn read(name: &str, file: &[u8]) -> (String, Report, Profile) {
    let mut capture = Capture::open(Cursor::new(file.to_vec())).unwrap();
    let (mut analysis, mut profile) = (Analysis::new(Filter::default()), Profile::new());
    while let Some(record) = capture.next_record() {
        analysis.take(&record, |sight| profile.take(sight));
    }
    let report = analysis.finish(&capture, |sight| profile.take(sight));
    (name.into(), report, profile)
}

fn diff(a: &[u8], b: &[u8]) -> Diff {
    Diff::new(read("a", a), read("b", b))
}

fn json(diff: &Diff) -> Value {
    serde_json::from_str(&diff.json_parts().collect::<String>()).unwrap()
}

fn line(time: u64, from: &str, command: u8, payload: &[u8]) -> String {
    let frame = gd32::FrameBuf::new(command, payload).unwrap();
    let hex: Vec<String> = frame.as_bytes().iter().map(|byte| format!("{byte:02X}")).collect();
    format!("{time},{from},{}\n", hex.join(" "))
}

/// A log in which a velocity is sent every 20 ms and something else now and then.
fn log(speed: i32, every: u64, more: Option<u8>) -> Vec<u8> {
    let mut log = String::new();
    for number in 0..200_u64 {
        let payload = [speed.to_le_bytes(), 0_i32.to_le_bytes()].concat();
        log.push_str(&line(number * every, "TX", 0x66, &payload));
        if number % 10 == 0 {
            log.push_str(&line(number * every + 1, "RX", 0x15, &[3; 96]));
            more.iter().for_each(|more| log.push_str(&line(number * every + 2, "TX", *more, &[1])));
        }
    }
    log.into_bytes()
}

#[test]
fn a_capture_does_not_differ_from_itself() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut packets: Vec<Stamped> = Vec::new();
    for number in 0..500 {
        let record = write::record(&mut random, number, 44);
        packets.push((number * 1000, write::udp(write::ENDS, &record)));
        let noise: Vec<u8> = (0..30).map(|_| random.u8(..)).collect();
        packets.push((number * 1000, write::udp(((1, number as u16), (2, 53)), &noise)));
        packets.push((number * 1000, write::tcp(((1, 9), (2, 4444)), &noise)));
    }
    for file in [write::pcap(101, &packets), log(200, 20_000, Some(0x68))] {
        let diff = diff(&file, &file);
        assert!(diff.is_same(), "{diff:#?}");
        let json = json(&diff);
        assert_eq!(json["same"], true);
        assert!(json["messages"].as_array().unwrap().iter().all(|one| one["change"] == "same"));
    }
}

#[test]
fn the_byte_that_changed_is_found_and_named() {
    let diff = diff(&log(200, 20_000, None), &log(300, 20_000, None));
    assert!(!diff.is_same());
    let json = json(&diff);
    assert_eq!(json["flows"][0]["change"], "changed");
    let changed: Vec<_> = json["messages"].as_array().unwrap().iter().collect();
    let velocity = changed.iter().find(|message| message["id"] == 0x66).unwrap();
    assert_eq!(
        (&velocity["change"], &velocity["name"]),
        (&"changed".into(), &"Motor Velocity".into())
    );
    assert_eq!(velocity["changes"], serde_json::json!([]));
    // 200 is C8 00, 300 is 2C 01; the check follows.
    let bytes = velocity["bytes"].as_array().unwrap();
    assert_eq!(
        (&bytes[0]["at"], &bytes[0]["a"]["values"][0], &bytes[0]["b"]["values"][0]),
        (&4.into(), &0xC8.into(), &0x2C.into())
    );
    assert_eq!(
        (&bytes[1]["at"], &bytes[1]["a"]["values"][0], &bytes[1]["b"]["values"][0]),
        (&5.into(), &0.into(), &1.into())
    );
    assert_eq!(bytes[0]["field"], "linear");
    assert!(bytes[2..].iter().all(|byte| byte["field"] == "check"), "{bytes:?}");
    let status = changed.iter().find(|message| message["id"] == 0x15).unwrap();
    assert_eq!((&status["change"], &status["from"]), (&"same".into(), &1.into()));
}

#[test]
fn commands_that_are_new_or_gone_or_come_at_another_rate_are_told() {
    let (slow, fast) = (log(200, 40_000, None), log(200, 20_000, Some(0x68)));
    let there = json(&diff(&slow, &fast));
    let of = |json: &Value, id: u8| {
        json["messages"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap().clone()
    };
    assert_eq!(of(&there, 0x68)["change"], "new");
    assert_eq!(of(&there, 0x68)["a"], Value::Null);
    assert_eq!(of(&there, 0x68)["b"]["count"], 20);
    let velocity = of(&there, 0x66);
    assert_eq!(velocity["change"], "changed");
    assert!(velocity["changes"][0].as_str().unwrap().starts_with("rate 25."), "{velocity}");
    assert_eq!(velocity["bytes"], serde_json::json!([]));
    assert_eq!(of(&json(&diff(&fast, &slow)), 0x68)["change"], "gone");
    // A silence at the end, behind which one more message comes, is no other rate.
    let idle = [slow.clone(), line(900_000_000, "RX", 0x15, &[3; 96]).into_bytes()].concat();
    let told = json(&diff(&slow, &idle));
    assert_eq!(told["same"], true, "{told}");
    // Twice as long at the same rate is no difference.
    let long = [
        fast.clone(),
        String::from_utf8(fast.clone())
            .unwrap()
            .lines()
            .fold(String::new(), |mut all, line| {
                let (time, rest) = line.split_once(',').unwrap();
                writeln!(all, "{},{rest}", time.parse::<u64>().unwrap() + 4_000_000).unwrap();
                all
            })
            .into_bytes(),
    ]
    .concat();
    let same = diff(&fast, &long);
    assert!(same.is_same(), "{}", json(&same));
}

/// A client asks a robot for its list, and is answered.
fn session(ends: Ends, layout: Layout) -> Vec<u8> {
    let mut packets: Vec<Stamped> = Vec::new();
    for number in 0..40_u16 {
        let ask = Message::ListRequest { rest: &[] }.to_vec(layout, Sequence(number)).unwrap();
        let ready = Message::Ready { ready: 1, rest: &[] };
        let answer = ready.to_vec(layout, Sequence(number + 1)).unwrap();
        packets.push((u64::from(number) * 10_000, write::udp(ends, &ask)));
        packets.push((u64::from(number) * 10_000 + 900, write::udp(back(ends), &answer)));
    }
    write::pcap(101, &packets)
}

#[test]
fn a_sessions_own_port_and_address_do_not_matter() {
    let layout = Layout::Documented;
    let first = session(((10, 41_000), (3, 49_504)), layout);
    for ends in [
        ((10, 52_111), (3, 49_504)),
        ((77, 52_111), (3, 49_504)),
        ((77, 1), (78, 49_504)),
        ((5, 2), (6, 7)),
    ] {
        let diff = diff(&first, &session(ends, layout));
        assert!(diff.is_same(), "{ends:?}: {}", json(&diff));
        assert_eq!(diff.flows.len(), 1);
    }
    // The one that answers may send first.
    let turned = diff(&first, &session(back(((3, 49_504), (10, 41_000))), Layout::Documented));
    assert!(turned.is_same());
    let compact = json(&diff(&first, &session(((10, 41_000), (3, 49_504)), Layout::Compact)));
    let ask = &compact["messages"][0];
    assert_eq!(ask["changes"][0], "size 63 -> 57", "{ask}");
}

#[test]
fn flows_that_only_one_has_are_new_or_gone() {
    let layout = Layout::Documented;
    let teach = session(((10, 41_000), (3, 49_504)), layout);
    let serial = log(1, 1000, None);
    let json = json(&diff(&teach, &serial));
    let flows: Vec<_> = json["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| (flow["protocol"].as_str().unwrap(), flow["change"].as_str().unwrap()))
        .collect();
    assert_eq!(flows, [("teach", "gone"), ("gd32", "new")]);
    assert_eq!(json["flows"][0]["a"]["verdict"], "teaching_datagrams");
    assert_eq!(json["flows"][1]["ends"], serde_json::json!(["host", "device"]));
}

#[test]
fn many_flows_of_one_service_are_one_and_memory_is_bounded() {
    let mut random = fastrand::Rng::with_seed(8);
    let mut scan = |from: u16| {
        let packets: Vec<Stamped> = (0..40_000_u32)
            .map(|n| {
                let noise: Vec<u8> = (0..64).map(|_| random.u8(..)).collect();
                let ends = ((10, from.wrapping_add(n as u16)), ((n >> 12) as u8, 53));
                (u64::from(n), write::udp(ends, &noise))
            })
            .collect();
        write::pcap(101, &packets)
    };
    let diff = diff(&scan(0), &scan(999));
    assert!(diff.flows.len() < 30, "{}", diff.flows.len());
    assert!(diff.notes.iter().any(|note| note.contains("beyond the limit")), "{:?}", diff.notes);
}

#[test]
fn the_page_shows_it_and_nothing_in_it_is_markup() {
    let mut page = Page::new();
    let (a, b) = (log(200, 20_000, None), log(300, 20_000, Some(0x68)));
    page.add_diff(&Diff::new(read("<script>a", &a), read("b", &b)));
    let page = page.finish();
    assert!(!page.contains("<script"), "{page}");
    for words in [
        "&lt;script&gt;a",
        "Motor Velocity",
        "<td>linear</td><td>C8</td><td>2C</td>",
        "new: 20 times",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let mut page = Page::new();
    page.add_diff(&diff(&a, &a));
    assert!(page.finish().contains("No difference"));
}
