//! The network's own tests: what others rely on.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{Faults, Host, Net, Wire};
use crate::support::{DEADLINE, Process, until};

/// Two hosts, and what echoes at the second.
fn pair(faults: Faults) -> Option<(Net, Host, Host, Wire, TcpStream)> {
    let net = Net::new()?;
    let (near, far) = (net.host("near"), net.host("far"));
    let wire = net.wire(&near, &far, faults);
    let listener = far.inside(|| TcpListener::bind("0.0.0.0:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            stream.write_all(&bytes[..count]).unwrap();
        }
    });
    let stream = near.inside(|| TcpStream::connect((wire.addresses[1].as_str(), port)).unwrap());
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    Some((net, near, far, wire, stream))
}

/// Sends these bytes and wants them back; says how long that took.
fn echo(stream: &mut TcpStream, bytes: &[u8]) -> Duration {
    let begin = Instant::now();
    let mut sender = stream.try_clone().unwrap();
    let mut back = vec![0; bytes.len()];
    thread::scope(|scope| {
        scope.spawn(move || sender.write_all(bytes).unwrap());
        stream.read_exact(&mut back).unwrap();
    });
    assert!(back == bytes, "other bytes came back");
    begin.elapsed()
}

fn noise(count: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    (0..count).map(|_| random.u8(..)).collect()
}

#[test]
fn a_bad_wire_delays_and_loses_packets_and_tcp_makes_up_for_it() {
    let faults =
        Faults { delay: Duration::from_millis(100), loss: 0.05, seed: 7, ..Faults::default() };
    let Some((_net, .., wire, mut stream)) = pair(faults) else { return };
    for _ in 0..3 {
        let took = echo(&mut stream, b"hello");
        assert!(took >= Duration::from_millis(200), "{took:?}");
    }
    echo(&mut stream, &noise(100_000));
    let [carried, lost] = wire.count();
    assert!(lost > 0 && lost < carried / 5, "{lost} lost of {carried}");
    // Without faults it is a wire like any other.
    wire.delay(Duration::ZERO);
    wire.loss(0.0);
    until("a quick answer", || {
        (echo(&mut stream, b"hello") < Duration::from_millis(50)).then_some(())
    });
}

#[test]
fn a_cut_of_a_second_loses_nothing_that_tcp_carries() {
    let Some((_net, .., wire, mut stream)) = pair(Faults::default()) else { return };
    echo(&mut stream, b"hello");
    let bytes = noise(50_000);
    wire.cut();
    let cut = Instant::now();
    stream.write_all(&bytes).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut back = vec![0; bytes.len()];
    assert!(stream.read(&mut back).is_err(), "it came through a cut wire");
    assert!(cut.elapsed() >= Duration::from_secs(1));
    wire.join();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.read_exact(&mut back).unwrap();
    assert!(back == bytes, "other bytes came back");
}

#[test]
fn a_slow_wire_takes_its_time() {
    let Some((_net, .., wire, mut stream)) = pair(Faults::default()) else { return };
    echo(&mut stream, b"hello");
    wire.rate(Some(400_000));
    // 20 kB are 0.4 s of it, and as much back meanwhile.
    let took = echo(&mut stream, &noise(20_000));
    assert!(took >= Duration::from_millis(400), "{took:?}");
}

#[test]
fn hosts_on_a_switch_reach_each_other_and_nothing_else() {
    let Some(net) = Net::new() else { return };
    let hosts = ["a", "b", "c"].map(|name| net.host(name));
    let addresses = net.lan(&[&hosts[0], &hosts[1], &hosts[2]]);
    let listener = hosts[2].inside(|| TcpListener::bind(&*format!("{}:0", addresses[2])).unwrap());
    let there = listener.local_addr().unwrap();
    for host in &hosts {
        host.inside(|| TcpStream::connect_timeout(&there, DEADLINE).unwrap());
    }
    let near = Duration::from_millis(300);
    assert!(TcpStream::connect_timeout(&there, near).is_err(), "it is reached from outside");
    // Only what was made is there, and a program sees it.
    let mut list = Process::spawn(hosts[0].command("ip").args(["-br", "-4", "address"]));
    let list = list.wait().ok().stdout;
    let devices: Vec<_> = list.lines().filter_map(|line| line.split(['@', ' ']).next()).collect();
    assert_eq!(devices, ["lo", "lan1"], "{list}");
}

#[test]
fn a_network_goes_with_its_test_even_if_that_panics() {
    let Some(net) = Net::new() else { return };
    let path = Path::new("/run/netns").join(&net.host("a").namespace);
    assert!(path.exists());
    let ended = thread::spawn(move || {
        let (a, b) = (net.host("b"), net.host("c"));
        let _wire = net.wire(&a, &b, Faults::default());
        // Without the words of a panic, which would look like a failure.
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(ended.join().is_err());
    assert!(!path.exists());
}
