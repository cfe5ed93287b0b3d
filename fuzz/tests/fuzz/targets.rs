use std::{path::PathBuf, time::Duration};

use sinew_fuzz::{
    Target,
    driver::{Limit, Plan, run},
};

fn holds(name: &str) {
    let target = Target::by_name(name).expect("a target of that name");
    let plan = Plan {
        target,
        seed: 1,
        limit: Limit::Mutations(2_000),
        patience: Duration::from_secs(60),
        artifacts: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name),
        corpus: Vec::new(),
    };
    let outcome = run(&plan, |_, _| {});
    assert!(outcome.finding.is_none(), "{outcome:?}");
    assert_eq!(
        outcome.executions,
        (target.seeds)().len() as u64 + 2_000,
        "not every input was tried"
    );
}

#[test]
fn gd32_holds_for_seeds_and_2000_mutations() {
    holds("gd32");
}

#[test]
fn mcap_holds_for_seeds_and_2000_mutations() {
    holds("mcap");
}

#[test]
fn capture_holds_for_seeds_and_2000_mutations() {
    holds("capture");
}

#[test]
fn teach_holds_for_seeds_and_2000_mutations() {
    holds("teach");
}

#[test]
fn slam_holds_for_seeds_and_2000_mutations() {
    holds("slam");
}

#[test]
fn voxel_holds_for_seeds_and_2000_mutations() {
    holds("voxel");
}

#[test]
fn motion_holds_for_seeds_and_2000_mutations() {
    holds("motion");
}

#[test]
fn map_holds_for_seeds_and_2000_mutations() {
    holds("map");
}

#[test]
fn explain_holds_for_seeds_and_2000_mutations() {
    holds("explain");
}

#[test]
fn g1_holds_for_seeds_and_2000_mutations() {
    holds("g1");
}

#[test]
fn session_holds_for_seeds_and_2000_mutations() {
    holds("session");
}
