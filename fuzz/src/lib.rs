//! What must hold for every input of `sinew-wire`, for every motion, map and capture from a file, and for
//! everything that a client sends a simulated G1, and a driver that looks for an input that breaks it.
//!
//! Each target has seeds from `vectors/` and an `exercise` that panics when an
//! invariant fails. The same targets run under the mutation [`driver`] and
//! under libFuzzer (`fuzz_targets/`, feature `coverage`).

pub mod capture;
pub mod delta2d;
pub mod driver;
pub mod explain;
pub mod g1;
pub mod gd32;
pub mod map;
pub mod mcap;
pub mod motion;
mod mutation;
pub mod sangam;
pub mod session;
pub mod slam;
pub mod teach;
pub mod unitree;
mod vectors;
pub mod voxel;

pub use mutation::mutate;

/// What is under test.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Well-formed inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Panics when an invariant does not hold for the input.
    pub exercise: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "gd32", seeds: gd32::seeds, exercise: gd32::exercise },
    Target { name: "delta2d", seeds: delta2d::seeds, exercise: delta2d::exercise },
    Target { name: "teach", seeds: teach::seeds, exercise: teach::exercise },
    Target { name: "slam", seeds: slam::seeds, exercise: slam::exercise },
    Target { name: "voxel", seeds: voxel::seeds, exercise: voxel::exercise },
    Target { name: "unitree", seeds: unitree::seeds, exercise: unitree::exercise },
    Target { name: "motion", seeds: motion::seeds, exercise: motion::exercise },
    Target { name: "g1", seeds: g1::seeds, exercise: g1::exercise },
    Target { name: "session", seeds: session::seeds, exercise: session::exercise },
    Target { name: "sangam", seeds: sangam::seeds, exercise: sangam::exercise },
    Target { name: "map", seeds: map::seeds, exercise: map::exercise },
    Target { name: "mcap", seeds: mcap::seeds, exercise: mcap::exercise },
    Target { name: "capture", seeds: capture::seeds, exercise: capture::exercise },
    Target { name: "explain", seeds: explain::seeds, exercise: explain::exercise },
];

impl Target {
    /// The target of that name.
    pub fn by_name(name: &str) -> Option<Target> {
        TARGETS.iter().find(|target| target.name == name).copied()
    }
}

/// A byte the input decides on, 0 when it has run out; for choices that a mutation can steer.
fn take_byte(data: &mut &[u8]) -> u8 {
    match data.split_first() {
        Some((first, rest)) => {
            *data = rest;
            *first
        }
        None => 0,
    }
}

/// Up to `count` bytes of the input.
fn take_bytes<'a>(data: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (head, rest) = data.split_at(count.min(data.len()));
    *data = rest;
    head
}

/// Whether a decoded 32-bit coordinate is the exact one, give or take a millimetre and rounding.
fn close(decoded: f32, exact: f64) -> bool {
    // A box may lie further out than 32 bits reach; its points are then infinitely far away.
    if exact.abs() >= f64::from(f32::MAX) {
        return decoded.abs() >= f32::MAX;
    }
    (f64::from(decoded) - exact).abs() <= 1e-3 + exact.abs() * 1e-6
}
