//! The life of a client that keeps a connection: one task, one loop, for every framing.
//!
//! Nothing here waits for anything but the next thing to happen: a command that hangs does not
//! keep the next message from being read, so that Stop is heard at once; and a client that does
//! not read holds only its own output.

mod ask;
mod work;

use std::{
    future::poll_fn,
    io,
    mem::MaybeUninit,
    pin::Pin,
    sync::Arc,
    task::{Poll, ready},
    time::Duration,
};

use bytes::BytesMut;
use serde_json::{Value, json};
use sinew_robot::{Code, Refusal};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    time::{Instant, sleep_until, timeout},
};

use crate::{
    Access,
    frame::{Framing, Incoming, MAX_MESSAGE},
    hub::{Client, Hub},
    message::{self, Request},
    telemetry::Telemetry,
};
use work::Work;

/// A client that leaves this much unread is not listened to, nor worked for, until it reads.
const MAX_UNREAD: usize = 1 << 20;
/// How long, and how far, what a client still sends is read after the last word to it; closing
/// before would take that word back.
const LINGER: (Duration, usize) = (Duration::from_secs(2), 16 << 20);

pub(crate) struct Connection {
    hub: Arc<Hub>,
    client: Client,
    framing: Framing,
    inbox: BytesMut,
    out: Vec<u8>,
    /// Bytes of `out` that are sent.
    sent: usize,
    work: Work,
    telemetry: Telemetry,
    /// A length-prefixed client that has never used `req` does not expect answers.
    uses_req: bool,
    reading: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Reading {
    /// More may come.
    Open,
    /// The client sends no more since then; it may still want to read.
    Ended(Instant),
    /// The connection is to be closed once all is written.
    Closing,
}

impl Connection {
    pub(crate) fn new(hub: Arc<Hub>, client: Client, framing: Framing) -> Self {
        let telemetry = Telemetry::new(Arc::clone(&hub), client.id);
        let mut connection = Connection {
            hub,
            client,
            framing,
            inbox: BytesMut::new(),
            out: Vec::new(),
            sent: 0,
            work: Work::default(),
            telemetry,
            uses_req: false,
            reading: Reading::Open,
        };
        connection.stream_legacy();
        connection
    }

    /// Serves the client until it has gone. The controls it holds are freed in `drop`, whatever
    /// ends it.
    pub(crate) async fn serve(mut self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let mut closing = self.hub.closing.subscribe();
        let (mut reader, mut writer) = tokio::io::split(stream);
        while !self.is_done() {
            let all_sent = self.out.is_empty();
            let has_room = self.out.len() < MAX_UNREAD;
            let listens = self.reading == Reading::Open && has_room;
            let turn = self.telemetry.turn;
            let patience = match self.reading {
                Reading::Ended(since) if self.telemetry.is_empty() => {
                    Some(since + self.hub.config.write_timeout)
                }
                _ => None,
            };
            tokio::select! {
                result = read(&mut reader, &mut self.inbox), if listens => match result {
                    Ok(0) | Err(_) => self.ended(),
                    Ok(_) => self.take_messages(),
                },
                (req, result) = self.work.next(has_room), if !self.work.is_empty() => {
                    self.respond(req.as_ref(), &result);
                }
                result = writer.write(&self.out[self.sent..]), if !all_sent => match result {
                    Ok(0) | Err(_) => return,
                    Ok(count) => self.sent(count),
                },
                () = wait_until(turn), if all_sent && turn.is_some() => self.take_telemetry(),
                () = self.telemetry.notify.notified(), if !self.telemetry.is_empty() => {
                    self.telemetry.woken();
                }
                () = wait_until(patience), if patience.is_some() => return,
                _ = closing.changed() => self.reading = Reading::Closing,
            }
        }
        if self.reading == Reading::Closing {
            linger(&mut reader, &mut writer).await;
        }
    }

    fn is_done(&self) -> bool {
        let idle = match self.reading {
            Reading::Open => false,
            Reading::Ended(_) => self.telemetry.is_empty() && self.work.is_empty(),
            Reading::Closing => true,
        };
        idle && self.out.is_empty()
    }

