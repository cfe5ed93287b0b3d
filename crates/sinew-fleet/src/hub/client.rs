//! One of our clients, as a client of another daemon: for as long as its liveliness token is there.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_robot::{Code, Refusal};
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
    time::{MissedTickBehavior, interval, sleep},
};

use super::host::{Host, Outcome, STOP, gone};
use crate::{Asker, Stamp, clock::now_us, keys, lock};

/// What may wait to be sent.
const QUEUE: usize = 64;
/// How often the daemon hears from it: four times in the time after which it would have gone.
const BEAT: Duration = Duration::from_millis(500);
/// How long a daemon may take to get to know it, and the pause between two attempts.
const ACQUAINTANCE: (Duration, Duration) = (Duration::from_secs(3), Duration::from_millis(50));
/// How long an answer to a beat is waited for.
const PING: Duration = Duration::from_secs(1);
/// The same for the first questions: a wrong token waits for a second until it is told so.
const FIRST: Duration = Duration::from_secs(2);
/// The same for what a robot does.
const PATIENCE: Duration = Duration::from_secs(30);

/// Leaves when it is dropped.
pub(super) struct Client {
    asks: mpsc::Sender<Ask>,
    asker: Arc<Mutex<Asker>>,
    task: AbortHandle,
}

/// Something to be asked.
pub(super) struct Ask {
    pub(super) key: String,
    pub(super) message: Value,
    /// When its client wished it.
    pub(super) wished: Instant,
    /// How long a velocity counts.
    pub(super) deadman: Option<Duration>,
    /// Whether it may still be sent.
    pub(super) is_valid: Box<dyn Fn() -> Result<(), Refusal> + Send>,
    pub(super) reply: oneshot::Sender<Outcome>,
}

impl Client {
    pub(super) fn open(host: Arc<Host>, name: &str) -> Self {
        // Nobody else has it, and it does not come back.
        let id = format!("{}-{:016x}", host.session.zid(), fastrand::u64(..));
        let asker = Arc::new(Mutex::new(Asker::new(id, name, host.secret())));
        let (asks, wishes) = mpsc::channel(QUEUE);
        let serving = serve(Arc::clone(&host), Arc::clone(&asker), wishes);
        let task = host.runtime.spawn(serving).abort_handle();
        Client { asks, asker, task }
    }

    /// Puts something behind what waits already.
    pub(super) fn ask(&self, ask: Ask) -> Result<(), Refusal> {
        self.asks.try_send(ask).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                Refusal::new(Code::Busy, format!("{QUEUE} commands of this client wait already"))
            }
            mpsc::error::TrySendError::Closed(_) => gone(),
        })
    }

    /// What to send with a stop; none while the daemon does not know it.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let mut asker = lock(&self.asker);
        asker.is_in_step().then(|| asker.stamp(now_us(), Duration::ZERO))
    }

    /// Whether another one has to take its place.
    pub(super) fn is_over(&self) -> bool {
        self.asks.is_closed() || lock(&self.asker).is_over()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(host: Arc<Host>, asker: Arc<Mutex<Asker>>, mut asks: mpsc::Receiver<Ask>) {
    let id = lock(&asker).client().to_owned();
    // It goes when this is dropped: with the client, or when nothing can come of it any more.
    let token = host.session.liveliness().declare_token(keys::client(&host.name, &id)).await;
    let Ok(_token) = token else { return };
    let mut beat = interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut key: Option<String> = None;
    loop {
        let ask = tokio::select! {
            ask = asks.recv() => ask,
            _ = beat.tick() => {
                if let Some(key) = &key {
                    ping(&host, &asker, key).await;
                }
                if lock(&asker).is_over() {
                    return;
                }
                continue;
            }
        };
        let Some(ask) = ask else { return };
        key.get_or_insert_with(|| ask.key.clone());
        if let Err(refusal) = acquaint(&host, &asker, &ask.key).await {
            let _ = ask.reply.send(Err(refusal));
        } else {
            begin(&host, &asker, ask).await;
        }
        if lock(&asker).is_over() {
            return;
        }
    }
}

/// Lets the daemon hear from this client, without waiting for its answer.
async fn ping(host: &Arc<Host>, asker: &Arc<Mutex<Asker>>, key: &str) {
    let stamp = lock(asker).stamp(now_us(), Duration::ZERO);
    let Ok(replies) = host.send(key, &json!({ "type": "Ping" }), &stamp, PING).await else {
        return;
    };
    let (host_, asker) = (Arc::clone(host), Arc::clone(asker));
    host.runtime.spawn(async move {
        if let Ok((_, Some(answered))) = host_.answer(replies, PING).await {
            lock(&asker).answered(now_us(), &answered);
        }
    });
}

/// Has the daemon learn how this client's clock stands to its own.
async fn acquaint(host: &Host, asker: &Mutex<Asker>, key: &str) -> Result<(), Refusal> {
    let begin = Instant::now();
    let mut attempts = 0;
    while !lock(asker).is_in_step() {
        let stamp = lock(asker).stamp(now_us(), Duration::ZERO);
        let asked = host.query(key, &json!({ "type": "Ping" }), &stamp, FIRST).await;
        match asked {
            // A client that is not let in would wait in vain.
            Ok((Err(refusal), _)) if refusal.code == Code::Unauthorized => return Err(refusal),
            Ok((_, Some(answered))) => lock(asker).answered(now_us(), &answered),
            Ok((outcome, None)) => drop(outcome?),
            Err(refusal) => return Err(Refusal { code: Code::LinkLost, ..refusal }),
        }
        if lock(asker).is_over() {
            return Err(gone());
        }
        attempts += 1;
        let (most, pause) = ACQUAINTANCE;
        if begin.elapsed() > most {
            let message = format!("{} does not see this client's token", host.name);
            return Err(Refusal::new(Code::LinkLost, message));
        }
        // The first answer is needed for the second question; after that it is the token that is waited for.
        if attempts > 1 && !lock(asker).is_in_step() {
            sleep(pause).await;
        }
    }
    Ok(())
}

/// Sends something, if it may still be sent, and has its answer waited for.
async fn begin(host: &Arc<Host>, asker: &Arc<Mutex<Asker>>, ask: Ask) {
    let Ask { key, message, wished, deadman, is_valid, reply } = ask;
    let since = wished.elapsed();
    let late = deadman.filter(|deadman| since > *deadman).map(|deadman| {
        let (since, deadman) = (since.as_millis(), deadman.as_millis());
        let message =
            format!("a velocity counts for {deadman} ms, and this one waited for {since} ms");
        Refusal::new(Code::NotReady, message)
    });
    let refused = || host.check_awake().and_then(|()| is_valid()).err();
    if let Some(refusal) = late.or_else(refused) {
        let _ = reply.send(Err(refusal));
        return;
    }
    let stamp = lock(asker).stamp(now_us(), since);
    // A velocity is soon of no use, and its client waits with the next one: no longer than for a stop.
    let patience = if deadman.is_some() { STOP } else { PATIENCE };
    let replies = match host.send(&key, &message, &stamp, patience).await {
        Ok(replies) => replies,
        Err(refusal) => {
            let _ = reply.send(Err(refusal));
            return;
        }
    };
    let (host_, asker) = (Arc::clone(host), Arc::clone(asker));
    host.runtime.spawn(async move {
        let result = host_.answer(replies, patience).await.and_then(|(outcome, answered)| {
            if let Some(answered) = answered {
                lock(&asker).answered(now_us(), &answered);
            }
            outcome
        });
        let _ = reply.send(result);
    });
}
