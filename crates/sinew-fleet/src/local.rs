//! Connections to the daemon of this process, each a client of it.

use std::{collections::HashMap, io, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use sinew_api::{Access, DaemonMessage, Reply};
use sinew_robot::{Code, Refusal};
use sinew_server::Locals;
use tokio::{
    net::TcpStream,
    runtime::Handle,
    sync::{mpsc, oneshot},
    task::AbortHandle,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Bytes, Message, protocol::Role},
};

/// Requests of a client that may wait for their answers.
const MOST: usize = 64;
/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// An open connection.
pub(crate) struct Connection(WebSocketStream<TcpStream>);

/// What the daemon sent.
pub(crate) enum Heard {
    Text(String),
    Frame(Bytes),
}

impl Connection {
    pub(crate) async fn open(locals: &Locals, name: &str, access: Access) -> io::Result<Self> {
        let socket = locals.connect_as(name, access)?;
        socket.set_nonblocking(true)?;
        let socket = TcpStream::from_std(socket)?;
        Ok(Connection(WebSocketStream::from_raw_socket(socket, Role::Client, None).await))
    }

    pub(crate) async fn send(&mut self, message: &Value) -> io::Result<()> {
        self.0.send(Message::text(message.to_string())).await.map_err(io::Error::other)
    }

    /// The next message; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => return Some(Heard::Text(text.as_str().into())),
                Ok(Message::Binary(frame)) => return Some(Heard::Frame(frame)),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Asks, and leaves out what comes before the answer.
    pub(crate) async fn ask(&mut self, mut message: Value) -> Result<Value, Refusal> {
        message["req"] = 0.into();
        let lost = || Refusal::new(Code::LinkLost, "the daemon has ended");
        self.send(&message).await.map_err(|_| lost())?;
        let answer = async {
            while let Some(heard) = self.next().await {
                if let Heard::Text(text) = heard
                    && let Ok(DaemonMessage::Reply(reply)) = serde_json::from_str(&text)
                {
                    return outcome(reply);
                }
            }
            Err(lost())
        };
        timeout(PATIENCE, answer).await.unwrap_or_else(|_| Err(late()))
    }
}

/// A client that asks, several things at a time. It leaves when this is dropped.
pub(crate) struct Client {
    asks: mpsc::Sender<Ask>,
    /// Those that wait for none of the others.
    urgent: mpsc::Sender<Ask>,
    task: AbortHandle,
}

struct Ask {
    message: Value,
    reply: oneshot::Sender<Result<Value, Refusal>>,
}

/// An answer that may come.
pub(crate) type Answer = oneshot::Receiver<Result<Value, Refusal>>;

impl Client {
    pub(crate) fn open(locals: &Locals, name: &str, access: Access, runtime: &Handle) -> Self {
        let (asks, wishes) = mpsc::channel(MOST);
        let (urgent, hurried) = mpsc::channel(MOST);
        let (locals, name) = (locals.clone(), name.to_owned());
        let task = runtime.spawn(async move {
            match Connection::open(&locals, &name, access).await {
                Ok(connection) => serve(connection, wishes, hurried).await,
                Err(error) => tracing::warn!("fleet: no connection to the daemon: {error}"),
            }
        });
        Client { asks, urgent, task: task.abort_handle() }
    }

    /// Asks; it is on its way when this returns. What is urgent does not wait for the rest.
    pub(crate) fn ask(&self, message: Value, urgent: bool) -> Result<Answer, Refusal> {
        let (reply, answer) = oneshot::channel();
        let asks = if urgent { &self.urgent } else { &self.asks };
        asks.try_send(Ask { message, reply }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                Refusal::new(Code::Busy, format!("{MOST} requests of this client wait already"))
            }
            mpsc::error::TrySendError::Closed(_) => {
                Refusal::new(Code::LinkLost, "the daemon has ended")
            }
        })?;
        Ok(answer)
    }

    /// Whether the daemon has closed its connection.
    pub(crate) fn has_ended(&self) -> bool {
        self.asks.is_closed()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut connection: Connection,
    mut asks: mpsc::Receiver<Ask>,
    mut urgent: mpsc::Receiver<Ask>,
) {
    let mut waiting: HashMap<u64, oneshot::Sender<Result<Value, Refusal>>> = HashMap::new();
    let mut req = 0;
    loop {
        let ask = tokio::select! {
            biased;
            ask = urgent.recv() => ask,
            heard = connection.next() => {
                let Some(heard) = heard else { return };
                if let Heard::Text(text) = heard
                    && let Ok(DaemonMessage::Reply(reply)) = serde_json::from_str(&text)
                    && let Some(req) = reply.req.as_ref().and_then(Value::as_u64)
                    && let Some(waits) = waiting.remove(&req)
                {
                    // Its client may not wait any more.
                    let _ = waits.send(outcome(reply));
                }
                continue;
            }
            ask = asks.recv(), if waiting.len() < MOST => ask,
        };
        let Some(Ask { mut message, reply }) = ask else { return };
        req += 1;
        message["req"] = req.into();
        if connection.send(&message).await.is_err() {
            return;
        }
        // Answers that no client waits for any more take no room.
        waiting.retain(|_, reply| !reply.is_closed());
        waiting.insert(req, reply);
    }
}

/// What an answer that was waited for says.
pub(crate) async fn answer(answer: Answer) -> Result<Value, Refusal> {
    match timeout(PATIENCE, answer).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Refusal::new(Code::LinkLost, "the client has gone")),
        Err(_) => Err(late()),
    }
}

fn late() -> Refusal {
    Refusal::new(Code::Unconfirmed, "the robot took too long")
}

/// What a reply says.
pub(crate) fn outcome(reply: Reply) -> Result<Value, Refusal> {
    match reply {
        Reply { ok: true, data, .. } => Ok(data.unwrap_or_default()),
        Reply { error, .. } => {
            Err(error.unwrap_or_else(|| Refusal::new(Code::Refused, "it gave no reason")))
        }
    }
}