    /// The client sends no more, which frees the controls at once. It may have closed only its
    /// own direction, so it gets what it asked for until writing fails.
    fn ended(&mut self) {
        self.reading = Reading::Ended(Instant::now());
        self.work.forget_waiting();
        self.leave();
    }

    fn leave(&self) {
        for member in &self.hub.robots {
            member.leave(&self.client);
        }
    }

    fn take_messages(&mut self) {
        while self.reading == Reading::Open {
            match self.framing.next(&mut self.inbox) {
                None => break,
                Some(Incoming::Message(text)) => self.take_message(&text),
                Some(Incoming::Pong(payload)) => self.framing.put_pong(&payload, &mut self.out),
                Some(Incoming::TooLarge) => {
                    let message = format!("a message has at most {MAX_MESSAGE} bytes");
                    // Said to every client: the connection is about to close on it.
                    self.uses_req = true;
                    self.respond(None, &Err(Refusal::new(Code::TooLarge, message)));
                    self.framing.put_farewell(&mut self.out);
                    self.reading = Reading::Closing;
                }
                Some(Incoming::Close(farewell)) => {
                    self.out.extend_from_slice(&farewell);
                    self.reading = Reading::Closing;
                }
            }
        }
        if self.reading == Reading::Closing {
            self.work.forget_waiting();
            self.leave();
        }
        // What waits for its first byte should own no memory.
        if self.inbox.is_empty() {
            self.inbox = BytesMut::new();
        }
    }

    fn take_message(&mut self, text: &[u8]) {
        let request = match &self.framing {
            Framing::Prefixed => Request::parse_legacy(text),
            _ => Request::parse(text),
        };
        if is_http(text) {
            // A web page can make a browser send a form to any port; its lines must not drive.
            self.client.access = self.client.access.min(Access::Read);
        }
        self.uses_req |= request.req.is_some();
        self.ask(request);
    }

    /// Answers a command.
    fn respond(&mut self, req: Option<&Value>, result: &Result<Value, Refusal>) {
        self.hub.metrics.count_command(result);
        let Some(answer) = message::answer(req, result) else { return };
        match &self.framing {
            Framing::Prefixed if !self.uses_req => {}
            Framing::Prefixed => self.put(&json!({ "topic": "reply", "payload": answer })),
            _ => self.put(&answer),
        }
    }

    fn put(&mut self, message: &Value) {
        self.framing.put(&[message.to_string().as_bytes()], &mut self.out);
    }

    fn take_telemetry(&mut self) {
        let legacy = matches!(self.framing, Framing::Prefixed);
        let silent = legacy && !self.uses_req;
        let framing = &self.framing;
        self.telemetry.take(framing, &mut self.out, |count, out| {
            let lost = json!({ "type": "Lost", "count": count });
            let lost = if legacy { json!({ "topic": "reply", "payload": lost }) } else { lost };
            if !silent {
                framing.put(&[lost.to_string().as_bytes()], out);
            }
        });
    }

    fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.out.len() {
            self.out = Vec::new();
            self.sent = 0;
        } else if self.sent >= MAX_UNREAD {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Whether this is the first line of an HTTP request.
fn is_http(text: &[u8]) -> bool {
    text.ends_with(b" HTTP/1.1") || text.ends_with(b" HTTP/1.0")
}

async fn wait_until(instant: Option<Instant>) {
    if let Some(instant) = instant {
        sleep_until(instant).await;
    }
}

/// Reads what is there. The buffer is on the stack, and only while there is something to read: a
/// client that is silent costs no memory.
async fn read(reader: &mut (impl AsyncRead + Unpin), inbox: &mut BytesMut) -> io::Result<usize> {
    poll_fn(|context| {
        let mut space = [MaybeUninit::uninit(); 8 << 10];
        let mut buffer = ReadBuf::uninit(&mut space);
        ready!(Pin::new(&mut *reader).poll_read(context, &mut buffer))?;
        inbox.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    })
    .await
}

/// Ends the writing side, then reads on for a moment.
async fn linger(reader: &mut (impl AsyncRead + Unpin), writer: &mut (impl AsyncWrite + Unpin)) {
    let end = async {
        writer.shutdown().await?;
        let mut rest = reader.take(LINGER.1 as u64);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    // Whatever goes wrong now, the connection ends.
    let _ = timeout(LINGER.0, end).await;
}
