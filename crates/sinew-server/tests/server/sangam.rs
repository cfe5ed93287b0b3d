//! Clients of SangamIO's later interface: protobuf on a connection to which nothing is written, and
//! sensors by datagrams.

use std::{io::ErrorKind, net::SocketAddr, time::Duration};

use serde_json::json;
use sinew_robot::{
    drive::{HoldEnd, Speeds},
    vacuum::Command,
};
use sinew_server::{Config, Server};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream, UdpSocket},
    time::timeout,
};

use crate::support::{Call, DEADLINE, Double, Running, local, start_with, until};

const SECOND: Duration = Duration::from_secs(1);
const STILL: Command = Command::Velocity { linear: 0.0, angular: 0.0 };

/// A field that is bytes, by protobuf's rules; all of these are short.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).expect("is short")], content].concat()
}

/// A `ComponentControl`; of an action its number, and its config's values.
fn control(id: &str, action: u8, config: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut actions = if action == 0 { vec![] } else { vec![0x08, action] };
    for (name, value) in config {
        let entry = [field(1, name.as_bytes()), field(2, value)].concat();
        actions.extend(field(2, &entry));
    }
    let control = [field(1, id.as_bytes()), field(2, &actions)].concat();
    [field(1, b"command"), field(3, &field(1, &control))].concat()
}

fn float(number: f32) -> Vec<u8> {
    [&[0x35][..], &number.to_le_bytes()].concat()
}

fn drive(linear: f32, angular: f32) -> Vec<u8> {
    control("drive", 3, &[("linear", float(linear)), ("angular", float(angular))])
}

fn press() -> Vec<u8> {
    drive(0.5, 0.0)
}

fn shutdown() -> Vec<u8> {
    [field(1, b"command"), field(3, &field(3, b""))].concat()
}

const RESET: u8 = 2;
const DISABLE: u8 = 1;

struct Client {
    socket: TcpStream,
    name: String,
}

impl Client {
    async fn connect(server: &Running) -> Self {
        Self::from(server, [127, 0, 0, 1]).await
    }

    /// From an address of its own, so that the ports of its datagrams are its own, too.
    async fn from(server: &Running, address: [u8; 4]) -> Self {
        let socket = TcpSocket::new_v4().expect("is a socket");
        socket.bind(SocketAddr::from((address, 0))).expect("is loopback");
        let socket = socket.connect(server.at.sangam.expect("listens")).await.expect("connects");
        let name = format!("sangam {}", socket.local_addr().expect("is bound"));
        Client { socket, name }
    }

    async fn send(&mut self, message: &[u8]) {
        self.send_all(&[message]).await;
    }

    /// In one write, so that they come together.
    async fn send_all(&mut self, messages: &[&[u8]]) {
        let prefixed = |message: &&[u8]| [&(message.len() as u32).to_be_bytes(), *message].concat();
        let bytes: Vec<u8> = messages.iter().flat_map(prefixed).collect();
        self.socket.write_all(&bytes).await.expect("is connected");
    }

    /// How the connection ends; nothing comes before.
    async fn end(&mut self) -> Option<ErrorKind> {
        let read = timeout(DEADLINE, self.socket.read(&mut [0])).await.expect("it ends");
        match read {
            Ok(0) => None,
            Ok(_) => panic!("something was written to it"),
            Err(error) => Some(error.kind()),
        }
    }

    fn assert_nothing_came(&self) {
        let read = self.socket.try_read(&mut [0]);
        assert_eq!(read.expect_err("nothing comes").kind(), ErrorKind::WouldBlock);
    }
}

fn sangam() -> Config {
    let any = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    Config { sangam: any, ..local() }
}

fn with(change: impl FnOnce(&mut Config)) -> Running {
    let mut config = sangam();
    change(&mut config);
    start_with(config, &[("vacuum", Double::new())])
}

fn start() -> Running {
    with(|_| {})
}

fn velocity(hold: Option<Duration>) -> Command {
    Command::Lenient { speeds: Speeds::Velocity { linear: 0.5, angular: 0.0 }, hold }
}

/// What a robot was told, without who told it.
fn told(robot: &Double) -> Vec<Command> {
    let executed = |call| match call {
        Call::Execute(command, _) => Some(command),
        _ => None,
    };
    robot.calls().into_iter().filter_map(executed).collect()
}

async fn is_told(robot: &Double, wanted: &[Command]) {
    until("commands", || told(robot).len() >= wanted.len()).await;
    assert_eq!(told(robot), wanted);
}

/// The topic of a datagram, of which the length is right.
fn topic(datagram: &[u8]) -> String {
    let (length, message) = datagram.split_first_chunk().expect("has a length");
    assert_eq!(u32::from_be_bytes(*length) as usize, message.len());
    let [0x0A, length, rest @ ..] = message else { panic!("{message:02x?}") };
    String::from_utf8(rest[..usize::from(*length)].to_vec()).expect("is text")
}

async fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut space = vec![0; 65536];
    let length =
        timeout(DEADLINE, socket.recv(&mut space)).await.expect("a datagram").expect("comes");
    space.truncate(length);
    space
}

/// Waits for a datagram with the status of this number, while it is published.
async fn hears(server: &Running, socket: &UdpSocket) -> Vec<u8> {
    let begin = std::time::Instant::now();
    for number in 1.. {
        server.robot.publish_status(number);
        let mut space = vec![0; 65536];
        if let Ok(length) = timeout(Duration::from_millis(20), socket.recv(&mut space)).await {
            space.truncate(length.expect("comes"));
            if topic(&space) == "sensors/gd32_status" {
                return space;
            }
        }
        assert!(begin.elapsed() < DEADLINE, "no status");
    }
    unreachable!()
}

#[tokio::test]
async fn sensors_go_to_both_ports_of_whichever_connects_and_end_with_its_connection() {
    let home = [127, 77, 0, 1];
    let other = UdpSocket::bind(SocketAddr::from((home, 0))).await.expect("is free");
    let server = with(|config| config.sangam_port = other.local_addr().expect("is bound").port());
    let port = server.at.sangam.expect("listens").port();
    let same = UdpSocket::bind(SocketAddr::from((home, port))).await.expect("is free");
    let client = Client::from(&server, home).await;
    for socket in [&same, &other] {
        assert_eq!(topic(&receive(socket).await), "sensors/gd32_version");
        let status = hears(&server, socket).await;
        // A value that is false is there all the same.
        let entry = b"\x0a\x0bbumper_left\x12\x02\x08\x00";
        assert!(status.windows(entry.len()).any(|window| window == entry), "{status:02x?}");
        // What was read once is told again, for clients that listened late.
        while topic(&receive(socket).await) != "sensors/gd32_version" {}
    }
    client.assert_nothing_came();

    drop(client);
    let ends = async {
        let mut space = [0; 4096];
        loop {
            while same.try_recv(&mut space).is_ok() {}
            server.robot.publish_status(1);
            if timeout(Duration::from_millis(50), same.recv(&mut space)).await.is_err() {
                return;
            }
        }
    };
    timeout(DEADLINE, ends).await.expect("its sensors end");
}

#[tokio::test]
async fn clients_share_a_robot_and_one_that_hears_nothing_costs_the_others_nothing() {
    let home = [127, 77, 0, 2];
    let server = start();
    let port = server.at.sangam.expect("listens").port();
    let deaf: Vec<_> = [Client::connect(&server).await, Client::connect(&server).await].into();
    let socket = UdpSocket::bind(SocketAddr::from((home, port))).await.expect("is free");
    let mut client = Client::from(&server, home).await;
    hears(&server, &socket).await;
    // Its own datagrams go on being refused.
    for client in &deaf {
        client.assert_nothing_came();
    }
    client.send(&control("led", 3, &[("state", vec![0x10, 5])])).await;
    is_told(&server.robot, &[Command::Led { state: 5 }]).await;
    hears(&server, &socket).await;
}

#[tokio::test]
async fn a_client_that_closes_its_direction_has_left_and_what_it_asked_is_done() {
    let home = [127, 77, 0, 3];
    let server = start();
    let port = server.at.sangam.expect("listens").port();
    let socket = UdpSocket::bind(SocketAddr::from((home, port))).await.expect("is free");
    let mut client = Client::from(&server, home).await;
    client.send(&control("vacuum", 3, &[("speed", vec![0x10, 50])])).await;
    client.socket.shutdown().await.expect("is open");
    is_told(&server.robot, &[Command::Vacuum { percent: 50 }]).await;
    assert_eq!(client.end().await, None);
    server.robot.called(Call::Release(client.name)).await;
    let mut space = [0; 4096];
    while socket.try_recv(&mut space).is_ok() {}
    server.robot.publish_status(1);
    let late = timeout(Duration::from_millis(200), socket.recv(&mut space)).await;
    assert!(late.is_err(), "it has no connection any more");
}

#[tokio::test]
async fn a_velocity_is_scaled_and_held_for_a_second_at_most() {
    for (set, wanted) in [
        (Duration::from_secs(10), Some(SECOND)),
        (Duration::from_millis(500), Some(Duration::from_millis(500))),
        (Duration::ZERO, None),
    ] {
        let server = with(|config| config.legacy_hold = set);
        let mut client = Client::connect(&server).await;
        client.send(&press()).await;
        client.send(&drive(0.0, 0.0)).await;
        let pressed = match wanted {
            None => Command::Velocity { linear: 0.5, angular: 0.0 },
            hold => velocity(hold),
        };
        is_told(&server.robot, &[pressed, STILL]).await;
        client.assert_nothing_came();
    }
}

