//! Clouds that come faster than they are taken in.

use std::sync::{Arc, Condvar, Mutex};

use serde_json::Value;
use sinew_io::volume::Volume;
use sinew_robot::{
    capability::{Audience, Reading},
    mapping::Cloud,
};

/// Holds the map's thread while it is closed.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn set(&self, closed: bool) {
        *self.closed.lock().unwrap() = closed;
        self.opened.notify_all();
    }
}

impl Audience for Gate {
    fn wants_sensors(&self) -> bool {
        false
    }

    fn sensors(&self, _: &Reading) {}

    fn frame(&self, _: &str, _: Vec<u8>) {}

    fn blocks_changed(&self, _: &str) {
        drop(self.opened.wait_while(self.closed.lock().unwrap(), |closed| *closed));
    }

    fn wants_frames(&self, _: &str) -> bool {
        false
    }

    fn event(&self, _: Value) {}

    fn changed(&self) {}

    fn missed(&self, _: u64) {}
}

/// A wall of its own for each.
fn cloud(number: u16, frame: &str) -> Arc<Cloud> {
    let points = (0..20).flat_map(|y| (0..20).map(move |z| [number * 1000, y * 50, z * 50]));
    Arc::new(Cloud {
        sequence: number.into(),
        origin: [0.0; 3],
        unit: 0.001,
        points: points.collect(),
        pose: None,
        frame: frame.into(),
    })
}

fn until(volume: &Volume, is_so: impl Fn(&Value) -> bool) -> Value {
    let begin = std::time::Instant::now();
    loop {
        let state = volume.state();
        if is_so(&state) {
            return state;
        }
        assert!(begin.elapsed() < super::bench::PATIENCE, "{state}");
        std::thread::yield_now();
    }
}

#[test]
fn the_newest_clouds_win_and_the_others_are_counted() {
    let gate = Arc::new(Gate::default());
    let volume = Volume::spawn(gate.clone()).unwrap();
    gate.set(true);
    volume.take(cloud(0, "map"), false);
    until(&volume, |state| state["clouds"] == 1);
    for number in 1..=10 {
        volume.take(cloud(number, "map"), false);
    }
    assert_eq!(volume.state()["left_out"], 6);
    gate.set(false);
    let state = until(&volume, |state| state["clouds"] == 5);
    // The first and the last four, each a wall of 20 x 20 cells.
    assert_eq!(state["voxels"], 5 * 400, "{state}");
    let mut info = Default::default();
    volume.fill(&mut info);
    let bounds = info.bounds.unwrap();
    assert!(bounds.max[0] > 9.9, "{bounds:?}");
}

#[test]
fn a_cloud_in_another_frame_is_left_out_and_said() {
    let volume = Volume::spawn(Arc::new(Gate::default())).unwrap();
    volume.take(cloud(0, "map"), true);
    volume.take(cloud(1, "odom"), true);
    let state = until(&volume, |state| state["left_out"] == 1);
    assert_eq!((&state["clouds"], &state["voxels"]), (&1.into(), &400.into()));
    assert!(state["trouble"].as_str().unwrap().contains("\"odom\""), "{state}");
    // What is no number leaves the map as it was.
    let mut broken = Cloud::clone(&cloud(2, "map"));
    broken.origin[1] = f64::NAN;
    volume.take(Arc::new(broken), true);
    let state = until(&volume, |state| state["left_out"] == 2);
    assert_eq!(state["voxels"], 400);
    volume.take(cloud(3, "map"), true);
    let state = until(&volume, |state| state["clouds"] == 2);
    assert_eq!((&state["voxels"], &state["trouble"]), (&800.into(), &Value::Null));
    volume.begin();
    until(&volume, |state| state["voxels"] == 0 && state["clouds"] == 0);
    volume.take(cloud(1, "odom"), true);
    until(&volume, |state| state["voxels"] == 400);
}
