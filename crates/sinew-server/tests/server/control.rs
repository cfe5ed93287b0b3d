use std::time::Duration;

use serde_json::json;
use sinew_robot::vacuum::Command;
use socket2::SockRef;
use tokio::io::AsyncWriteExt;

use crate::support::{Call, DEADLINE, control, drive, led, post, start, until};

#[tokio::test]
async fn two_clients_do_not_fight() {
    let server = start();
    let (mut first, mut second) = (server.lines().await, server.lines().await);
    first.ok(led(1)).await;
    let refused = second.ask(led(2)).await["error"].clone();
    assert_eq!((&refused["code"], &refused["remedy"]), (&json!("busy"), &json!("take_control")));
    assert_eq!(refused["message"], format!("{} holds the controls of vacuum", first.name));
    second.ok(json!({ "type": "Robots" })).await;
    second.ok(json!({ "type": "Subscribe", "topics": ["state"] })).await;

    second.ok(json!({ "type": "TakeControl", "name": "second" })).await;
    second.ok(led(2)).await;
    assert!(first.fails(led(1), "busy").await.contains("second holds"));
    let led = |state, by: &str| Call::Execute(Command::Led { state }, by.into());
    let taken = Call::Taken("second".into());
    assert_eq!(server.robot.calls(), [led(1, &first.name), taken, led(2, "second")]);
    first.ok(json!({ "type": "TakeControl" })).await;
    first.ok(crate::support::led(3)).await;
}

#[tokio::test]
async fn the_holders_end_frees_the_controls_and_tells_the_robot() {
    let server = start();
    let (mut first, mut second) = (server.lines().await, server.lines().await);
    first.ok(drive(0.1, 0.0)).await;
    let name = first.name.clone();
    drop(first);
    server.robot.called(Call::Release(name)).await;
    second.ok(led(2)).await;
}

#[tokio::test]
async fn a_reset_connection_frees_the_controls_too() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(drive(0.1, 0.0)).await;
    let name = client.name.clone();
    let linger = Some(Duration::ZERO);
    SockRef::from(client.writer.as_ref()).set_linger(linger).expect("is a socket");
    drop(client);
    server.robot.called(Call::Release(name)).await;
}

#[tokio::test]
async fn only_the_holders_end_is_told() {
    let server = start();
    let (mut first, mut second) = (server.lines().await, server.lines().await);
    first.ok(led(1)).await;
    second.ok(json!({ "type": "Robots" })).await;
    drop(second);
    let mut third = server.lines().await;
    third.ok(json!({ "type": "TakeControl" })).await;
    let third_name = third.name.clone();
    drop(first);
    drop(third);
    server.robot.called(Call::Release(third_name.clone())).await;
    let after: Vec<_> = server.robot.calls().into_iter().skip(1).collect();
    assert_eq!(after, [Call::Taken(third_name.clone()), Call::Release(third_name)]);
}

#[tokio::test]
async fn who_takes_the_controls_is_told_from_whom_and_all_are_told() {
    let server = start();
    let (mut first, mut second) = (server.lines().await, server.lines().await);
    let (mut third, take) = (server.lines().await, json!({ "type": "TakeControl" }));
    third.ok(json!({ "type": "Subscribe", "topics": ["events"] })).await;
    let free = first.ok(take.clone()).await;
    assert_eq!(free, json!({ "robot": "vacuum", "from": null }), "no client had them");
    assert_eq!(first.ok(take.clone()).await["from"], json!(null), "no other client had them");
    let taken = second.ok(take).await;
    assert_eq!(taken, json!({ "robot": "vacuum", "from": first.name }));
    let told = third.event("events").await;
    let wanted = json!({ "event": "taken", "by": second.name, "from": first.name });
    assert_eq!((&told["robot"], &told["data"]), (&json!("vacuum"), &wanted));
}

/// A client need not wait until it is known by its name.
#[tokio::test]
async fn a_stop_right_behind_a_name_is_that_names() {
    let server = start();
    let mut client = server.lines().await;
    let name = json!({ "type": "Auth", "name": "ann@laptop" });
    let stop = json!({ "type": "Stop", "req": 1 });
    let both = format!("{name}\n{stop}\n");
    client.writer.write_all(both.as_bytes()).await.expect("is open");
    server.robot.called(Call::Stop("ann@laptop".into())).await;
}

