//! The map that a vacuum's lidar and odometry make of its room.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sinew_api::frame::{Frame, Kind};
use sinew_robot::map::GONE;
use sinew_sim::vacuum::{Rect, World};

use crate::{
    clients::{Lines, Socket, configure, control},
    support::{Dir, serve, sinew, until},
};

/// The side of a square, metres.
const SQUARE: f64 = 0.05;

fn mapping(op: &str) -> Value {
    json!({ "type": "Mapping", "op": op })
}

fn velocity(linear: f64, angular: f64) -> Value {
    configure("drive", json!({ "linear": { "F32": linear }, "angular": { "F32": angular } }))
}

/// Drives as long as something is to be waited for.
fn drive(client: &mut Lines, (linear, angular): (f64, f64), arrived: impl Fn(&Value) -> bool) {
    until("the robot to get there", || {
        client.ok(velocity(linear, angular));
        let robots = client.ok(json!({ "type": "Robots" }));
        arrived(&robots["robots"][0]["state"]["pose"]).then_some(())
    });
    client.ok(velocity(0.0, 0.0));
}

/// A page's map: squares by block, and what its frames say.
#[derive(Default)]
struct Page {
    epoch: u32,
    blocks: BTreeMap<[u16; 2], BTreeMap<[u16; 2], u16>>,
    corner: [f64; 2],
    has_pose: bool,
}

impl Page {
    fn take(&mut self, socket: &mut Socket) {
        let bytes = socket.next_binary();
        let frame = Frame::read(&bytes).unwrap();
        let header = &frame.header;
        assert!(frame.kind == Kind::Map && header.is_flat && header.unit == SQUARE, "{header:?}");
        if self.epoch != header.epoch {
            *self = Page { epoch: header.epoch, ..Page::default() };
        }
        self.corner = [header.origin[0], header.origin[1]];
        self.has_pose = header.pose.is_some();
        let points: Vec<[u16; 4]> =
            frame.points().map(|point| point.collect::<Vec<_>>().try_into().unwrap()).collect();
        for [x, y, ..] in &points {
            self.blocks.remove(&[x >> 3, y >> 3]);
        }
        for [x, y, z, age] in points {
            if age != GONE {
                assert!(z <= 1, "free or occupied");
                self.blocks.entry([x >> 3, y >> 3]).or_default().insert([x, y], z);
            }
        }
        socket.send(&json!({ "type": "Ack", "topic": "map", "seq": header.sequence }));
    }

    fn squares(&self) -> usize {
        self.blocks.values().map(BTreeMap::len).sum()
    }

    /// The middles of the squares that are occupied, metres.
    fn occupied(&self) -> Vec<(f64, f64)> {
        let squares = self.blocks.values().flatten().filter(|(_, z)| **z == 1);
        let middle = |cell: u16, axis: usize| self.corner[axis] + (f64::from(cell) + 0.5) * SQUARE;
        squares.map(|([x, y], _)| (middle(*x, 0), middle(*y, 1))).collect()
    }
}

/// Metres to the nearest surface of a room.
fn to_a_wall(world: &World, (x, y): (f64, f64)) -> f64 {
    let from_edge = |rect: &Rect| {
        let outside = (rect.left - x).max(x - rect.right).max(0.0);
        let above = (rect.bottom - y).max(y - rect.top).max(0.0);
        let inside =
            (x - rect.left).min(rect.right - x).min(y - rect.bottom).min(rect.top - y).max(0.0);
        outside.hypot(above).max(inside)
    };
    let furniture = world.furniture.iter().map(from_edge);
    furniture.fold(from_edge(&world.room), f64::min)
}

