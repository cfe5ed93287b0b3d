use std::time::Duration;

use proptest::prelude::*;
use sinew_robot::{
    Code,
    vacuum::{Command, DockEvent, DockPhase, Event, LinkState as Link, Settings},
};
use sinew_wire::gd32::Flag;

use crate::bench::{Bench, MS, velocity};

/// Booted on the dock, driven away as told, enabled.
fn away(legs: &[(f32, f32, u32)]) -> Bench {
    away_with(Settings::default(), legs)
}

fn away_with(settings: Settings, legs: &[(f32, f32, u32)]) -> Bench {
    let mut bench = Bench::new(settings);
    bench.controller.dock = Some([0.0; 3]);
    bench.connect();
    bench.run(Duration::from_secs(4));
    bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
    bench.run(150 * MS);
    for &(linear, angular, tenths) in legs {
        for _ in 0..tenths {
            bench.velocity(linear, angular).unwrap();
            bench.run(100 * MS);
        }
    }
    bench.velocity(0.0, 0.0).unwrap();
    bench.run(500 * MS);
    bench.forget();
    bench
}

fn ended(bench: &Bench) -> Option<DockEvent> {
    bench.events.iter().find_map(|event| match event {
        Event::Dock { dock: DockEvent::Phase { .. } } => None,
        Event::Dock { dock } => Some(dock.clone()),
        _ => None,
    })
}