#[tokio::test]
async fn a_new_name_is_shown_to_others_at_once() {
    let server = start();
    let (mut first, mut second) = (server.lines().await, server.lines().await);
    first.ok(led(1)).await;
    let data = first.ok(json!({ "type": "Auth", "name": "joystick" })).await;
    assert_eq!(data, json!({ "access": "control", "name": "joystick" }));
    assert!(second.fails(led(2), "busy").await.contains("joystick"));
    first.ok(led(2)).await;
    let by = Call::Execute(Command::Led { state: 2 }, "joystick".into());
    assert_eq!(server.robot.calls()[1], by);
}

#[tokio::test]
async fn stop_is_heard_while_commands_hang() {
    let server = start();
    server.robot.hang(true);
    let (mut holder, mut other) = (server.lines().await, server.lines().await);
    for state in 1..=5 {
        holder.send(led(state)).await;
    }
    let hanging = Call::Execute(Command::Led { state: 1 }, holder.name.clone());
    server.robot.called(hanging).await;
    holder.ok(json!({ "type": "Stop" })).await;
    other.ok(json!({ "type": "Stop" })).await;
    let calls = server.robot.calls();
    assert_eq!(
        calls,
        [
            Call::Execute(Command::Led { state: 1 }, holder.name.clone()),
            Call::Stop(holder.name.clone()),
            Call::Stop(other.name.clone()),
        ]
    );
}

#[tokio::test]
async fn what_waited_when_stop_came_is_never_sent() {
    let server = start();
    server.robot.hang(true);
    let (mut holder, mut other) = (server.lines().await, server.lines().await);
    holder.send(led(1)).await;
    holder.send(control("drive", "Enable")).await;
    let hanging = Call::Execute(Command::Led { state: 1 }, holder.name.clone());
    server.robot.called(hanging).await;
    holder.ok(json!({ "type": "Robots" })).await;
    other.ok(json!({ "type": "Stop" })).await;
    // `drive` Reset does not wait for the one that hangs.
    holder.send(control("drive", "Reset")).await;
    let reset = Call::Stop(holder.name.clone());
    server.robot.called(reset.clone()).await;
    server.robot.hang(false);
    holder.ok(led(2)).await;
    let calls = server.robot.calls();
    assert_eq!(calls.len(), 4, "{calls:?}");
    assert_eq!(calls[2], reset);
}

#[tokio::test]
async fn waiting_commands_are_told_who_stopped_them() {
    let server = start();
    let (mut holder, mut other) = (server.lines().await, server.lines().await);
    other.ok(json!({ "type": "Auth", "name": "other" })).await;
    let begun = server.robot.hang_until_told();
    holder.send(led(1)).await;
    server.robot.called(Call::Execute(Command::Led { state: 1 }, holder.name.clone())).await;
    let mut enable = control("drive", "Enable");
    enable["req"] = "enable".into();
    holder.send(enable).await;
    holder.send(json!({ "type": "Robots", "req": "read" })).await;
    assert_eq!(holder.next().await["req"], "read");
    other.ok(json!({ "type": "Stop" })).await;
    drop(begun);
    let answer = holder.next().await;
    assert_eq!(answer["req"], "enable");
    assert_eq!(answer["error"]["code"], "not_ready");
    let said = answer["error"]["message"].as_str().expect("has a message");
    assert!(said.contains("other stopped vacuum"), "{said}");
    holder.ok(control("drive", "Enable")).await;
    assert_eq!(server.robot.calls().len(), 3);
}

#[tokio::test]
async fn waiting_commands_of_a_client_that_lost_the_controls_are_not_sent() {
    let server = start();
    let (mut first, mut second) = (server.lines().await, server.lines().await);
    let begun = server.robot.hang_until_told();
    first.send(led(1)).await;
    server.robot.called(Call::Execute(Command::Led { state: 1 }, first.name.clone())).await;
    first.send(led(2)).await;
    first.send(json!({ "type": "Robots", "req": "read" })).await;
    assert_eq!(first.next().await["req"], "read");
    second.ok(json!({ "type": "TakeControl" })).await;
    drop(begun);
    assert_eq!(first.next().await["error"]["code"], "busy");
    assert_eq!(server.robot.calls()[1..], [Call::Taken(second.name.clone())]);
}

