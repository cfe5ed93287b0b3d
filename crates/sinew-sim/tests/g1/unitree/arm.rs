use sinew_sim::g1::{KEEP_ALIVE, MAX_ACTIONS, Mode, Options, UnitreeOptions, What};
use sinew_wire::unitree::arm::{ActionList, ArmState, Phase};

use super::support::{Line, options};
use crate::support::{lifts, ms, stored};

const STATE: &str = "rt/arm/action/state";

/// With an operator who lifts the right arm.
fn taught_options() -> Options {
    Options { unitree: options().unitree, ..lifts(6, -1.0) }
}

fn states(line: &Line, from: usize) -> Vec<ArmState> {
    line.on(from, STATE).iter().map(|(_, message)| ArmState::parse(message).unwrap()).collect()
}

/// Records for so long, and gives how long it took from request to request.
fn record(line: &mut Line, name: &str, seconds: u64) {
    assert_eq!(line.arm(7110, &format!(r#"{{"action_name":"{name}"}}"#)), 0);
    line.keep_alive(ms(seconds * 1000) - ms(327));
    assert_eq!(line.arm(7110, ""), 0);
}

fn wait_idle(line: &mut Line) {
    line.run(ms(5000));
    assert_eq!(line.robot.mode(), Mode::Idle);
}

#[test]
fn the_list_has_the_presets_and_the_factory_s_actions() {
    let mut line = Line::open(options());
    let asked = line.now;
    let response = line.call("arm", 7107, "");
    assert_eq!(line.now - asked, ms(22));
    let list = ActionList::parse(&response.data).unwrap();
    let ids: Vec<i64> = list.presets.iter().map(|preset| preset.id).collect();
    let wanted = [99, 1, 11, 12, 13, 15, 17, 18, 19, 22, 23, 24, 25, 26, 27, 31, 32, 33, 34, 35];
    assert_eq!(ids, wanted);
    let text = response.data.as_str().unwrap();
    assert!(text.contains(r#"{"fsm":[500,501],"id":1,"name":"turn_back_wave"}"#));
    assert!(text.contains(r#"{"id":35,"mode_machine":[4],"name":"emphasize"}"#));
    assert!(text.ends_with(r#"[{"name":"Waist_Drum_Dance","time":9.5},{"name":"Spin_discs","time":6.9},{"name":"Scratch_head","time":8.1},{"name":"Throw_money","time":8.1}]]"#));
    let unitree = UnitreeOptions { factory_actions: false, ..options().unitree };
    let mut line = Line::open(Options { unitree, ..options() });
    assert!(line.taught().is_empty());
}

#[test]
fn answers_have_the_form_of_the_log() {
    let mut line = Line::open(options());
    line.send(r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":9,"api_id":7113}},"parameter":""}}"#);
    line.run(ms(40));
    let wanted = r#"{"type":"res","topic":"rt/api/arm/response","data":{"header":{"identity":{"id":9,"api_id":7113},"status":{"code":0}},"data":""}}"#;
    assert_eq!(line.heard.last().unwrap().text(), wanted);
}

#[test]
fn a_recording_is_what_the_operator_does_between_start_and_stop() {
    let mut line = Line::open(taught_options());
    line.subscribe(STATE);
    let before = line.heard.len();
    record(&mut line, "2026-02-01_05:50:36", 4);
    assert!(line.robot.joints()[6] < -0.9, "the operator lifted the arm");
    let ids: Vec<i64> = states(&line, before).iter().map(|state| state.id).collect();
    assert!(ids.iter().filter(|id| **id == -1).count() > 30);
    let seen = states(&line, before);
    let recording = seen.iter().find(|state| state.phase() == Phase::Recording).unwrap();
    assert_eq!((recording.holding, recording.name.as_str()), (false, "2026-02-01_05:50:36"));
    let stopped = line.heard.len();
    wait_idle(&mut line);
    let returning = states(&line, stopped).iter().filter(|state| state.id == 99).count();
    assert!((38..=44).contains(&returning), "{returning} states of about 0.1 s");
    assert_eq!(
        states(&line, stopped).last().unwrap().emit(),
        r#"{"holding":false,"id":0,"name":""}"#
    );
    assert!(line.robot.joints()[6].abs() < 1e-3, "the arms have returned");
    assert_eq!(line.taught()[4], ("2026-02-01_05:50:36".into(), 4.0));
    assert_eq!(line.disk.len(), 1);
    assert_eq!(line.disk[0].name, "2026-02-01_05:50:36");
}

#[test]
fn starting_takes_a_third_of_a_second_and_the_arms_are_soft() {
    let mut line = Line::open(options());
    let asked = line.now;
    assert_eq!(line.arm(7110, r#"{"action_name":"x"}"#), 0);
    assert_eq!(line.now - asked, ms(327));
    assert_eq!(line.robot.mode(), Mode::Recording);
    line.robot.move_arm(0, -1.0);
    line.run(ms(2000));
    assert!(line.robot.joints()[0] < -0.9);
}

#[test]
fn a_recording_that_is_not_kept_alive_ends_and_is_stored() {
    let mut line = Line::open(options());
    assert_eq!(line.arm(7110, r#"{"action_name":"forgotten"}"#), 0);
    line.run(KEEP_ALIVE - ms(400));
    assert_eq!(line.robot.mode(), Mode::Recording);
    assert_eq!(line.arm(7110, r#"{"action_name":""}"#), 0);
    line.run(KEEP_ALIVE - ms(100));
    assert_eq!(line.robot.mode(), Mode::Recording);
    line.run(ms(200));
    assert_ne!(line.robot.mode(), Mode::Recording);
    assert_eq!(line.arm(7110, r#"{"action_name":""}"#), 7402);
    assert_eq!(line.arm(7110, ""), 0, "a stop is never refused");
    let taught = line.taught();
    assert_eq!((taught[4].0.as_str(), taught.len()), ("forgotten", 5));
}

#[test]
fn a_recording_survives_its_channel_for_three_seconds() {
    let mut line = Line::open(options());
    assert_eq!(line.arm(7110, r#"{"action_name":"x"}"#), 0);
    line.input(1, What::Closed, b"");
    line.run(ms(2000));
    assert_eq!(line.robot.mode(), Mode::Recording);
    line.run(ms(7000));
    assert_eq!(line.robot.mode(), Mode::Idle);
    assert_eq!(line.robot.actions().len(), 1);
}

#[test]
fn the_longest_recording_is_as_long_as_the_longest_action() {
    let mut line = Line::open(options());
    assert_eq!(line.arm(7110, r#"{"action_name":"long"}"#), 0);
    line.keep_alive(ms(65_100));
    assert_eq!(line.robot.mode(), Mode::Recording);
    line.run(ms(200));
    assert_ne!(line.robot.mode(), Mode::Recording);
    assert_eq!(line.robot.actions()[0].duration_ms, 65_535);
    line.robot.actions()[0].check().unwrap();
}

#[test]
fn what_was_taught_is_played_and_the_arms_return() {
    let mut line = Line::open(taught_options());
    record(&mut line, "lift", 4);
    wait_idle(&mut line);
    line.subscribe(STATE);
    let (asked, before) = (line.now, line.heard.len());
    assert_eq!(line.arm(7108, r#"{"action_name":"lift"}"#), 0);
    assert_eq!(line.now - asked, ms(338));
    let mut lowest = 0.0_f32;
    for _ in 0..1000 {
        line.run(ms(10));
        lowest = lowest.min(line.robot.joints()[6]);
    }
    assert!((-1.01..-0.9).contains(&lowest), "{lowest}");
    let mut phases: Vec<Phase> = states(&line, before).iter().map(ArmState::phase).collect();
    phases.dedup();
    assert_eq!(phases, [Phase::Idle, Phase::Playing, Phase::Returning, Phase::Idle]);
    assert!(line.robot.joints()[6].abs() < 1e-3);
}

#[test]
fn the_factory_s_actions_can_be_played() {
    for name in ["Waist_Drum_Dance", "Spin_discs", "Scratch_head", "Throw_money"] {
        let mut line = Line::open(options());
        assert_eq!(line.arm(7108, &format!(r#"{{"action_name":"{name}"}}"#)), 0);
        let mut moved = 0.0_f32;
        for _ in 0..300 {
            line.run(ms(10));
            moved = line.robot.joints().iter().fold(moved, |most, one| most.max(one.abs()));
        }
        assert_eq!(line.robot.mode(), Mode::Playing, "{name}");
        assert!(moved > 0.5, "{name}");
        line.run(ms(15_000));
        assert_eq!(line.robot.mode(), Mode::Idle, "{name}");
        assert_eq!(line.arm(7112, &format!(r#"{{"action_name":"{name}"}}"#)), 3204);
    }
}

#[test]
fn a_play_that_is_stopped_returns_at_once() {
    let mut line = Line::open(options());
    line.subscribe(STATE);
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 0);
    line.run(ms(2000));
    assert_eq!(line.robot.mode(), Mode::Playing);
    let before = line.heard.len();
    line.request("arm", 7113, "");
    line.run(ms(150));
    assert_eq!(states(&line, before).last().unwrap().id, 99);
    line.run(ms(4100));
    assert_eq!(states(&line, before).last().unwrap().id, 0);
}

#[test]
fn a_stop_between_acknowledgement_and_motion_keeps_the_arms_still() {
    for seed in 0..20 {
        let mut line = Line::open(Options { seed, ..options() });
        assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 0);
        assert_eq!(line.robot.mode(), Mode::Idle, "it acknowledges before it moves");
        assert_eq!(line.arm(7113, ""), 0);
        line.run(ms(2000));
        assert_eq!(line.robot.mode(), Mode::Idle);
        assert_eq!(line.robot.joints(), [0.0; 12]);
    }
}

#[test]
fn presets_hold_until_they_are_released() {
    let mut line = Line::open(options());
    line.subscribe(STATE);
    assert_eq!(line.arm(7106, r#"{"data":23}"#), 0);
    line.run(ms(5000));
    let state = states(&line, 0).last().unwrap().clone();
    assert_eq!((state.id, state.holding, state.name.as_str()), (23, true, "right_hand_up"));
    assert!(line.robot.joints()[6] < -2.0);
    assert_eq!(line.arm(7106, r#"{"data":26}"#), 7401);
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 7401);
    assert_eq!(line.arm(7110, r#"{"action_name":"x"}"#), 7401);
    assert_eq!(line.arm(7106, r#"{"data":99}"#), 0);
    wait_idle(&mut line);
    assert!(line.robot.joints()[6].abs() < 1e-3);
    // The same one again releases, too.
    assert_eq!(line.arm(7106, r#"{"data":23}"#), 0);
    line.run(ms(5000));
    assert_eq!(line.arm(7106, r#"{"data":23}"#), 0);
    wait_idle(&mut line);
}

#[test]
fn presets_that_do_not_hold_return_by_themselves() {
    let mut line = Line::open(options());
    assert_eq!(line.arm(7106, r#"{"data":26}"#), 0);
    line.run(ms(2000));
    assert_eq!(line.robot.mode(), Mode::Playing);
    line.run(ms(8000));
    assert_eq!(line.robot.mode(), Mode::Idle);
    assert_eq!(line.arm(7106, r#"{"data":20}"#), 7402, "a heart is not among this robot's");
}

#[test]
fn some_presets_are_for_one_build_only() {
    let unitree = UnitreeOptions { mode_machine: 2, ..options().unitree };
    let mut line = Line::open(Options { unitree, ..options() });
    assert_eq!(line.arm(7106, r#"{"data":35}"#), 7402);
    assert_eq!(line.arm(7106, r#"{"data":34}"#), 0);
}

#[test]
fn arms_that_are_occupied_refuse() {
    let mut line = Line::open(options());
    assert_eq!(line.arm(7110, r#"{"action_name":"x"}"#), 0);
    for (api_id, parameter) in [
        (7110, r#"{"action_name":"y"}"#),
        (7108, r#"{"action_name":"Spin_discs"}"#),
        (7106, r#"{"data":26}"#),
        (7106, r#"{"data":99}"#),
    ] {
        assert_eq!(line.arm(api_id, parameter), 7400, "{api_id} {parameter}");
    }
    assert_eq!(line.arm(7110, ""), 0);
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 7400, "they return");
    wait_idle(&mut line);
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 0);
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 7400);
}

#[test]
fn the_body_s_state_decides_whether_the_arms_may_move() {
    for (fsm_id, allowed) in [(500, true), (501, true), (801, true), (1, false), (4, false)] {
        let unitree = UnitreeOptions { fsm_id, ..options().unitree };
        let mut line = Line::open(Options { unitree, ..options() });
        let wanted = if allowed { 0 } else { 7404 };
        assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), wanted, "{fsm_id}");
        let wanted = if allowed { 7400 } else { 7404 };
        assert_eq!(line.arm(7110, r#"{"action_name":"x"}"#), wanted, "{fsm_id}");
        assert_eq!(line.arm(7106, r#"{"data":26}"#), wanted, "{fsm_id}");
        assert_eq!(line.arm(7107, ""), 0);
    }
    // One preset is for standing and walking only.
    let unitree = UnitreeOptions { fsm_id: 801, ..options().unitree };
    let mut line = Line::open(Options { unitree, ..options() });
    assert_eq!(line.arm(7106, r#"{"data":1}"#), 7404);
}

#[test]
fn damping_ends_a_play() {
    let mut line = Line::open(options());
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 0);
    line.run(ms(2000));
    assert_eq!(line.code("sport", 7101, r#"{"data":1}"#), 0);
    assert_eq!(line.robot.mode(), Mode::Idle);
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 7404);
}

#[test]
fn names_are_changed_and_forgotten() {
    let actions = vec![stored("one", &[(6, 1000, -0.5)]), stored("two", &[(6, 1000, -0.5)])];
    let mut line = Line::open(Options { actions, ..options() });
    let names = |line: &mut Line| -> Vec<String> {
        line.taught().into_iter().skip(4).map(|(name, _)| name).collect()
    };
    assert_eq!(line.arm(7109, r#"{"pre_name":"one","new_name":"touch me not"}"#), 0);
    assert_eq!(names(&mut line), ["two", "touch me not"]);
    assert_eq!(line.disk[1].name, "touch me not");
    assert_eq!(line.arm(7109, r#"{"pre_name":"one","new_name":"x"}"#), 7402);
    assert_eq!(line.arm(7109, r#"{"pre_name":"two","new_name":"touch me not"}"#), 3204);
    assert_eq!(line.arm(7109, r#"{"pre_name":"two","new_name":"Spin_discs"}"#), 3204);
    assert_eq!(line.arm(7109, r#"{"pre_name":"two","new_name":""}"#), 3204);
    assert_eq!(line.arm(7112, r#"{"action_name":"Two"}"#), 7402, "case counts");
    assert_eq!(line.arm(7112, r#"{"action_name":"two"}"#), 0);
    assert_eq!(names(&mut line), ["touch me not"]);
    assert_eq!(line.disk.len(), 1);
    assert_eq!(line.arm(7108, r#"{"action_name":"two"}"#), 7402);
    assert_eq!(line.arm(7108, r#"{"action_name":"touch me not"}"#), 0);
    assert_eq!(line.arm(7112, r#"{"action_name":"touch me not"}"#), 7400, "it plays");
}

#[test]
fn fifteen_are_taught_at_most_and_no_name_twice() {
    let mut line = Line::open(options());
    for number in 0..MAX_ACTIONS {
        record(&mut line, &format!("number {number}"), 1);
        wait_idle(&mut line);
        assert_eq!(line.arm(7110, &format!(r#"{{"action_name":"number {number}"}}"#)), 3204);
    }
    assert_eq!(line.taught().len(), 4 + MAX_ACTIONS);
    assert_eq!(line.arm(7110, r#"{"action_name":"one more"}"#), 3204);
    assert_eq!(line.arm(7112, r#"{"action_name":"number 3"}"#), 0);
    assert_eq!(line.arm(7110, r#"{"action_name":"one more"}"#), 0);
}

#[test]
fn a_disk_that_fails_is_said() {
    let mut line = Line::open(options());
    line.disk_works = false;
    assert_eq!(line.arm(7110, r#"{"action_name":"x"}"#), 0);
    assert_eq!(line.arm(7110, ""), 3202);
    wait_idle(&mut line);
    assert_eq!(line.taught().len(), 4);
}

#[test]
fn a_recording_waits_for_a_disk_that_is_slow() {
    let mut line = Line::open(options());
    line.jobs = Some(Vec::new());
    assert_eq!(line.arm(7110, r#"{"action_name":"first"}"#), 0);
    let first = line.request("arm", 7110, "");
    line.run(ms(5000));
    assert_eq!(line.arm(7110, r#"{"action_name":"first"}"#), 3204, "that one is to be stored");
    assert_eq!(line.arm(7112, r#"{"action_name":"first"}"#), 7400, "the disk is busy");
    assert_eq!(line.arm(7110, r#"{"action_name":"second"}"#), 0);
    let second = line.request("arm", 7110, "");
    line.run(ms(1000));
    assert_eq!((line.response(0, first), line.response(0, second)), (None, None));
    for id in [1, 2] {
        assert_eq!(line.jobs.as_ref().unwrap().as_slice(), &(1..=id).collect::<Vec<_>>());
        let now = line.now;
        line.robot.stored(now, id, true);
        line.run(ms(100));
    }
    for id in [first, second] {
        assert_eq!(line.response(0, id).unwrap().code, 0);
    }
    assert_eq!(line.robot.actions().len(), 2);
}

#[test]
fn calls_that_are_not_laid_out_as_they_should_be_are_refused() {
    let mut line = Line::open(options());
    for (api_id, parameter) in [
        (7106, ""),
        (7106, r#"{"data":"26"}"#),
        (7108, "{}"),
        (7109, r#"{"pre_name":"a"}"#),
        (7110, "{}"),
        (7110, "rubbish"),
        (7110, r#"{"action_name":"0123456789012345678901234567890123456789"}"#),
        (7112, r#"{"action_name":7}"#),
    ] {
        assert_eq!(line.arm(api_id, parameter), 3204, "{api_id} {parameter}");
    }
    assert_eq!(line.arm(7111, r#"{"pause":true}"#), 3203);
    assert_eq!(line.arm(7114, ""), 3203);
    assert_eq!(line.robot.mode(), Mode::Idle);
}

#[test]
fn the_state_comes_ten_times_a_second_while_it_is_subscribed_to() {
    let mut line = Line::open(options());
    line.run(ms(1000));
    assert!(states(&line, 0).is_empty());
    line.subscribe(STATE);
    line.run(ms(10_000));
    let count = states(&line, 0).len();
    assert!((97..=100).contains(&count), "{count} in ten seconds");
    line.send(&format!(r#"{{"type":"unsubscribe","topic":"{STATE}"}}"#));
    line.run(ms(1000));
    assert_eq!(states(&line, 0).len(), count);
}