fn gave_up(bench: &Bench, why: &str) {
    match ended(bench) {
        Some(DockEvent::GaveUp { reason }) => assert!(reason.contains(why), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.session.state().docking, None);
}

const TOUR: [(f32, f32, u32); 3] = [(0.2, 0.0, 50), (0.0, 0.5, 40), (0.2, 0.0, 40)];

#[test]
fn it_comes_back_and_charges_as_it_stood() {
    let mut bench = away(&TOUR);
    bench.execute(Command::Dock).unwrap();
    bench.run_until(Duration::from_secs(110), |bench| ended(bench).is_some());
    assert_eq!(ended(&bench), Some(DockEvent::Arrived));
    let [x, y, heading] = bench.controller.place;
    assert!(x.hypot(y) < 0.03 && heading.sin().abs() < 0.1 && heading.cos() > 0.0);
    let phases = bench.events.iter().filter_map(|event| match event {
        Event::Dock { dock: DockEvent::Phase { phase } } => Some(*phase),
        _ => None,
    });
    let phases: Vec<_> = phases.collect();
    assert_eq!(
        phases,
        [DockPhase::Startup, DockPhase::Navigation, DockPhase::Approach, DockPhase::Shutdown]
    );
    bench.run(Duration::from_secs(1));
    bench.forget();
    bench.run(Duration::from_secs(1));
    assert!(bench.commands().is_empty(), "all is off");
}

#[test]
fn it_sends_the_commands_of_the_four_phases() {
    let mut bench = away(&TOUR);
    bench.execute(Command::Dock).unwrap();
    bench.run_until(Duration::from_secs(110), |bench| ended(bench).is_some());
    // The lidar's and the brushes' repetitions are left out.
    let mut sent = Vec::new();
    for (command, payload) in bench.commands() {
        let repeated =
            matches!(command, 0x69 | 0x6A | 0x71) && sent.contains(&(command, payload.clone()));
        if command != 0x66 && !repeated {
            sent.push((command, payload));
        }
    }
    let wanted: Vec<(u8, Vec<u8>)> = vec![
        (0x07, vec![]),
        (0x8D, vec![0x01]),
        (0x65, vec![0x02]),
        (0x8D, vec![0x06]),
        (0xA2, vec![0x10, 0x0E, 0, 0]),
        (0x97, vec![0x01]),
        (0x71, vec![60, 0, 0, 0]),
        (0x69, vec![30]),
        (0x6A, vec![30]),
        (0x69, vec![0]),
        (0x6A, vec![0]),
        (0x86, vec![0x10]),
        (0x6B, vec![0x00]),
        (0x9D, vec![0x01]),
        (0x65, vec![0x00]),
        (0x97, vec![0x00]),
        (0x86, vec![0x00]),
        (0x0A, vec![]),
        // As it was before.
        (0x8D, vec![0x01]),
    ];
    assert_eq!(sent, wanted);
    assert!(bench.sent_as(0x08).is_empty());
    assert!(bench.sent_as(0x0D).len() >= 3);
}

#[test]
fn without_a_dock_seen_it_says_what_to_do() {
    let mut bench = Bench::enabled();
    let refusal = bench.execute(Command::Dock).unwrap_err();
    assert_eq!(refusal.code, Code::NotReady);
    assert!(refusal.message.contains("put the robot on its dock"), "{refusal}");
}

#[test]
fn the_deadman_of_a_client_does_not_end_it_but_its_release_does() {
    let mut bench = away(&TOUR);
    bench.execute(Command::Dock).unwrap();
    bench.run(Duration::from_secs(3));
    assert!(bench.moved() && ended(&bench).is_none());
    bench.forget();
    bench.release();
    assert_eq!(bench.sent[0].payload, velocity(0, 0));
    gave_up(&bench, " left");
    bench.run(Duration::from_secs(1));
    assert!(!bench.moved());
    assert!(bench.session.state().stopped_by.is_some());
}

#[test]
fn a_stop_ends_it_in_every_phase() {
    let approach = Duration::from_secs(30);
    for after in
        [0, 2, 50, 500, 3000, 8000].map(Duration::from_millis).into_iter().chain([approach])
    {
        for stop in [Command::DriveReset, Command::DriveDisable] {
            let mut bench = away(&TOUR);
            bench.execute(Command::Dock).unwrap();
            let start = bench.now;
            bench.run_until(approach, |bench| {
                let phase = bench.session.state().docking;
                bench.now >= start + after || phase == Some(DockPhase::Approach)
            });
            assert!(bench.session.state().docking.is_some());
            bench.forget();
            bench.execute(stop).unwrap();
            assert_eq!(bench.sent[0].payload, velocity(0, 0));
            gave_up(&bench, "stopped");
            bench.run(Duration::from_secs(2));
            assert!(!bench.moved());
            assert_eq!(bench.session.state().lidar, None);
        }
    }
}

#[test]
fn bumper_and_cliff_end_it() {
    for flag in [Flag::BumperLeft, Flag::CliffRightFront] {
        let mut bench = away(&TOUR);
        bench.execute(Command::Dock).unwrap();
        bench.run(Duration::from_secs(5));
        bench.controller.status.set(flag, true);
        bench.run(20 * MS);
        gave_up(&bench, flag.name());
        bench.forget();
        bench.run(Duration::from_secs(1));
        assert!(!bench.moved());
    }
}

#[test]
fn link_loss_ends_it() {
    let mut bench = away(&TOUR);
    bench.execute(Command::Dock).unwrap();
    bench.run(Duration::from_secs(5));
    bench.controller.unplugged = true;
    bench.run(300 * MS);
    gave_up(&bench, "link");
    assert_eq!(bench.session.state().link, Link::Lost);
    bench.controller.unplugged = false;
    bench.forget();
    bench.run(Duration::from_secs(5));
    assert!(!bench.moved());
}

#[test]
fn time_ends_it() {
    let settings = Settings { dock_timeout: Duration::from_secs(4), ..Settings::default() };
    let mut bench = away_with(settings, &TOUR);
    bench.execute(Command::Dock).unwrap();
    bench.run(3990 * MS);
    assert!(ended(&bench).is_none());
    bench.run(10 * MS);
    gave_up(&bench, "not there after 4s");
    assert_eq!(bench.controller.wheels(), [0.0; 2]);
    bench.forget();
    bench.run(Duration::from_secs(1));
    assert!(!bench.moved());
}

#[test]
fn a_client_that_drives_ends_it() {
    let mut bench = away(&TOUR);
    bench.execute(Command::Dock).unwrap();
    bench.run(Duration::from_secs(2));
    bench.velocity(0.1, 0.0).unwrap();
    gave_up(&bench, "drives");
    bench.run(Duration::from_secs(1));
    assert!(bench.events.contains(&Event::DeadmanExpired));
}

#[test]
fn a_dock_that_was_taken_away_is_not_looked_for_for_ever() {
    let mut bench = away(&TOUR);
    bench.controller.dock = Some([9.0, 9.0, 0.0]);
    bench.execute(Command::Dock).unwrap();
    bench.run_until(Duration::from_secs(110), |bench| ended(bench).is_some());
    gave_up(&bench, "not where it was");
    let [x, y, _] = bench.controller.place;
    assert!(x.hypot(y) < 0.45, "no further behind than it looks: {x} {y}");
    bench.forget();
    bench.run(Duration::from_secs(1));
    assert!(!bench.moved());
}

#[test]
fn a_dock_that_was_moved_a_little_is_found() {
    for aside in [-0.13, -0.06, 0.06, 0.13] {
        let mut bench = away(&TOUR);
        bench.controller.dock = Some([0.0, aside, 0.0]);
        bench.execute(Command::Dock).unwrap();
        bench.run_until(Duration::from_secs(121), |bench| ended(bench).is_some());
        assert_eq!(ended(&bench), Some(DockEvent::Arrived), "{aside}");
        assert_eq!(bench.sent_as(0x86).len(), 2, "looked for in one approach");
    }
}

#[test]
fn contacts_that_do_not_hold_end_it_with_a_reason() {
    let mut bench = away(&TOUR);
    bench.controller.charges = false;
    bench.execute(Command::Dock).unwrap();
    let end = bench.now + Duration::from_secs(110);
    while ended(&bench).is_none() {
        assert!(bench.now < end);
        let sits =
            bench.controller.status.is(Flag::OnDock) && bench.controller.wheels() == [0.0; 2];
        bench.controller.dock = Some(if sits { [9.0; 3] } else { [0.0; 3] });
        bench.run(50 * MS);
    }
    gave_up(&bench, "do not hold");
}

#[test]
fn contacts_without_charging_end_it_with_a_reason() {
    let mut bench = away(&TOUR);
    bench.controller.charges = false;
    bench.execute(Command::Dock).unwrap();
    bench.run_until(Duration::from_secs(110), |bench| ended(bench).is_some());
    gave_up(&bench, "does not charge");
    assert_eq!(bench.session.state().mode, 0);
}

#[test]
fn an_unanswered_version_is_asked_again_and_then_given_up() {
    let mut bench = away(&TOUR);
    bench.controller.deaf_to.push(0x07);
    bench.execute(Command::Dock).unwrap();
    bench.run(Duration::from_secs(2));
    assert_eq!(bench.sent_as(0x07).len(), 5);
    gave_up(&bench, "0x07");
    assert!(!bench.moved());
}

#[test]
fn on_the_dock_already_it_arrives_at_once() {
    let mut bench = away(&[]);
    bench.execute(Command::Dock).unwrap();
    bench.run(50 * MS);
    assert_eq!(ended(&bench), Some(DockEvent::Arrived));
    assert!(!bench.moved());
}

#[test]
fn leaving_the_dock_does_not_move_its_remembered_place() {
    let bench = away(&[(0.05, 0.1, 30), (0.1, 0.0, 20)]);
    let dock = bench.session.state().dock.unwrap();
    assert!(dock.x.abs() < 0.001 && dock.heading.abs() < 0.001, "{dock:?}");
}

#[test]
fn the_led_is_put_back() {
    type End = fn(&mut Bench);
    let ends: [(End, &str); 5] = [
        (|bench| bench.execute(Command::DriveReset).unwrap(), "stopped"),
        (|bench| bench.execute(Command::DriveDisable).unwrap(), "stopped"),
        (Bench::release, "left"),
        (|bench| bench.controller.status.set(Flag::BumperLeft, true), "bumper_left"),
        (|bench| bench.run(Duration::from_secs(110)), ""),
    ];
    for after in [0, 50, 5000].map(Duration::from_millis) {
        for (end, why) in ends {
            let mut bench = away(&TOUR);
            bench.execute(Command::Led { state: 12 }).unwrap();
            bench.execute(Command::Dock).unwrap();
            bench.run(after);
            end(&mut bench);
            bench.run(50 * MS);
            match why {
                "" => assert_eq!(ended(&bench), Some(DockEvent::Arrived)),
                why => gave_up(&bench, why),
            }
            assert_eq!(bench.sent_as(0x8D).last().unwrap().payload, [12], "{why:?} {after:?}");
            assert_eq!(bench.session.state().led, 12);
        }
    }
}

#[test]
fn an_led_that_a_client_chose_meanwhile_stays() {
    let raw = Command::Raw { command: 0x8D, payload: vec![3] };
    for choice in [Command::Led { state: 3 }, raw] {
        let mut bench = away(&TOUR);
        bench.execute(Command::Dock).unwrap();
        bench.run(Duration::from_secs(5));
        bench.execute(choice).unwrap();
        bench.run_until(Duration::from_secs(110), |bench| ended(bench).is_some());
        assert_eq!(bench.sent_as(0x8D).last().unwrap().payload, [3]);
        assert_eq!(bench.session.state().led, 3);
    }
}

#[test]
fn what_ran_before_runs_on_when_it_gives_up() {
    let mut bench = away(&TOUR);
    bench.execute(Command::MainBrush { percent: 70 }).unwrap();
    bench.execute(Command::LidarOn { pwm: 40 }).unwrap();
    bench.run(200 * MS);
    bench.forget();
    bench.execute(Command::Dock).unwrap();
    bench.run(Duration::from_secs(3));
    bench.controller.status.set(Flag::BumperLeft, true);
    bench.run(50 * MS);
    gave_up(&bench, "bumper");
    let state = bench.session.state();
    assert_eq!((state.main_brush, state.side_brush, state.lidar), (70, 0, Some(40)));
    assert!(bench.sent_as(0x6A).iter().all(|sent| sent.payload == [70]));
}

#[test]
fn the_way_that_is_left_is_told() {
    let mut bench = away(&TOUR);
    let left = |bench: &Bench| {
        let state = serde_json::to_value(bench.session.state()).unwrap();
        state["dock_distance_m"].as_f64()
    };
    assert_eq!(left(&bench), None);
    bench.execute(Command::Dock).unwrap();
    let mut before = left(&bench).unwrap();
    let [x, y, _] = bench.controller.place;
    assert!((x - 0.4).hypot(y) + 0.4 - before < 0.01, "{before}");
    while ended(&bench).is_none() {
        bench.run(200 * MS);
        let now = left(&bench).unwrap_or(0.0);
        assert!(now < before + 0.02, "{before} {now}");
        before = now;
    }
    assert_eq!(ended(&bench), Some(DockEvent::Arrived));
    assert_eq!(left(&bench), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_comes_back_from_anywhere_within_limits(
        legs in prop::collection::vec((0.0f32..0.25, -0.8f32..0.8, 5u32..30), 1..6),
    ) {
        let mut legs = legs;
        legs.insert(0, (0.2, 0.0, 30));
        let mut bench = away(&legs);
        bench.execute(Command::Dock).unwrap();
        bench.run_until(Duration::from_secs(121), |bench| ended(bench).is_some());
        prop_assert_eq!(ended(&bench), Some(DockEvent::Arrived));
        for sent in bench.sent_as(0x66) {
            let p = &sent.payload;
            prop_assert!(i32::from_le_bytes([p[0], p[1], p[2], p[3]]).abs() <= 300);
            prop_assert!(i32::from_le_bytes([p[4], p[5], p[6], p[7]]).abs() <= 1000);
        }
    }
}