#[tokio::test]
async fn a_client_that_repeats_has_the_dead_man() {
    let server = start();
    let mut client = Client::connect(&server).await;
    let press = press();
    client.send_all(&[&press, &press, &press, &press]).await;
    let held = velocity(Some(SECOND));
    is_told(&server.robot, &[held.clone(), held, velocity(None), velocity(None)]).await;
}

#[tokio::test]
async fn what_is_not_carried_out_ends_what_is_held() {
    let let_go = Command::LetGo { reason: HoldEnd::Withdrawn };
    let half = control("drive", 3, &[("linear", float(0.0))]);
    for refused in [
        half,
        drive(f32::NAN, 0.0),
        control("wings", 0, &[]),
        b"\xff\xff\xff".to_vec(),
        field(1, b"command"),
        Vec::new(),
    ] {
        let server = start();
        let mut client = Client::connect(&server).await;
        client.send(&press()).await;
        client.send(&refused).await;
        until("it to be let go", || {
            let told = told(&server.robot);
            told.contains(&velocity(Some(SECOND))) && told.last() == Some(&let_go)
        })
        .await;
        client.assert_nothing_came();
    }
}

#[tokio::test]
async fn stops_overtake_all_that_waits_and_need_no_controls() {
    for (stop, call) in [
        (control("drive", RESET, &[]), Call::Stop as fn(String) -> Call),
        (control("drive", DISABLE, &[]), Call::Disable),
        (shutdown(), Call::Stop),
    ] {
        let server = start();
        let _hanging = server.robot.hang_until_told();
        let mut holder = Client::connect(&server).await;
        holder.send(&control("vacuum", 0, &[])).await;
        is_told(&server.robot, &[Command::Vacuum { percent: 100 }]).await;
        let mut other = Client::connect(&server).await;
        other.send_all(&[&vec![&press()[..]; 30][..], &[&stop]].concat()).await;
        server.robot.called(call(other.name.clone())).await;
        assert_eq!(told(&server.robot), [Command::Vacuum { percent: 100 }]);
        // Shutdown ends nothing else: both are heard on.
        holder.send(&stop).await;
        server.robot.called(call(holder.name.clone())).await;
    }
}

#[tokio::test]
async fn the_end_of_its_connection_releases_the_robot() {
    let server = start();
    let mut client = Client::connect(&server).await;
    client.send(&press()).await;
    is_told(&server.robot, &[velocity(Some(SECOND))]).await;
    let name = client.name.clone();
    drop(client);
    server.robot.called(Call::Release(name)).await;
}

#[tokio::test]
async fn a_message_over_the_limit_ends_the_connection() {
    let server = start();
    let mut client = Client::connect(&server).await;
    client.send(&press()).await;
    is_told(&server.robot, &[velocity(Some(SECOND))]).await;
    client.socket.write_all(&((1u32 << 20) + 1).to_be_bytes()).await.expect("is connected");
    assert_eq!(client.end().await, Some(ErrorKind::ConnectionReset));
    server.robot.called(Call::Release(client.name)).await;
}

#[tokio::test]
async fn a_refusal_is_told_to_others() {
    let server = start();
    let mut listener = server.lines().await;
    listener.ok(json!({ "type": "Subscribe", "topics": ["events"] })).await;
    let mut client = Client::connect(&server).await;
    client.send(&control("imu", RESET, &[])).await;
    let data = listener.event("events").await["data"].clone();
    assert_eq!(
        (&data["event"], &data["by"], &data["command"], &data["code"]),
        (&json!("refused"), &json!(client.name), &json!("imu Reset"), &json!("not_confirmed"))
    );
    client.send(b"\x1a\x00").await;
    let data = listener.event("events").await["data"].clone();
    assert_eq!((&data["code"], &data["by"]), (&json!("invalid_argument"), &json!(client.name)));
    assert_eq!(server.robot.calls(), []);
}

#[tokio::test]
async fn it_listens_further_than_loopback_only_when_that_is_allowed() {
    let any = Some(SocketAddr::from(([0, 0, 0, 0], 0)));
    let config = Config { sangam: any, ..local() };
    let error = Server::bind(config.clone()).expect_err("is refused");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let text = error.to_string();
    assert!(text.contains("sangam 0.0.0.0:0") && text.contains("legacy_open"), "{text}");

    let open = Config { legacy_open: true, ..config };
    let server = Server::bind(open).expect("is allowed");
    let warnings = server.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("0.0.0.0:0"), "{warnings:?}");
    assert!(server.addresses().sangam.is_some());
}

#[tokio::test]
async fn it_is_closed_unless_it_is_asked_for() {
    assert_eq!(Config::default().sangam, None);
    let server = start_with(local(), &[("vacuum", Double::new())]);
    assert_eq!(server.at.sangam, None);
}
