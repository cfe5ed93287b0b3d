use std::{fs, path::PathBuf, thread, time::Duration};

use sinew_fuzz::{
    Target,
    driver::{Breakage, Limit, Outcome, Plan, panics, run},
};

fn no_seeds() -> Vec<Vec<u8>> {
    Vec::new()
}

fn seeds() -> Vec<Vec<u8>> {
    vec![vec![0x17, 0x00, 0x00, 0x00], vec![0xFE; 8]]
}

/// No seed has the pattern; splicing the two, or one byte of the interesting ones, makes it.
const PLANTED: Target = Target {
    name: "planted",
    seeds,
    exercise: |data| assert!(!data.starts_with(&[0x17, 0xFE]), "the planted panic"),
};

const SLOW: Target = Target {
    name: "slow",
    seeds: || vec![vec![1, 2, 3]],
    exercise: |_| thread::sleep(Duration::from_secs(3600)),
};

fn plan(target: Target, seed: u64) -> Plan {
    let artifacts = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "driver-{}-{}",
        target.name,
        std::process::id()
    ));
    Plan {
        target,
        seed,
        limit: Limit::Mutations(100_000),
        patience: Duration::from_secs(60),
        artifacts,
        corpus: Vec::new(),
    }
}

fn found(plan: &Plan) -> (Outcome, Vec<u8>) {
    let outcome = run(plan, |_, _| {});
    let finding = outcome.finding.as_ref().expect("a finding");
    let file = finding.file.as_ref().expect("the input was kept");
    let kept = fs::read(file).expect("the kept input can be read");
    assert_eq!(kept, finding.input);
    (outcome, kept)
}

#[test]
fn planted_panic_is_found_and_its_input_kept() {
    let plan = plan(PLANTED, 1);
    let (outcome, kept) = found(&plan);
    assert_eq!(outcome.finding.map(|finding| finding.what), Some(Breakage::Panic));
    assert!(panics(PLANTED, &kept));
    let _ = fs::remove_dir_all(&plan.artifacts);
}

#[test]
fn same_seed_finds_the_same_input_after_as_many_executions() {
    let target = Target { name: "repeated", ..PLANTED };
    let plan = plan(target, 7);
    let (first, first_input) = found(&plan);
    let (second, second_input) = found(&plan);
    assert_eq!(first.executions, second.executions);
    assert_eq!(first_input, second_input);
    let _ = fs::remove_dir_all(&plan.artifacts);
}

#[test]
fn corpus_is_tried_besides_the_seeds() {
    let target = Target { name: "corpus", seeds: no_seeds, ..PLANTED };
    let plan = Plan {
        corpus: vec![vec![0x17, 0xFE, 0x2A]],
        limit: Limit::Mutations(0),
        ..plan(target, 1)
    };
    assert_eq!(found(&plan).1, [0x17, 0xFE, 0x2A]);
    let _ = fs::remove_dir_all(&plan.artifacts);
}

#[test]
fn input_that_outlasts_the_patience_is_a_hang() {
    let plan = Plan { patience: Duration::from_millis(100), ..plan(SLOW, 1) };
    let (outcome, kept) = found(&plan);
    assert_eq!(outcome.finding.map(|finding| finding.what), Some(Breakage::Hang));
    assert_eq!(kept, [1, 2, 3]);
    let _ = fs::remove_dir_all(&plan.artifacts);
}
