use std::time::Duration;

use sinew_robot::{
    Code,
    teach::{Answer, Event, RobotRequest, Settings},
};
use sinew_wire::teach::{Message, Save};

use crate::bench::{Bench, UNIX_TIME, save};

fn start() -> RobotRequest {
    RobotRequest::RecordStart { name: None }
}

/// The saves that were sent.
fn saves(bench: &Bench) -> Vec<Save<'_>> {
    let message = |sent: &&crate::bench::Sent| sent.code() == 0x2B;
    let sent = bench.sent.iter().filter(message);
    sent.map(|sent| match sent.message() {
        Message::Save(save) => save,
        other => panic!("{other:?}"),
    })
    .collect()
}

/// The whole round of the documents' test plan.
#[test]
fn init_list_enter_record_stop_save_play_exit() {
    let mut bench = Bench::pushing();
    // A triangle: three keyframes hold it without error.
    bench.pose = |ms| {
        let mut pose = [0.0; 12];
        let at = (ms % 2000) as f32 / 1000.0;
        pose[3] = if at < 1.0 { at } else { 2.0 - at };
        pose
    };
    bench.run(1900 - 100);
    bench.get(RobotRequest::List).unwrap();
    assert_eq!(
        bench.get(RobotRequest::Enter).unwrap(),
        Answer::Enter { pose_known: true, idle_exit_ms: Some(300_000), note: None }
    );
    assert!(bench.session.state().teaching);
    bench.run(60);
    bench.get(start()).unwrap();
    assert!(bench.session.state().recording);
    bench.run(2000);
    assert_eq!(bench.session.state().recorded_frames, 100);
    let Answer::RecordStop { frames, duration_ms, largest_gap_ms, note } =
        bench.get(RobotRequest::RecordStop).unwrap()
    else {
        panic!()
    };
    assert_eq!((frames, duration_ms, largest_gap_ms, note), (100, 1980, 20, None));
    let answer = bench.get(save("wave")).unwrap();
    let Answer::Save { error_rad, keyframes, frames, duration_ms, .. } = answer else { panic!() };
    assert_eq!((frames, duration_ms), (100, 1980));
    assert!(keyframes <= 5 && error_rad.unwrap() < 1e-5, "{keyframes} {error_rad:?}");
    let sent = saves(&bench);
    assert_eq!((sent[0].frame_count, sent[0].duration_ms, sent[0].flags), (100, 1980, 1));
    assert_eq!(sent[0].keyframes.iter().count(), keyframes);
    assert!(sent[0].keyframes.iter().all(|keyframe| keyframe.joint == 3));
    bench.get(crate::bench::play(sinew_robot::teach::Target::Id(1))).unwrap();
    assert_eq!(bench.get(RobotRequest::Exit).unwrap(), Answer::Exit { note: None });
    let state = bench.session.state();
    assert!(!state.teaching && !state.recording);
    let order: Vec<_> = bench.codes().into_iter().filter(|code| *code >= 0x0D).collect();
    assert_eq!(order, [0x1A, 0x0D, 0x0F, 0x0F, 0x2B, 0x41, 0x0E]);
}

#[test]
fn enter_carries_the_last_pose_or_zeros() {
    let mut bench = Bench::pushing();
    bench.pose = |_| [0.5; 12];
    bench.run(100);
    bench.get(RobotRequest::Enter).unwrap();
    let sent = bench.sent_as(0x0D)[0].clone();
    let Message::Enter(state) = sent.message() else { panic!() };
    assert_eq!((state.mode_flags, state.positions), (1, [0.5; 12]));
    assert!(state.timestamp_ms > 0);

    let mut bench = Bench::ready();
    assert_eq!(
        bench.get(RobotRequest::Enter).unwrap(),
        Answer::Enter { pose_known: false, idle_exit_ms: Some(300_000), note: None }
    );
    let sent = bench.sent_as(0x0D)[0].clone();
    let Message::Enter(state) = sent.message() else { panic!() };
    assert_eq!((state.positions, state.timestamp_ms), ([0.0; 12], 0));
}

