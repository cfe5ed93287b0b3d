//! Clients of the daemon, of which the bridge has one that listens, and one more for each robot that is asked
//! for something: it ends when it has its answers, so that the controls are free again.

use std::{future::pending, io, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use sinew_api::{Command, DaemonMessage, Reply};
use sinew_robot::{Code, Refusal};
use sinew_server::Locals;
use tokio::{
    net::TcpStream,
    sync::mpsc::{Receiver, Sender, channel, error::TrySendError},
    task::AbortHandle,
    time::{sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use crate::bridge::too_many;

/// What the bridge is called.
pub(crate) const NAME: &str = "mqtt";
/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a client stays after its last answer: a motor mode is switched before brushes are, and what
/// still waits for that when its client leaves is dropped.
const LINGER: Duration = Duration::from_millis(500);
/// Commands of a robot that may wait.
const QUEUE: usize = 8;

/// A connection to the daemon.
pub(crate) struct Connection(WebSocketStream<TcpStream>);

impl Connection {
    pub(crate) async fn open(locals: &Locals) -> io::Result<Self> {
        let socket = locals.connect(NAME)?;
        socket.set_nonblocking(true)?;
        let socket = TcpStream::from_std(socket)?;
        Ok(Connection(WebSocketStream::from_raw_socket(socket, Role::Client, None).await))
    }

    pub(crate) async fn send(
        &mut self,
        command: &Command,
        robot: Option<&str>,
        req: u64,
    ) -> io::Result<()> {
        let mut message = command.to_value();
        message["req"] = req.into();
        if let Some(robot) = robot {
            message["robot"] = robot.into();
        }
        self.0.send(Message::text(message.to_string())).await.map_err(io::Error::other)
    }

    /// The next message; none at the end.
    pub(crate) async fn next(&mut self) -> Option<DaemonMessage> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => {
                    if let Ok(message) = serde_json::from_str(&text) {
                        return Some(message);
                    }
                }
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

/// What came of a command, or of a client.
pub(crate) enum Outcome {
    Answered {
        robot: String,
        command: Command,
        result: Result<Value, Refusal>,
    },
    /// A client that was to stay has gone.
    Left {
        robot: String,
    },
}

/// A client that asks a robot; it ends when this is dropped.
pub(crate) struct Asker {
    asks: Sender<Ask>,
    task: AbortHandle,
}

impl Drop for Asker {
    fn drop(&mut self) {
        // Its connection is closed, and nothing more of what it was to ask is asked.
        self.task.abort();
    }
}

struct Ask {
    commands: Vec<Command>,
    lasts: bool,
}

impl Asker {
    pub(crate) fn new(locals: Locals, robot: &str, outcomes: Sender<Outcome>) -> Self {
        let (asks, receiver) = channel(QUEUE);
        let task = tokio::spawn(serve(locals, robot.to_owned(), receiver, outcomes));
        Asker { asks, task: task.abort_handle() }
    }

    /// Asks; gives the commands back if the client has gone.
    pub(crate) fn ask(
        &self,
        commands: Vec<Command>,
        lasts: bool,
    ) -> Result<(), (Vec<Command>, Option<Refusal>)> {
        match self.asks.try_send(Ask { commands, lasts }) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(ask)) => Err((ask.commands, Some(too_many()))),
            Err(TrySendError::Closed(ask)) => Err((ask.commands, None)),
        }
    }
}

async fn serve(locals: Locals, robot: String, mut asks: Receiver<Ask>, outcomes: Sender<Outcome>) {
    let mut stays = false;
    let mut connection = Connection::open(&locals).await;
    let mut req = 0;
    while let Some(Ask { commands, lasts }) = next(&mut asks, stays, connection.as_mut().ok()).await
    {
        stays |= lasts;
        for command in commands {
            req += 1;
            let result = match &mut connection {
                Ok(connection) => ask(connection, &robot, &command, req).await,
                Err(error) => Err(lost(&error.to_string())),
            };
            let answered = Outcome::Answered { robot: robot.clone(), command, result };
            if outcomes.send(answered).await.is_err() {
                return;
            }
        }
    }
    if stays {
        let _ = outcomes.send(Outcome::Left { robot }).await;
    }
}

/// The next thing to ask; none when this client is not needed any more, or its connection has ended.
async fn next(
    asks: &mut Receiver<Ask>,
    stays: bool,
    connection: Option<&mut Connection>,
) -> Option<Ask> {
    let heard = async {
        match connection {
            Some(connection) => while connection.next().await.is_some() {},
            None => pending().await,
        }
    };
    let lingering = async {
        match stays {
            true => pending().await,
            false => sleep(LINGER).await,
        }
    };
    tokio::select! {
        ask = asks.recv() => ask,
        () = heard => None,
        () = lingering => {
            // What comes from now on is for another client, but for what has come already.
            asks.close();
            asks.recv().await
        }
    }
}

async fn ask(
    connection: &mut Connection,
    robot: &str,
    command: &Command,
    req: u64,
) -> Result<Value, Refusal> {
    connection.send(command, Some(robot), req).await.map_err(|error| lost(&error.to_string()))?;
    let answer = async {
        loop {
            match connection.next().await {
                Some(DaemonMessage::Reply(reply)) if reply.req == Some(req.into()) => {
                    return Some(reply);
                }
                Some(_) => {}
                None => return None,
            }
        }
    };
    match timeout(PATIENCE, answer).await {
        Ok(Some(Reply { ok: true, data, .. })) => Ok(data.unwrap_or_default()),
        Ok(Some(Reply { error, .. })) => Err(error.unwrap_or_else(|| lost("it gave no reason"))),
        Ok(None) => Err(lost("it has ended")),
        Err(_) => Err(Refusal::new(Code::Unconfirmed, "the robot took too long")),
    }
}

fn lost(why: &str) -> Refusal {
    Refusal::new(Code::LinkLost, format!("the daemon did not answer: {why}"))
}
