use sinew_io::Address;
use sinew_wire::teach::Layout;

fn udp(host: &str, port: u16, layout: Layout) -> Address {
    Address::Udp { host: host.into(), port, layout }
}

fn replay(path: &str, speed: f64) -> Address {
    Address::Replay { path: path.into(), speed, repeat: false }
}

fn looped(path: &str, speed: f64) -> Address {
    Address::Replay { path: path.into(), speed, repeat: true }
}

fn webrtc(
    host: &str,
    port: Option<u16>,
    key_file: Option<&str>,
    interface: Option<&str>,
) -> Address {
    let (key_file, interface) = (key_file.map(Into::into), interface.map(Into::into));
    Address::WebRtc { host: host.into(), port, key_file, interface }
}

#[test]
fn addresses_are_read_and_written() {
    for (text, wanted) in [
        ("serial:/dev/ttyS3", Address::Serial { path: "/dev/ttyS3".into(), baud: 115_200 }),
        ("serial:/dev/x?baud=9600", Address::Serial { path: "/dev/x".into(), baud: 9600 }),
        ("udp:1.2.3.4", udp("1.2.3.4", 49504, Layout::Documented)),
        ("udp:1.2.3.4:5?layout=compact", udp("1.2.3.4", 5, Layout::Compact)),
        ("udp:[fe80::1%eth0]:5", udp("fe80::1%eth0", 5, Layout::Documented)),
        ("udp:g1.local", udp("g1.local", 49504, Layout::Documented)),
        ("webrtc:1.2.3.4", webrtc("1.2.3.4", None, None, None)),
        ("webrtc:g1.local:9991", webrtc("g1.local", Some(9991), None, None)),
        ("webrtc:[fd00::1]", webrtc("fd00::1", None, None, None)),
        ("webrtc:[fd00::1]:5?interface=::1", webrtc("fd00::1", Some(5), None, Some("::1"))),
        (
            "webrtc:1.2.3.4?interface=eth0&key_file=/a/g1.key",
            webrtc("1.2.3.4", None, Some("/a/g1.key"), Some("eth0")),
        ),
        ("sim:", Address::Sim { seed: 1, rate: None }),
        ("sim:?seed=7", Address::Sim { seed: 7, rate: None }),
        ("sim:?rate=10", Address::Sim { seed: 1, rate: Some(10) }),
        ("sim:?rate=500&seed=7", Address::Sim { seed: 7, rate: Some(500) }),
        ("replay:hall.messages", replay("hall.messages", 1.0)),
        ("replay:/a b/c:d.messages?speed=0.01", replay("/a b/c:d.messages", 0.01)),
        ("replay:../x?speed=1000", replay("../x", 1000.0)),
        ("replay:what?", replay("what?", 1.0)),
        ("replay:what?.messages", replay("what?.messages", 1.0)),
        ("replay:a?b=c?speed=2", replay("a?b=c", 2.0)),
        ("replay:tap.csv?loop=0", replay("tap.csv", 1.0)),
        ("replay:tap.csv?loop=1", looped("tap.csv", 1.0)),
        ("replay:tap.csv?loop=1&speed=2", looped("tap.csv", 2.0)),
    ] {
        let address: Address = text.parse().unwrap();
        assert_eq!(address, wanted);
        assert_eq!(address.to_string().parse::<Address>().unwrap(), wanted);
    }
}

#[test]
fn a_wrong_address_says_what_is_wanted() {
    for (text, reason) in [
        ("/dev/ttyS3", "wanted serial:PATH"),
        ("replay:tap.csv?loop=yes", "loop: wanted 0 or 1"),
        ("serial:", "wanted a device"),
        ("serial:/dev/x?boud=1", "wanted baud"),
        ("serial:/dev/x?baud=fast", "wanted a number"),
        ("serial:/dev/x?baud=0", "out of range"),
        ("serial:/dev/x?baud", "NAME=VALUE"),
        ("sim:room", "takes no path"),
        ("sim:?speed=2", "sim: wanted seed or rate, got \"speed\""),
        ("sim:?rate=0", "rate: wanted 1 to 500, got \"0\""),
        ("sim:?rate=501", "rate: wanted 1 to 500"),
        ("sim:?rate=fast", "rate: wanted 1 to 500, got \"fast\""),
        ("udp:1.2.3.4:5?layout=tight", "wanted documented or compact"),
        ("udp:", "wanted HOST"),
        ("udp:1.2.3.4:x", "wanted HOST"),
        ("udp:a b", "wanted HOST"),
        ("webrtc:", "webrtc: wanted HOST"),
        ("webrtc:1.2.3.4:99999", "wanted HOST"),
        ("webrtc:1.2.3.4?key=00", "wanted key_file or interface"),
        ("webrtc:1.2.3.4?key_file=", "key_file: wanted a value"),
        ("replay:", "wanted a file"),
        ("replay:?speed=2", "wanted a file"),
        ("replay:x?pace=2", "wanted speed"),
        ("replay:x?speed=0", "speed: wanted 0.01 to 1000, got \"0\""),
        ("replay:x?speed=1001", "wanted 0.01 to 1000"),
        ("replay:x?speed=NaN", "wanted 0.01 to 1000"),
        ("replay:x?speed=", "wanted 0.01 to 1000"),
        ("usb:1", "wanted serial:, udp:, webrtc:, sim:, replay: or zenoh:"),
    ] {
        let error = text.parse::<Address>().unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}
