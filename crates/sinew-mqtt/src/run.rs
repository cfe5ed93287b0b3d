//! Joins the bridge to a broker and to the daemon.

use std::{
    collections::HashMap,
    future::pending,
    io,
    time::{Duration, Instant},
};

use rumqttc::AsyncClient;
use serde_json::Value;
use sinew_api::{Command, DaemonMessage, Robots, Topic};
use sinew_robot::{
    mapping::Format,
    teach::{Request, RobotRequest},
};
use sinew_server::Locals;
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    time::{sleep_until, timeout},
};

use crate::{
    bridge::{Action, Bridge, Output, Publish, stop},
    broker::{self, FromBroker},
    clients::{Asker, Connection, Outcome},
    settings::Broker,
};

/// States of a robot a second, at most.
const MAX_HZ: f64 = 2.0;
/// How long the broker may take to hear that the daemon ends.
const FAREWELL: Duration = Duration::from_millis(500);
/// When what found no room is published again.
const AGAIN: Duration = Duration::from_millis(50);
/// Largest picture that is published.
const MAX_PICTURE: usize = 1 << 20;

/// `Robots` and everything else that the listening client asks.
const ROBOTS: u64 = 1;

/// Keeps robots and broker joined until the daemon ends.
pub async fn run(settings: Broker, locals: Locals) -> io::Result<()> {
    let mut listening = Connection::open(&locals).await?;
    let topics = vec![Topic::State, Topic::Events];
    listening.send(&Command::Subscribe { topics, max_hz: Some(MAX_HZ) }, None, 0).await?;
    listening.send(&Command::Robots, None, ROBOTS).await?;
    let (to_bridge, mut from_broker) = channel(64);
    let (outcomes, answers) = channel(64);
    let (pictures, made) = channel(4);
    let mut joined = Joined {
        bridge: Bridge::new(settings.names.clone()),
        locals,
        listening,
        requests: ROBOTS,
        broker: None,
        waiting: Vec::new(),
        askers: HashMap::new(),
        outcomes,
        pictures,
        reason: String::new(),
    };
    let task = tokio::spawn(broker::run(settings, to_bridge));
    joined.serve(&mut from_broker, answers, made).await;
    joined.leave(from_broker).await;
    task.abort();
    Ok(())
}

struct Joined {
    bridge: Bridge,
    locals: Locals,
    listening: Connection,
    requests: u64,
    broker: Option<AsyncClient>,
    /// What found no room: the newest of each topic.
    waiting: Vec<Publish>,
    askers: HashMap<String, Asker>,
    outcomes: Sender<Outcome>,
    pictures: Sender<(String, Vec<u8>)>,
    /// Why there is no broker, as it was logged last.
    reason: String,
}

impl Joined {
    async fn serve(
        &mut self,
        from_broker: &mut Receiver<FromBroker>,
        mut answers: Receiver<Outcome>,
        mut pictures: Receiver<(String, Vec<u8>)>,
    ) {
        loop {
            while let Some(output) = self.bridge.poll(Instant::now()) {
                if !self.perform(output).await {
                    return;
                }
            }
            self.publish_waiting();
            let again = (!self.waiting.is_empty()).then(|| Instant::now() + AGAIN);
            let wake = self.bridge.next_time().into_iter().chain(again).min();
            tokio::select! {
                message = self.listening.next() => match message {
                    Some(message) => self.heard(message),
                    None => return,
                },
                Some(event) = from_broker.recv() => self.broker_did(event),
                Some(outcome) = answers.recv() => self.answered(outcome),
                Some((robot, png)) = pictures.recv() => self.bridge.picture(&robot, png),
                () = wait_until(wake) => {}
            }
        }
    }

    fn heard(&mut self, message: DaemonMessage) {
        let now = Instant::now();
        match message {
            DaemonMessage::Event(event) if event.topic == "state" => {
                match serde_json::from_value(event.data) {
                    Ok(report) => self.bridge.state(now, report),
                    Err(error) => tracing::warn!(robot = event.robot, "its state: {error}"),
                }
            }
            DaemonMessage::Event(event) => self.bridge.event(now, &event.robot, &event.data),
            DaemonMessage::Reply(reply) if reply.req == Some(ROBOTS.into()) => {
                let robots =
                    reply.data.and_then(|data| serde_json::from_value::<Robots>(data).ok());
                let robots = robots.into_iter().flat_map(|robots| robots.robots);
                robots.for_each(|report| self.bridge.state(now, report));
            }
            _ => {}
        }
    }

    fn broker_did(&mut self, event: FromBroker) {
        match event {
            FromBroker::Up(client) => {
                tracing::info!("mqtt: connected");
                self.broker = Some(client);
                self.reason.clear();
                self.bridge.up(Instant::now());
            }
            FromBroker::Down(reason) => {
                self.broker = None;
                self.waiting.clear();
                if self.reason != reason {
                    tracing::warn!("mqtt: no broker: {reason}");
                    self.reason = reason;
                }
                self.bridge.down();
            }
            FromBroker::Acknowledged => self.bridge.acknowledged(),
            FromBroker::Message { topic, payload, retained } => {
                self.bridge.message(Instant::now(), &topic, &payload, retained);
            }
        }
    }

