//! The controller switches the lidar on and off.

use sinew_robot::{
    Session as _,
    lidar::{CheckState, Event, LinkState},
    vacuum::Command,
};
use sinew_sim::vacuum::{LidarOptions, Options};

use crate::harness::{Flat, ms};

fn flat() -> Flat {
    Flat::new(Options::default(), LidarOptions::default(), Default::default())
}

#[test]
fn a_lidar_without_power_is_silent_and_not_lost() {
    let mut flat = flat();
    flat.run_for(ms(5000));
    assert_eq!(flat.listener.state().link, LinkState::Silent);
    assert!(flat.sent.is_empty());
    assert_eq!(flat.listener.poll_timeout(), None, "nothing is waited for");
}

#[test]
fn it_says_its_speed_for_two_seconds_and_then_measures() {
    let mut flat = flat();
    flat.execute(Command::LidarOn { pwm: 60 });
    flat.run_until(ms(2500), |flat| flat.listener.state().link == LinkState::Starting);
    let began = flat.now;
    assert!(flat.scans.is_empty());
    flat.run_for(ms(1000));
    let speed = flat.listener.state().turns_per_second.unwrap();
    assert!((2.0..3.5).contains(&speed), "half way: {speed}");
    assert_eq!(flat.listener.state().check, CheckState::Proven, "speeds prove it, too");
    flat.run_until(ms(3000), |flat| flat.listener.state().link == LinkState::Turning);
    let spun_up = flat.now - began;
    assert!((ms(1700)..ms(2300)).contains(&spun_up), "{spun_up:?}");
}

#[test]
fn it_turns_five_times_a_second_in_360_samples() {
    let mut flat = flat().turning();
    let (before, sent) = (flat.scans.len(), flat.frames);
    flat.run_for(ms(10_000));
    let turns = flat.scans.len() - before;
    assert!((49..=51).contains(&turns), "{turns} turns");
    assert!((740..=760).contains(&(flat.frames - sent)));
    for (scan, _) in &flat.scans {
        let samples = scan.turn.points.len() + usize::from(scan.turn.without_echo);
        assert_eq!((samples, scan.turn.frames, scan.turn.sources.next), (360, 15, 15));
        let took = scan.ended - scan.began;
        assert!((ms(185)..ms(215)).contains(&took), "{took:?}");
    }
    let state = flat.listener.state();
    assert_eq!(state.spacing, Some("next_frame"));
    assert_eq!(state.turns as usize, flat.scans.len());
    assert!((state.turns_per_second.unwrap() - 5.0).abs() < 0.3);
    assert_eq!(state.counters.frames, flat.frames);
    assert_eq!((state.counters.dropped, state.counters.unchecked), (0, 0));
}

#[test]
fn switched_off_it_is_silent_within_200_ms_and_comes_back() {
    let mut flat = flat().turning();
    flat.execute(Command::LidarOff);
    flat.run_for(ms(400));
    assert_eq!(flat.listener.state().link, LinkState::Lost);
    assert_eq!(flat.listener.state().turns_per_second, None, "what is over does not look fresh");
    let sent = flat.sent.len();
    flat.run_for(ms(5000));
    assert_eq!(flat.sent.len(), sent);
    let turns = flat.scans.len();
    flat.execute(Command::LidarOn { pwm: 60 });
    flat.run_for(ms(4000));
    assert_eq!(flat.listener.state().link, LinkState::Turning);
    assert!(flat.scans.len() > turns + 5);
    for (scan, _) in &flat.scans[turns..] {
        assert_eq!(scan.turn.frames, 15, "no turn is made of what came before");
    }
}

#[test]
fn a_stop_and_a_controller_that_restarts_cut_its_power() {
    let mut flat = self::flat().turning();
    flat.execute(Command::DriveReset);
    flat.run_for(ms(500));
    assert_eq!(flat.listener.state().link, LinkState::Lost);
    let mut flat = self::flat().turning();
    flat.robot.reboot(flat.now);
    flat.run_for(ms(300));
    assert_eq!(flat.listener.state().link, LinkState::Lost);
}

#[test]
fn a_motor_that_is_told_to_turn_slower_says_speeds_until_it_does() {
    let mut flat = flat().turning();
    flat.execute(Command::LidarOn { pwm: 36 });
    flat.run_for(ms(300));
    assert_eq!(flat.listener.state().link, LinkState::Starting);
    flat.run_for(ms(3000));
    assert_eq!(flat.listener.state().turns_per_second, Some(3.0));
    assert_eq!(flat.listener.state().link, LinkState::Turning);
    let before = flat.scans.len();
    flat.run_for(ms(10_000));
    assert!((29..=31).contains(&(flat.scans.len() - before)));
}

#[test]
fn the_same_seed_sends_the_same_bytes() {
    let sent = |seed: u64| {
        let options = LidarOptions { seed, ..LidarOptions::default() };
        let mut flat = Flat::new(Options::default(), options, Default::default()).turning();
        flat.run_for(ms(1000));
        flat.sent
    };
    assert_eq!(sent(1), sent(1));
    assert_ne!(sent(1), sent(2));
}

#[test]
fn a_line_that_is_opened_again_proves_its_check_again() {
    let mut flat = flat().turning();
    flat.listener.disconnected(flat.now, "unplugged");
    assert_eq!(flat.listener.state().check, CheckState::Unproven);
    let link = LinkState::Disconnected { reason: Some("unplugged".into()) };
    assert_eq!(flat.listener.state().link, link);
    assert_eq!(flat.listener.state().turns_per_second, None);
    let turns = flat.scans.len();
    flat.run_for(ms(500));
    assert_eq!(flat.scans.len(), turns);
    flat.listener.connected(flat.now);
    flat.run_for(ms(700));
    assert!(flat.scans.len() > turns);
    assert_eq!(flat.listener.state().check, CheckState::Proven);
    let links = flat.events.iter().filter_map(|(_, event)| match event {
        Event::Link { link, .. } => Some(link.clone()),
        _ => None,
    });
    let turning = LinkState::Turning;
    let wanted =
        [LinkState::Silent, LinkState::Starting, turning.clone(), link, LinkState::Silent, turning];
    assert_eq!(links.collect::<Vec<_>>(), wanted);
}