#[test]
fn a_vacuum_maps_its_room_as_it_is_driven() {
    let dir = Dir::new();
    let (mut daemon, ready) = serve(sinew(&dir), "sim:", &[]);
    let [lines, http] = ["lines", "http"].map(|key| ready[key].as_str().unwrap().to_owned());
    let mut client = Lines::connect(&lines);
    let robot = |client: &mut Lines| client.ok(json!({ "type": "Robots" }))["robots"][0].clone();
    until("boot", || (robot(&mut client)["link"]["state"] == "ready").then_some(()));
    assert!(robot(&mut client)["capabilities"].as_array().unwrap().contains(&json!("mapping")));
    let before = client.ok(mapping("info"));
    assert_eq!((&before["mapping"], &before["voxels"]), (&json!(false), &Value::Null), "{before}");
    client.fails(mapping("stop"), "not_ready");
    client.fails(json!({ "type": "Mapping", "op": "save", "format": "pgm" }), "not_ready");

    // On a machine so busy that the simulator is late a switch may not be heard.
    let began = until("a map", || {
        let answer = client.ask(mapping("start"));
        (answer["ok"] == true).then(|| answer["data"].clone())
    });
    assert!(began["note"].as_str().unwrap().contains("lidar is switched on"), "{began}");
    let told = |client: &mut Lines| client.ok(mapping("info"));
    until("turns", || {
        let turns = told(&mut client)["clouds"].as_u64();
        if robot(&mut client)["links"]["lidar"]["state"] != "turning" {
            client.ok(control("lidar", "Enable"));
        }
        (turns > Some(3)).then_some(())
    });
    until("the wheels", || {
        let enable = control("drive", "Enable");
        (client.ask(enable)["ok"] == true).then_some(())
    });
    drive(&mut client, (0.2, 0.0), |pose| pose["x"].as_f64() > Some(1.0));
    drive(&mut client, (0.0, 0.6), |pose| pose["heading"].as_f64() > Some(1.4));
    let info = told(&mut client);
    assert_eq!((&info["mapping"], &info["walking"]), (&json!(true), &json!(false)), "{info}");
    assert!(info["voxels"].as_u64() > Some(3000), "{info}");
    assert!(info["last_cloud"]["points"].as_u64() > Some(200), "{info}");
    assert!(info["uncertainty"]["x"].as_f64() < Some(0.1), "{info}");
    let (pose, odometry) = (&info["pose"], &robot(&mut client)["state"]["pose"]);
    let apart = |key: &str| pose[key].as_f64().unwrap() - odometry[key].as_f64().unwrap();
    assert!(apart("x").hypot(apart("y")) < 0.1, "{pose} {odometry}");
    let state = robot(&mut client)["state"]["map"].clone();
    assert_eq!((&state["mapping"], &state["lost"]), (&json!(true), &json!(false)), "{state}");

    let mut socket = Socket::connect(&http);
    socket.ok(json!({ "type": "Subscribe", "topics": ["map"] }));
    let mut page = Page::default();
    let voxels = told(&mut client)["voxels"].as_u64().unwrap() as usize;
    while page.squares() < voxels * 9 / 10 {
        page.take(&mut socket);
    }
    assert!(page.has_pose);
    let (world, occupied) = (World::default(), page.occupied());
    let right = occupied.iter().filter(|place| to_a_wall(&world, **place) <= SQUARE).count();
    assert!(occupied.len() > 200, "{} squares", occupied.len());
    assert!(right * 10 >= occupied.len() * 9, "{right} of {} at walls", occupied.len());

    let ended = client.ok(mapping("stop"));
    assert!(ended["note"].as_str().unwrap().contains("kept here"), "{ended}");
    until("the lidar to be as it was", || {
        robot(&mut client)["state"]["lidar"].is_null().then_some(())
    });
    let info = told(&mut client);
    assert_eq!(info["mapping"], false);
    assert!(info["voxels"].as_u64() > Some(3000) && info["pose"].is_null(), "{info}");
    client.ok(json!({ "type": "Mapping", "op": "save", "format": "pgm" }));
    for op in [json!({ "op": "resume" }), json!({ "op": "download", "name": "flat" })] {
        let mut message = op;
        message["type"] = "Mapping".into();
        client.fails(message, "unsupported");
    }

    let epoch = page.epoch;
    client.ok(mapping("clear"));
    while page.epoch == epoch {
        page.take(&mut socket);
    }
    assert_eq!(page.squares(), 0);
    assert_eq!(told(&mut client)["voxels"], Value::Null);
    daemon.signal("TERM");
    assert_eq!(daemon.wait().code, Some(0));
}