    fn answered(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Answered { robot, command, result } => {
                if let (Command::Teach(Request::Robot(RobotRequest::List)), Ok(data)) =
                    (&command, &result)
                {
                    return self.bridge.actions(&robot, actions(data));
                }
                if let Err(refusal) = &result {
                    tracing::info!(robot, "refused: {}", refusal.message);
                }
                self.bridge.answered(Instant::now(), &robot, &command, result.map(drop));
            }
            Outcome::Left { robot } => self.bridge.left(&robot),
        }
    }

    /// Does something; false when the daemon is gone.
    async fn perform(&mut self, output: Output) -> bool {
        match output {
            Output::Publish(message) => self.publish(message),
            Output::Subscribe(topic) => {
                let done =
                    self.broker.as_ref().is_some_and(|broker| broker::subscribe(broker, &topic));
                if !done {
                    tracing::warn!("mqtt: {topic} is not subscribed to: the broker is too slow");
                }
            }
            Output::Ask { robot, commands, lasts } => self.ask(robot, commands, lasts),
            Output::Leave(robot) => drop(self.askers.remove(&robot)),
            Output::Halt(robot) => {
                drop(self.askers.remove(&robot));
                self.requests += 1;
                return self.listening.send(&stop(), Some(&robot), self.requests).await.is_ok();
            }
            Output::List(robot) => {
                let list = Command::Teach(Request::Robot(RobotRequest::List));
                self.ask(robot, vec![list], false);
            }
            Output::Picture(robot) => self.picture(robot),
        }
        true
    }

    fn ask(&mut self, robot: String, mut commands: Vec<Command>, lasts: bool) {
        for _ in 0..2 {
            let asker = self
                .askers
                .entry(robot.clone())
                .or_insert_with(|| Asker::new(self.locals.clone(), &robot, self.outcomes.clone()));
            match asker.ask(commands, lasts) {
                Ok(()) => return,
                // That client has ended meanwhile: there is another.
                Err((back, None)) => {
                    self.askers.remove(&robot);
                    commands = back;
                }
                Err((back, Some(refusal))) => {
                    let command = back.into_iter().next_back();
                    if let Some(command) = command {
                        self.bridge.answered(Instant::now(), &robot, &command, Err(refusal));
                    }
                    return;
                }
            }
        }
    }

    /// Has a picture made, without waiting for it.
    fn picture(&self, robot: String) {
        let (locals, pictures) = (self.locals.clone(), self.pictures.clone());
        tokio::spawn(async move {
            match locals.map(&robot, Format::Png).await {
                Ok(png) if png.len() <= MAX_PICTURE => {
                    let _ = pictures.send((robot, png)).await;
                }
                Ok(png) => tracing::warn!(robot, "its map's picture has {} bytes", png.len()),
                Err(refusal) => tracing::debug!(robot, "no picture: {}", refusal.message),
            }
        });
    }

    fn publish(&mut self, message: Publish) {
        let Some(broker) = self.broker.as_ref().filter(|_| self.waiting.is_empty()) else {
            return self.wait(message);
        };
        if let Err(message) = broker::publish(broker, message) {
            self.wait(message);
        }
    }

    /// Keeps a message until there is room for it.
    fn wait(&mut self, message: Publish) {
        if self.broker.is_some() {
            self.waiting.retain(|older| older.topic != message.topic);
            self.waiting.push(message);
        }
    }

    fn publish_waiting(&mut self) {
        let Some(broker) = &self.broker else { return };
        let gone = |message: &Publish| broker::publish(broker, message.clone()).is_ok();
        let count = self.waiting.iter().take_while(|message| gone(message)).count();
        self.waiting.drain(..count);
    }

    /// Tells the broker that the daemon is gone.
    async fn leave(self, mut from_broker: Receiver<FromBroker>) {
        if let Some(broker) = &self.broker
            && broker::publish(broker, self.bridge.farewell()).is_ok()
            && broker.try_disconnect().is_ok()
        {
            let gone = async {
                while !matches!(from_broker.recv().await, None | Some(FromBroker::Down(_))) {}
            };
            let _ = timeout(FAREWELL, gone).await;
        }
    }
}

/// The actions that a robot tells of.
fn actions(data: &Value) -> Vec<Action> {
    let action = |action: &Value| {
        let (id, name) = (action["id"].as_u64()?, action["name"].as_str()?);
        Some(Action { id, name: name.into() })
    };
    data["actions"].as_array().into_iter().flatten().filter_map(action).collect()
}

async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time.into()).await,
        None => pending().await,
    }
}
