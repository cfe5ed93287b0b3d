//! Captures that clients send: who may, how many at once, and what becomes of those that are no use.

use std::{
    io::Read,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use sinew_server::{Config, Inspector, Source, Tokens};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::support::{Double, Running, local, post, request, start_with};

const LINE: &str = "POST /api/v1/inspect";

/// One that counts bytes, and refuses what begins with an `x`.
fn counts(mut source: Source, out: &mut dyn FnMut(&str)) -> Result<(), String> {
    let mut first = [0];
    source.read_exact(&mut first).map_err(|error| error.to_string())?;
    if first == *b"x" {
        return Err("it is no capture".into());
    }
    let rest = std::io::copy(&mut source, &mut std::io::sink()).map_err(|e| e.to_string())?;
    out("{\"bytes\":");
    out(&format!("{}}}", rest + 1));
    Ok(())
}

fn start(inspector: Inspector) -> Running {
    start_with(Config { inspector: Some(inspector), ..local() }, &[("vacuum", Double::new())])
}

#[tokio::test]
async fn a_capture_of_any_length_is_read_as_it_comes() {
    let server = start(Inspector::new(counts));
    let http = server.at.http.expect("listens");
    for length in [1, 100, 5 << 20] {
        let (status, body) = request(http, LINE, &[], &vec![b'a'; length]).await;
        assert_eq!(status, 200);
        assert!(body.contains(&format!("{{\"bytes\":{length}}}")), "{body}");
    }
    // What is no capture is read to its end, so that its client sees the answer.
    let mut rubbish = vec![b'x'; 5 << 20];
    let (status, body) = request(http, LINE, &[], &rubbish).await;
    assert_eq!(status, 400);
    assert!(body.contains("it is no capture"), "{body}");
    rubbish.clear();
    assert_eq!(request(http, LINE, &[], &rubbish).await.0, 400);
    assert_eq!(request(http, "GET /api/v1/inspect", &[], b"").await.0, 405);
}

#[tokio::test]
async fn a_report_that_is_long_comes_whole() {
    let long = |_: Source, out: &mut dyn FnMut(&str)| {
        (0..10_000).for_each(|_| out(&"r".repeat(997)));
        Ok(())
    };
    let server = start(Inspector::new(long));
    let (status, body) = request(server.at.http.expect("listens"), LINE, &[], b"a").await;
    // In chunks, each with its length before it.
    assert_eq!((status, body.matches('r').count()), (200, 9_970_000));
}

#[tokio::test]
async fn pages_of_other_hosts_and_clients_without_a_token_may_not() {
    let server = start(Inspector::new(counts));
    let http = server.at.http.expect("listens");
    let foreign = [("Origin", "http://elsewhere.example")];
    assert_eq!(request(http, LINE, &foreign, b"a").await.0, 403);
    assert_eq!(request(http, LINE, &[("Host", "elsewhere.example")], b"a").await.0, 403);
    let tokens = Tokens::parse("read only-look-at-r3ad\n").expect("is a token file");
    let any = Some(([0, 0, 0, 0], 0).into());
    let inspector = Some(Inspector::new(counts));
    let config = Config { http: any, tokens, inspector, ..local() };
    let server = start_with(config, &[("vacuum", Double::new())]);
    let mut http = server.at.http.expect("listens");
    http.set_ip([127, 0, 0, 1].into());
    assert_eq!(request(http, LINE, &[], b"a").await.0, 401);
    let shown = [("Authorization", "Bearer only-look-at-r3ad")];
    assert_eq!(request(http, LINE, &shown, b"a").await.0, 200);
}

#[tokio::test]
async fn without_an_inspector_it_is_unsupported() {
    let server = start_with(local(), &[("vacuum", Double::new())]);
    assert_eq!(request(server.at.http.expect("listens"), LINE, &[], b"a").await.0, 501);
}

#[tokio::test]
async fn only_so_many_are_looked_at_and_a_stop_does_not_wait_for_them() {
    let (go, wait) = mpsc::channel::<()>();
    let (said, busy) = mpsc::channel();
    let wait = Arc::new(Mutex::new(wait));
    let inspect = move |_: Source, out: &mut dyn FnMut(&str)| {
        said.send(()).map_err(|error| error.to_string())?;
        wait.lock().map_err(|e| e.to_string())?.recv().map_err(|error| error.to_string())?;
        out("{}");
        Ok(())
    };
    let server = start(Inspector::new(inspect));
    let http = server.at.http.expect("listens");
    let both = [(); 2].map(|()| tokio::spawn(request(http, LINE, &[], b"a")));
    let begun = tokio::task::spawn_blocking(move || {
        (0..2).for_each(|_| busy.recv_timeout(Duration::from_secs(30)).expect("begins"));
        busy
    });
    let _busy = begun.await.expect("runs");
    let (status, refused) = request(http, LINE, &[], &vec![b'a'; 3 << 20]).await;
    assert_eq!(status, 409);
    assert!(refused.contains("other captures are being looked at"), "{refused}");
    let (status, answer) = post(http, &serde_json::json!({ "type": "Stop" }), &[]).await;
    assert_eq!((status, &answer["ok"]), (200, &true.into()), "{answer}");
    drop(go);
    for one in both {
        // The function was told that its test is over.
        assert_eq!(one.await.expect("runs").0, 400);
    }
    let (status, _) = request(http, LINE, &[], b"a").await;
    assert_eq!(status, 400, "there is a place again");
}

#[tokio::test]
async fn a_client_that_goes_away_frees_its_place() {
    let server = start(Inspector::new(counts));
    let http = server.at.http.expect("listens");
    for _ in 0..8 {
        let mut socket = TcpStream::connect(http).await.expect("connects");
        let head = format!("{LINE} HTTP/1.1\r\nHost: {http}\r\nContent-Length: 1000000\r\n\r\nabc");
        socket.write_all(head.as_bytes()).await.expect("writes");
        drop(socket);
    }
    let end = tokio::time::Instant::now() + Duration::from_secs(30);
    while request(http, LINE, &[], b"abc").await.0 != 200 {
        assert!(tokio::time::Instant::now() < end, "places are not freed");
    }
}
