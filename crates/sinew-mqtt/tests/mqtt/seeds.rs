//! Brokers that come, go and stall at random, in virtual time: a robot that returns to its dock is halted in
//! time whenever the rules say so, and never when they do not.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use serde_json::json;
use sinew_api::Command;
use sinew_mqtt::{Bridge, Output};

use crate::bridge::{names, vacuum};

const SEEDS: u64 = 1000;
const STEP: Duration = Duration::from_millis(10);

/// What the broker and the robot really do.
#[derive(Default)]
struct World {
    is_up: bool,
    /// When acknowledgements come: not at all while it stalls.
    acks: VecDeque<Instant>,
    stalled: bool,
    returns: bool,
    /// What the robot told of that last.
    told: bool,
    /// Since when something is wrong that must end a return.
    wrong_since: Option<Instant>,
    /// The oldest beat that waits.
    beats: VecDeque<Instant>,
}

#[test]
fn a_return_outlives_its_broker_by_no_more_than_the_rules_allow() {
    let (mut halts, mut returns) = (0, 0);
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bridge = Bridge::new(names());
        let mut now = Instant::now();
        let mut world = World { is_up: true, ..World::default() };
        bridge.state(now, vacuum(json!({})));
        bridge.up(now);
        for _ in 0..1500 {
            now += STEP;
            match random.u32(0..2000) {
                0..=4 if !world.is_up => {
                    world.is_up = true;
                    world.stalled = false;
                    bridge.up(now);
                }
                0..2 => {
                    world.is_up = false;
                    (world.acks, world.beats) = Default::default();
                    bridge.down();
                    if world.returns {
                        world.wrong_since.get_or_insert(now);
                    }
                }
                5 | 6 => world.stalled = !world.stalled,
                7 => {
                    bridge.message(now, "homeassistant/status", b"offline", false);
                    if world.returns {
                        world.wrong_since.get_or_insert(now);
                    }
                }
                8 => bridge.message(now, "homeassistant/status", b"online", false),
                9..=29 if world.is_up => {
                    bridge.message(now, "sinew/flat/vacuum/command", b"return_to_base", false);
                }
                30 => bridge.message(now, "sinew/flat/vacuum/command", b"stop", false),
                31 if world.returns => {
                    // It arrives.
                    world.returns = false;
                    bridge.event(now, "vacuum", &json!({ "event": "dock", "dock": "arrived" }));
                }
                _ => {}
            }
            while world.acks.front().is_some_and(|at| *at <= now) && !world.stalled {
                world.acks.pop_front();
                world.beats.pop_front();
                bridge.acknowledged();
            }
            if world.told != world.returns {
                world.told = world.returns;
                let phase = if world.returns { json!("navigation") } else { json!(null) };
                bridge.state(now, vacuum(json!({ "state": { "docking": phase } })));
            }
            while let Some(output) = bridge.poll(now) {
                match output {
                    Output::Publish(publish) if publish.acknowledge => {
                        assert!(world.is_up, "seed {seed}");
                        world.beats.push_back(now);
                        world.acks.push_back(now + Duration::from_millis(random.u64(0..400)));
                    }
                    Output::Ask { lasts: true, .. } => {
                        returns += 1;
                        world.returns = true;
                        world.wrong_since = None;
                        bridge.answered(now, "vacuum", &Command::Dock, Ok(()));
                    }
                    Output::Halt(_) | Output::Leave(_) => {
                        halts += u32::from(world.returns);
                        world.returns = false;
                        world.wrong_since = None;
                    }
                    _ => {}
                }
            }
            let late = world.beats.front().is_some_and(|beat| now > *beat + Duration::from_secs(2));
            assert!(!world.returns || !late, "seed {seed}: no acknowledgement, and it drives on");
            assert!(!world.returns || world.wrong_since.is_none(), "seed {seed}: it drives on");
        }
    }
    assert!(returns > 1000 && halts > 500, "{returns} returns, {halts} of them halted");
}