#[test]
fn teaching_is_maintained_every_four_and_a_half_seconds() {
    let mut bench = Bench::ready();
    bench.get(RobotRequest::Enter).unwrap();
    let entered = bench.at_ms();
    bench.run(14_000);
    let maintained: Vec<_> =
        bench.sent_as(0x0D)[1..].iter().map(|sent| sent.at_ms - entered).collect();
    assert_eq!(maintained, [4500, 9000, 13_500]);
    let short = bench.sent_as(0x0D)[1].clone();
    assert!(matches!(short.message(), Message::Maintain { mode_flags: 1, .. }));
    bench.get(RobotRequest::Exit).unwrap();
    bench.forget();
    bench.run(20_000);
    assert!(bench.sent_as(0x0D).is_empty());
}

#[test]
fn a_peer_that_pushes_nothing_is_asked_to_keep_its_own_recording() {
    let mut bench = Bench::ready();
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(start()).unwrap();
    bench.run(3000);
    let Answer::RecordStop { frames, note, .. } = bench.get(RobotRequest::RecordStop).unwrap()
    else {
        panic!()
    };
    assert!(frames == 0 && note.is_some());
    let Answer::Save { error_rad, keyframes, frames, note, .. } = bench.get(save("mine")).unwrap()
    else {
        panic!()
    };
    assert_eq!((error_rad, keyframes, frames), (None, 0, 0));
    assert!(note.unwrap().contains("own recording"));
    let sent = saves(&bench);
    assert_eq!((sent[0].frame_count, sent[0].duration_ms), (0, 3000));
    assert_eq!(sent[0].keyframes.iter().count(), 0);
}

#[test]
fn a_repeated_save_is_the_same_and_another_save_has_another_time() {
    let mut bench = Bench::ready();
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(start()).unwrap();
    bench.get(RobotRequest::RecordStop).unwrap();
    bench.statuses.insert(0x2B, None);
    assert_eq!(bench.code(save("a")), Code::Unconfirmed);
    bench.statuses.clear();
    bench.get(save("b")).unwrap();
    bench.get(save("c")).unwrap();
    let times: Vec<_> = saves(&bench).iter().map(|save| save.timestamp).collect();
    assert_eq!(times[0], times[1]);
    assert_eq!(times[1], times[2]);
    assert!(times[2] < times[3] && times[3] < times[4], "{times:?}");
    assert!(u64::from(times[0]) >= UNIX_TIME);
}

#[test]
fn a_recording_may_be_saved_looped_and_under_the_name_given_at_its_start() {
    let mut bench = Bench::ready();
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(RobotRequest::RecordStart { name: Some("wave".into()) }).unwrap();
    assert_eq!(bench.session.state().recording_name.as_deref(), Some("wave"));
    bench.get(RobotRequest::RecordStop).unwrap();
    let Answer::Save { name, .. } =
        bench.get(RobotRequest::Save { name: None, looped: true }).unwrap()
    else {
        panic!()
    };
    assert_eq!(name, "wave");
    assert_eq!(saves(&bench)[0].flags, 3);
}

#[test]
fn what_is_asked_out_of_order_is_not_ready() {
    let mut bench = Bench::ready();
    assert_eq!(bench.code(start()), Code::NotReady);
    assert_eq!(bench.code(RobotRequest::RecordStop), Code::NotReady);
    assert_eq!(bench.code(save("a")), Code::NotReady);
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(start()).unwrap();
    assert_eq!(bench.code(save("a")), Code::NotReady, "it still runs");
    bench.get(RobotRequest::RecordStop).unwrap();
    assert_eq!(bench.code(RobotRequest::Save { name: None, looped: false }), Code::InvalidArgument);
    bench.get(RobotRequest::Exit).unwrap();
    assert_eq!(bench.code(save("a")), Code::NotReady, "exit ends a recording");
    assert!(bench.sent_as(0x2B).is_empty());
}

#[test]
fn more_than_65535_ms_cannot_be_saved() {
    let mut bench = Bench::pushing();
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(start()).unwrap();
    bench.run(70_000);
    bench.get(RobotRequest::RecordStop).unwrap();
    let refusal = bench.get(save("long")).unwrap_err();
    assert_eq!(refusal.code, Code::Unsupported);
    assert!(refusal.message.contains("65535"), "{refusal}");
    assert!(
        bench.session.state().recorded.as_ref().unwrap().len() > 3000,
        "it can still be exported"
    );
    assert!(bench.sent_as(0x2B).is_empty());
}