#[tokio::test]
async fn drive_disable_waits_for_nothing_and_drops_only_what_moves() {
    let server = start();
    let mut client = server.lines().await;
    let begun = server.robot.hang_until_told();
    for component in ["vacuum", "main_brush"] {
        client.send(control(component, "Disable")).await;
    }
    client.send(control("drive", "Enable")).await;
    client.send(drive(0.1, 0.0)).await;
    client.send(json!({ "type": "Dock" })).await;
    client.send(control("drive", "Disable")).await;
    server.robot.called(Call::Disable(client.name.clone())).await;
    client.send(json!({ "type": "Robots", "req": "read" })).await;
    while client.next().await["req"] != "read" {}
    drop(begun);
    client.ok(led(1)).await;
    let calls = server.robot.calls();
    let executed: Vec<_> = calls
        .iter()
        .filter_map(|call| match call {
            Call::Execute(command, _) => Some(command.clone()),
            _ => None,
        })
        .collect();
    let off = [Command::Vacuum { percent: 0 }, Command::MainBrush { percent: 0 }];
    assert_eq!(executed, [&off[..], &[Command::Led { state: 1 }]].concat(), "{calls:?}");
}

#[tokio::test]
async fn drive_reset_and_disable_are_any_clients_on_every_port() {
    let server = start();
    let (mut holder, mut other) = (server.lines().await, server.lines().await);
    holder.ok(drive(0.1, 0.0)).await;
    other.ok(control("drive", "Disable")).await;
    other.ok(control("drive", "Reset")).await;
    let mut legacy = server.legacy().await;
    legacy.send(control("drive", "Reset")).await;
    let name = format!("tcp {}", legacy.0.local_addr().expect("is bound"));
    server.robot.called(Call::Stop(name.clone())).await;
    let envelope = json!({ "type": "Command", "command": control("drive", "Disable") });
    legacy.send(json!({ "topic": "command", "payload": envelope })).await;
    server.robot.called(Call::Disable(name)).await;
    assert_eq!(post(server.http(), &control("drive", "Reset"), &[]).await.0, 200);
    assert_eq!(post(server.http(), &control("drive", "Disable"), &[]).await.0, 200);
    let calls = server.robot.calls();
    assert_eq!(calls[1..3], [Call::Disable(other.name.clone()), Call::Stop(other.name.clone())]);
    assert_eq!(calls[5..], [Call::Stop("http".into()), Call::Disable("http".into())]);
    holder.ok(led(1)).await;
}

#[tokio::test]
async fn taking_the_controls_ends_what_the_other_set_moving() {
    let server = start();
    let (mut first, mut second) = (server.lines().await, server.lines().await);
    first.ok(json!({ "type": "Dock" })).await;
    second.ok(json!({ "type": "TakeControl", "name": "second" })).await;
    assert_eq!(server.robot.calls()[1], Call::Taken("second".into()));
    second.ok(json!({ "type": "TakeControl" })).await;
    assert_eq!(server.robot.calls().len(), 2, "nothing is taken from oneself");
}

#[tokio::test]
async fn what_the_new_holder_sends_behind_a_takeover_is_done() {
    let server = start();
    let (mut first, mut second) = (server.lines().await, server.lines().await);
    for _ in 0..20 {
        first.ok(json!({ "type": "TakeControl" })).await;
        let take = json!({ "type": "TakeControl" });
        let (enable, drive) = (control("drive", "Enable"), drive(0.1, 0.0));
        second.send_bytes(format!("{take}\n{enable}\n{drive}\n").as_bytes()).await;
        second.ok(led(1)).await;
        let calls = server.robot.calls();
        let velocity = Command::Velocity { linear: 0.1, angular: 0.0 };
        let drove = Call::Execute(velocity, second.name.clone());
        assert_eq!(calls[calls.len() - 2], drove, "{calls:?}");
    }
}

#[tokio::test]
async fn a_stop_and_what_is_sent_behind_it_are_done_in_their_order() {
    let server = start();
    let mut client = server.lines().await;
    for _ in 0..20 {
        let stop = json!({ "type": "Stop" });
        let enable = control("drive", "Enable");
        client.send_bytes(format!("{enable}\n{stop}\n{enable}\n").as_bytes()).await;
        client.ok(led(1)).await;
        let calls = server.robot.calls();
        let enabled = Call::Execute(Command::DriveEnable { mode: 2 }, client.name.clone());
        assert_eq!(calls[calls.len() - 2], enabled);
        assert_eq!(calls[calls.len() - 3], Call::Stop(client.name.clone()));
    }
}

