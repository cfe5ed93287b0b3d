//! One body behind datagrams and data channels.

use sinew_robot::Session;
use sinew_sim::g1::{Code, Mode, Options, Peer};
use sinew_wire::teach::{Command, Datagram, Layout, Message, Sender, Sequence};

use super::support::{Line, options};
use crate::support::{EXIT, LIST, MAINTAIN, START, STOP, client, enter, ms, play, save, stored};

/// Sends a datagram and gives the answer's code.
fn tell(line: &mut Line, number: u32, message: &Message<'_>) -> Option<Code> {
    let bytes = message.to_vec(Layout::Compact, Sequence(number as u16)).unwrap();
    Session::handle_input(&mut line.robot, line.now, Peer::Datagram(client(0)), &bytes);
    line.listen();
    let answer = line.datagrams.last()?.clone();
    let answer = Datagram::new_checked(&answer).unwrap();
    match Message::parse(&answer, Some(Sender::Robot)).unwrap() {
        Message::Answer { status, .. } => Code::from_number(status),
        _ => None,
    }
}

fn listed(line: &mut Line, number: u32) -> Vec<String> {
    tell(line, number, &LIST);
    let bytes = line.datagrams.last().unwrap();
    match Message::parse(&Datagram::new_checked(bytes).unwrap(), Some(Sender::Robot)).unwrap() {
        Message::List(list) => list.iter().map(|one| one.name.as_str().unwrap().into()).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_taught_over_one_is_listed_and_played_over_the_other() {
    let mut line = Line::open(options());
    assert_eq!(line.arm(7110, r#"{"action_name":"by channel"}"#), 0);
    line.robot.move_arm(6, -1.0);
    line.keep_alive(ms(2000));
    assert_eq!(line.arm(7110, ""), 0);
    line.run(ms(5000));
    assert_eq!(listed(&mut line, 1), ["by channel"]);
    let keys = [(22, 0, 0.0), (22, 1000, -0.5)];
    assert_eq!(tell(&mut line, 2, &save("by datagram", 5, &keys)), Some(Code::Success));
    let taught: Vec<String> = line.taught().into_iter().map(|(name, _)| name).collect();
    assert_eq!(taught[4..], ["by channel", "by datagram"]);
    // The robot's own recording, played by its number over datagrams.
    assert_eq!(tell(&mut line, 3, &play(1)), Some(Code::Success));
    line.run(ms(4000));
    assert!(line.robot.joints()[6] < -0.9);
    line.run(ms(4000));
    // What the datagrams stored, played by its name over the channel.
    assert_eq!(line.arm(7108, r#"{"action_name":"by datagram"}"#), 0);
    let mut ways = Vec::new();
    for _ in 0..1350 {
        line.run(ms(10));
        ways.push(line.robot.joints()[6]);
    }
    // From -1, where the play before left it, to where this one begins, and to its end.
    let begin = ways.iter().position(|way| *way > -0.01).unwrap();
    let end = ways[begin..].iter().copied().fold(0.0, f32::min);
    assert!(ways[0] < -0.9 && (-0.51..-0.49).contains(&end), "{end}");
    assert!(line.robot.joints()[6].abs() < 1e-3, "over the channel the arms return");
    assert_eq!(line.arm(7109, r#"{"pre_name":"by channel","new_name":"renamed"}"#), 0);
    assert_eq!(listed(&mut line, 4), ["by datagram", "renamed"]);
    assert_eq!(line.arm(7112, r#"{"action_name":"by datagram"}"#), 0);
    assert_eq!(listed(&mut line, 5), ["renamed"]);
}

#[test]
fn arms_that_only_return_are_free_for_datagrams() {
    let actions = vec![stored("one", &[(6, 0, 0.0), (6, 5000, -0.5)])];
    let mut line = Line::open(Options { actions, ..options() });
    assert_eq!(line.arm(7110, r#"{"action_name":"x"}"#), 0);
    line.run(ms(2000));
    assert_eq!(line.arm(7110, ""), 0);
    line.run(ms(500));
    assert_eq!(line.arm(7108, r#"{"action_name":"x"}"#), 7400, "not for another action");
    assert_eq!(tell(&mut line, 1, &play(1)), Some(Code::Success));
    line.run(ms(9000));
    let end = line.robot.joints()[6];
    assert!((-0.51..-0.49).contains(&end), "{end}: nothing takes them back meanwhile");
}

#[test]
fn arms_that_one_uses_are_busy_for_the_other() {
    let actions = vec![stored("one", &[(6, 0, 0.0), (6, 5000, -0.5)])];
    let mut line = Line::open(Options { actions, ..options() });
    assert_eq!(line.arm(7110, r#"{"action_name":"x"}"#), 0);
    assert_eq!(tell(&mut line, 1, &enter()), Some(Code::Busy));
    assert_eq!(tell(&mut line, 2, &play(1)), Some(Code::Busy));
    assert_eq!(line.arm(7110, ""), 0);
    line.run(ms(5000));
    assert_eq!(tell(&mut line, 3, &play(1)), Some(Code::Success));
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 7400);
    assert_eq!(line.arm(7110, r#"{"action_name":"y"}"#), 7400);
    assert_eq!(line.arm(7113, ""), 0, "a stop is any client's");
    assert_eq!(line.robot.mode(), Mode::Idle);
    assert_eq!(tell(&mut line, 4, &enter()), Some(Code::Success));
    assert_eq!(line.arm(7106, r#"{"data":26}"#), 7400);
    assert_eq!(tell(&mut line, 5, &START), Some(Code::Success));
    assert_eq!(line.arm(7110, r#"{"action_name":"y"}"#), 7400);
    assert_eq!(tell(&mut line, 6, &STOP), Some(Code::Success));
    assert_eq!(tell(&mut line, 7, &MAINTAIN), Some(Code::Success));
    assert_eq!(tell(&mut line, 8, &EXIT), Some(Code::Success));
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 0);
}

#[test]
fn leaving_by_datagram_breaks_off_what_the_channel_does() {
    let mut line = Line::open(options());
    assert_eq!(line.arm(7110, r#"{"action_name":"x"}"#), 0);
    assert_eq!(tell(&mut line, 1, &EXIT), Some(Code::Success));
    assert_eq!(line.robot.mode(), Mode::Idle);
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 0);
    line.run(ms(2500));
    assert_eq!(line.robot.mode(), Mode::Playing);
    let joints = |line: &Line| line.robot.joints();
    assert_eq!(tell(&mut line, 2, &EXIT), Some(Code::Success));
    let held = joints(&line);
    line.run(ms(5000));
    assert_eq!((joints(&line), line.robot.mode()), (held, Mode::Idle));
    assert_eq!(line.robot.actions().len(), 0, "what is broken off is not stored");
}

#[test]
fn datagrams_are_served_while_a_channel_has_no_room() {
    let mut line = Line::open(options());
    line.room = false;
    assert_eq!(tell(&mut line, 1, &enter()), Some(Code::Success));
    let answer = Datagram::new_checked(line.datagrams.last().unwrap()).unwrap();
    assert_eq!(Command::from(answer.command), Command::Enter);
}

#[test]
fn what_the_body_does_can_be_seen_from_outside() {
    let mut line = Line::open(options());
    let seen = *Session::state(&line.robot);
    assert_eq!((seen.mode, seen.fsm_id, seen.channels), (Mode::Idle, 500, 1));
    assert_eq!(line.arm(7110, r#"{"action_name":"x"}"#), 0);
    assert_eq!(Session::state(&line.robot).mode, Mode::Recording);
    line.request("slam_operate", 1801, r#"{"data":{"slam_type":"indoor"}}"#);
    line.run(ms(1000));
    let seen = *Session::state(&line.robot);
    assert_eq!(seen, line.robot.body());
    assert!(seen.is_mapping && seen.place.x > 2.8);
}

#[test]
fn several_clients_have_one_robot() {
    const STATE: &str = r#"{"type":"subscribe","topic":"rt/arm/action/state"}"#;
    let mut line = Line::open(options());
    line.join(2);
    line.send(STATE);
    line.text(2, STATE);
    let before = line.heard.len();
    assert_eq!(line.arm(7108, r#"{"action_name":"Spin_discs"}"#), 0);
    line.run(ms(2000));
    line.text(2, r#"{"type":"req","topic":"rt/api/arm/request","data":{"header":{"identity":{"id":77,"api_id":7113}},"parameter":""}}"#);
    line.run(ms(200));
    for client in [1, 2] {
        let heard: Vec<_> =
            line.heard[before..].iter().filter(|heard| heard.client == client).collect();
        let answers = heard.iter().filter(|heard| heard.text().contains(r#""type":"res""#));
        assert_eq!(answers.count(), 1, "its own");
        let last = heard.iter().rfind(|heard| heard.text().contains("action/state")).unwrap();
        assert!(last.text().contains("release_arm"), "{}", last.text());
    }
}
