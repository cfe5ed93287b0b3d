//! Connections that say nothing, or nothing that makes sense: they come and go without a trace.

use std::{
    cell::RefCell,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::{
    attackers::{Attack, connect_from},
    clients::{Lines, Prefixed, Socket, auth, connect, control, drive, post, stop},
    line::Line,
    namespace::{HERE, add_addresses, inside},
    support::{
        CONTROL_TOKEN, DEADLINE, Dir, FORWARD, READ_TOKEN, Record, Rig, STILL, serve, simulator,
        sinew_with_descriptors, until,
    },
    track::{PROMPT, Track},
};

/// More than the daemon has seats for.
const CROWD: usize = 4_200;
/// Seats for strangers of one address, and for silent clients of 5555.
const SEATS: usize = 64;
/// How long a stranger may stay.
const STAY: Duration = Duration::from_secs(5);
/// What the daemon may have in memory, whatever strangers send.
const MEMORY: u64 = 80_000_000;

/// Lets this process, and the daemon that it starts, have a socket for everybody in a crowd.
fn raise_file_limit() -> bool {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let enough = limit.maximum.is_none_or(|most| most > 2 * CROWD as u64);
    if !enough {
        eprintln!("skipped: a crowd of {CROWD} needs more descriptors than {:?}", limit.maximum);
    }
    enough
}

fn parse(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

/// Whether the daemon has closed the connection; what it sent before is forgotten.
fn is_closed(socket: &TcpStream) -> bool {
    socket.set_nonblocking(true).unwrap();
    let mut buffer = [0; 4096];
    loop {
        match (&*socket).read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(_) => return true,
        }
    }
}

fn open_ones(sockets: &[TcpStream]) -> usize {
    sockets.iter().filter(|socket| !is_closed(socket)).count()
}

/// Connections of one address to all ports: silent ones, and some that began to say something.
fn crowd(track: &Track, from: Ipv4Addr, count: usize) -> Vec<TcpStream> {
    let target = track.target(None);
    let open = |number: usize| {
        let (address, words) = target.half_said(number);
        let mut socket = connect_from(from, address).ok()?;
        // It may be closed already, to make room for those after it.
        let _ = socket.write_all(words);
        Some(socket)
    };
    (0..count).filter_map(open).collect()
}

#[test]
fn a_crowd_of_one_address_keeps_none_from_stopping_and_driving() {
    if !raise_file_limit() {
        return;
    }
    // Also when it comes from the same address as the others.
    for from in [[127, 0, 0, 1], [127, 0, 1, 1]] {
        let track = Track::start();
        let driver = track.drive(50);
        let crowd = crowd(&track, from.into(), CROWD);
        assert!(crowd.len() > CROWD * 9 / 10, "{} came in", crowd.len());
        let begin = Instant::now();
        let took = track.time_to_stand(|| {
            let mut client = Lines::connect(track.address("lines"));
            client.send(&stop().to_string());
            client.ok(json!({ "type": "Robots" }));
        });
        assert!(took < Duration::from_secs(1), "{took:?}");
        track.drive_on(&driver);
        let server = ["--server", track.address("lines")];
        crate::support::run(&track.dir, &[&["stop"], &server[..]].concat()).ok();
        drop(driver);
        let _another = track.drive(50);
        // Not because they had been sent away: it is too early for that.
        assert!(begin.elapsed() < STAY, "{:?}", begin.elapsed());
        let resident = track.daemon.resident();
        assert!(resident < MEMORY, "{resident} bytes");
        drop(crowd);
    }
}

#[test]
fn a_crowd_of_many_addresses_keeps_none_from_stopping() {
    if !raise_file_limit() {
        return;
    }
    let track = Track::start();
    let driver = track.drive(50);
    let crowd = Attack::strangers(&track.target(None), CROWD);
    until("the crowd", || (crowd.strokes() > CROWD as u64).then_some(()));
    for round in 0..5 {
        let took = track.time_to_stand(|| {
            let mut client = Lines::connect(track.address("lines"));
            client.send(&stop().to_string());
            assert_eq!(client.ask(json!({ "type": "Robots" }))["type"], "Reply");
        });
        assert!(took < Duration::from_secs(1), "round {round}: {took:?}");
        track.drive_on(&driver);
    }
    let server = ["--server", track.address("lines")];
    crate::support::run(&track.dir, &[&["stop"], &server[..]].concat()).ok();
    let resident = track.daemon.resident();
    assert!(resident < MEMORY, "{resident} bytes");
}

#[test]
fn clients_that_have_all_seats_keep_none_from_stopping() {
    if !raise_file_limit() {
        return;
    }
    let track = Track::start();
    let driver = track.drive(50);
    let lines = parse(track.address("lines"));
    let sit = |number: usize| {
        let from = Ipv4Addr::new(127, 0, 1, 1 + (number % 100) as u8);
        let mut socket = connect_from(from, lines).ok()?;
        socket.write_all(b"{\"type\":\"Robots\"}\n").ok()?;
        Some(socket)
    };
    let seated: Vec<_> = (0..CROWD).filter_map(sit).collect();
    assert!(seated.len() > CROWD * 9 / 10, "{} came in", seated.len());
    for port in ["lines", "tcp"] {
        let took = track.time_to_stand(|| {
            let mut client = connect(track.address(port));
            client.write_all(b"{\"type\":\"Stop\"}\n").unwrap();
            let _ = client.read(&mut [0]);
        });
        assert!(took < Duration::from_secs(1), "{port}: {took:?}");
        track.drive_on(&driver);
    }
    let took = track.time_to_stand(|| {
        let (status, answer) = post(track.address("http"), "", &stop());
        assert_eq!(status, 200, "{answer}");
    });
    assert!(took < Duration::from_secs(1), "POST: {took:?}");
    track.drive_on(&driver);
    let server = ["--server", track.address("lines")];
    crate::support::run(&track.dir, &[&["stop"], &server[..]].concat()).ok();
    track.assert_stands(10);
}

/// Connections of all kinds without a valid first message.
fn strangers(rig: &Rig) -> Vec<(&'static str, TcpStream)> {
    let (tcp, lines, http) = (rig.address("tcp"), rig.address("lines"), rig.address("http"));
    let began: [(&str, &str, &[u8]); 8] = [
        ("silent lines", lines, b""),
        ("half a line", lines, b"{\"type\":\"Robots\""),
        ("lines that are not JSON", lines, b"hello\nworld\n"),
        ("an unknown command", lines, b"{\"type\":\"Fly\"}\n"),
        ("half a line on 5555", tcp, b"{\"type\":"),
        ("half a message on 5555", tcp, b"\0\0\0\x20{\"type\":"),
        ("silent HTTP", http, b""),
        ("half a request", http, b"GET /api/v1/robots HTTP/1.1\r\nHost: "),
    ];
    let open = |(what, address, bytes): (_, _, &[u8])| {
        let mut socket = connect(address);
        socket.write_all(bytes).unwrap();
        (what, socket)
    };
    began.into_iter().map(open).collect()
}

#[test]
fn strangers_are_sent_away_after_five_seconds_and_others_stay() {
    let rig = Rig::start();
    let mut known = rig.lines();
    known.ok(json!({ "type": "Robots" }));
    let mut page = Socket::connect(rig.address("http"));
    page.ok(json!({ "type": "Robots" }));
    // A client of document 003 may listen without a word.
    let mut listener = rig.prefixed();
    let mut waiting = strangers(&rig);
    let mut slow = connect(rig.address("lines"));
    let begin = Instant::now();
    let mut text = "{\"type\":\"Robots\"".bytes();
    let mut written = begin;
    while !waiting.is_empty() || !is_closed(&slow) {
        waiting.retain(|(what, socket)| {
            let closed = is_closed(socket);
            let stayed = begin.elapsed();
            assert!(!closed || stayed > STAY - Duration::from_secs(1), "{what}: {stayed:?}");
            !closed
        });
        // One that says a little now and then is not spared.
        if written.elapsed() > Duration::from_millis(400)
            && let Some(byte) = text.next()
        {
            let _ = slow.write(&[byte]);
            written = Instant::now();
        }
        let left = || waiting.iter().map(|(what, _)| *what).collect::<Vec<_>>();
        assert!(begin.elapsed() < STAY * 2, "still there: {:?}, or the slow one", left());
        std::thread::sleep(Duration::from_millis(20));
    }
    known.ok(json!({ "type": "Robots" }));
    page.ok(json!({ "type": "Robots" }));
    // All that came so far, and then the next.
    for _ in 0..20 {
        listener.next_of("sensors/gd32_status");
    }
    listener.send(br#"{"type":"Robots","req":1}"#);
    assert_eq!(listener.next_of("reply")["ok"], true);
}

#[test]
fn the_oldest_stranger_of_an_address_makes_room() {
    let rig = Rig::start();
    let lines = parse(rig.address("lines"));
    let open = |from: [u8; 4]| connect_from(from.into(), lines).unwrap();
    let begin = Instant::now();
    let other = open([127, 0, 2, 2]);
    let many: Vec<_> = (0..SEATS + 20).map(|_| open([127, 0, 2, 1])).collect();
    until("twenty to make room", || (open_ones(&many) <= SEATS).then_some(()));
    assert!(begin.elapsed() < STAY, "{:?}", begin.elapsed());
    let closed: Vec<_> = many.iter().map(is_closed).collect();
    let wanted: Vec<_> = (0..SEATS + 20).map(|number| number < 20).collect();
    assert_eq!(closed, wanted);
    assert!(!is_closed(&other), "another address has its own");
    // Those that said who they are are not strangers.
    let known: Vec<_> = (0..SEATS + 20)
        .map(|_| {
            let mut client = rig.lines();
            client.ok(json!({ "type": "Robots" }));
            client
        })
        .collect();
    for mut client in known {
        client.ok(json!({ "type": "Robots" }));
    }
}

#[test]
fn silent_clients_of_5555_have_a_pool() {
    let rig = Rig::start();
    let begin = Instant::now();
    let mut some: Vec<_> = (0..SEATS / 2).map(|_| rig.prefixed()).collect();
    for client in &mut some {
        client.next_of("sensors/gd32_status");
    }
    let tcp = parse(rig.address("tcp"));
    let many: Vec<_> =
        (0..2 * SEATS).map(|_| connect_from([127, 0, 2, 1].into(), tcp).unwrap()).collect();
    until("the strangers' time", || (begin.elapsed() > STAY + STAY / 2).then_some(()));
    let alive = |client: &mut Prefixed| {
        client.send(br#"{"type":"Robots","req":1}"#);
        client.try_next_of("reply").is_some()
    };
    let left = open_ones(&many);
    assert!(left <= SEATS, "{left} of {} are there", many.len());
    assert!(left >= SEATS / 2, "{left} of {} are there", many.len());
    // Who comes after them is served, and so is who commands.
    rig.prefixed().next_of("sensors/gd32_status");
    assert!(alive(&mut rig.prefixed()));
    rig.lines().ok(stop());
}

/// Clients that are known, until no more are served.
fn fill(address: &str) -> Vec<Lines> {
    let mut clients = Vec::new();
    for _ in 0..200 {
        let mut socket = connect(address);
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let _ = socket.write_all(b"{\"type\":\"Robots\",\"req\":0}\n");
        let mut byte = [0];
        if socket.read(&mut byte).is_ok_and(|count| count == 1) {
            socket.set_read_timeout(Some(DEADLINE)).unwrap();
            let mut client = Lines::from(socket);
            client.skip_line();
            clients.push(client);
        } else {
            break;
        }
    }
    clients
}

#[test]
fn with_few_descriptors_a_robot_comes_back_and_can_be_stopped() {
    let dir = Dir::new();
    let sim = simulator(&dir);
    let link = format!("serial:{}", dir.join("port").display());
    let more = ["--record", "record.csv", "--deadman-ms", "2000"];
    let (daemon, ready) = serve(sinew_with_descriptors(&dir, 96), &link, &more);
    let record = RefCell::new(Record::open(&dir.join("record.csv")));
    let mut rig = Rig { daemon, sim, ready, record, dir };
    rig.wait_ready();
    let mut clients = fill(rig.address("lines"));
    assert!(clients.len() > 20, "{} clients", clients.len());

    rig.sim.kill();
    let state = |client: &mut Lines| {
        client.ok(json!({ "type": "Robots" }))["robots"][0]["link"]["state"].clone()
    };
    until("the loss", || (state(&mut clients[0]) == "disconnected").then_some(()));
    // The descriptors of the robot are not for others, however long it is away.
    clients.extend(fill(rig.address("lines")));
    rig.sim = simulator(&rig.dir);
    until("the robot to come back", || (state(&mut clients[0]) == "ready").then_some(()));

    for _ in 0..3 {
        let mark = rig.mark();
        clients[0].ok(control("drive", "Enable"));
        clients[0].ok(drive(0.2));
        let driving = rig.await_frame(mark, FORWARD);
        rig.cli(&["stop"]).wait().ok();
        rig.await_frame(driving, STILL);
        clients[0].fails(drive(0.2), "not_ready");
    }
}

#[test]
fn before_a_token_four_kibibytes_are_enough() {
    inside("strangers::before_a_token_four_kibibytes_are_enough", || {
        add_addresses(0);
        let any = format!("{HERE}:0");
        let ports = ["--lines", &any, "--tcp", &any, "--http", &any];
        let track = Track::on(Line::start(110).unwrap(), &ports);
        for (port, start) in [("lines", &b"{\"x\":\""[..]), ("tcp", b"{\"x\":\"")] {
            let begin = Instant::now();
            let mut socket = connect(track.address(port));
            socket.write_all(start).unwrap();
            let _ = socket.write_all(&[b'x'; 5_000]);
            until("the end of a stranger", || is_closed(&socket).then_some(()));
            assert!(begin.elapsed() < Duration::from_secs(2), "{port}: {:?}", begin.elapsed());
        }
        let begin = Instant::now();
        let mut old = connect(track.address("tcp"));
        old.write_all(&5_000u32.to_be_bytes()).unwrap();
        let _ = old.write_all(&[b'x'; 5_000]);
        until("the end of a stranger", || is_closed(&old).then_some(()));
        assert!(begin.elapsed() < Duration::from_secs(2), "5555: {:?}", begin.elapsed());

        // A handshake shows no token.
        let begin = Instant::now();
        let page = Socket::connect(track.address("http"));
        until("the end of a page", || is_closed(&page.0).then_some(()));
        let stayed = begin.elapsed();
        assert!((STAY / 2..STAY * 2).contains(&stayed), "{stayed:?}");

        // With a token there is more room, and Auth fits into what there was before.
        let mut client = Lines::connect(track.address("lines"));
        client.ok(auth(READ_TOKEN));
        let name = "x".repeat(50_000);
        client.fails(json!({ "type": "Robots", "x": name }), "invalid_argument");
    });
}

#[test]
fn what_strangers_leave_unfinished_takes_no_memory() {
    inside("strangers::what_strangers_leave_unfinished_takes_no_memory", || {
        add_addresses(20);
        let any = format!("{HERE}:0");
        let ports = ["--lines", &any, "--tcp", &any, "--http", &any];
        let track = Track::on(Line::start(110).unwrap(), &ports);
        let driver = track.drive(50);
        let addresses = ["tcp", "lines", "http"].map(|port| parse(track.address(port)));
        let mut resident = 0;
        let mut sockets = Vec::new();
        for number in 0..400 {
            let from = Ipv4Addr::new(10, 77, 1, 1 + (number % 20) as u8);
            let Ok(mut socket) = connect_from(from, addresses[number % 2]) else { continue };
            let _ = socket.write_all(&[&b"{\"x\":\""[..], &[b'x'; 1_000_000]].concat());
            sockets.push(socket);
            resident = resident.max(track.daemon.resident());
        }
        assert!(resident < MEMORY, "{resident} bytes");
        let mut stopper = track.lines();
        let took = track.time_to_stand(|| stopper.send(&stop().to_string()));
        assert!(took < PROMPT, "{took:?}");
        drop(driver);
        until("the end of them all", || (open_ones(&sockets) == 0).then_some(()));
    });
}

#[test]
fn floods_of_strangers_do_not_delay_a_stop() {
    inside("strangers::floods_of_strangers_do_not_delay_a_stop", || {
        add_addresses(0);
        let any = format!("{HERE}:0");
        let ports = ["--lines", &any, "--tcp", &any, "--http", &any];
        let track = Track::on(Line::start(110).unwrap(), &ports);
        let driver = track.drive(50);
        // None of them has a token that is worth anything.
        let _floods = Attack::floods(&track.target(Some("not-a-token-at-all")), 64);
        let mut stopper = Lines::connect(track.address("lines"));
        stopper.ok(auth(CONTROL_TOKEN));
        for round in 0..10 {
            let took = track.time_to_stand(|| stopper.send(&stop().to_string()));
            assert!(took < PROMPT, "round {round}: {took:?}");
            track.drive_on(&driver);
        }
        let resident = track.daemon.resident();
        assert!(resident < MEMORY, "{resident} bytes");
    });
}