#[tokio::test]
async fn nothing_is_done_after_the_stop_of_the_servers_end() {
    let server = start();
    let robot = server.robot.clone();
    let mut client = server.lines().await;
    client.ok(control("drive", "Enable")).await;
    let pour = tokio::spawn(async move {
        let text = format!("{}\n{}\n", control("drive", "Enable"), drive(0.1, 0.0));
        while client.writer.write_all(text.as_bytes()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    });
    until("it drives", || robot.calls().len() > 10).await;
    server.end().await;
    pour.await.expect("ends");
    let calls = robot.calls();
    let stop = calls.iter().position(|call| *call == Call::Stop("the daemon's end".into()));
    let after = &calls[stop.expect("is stopped")..];
    assert!(!after.iter().any(|call| matches!(call, Call::Execute(..))), "{after:?}");
}

#[tokio::test]
async fn what_a_client_sent_before_a_stop_of_its_own_is_not_done_after_it() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(json!({ "type": "Robots" })).await;
    for _ in 0..50 {
        let messages = [control("drive", "Enable"), drive(0.1, 0.0), json!({ "type": "Stop" })];
        let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
        client.send_bytes(text.as_bytes()).await;
        client.ok(json!({ "type": "Robots" })).await;
        let calls = server.robot.calls();
        assert!(matches!(calls.last(), Some(Call::Stop(_))), "{calls:?}");
    }
}

#[tokio::test]
async fn what_moves_is_not_begun_for_a_client_that_has_gone() {
    let server = start();
    for _ in 0..50 {
        let mut client = server.lines().await;
        let messages = [control("drive", "Enable"), drive(0.1, 0.0), json!({ "type": "Dock" })];
        let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
        client.send_bytes(text.as_bytes()).await;
        drop(client);
    }
    let mut observer = server.lines().await;
    let begin = std::time::Instant::now();
    while server.figure("sinew_clients{transport=\"lines\"}").await > 1.0
        || !observer.ok(json!({ "type": "Robots" })).await["robots"][0]["holder"].is_null()
    {
        assert!(begin.elapsed() < DEADLINE, "all have gone");
    }
    let calls = server.robot.calls();
    let moved = calls.iter().rposition(|call| matches!(call, Call::Execute(..)));
    let released = calls.iter().rposition(|call| matches!(call, Call::Release(_)));
    assert!(moved <= released, "{calls:?}");
}

#[tokio::test]
async fn a_post_holds_the_controls_while_it_takes() {
    let server = start();
    let mut client = server.lines().await;
    let begun = server.robot.hang_until_told();
    let address = server.http();
    let task = tokio::spawn(async move { post(address, &led(9), &[]).await });
    server.robot.called(Call::Execute(Command::Led { state: 9 }, "http".into())).await;
    assert!(client.fails(led(1), "busy").await.contains("http"));
    drop(begun);
    assert_eq!(task.await.expect("is answered").0, 200);
    client.ok(led(1)).await;
}

#[tokio::test]
async fn too_many_waiting_commands_are_refused_and_stop_still_works() {
    let server = start();
    server.robot.hang(true);
    let mut client = server.lines().await;
    for _ in 0..66 {
        client.send(led(1)).await;
    }
    let error = client.next().await;
    assert_eq!(error["error"]["code"], "busy", "{error}");
    client.ok(json!({ "type": "Stop" })).await;
}

#[tokio::test]
async fn a_post_that_is_cut_short_is_a_client_who_left() {
    let server = start();
    server.robot.hang(true);
    let address = server.http();
    let task = tokio::spawn(async move { post(address, &led(1), &[]).await });
    let hanging = Call::Execute(Command::Led { state: 1 }, "http".into());
    server.robot.called(hanging).await;
    task.abort();
    server.robot.called(Call::Release("http".into())).await;
    server.robot.hang(false);
    server.lines().await.ok(led(2)).await;
}

#[tokio::test]
async fn a_post_frees_the_controls_without_stopping_anything() {
    let server = start();
    let (status, _) = post(server.http(), &control("drive", "Enable"), &[]).await;
    assert_eq!(status, 200);
    let mut client = server.lines().await;
    client.ok(led(1)).await;
    assert_eq!(server.robot.calls().len(), 2);
    assert!(!server.robot.calls().contains(&Call::Release("http".into())));
}