#[test]
fn a_session_that_was_not_told_the_time_does_not_save() {
    let mut bench = Bench::ready();
    bench.session = sinew_robot::teach::Session::new(Settings::default(), bench.now);
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(start()).unwrap();
    bench.get(RobotRequest::RecordStop).unwrap();
    assert_eq!(bench.code(save("a")), Code::NotReady);
}

#[test]
fn a_refused_record_start_keeps_the_recording_before_it() {
    let mut bench = Bench::pushing();
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(start()).unwrap();
    bench.run(1000);
    bench.get(RobotRequest::RecordStop).unwrap();
    let frames = bench.session.state().recorded.as_ref().unwrap().len();
    bench.statuses.insert(0x0F, Some(1));
    assert_eq!(bench.code(start()), Code::Refused);
    bench.run(1000);
    assert_eq!(bench.session.state().recorded.as_ref().unwrap().len(), frames);
    assert!(!bench.session.state().recording);
    bench.get(save("still there")).unwrap();
}

#[test]
fn a_refused_enter_is_not_teaching() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x0D, Some(1));
    assert_eq!(bench.code(RobotRequest::Enter), Code::Refused);
    assert!(!bench.session.state().teaching);
    bench.forget();
    bench.run(20_000);
    assert!(bench.sent_as(0x0D).is_empty());
}

#[test]
fn an_unconfirmed_enter_is_maintained_since_the_arms_may_be_compliant() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x0D, None);
    assert_eq!(bench.code(RobotRequest::Enter), Code::Unconfirmed);
    assert!(bench.session.state().teaching);
    bench.forget();
    bench.run(10_000);
    assert!(!bench.sent_as(0x0D).is_empty());
}

#[test]
fn idle_teaching_ends_by_itself_and_lists_do_not_keep_it_up() {
    let settings = Settings { idle_exit: Duration::from_secs(30), ..Settings::default() };
    let mut bench = Bench::with(settings).opened();
    bench.get(RobotRequest::Enter).unwrap();
    bench.run(20_000);
    bench.get(start()).unwrap();
    bench.run(20_000);
    bench.get(RobotRequest::List).unwrap();
    assert!(bench.session.state().teaching, "a verb came 20 s ago");
    bench.run(11_000);
    assert!(!bench.session.state().teaching);
    assert_eq!(bench.sent_as(0x0E).len(), 1);
    let told = |event: &Event| matches!(event, Event::Teaching { on: false, by } if by.contains("nobody asked"));
    assert!(bench.events.iter().any(told));
}

#[test]
fn teaching_goes_on_after_a_short_silence_with_the_gap_told() {
    let mut bench = Bench::pushing();
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(start()).unwrap();
    bench.run(500);
    bench.mute = true;
    bench.run(2000);
    bench.mute = false;
    bench.run(500);
    assert!(bench.session.state().teaching && bench.session.state().recording);
    let Answer::RecordStop { largest_gap_ms, .. } = bench.get(RobotRequest::RecordStop).unwrap()
    else {
        panic!()
    };
    assert!((1980..2100).contains(&largest_gap_ms), "{largest_gap_ms}");
}

#[test]
fn teaching_is_given_up_after_ten_seconds_of_silence_and_the_robot_told_when_it_is_back() {
    let mut bench = Bench::pushing();
    bench.get(RobotRequest::Enter).unwrap();
    bench.mute = true;
    bench.run(10_500);
    assert!(!bench.session.state().teaching);
    bench.forget();
    bench.run(20_000);
    assert!(bench.sent_as(0x0D).is_empty(), "nothing enters again unseen");
    bench.mute = false;
    bench.run(100);
    assert_eq!(bench.sent_as(0x0E).len(), 1);
}

#[test]
fn teaching_ends_when_the_robot_refuses_to_go_on() {
    let mut bench = Bench::ready();
    bench.get(RobotRequest::Enter).unwrap();
    bench.statuses.insert(0x0D, Some(3));
    bench.run(5000);
    assert!(!bench.session.state().teaching);
    assert_eq!(bench.sent_as(0x0E).len(), 1);
    let told = |event: &Event| matches!(event, Event::Teaching { on: false, by } if by.contains("status 3"));
    assert!(bench.events.iter().any(told));
}
