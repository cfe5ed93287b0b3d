//! A robot that another daemon serves, and that remembers what it is asked.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use sinew_api::{Command, Halt, RobotReport, Rules};
use sinew_robot::{
    Code, Epoch, Origin, Refusal,
    capability::{Audience, Boxed, Frames, Reading, sensor_group},
    mapping::Format,
};
use sinew_server::{Registry, Relay};

use crate::support::until;

/// How long one that does not confirm a stop is waited for.
pub(crate) const SILENCE: Duration = Duration::from_millis(300);

#[derive(Clone)]
pub(crate) struct Far(Arc<Inner>);

struct Inner {
    groups: Vec<&'static str>,
    audience: Mutex<Option<Arc<dyn Audience>>>,
    calls: Mutex<Vec<FarCall>>,
    hangs: AtomicBool,
    silent: AtomicBool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FarCall {
    Ask(Value, String),
    Halt(Halt, String),
    Left(u64),
    Done(u64),
}

impl Far {
    pub(crate) fn new(groups: &[&'static str]) -> Self {
        Far(Arc::new(Inner {
            groups: groups.to_vec(),
            audience: Mutex::default(),
            calls: Mutex::default(),
            hangs: AtomicBool::new(false),
            silent: AtomicBool::new(false),
        }))
    }

    /// One that has joined.
    pub(crate) fn joined(registry: &Registry, name: &str, groups: &[&'static str]) -> Self {
        let far = Far::new(groups);
        far.join(registry, name).expect("is a new name");
        far
    }

    pub(crate) fn join(&self, registry: &Registry, name: &str) -> std::io::Result<()> {
        registry.join(name, |audience, _: Epoch| {
            *self.0.audience.lock().expect("nobody panicked") = Some(audience);
            Arc::new(self.clone())
        })
    }

    pub(crate) fn audience(&self) -> Arc<dyn Audience> {
        self.0.audience.lock().expect("nobody panicked").clone().expect("has joined")
    }

    pub(crate) fn publish(&self, group: &str, number: u64) {
        let name = group.to_owned();
        let json = move |_| sensor_group(&name, number, &json!({}));
        self.audience().sensors(&Reading::new(group.to_owned(), json));
    }

    /// From now on what it is asked does not end.
    pub(crate) fn hang(&self, hangs: bool) {
        self.0.hangs.store(hangs, Ordering::SeqCst);
    }

    /// From now on no stop is confirmed.
    pub(crate) fn be_silent(&self) {
        self.0.silent.store(true, Ordering::SeqCst);
    }

    pub(crate) fn calls(&self) -> Vec<FarCall> {
        self.0.calls.lock().expect("nobody panicked").clone()
    }

    /// What it was asked, but for who has gone.
    pub(crate) fn asked(&self) -> Vec<FarCall> {
        self.calls()
            .into_iter()
            .filter(|call| !matches!(call, FarCall::Left(_) | FarCall::Done(_)))
            .collect()
    }

    /// Waits until it was asked so many times.
    pub(crate) async fn asked_times(&self, count: usize) -> Vec<FarCall> {
        until(&format!("{count} calls"), || self.asked().len() >= count).await;
        self.asked()
    }

    fn call(&self, call: FarCall) {
        self.0.calls.lock().expect("nobody panicked").push(call);
    }
}

impl Relay for Far {
    fn report(&self) -> RobotReport {
        serde_json::from_value(json!({
            "name": "as it is called there", "kind": "crl200s", "link": { "state": "ready" },
            "capabilities": ["drive", "components", "sensors", "teach", "mapping"],
            "sensors": self.0.groups, "holder": "Bob", "stopped_by": null, "last_seen_ms": 12,
            "limits": { "linear": 0.3, "angular": 1.0, "deadman_ms": 300 },
            "fresh": true, "state": { "where": "far" },
        }))
        .expect("is a report")
    }

    fn frames(&self) -> Vec<(&'static str, Frames)> {
        vec![("cloud", Frames::Newest)]
    }

    fn ask(
        &self,
        command: Command,
        confirmed: bool,
        _: Rules,
        origin: Origin,
    ) -> Boxed<'static, Result<Value, Refusal>> {
        let far = self.clone();
        Box::pin(async move {
            let mut message = command.to_value();
            if confirmed {
                message["confirm"] = true.into();
            }
            far.call(FarCall::Ask(message, (*origin.by).into()));
            while far.0.hangs.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok(match command {
                Command::TakeControl { .. } => json!({ "robot": "there", "from": "Bob" }),
                Command::Mapping(_) => json!({ "path": "as it is there", "format": "ply" }),
                _ => Value::Null,
            })
        })
    }

    fn halt(
        &self,
        halt: &Halt,
        by: &Arc<str>,
        _: u64,
        _: u64,
    ) -> Boxed<'static, Result<Value, Refusal>> {
        let (far, call) = (self.clone(), FarCall::Halt(halt.clone(), (**by).into()));
        Box::pin(async move {
            far.call(call);
            if far.0.silent.load(Ordering::SeqCst) {
                tokio::time::sleep(SILENCE).await;
                return Err(Refusal::new(Code::LinkLost, "nothing came back"));
            }
            tokio::task::yield_now().await;
            Ok(Value::Null)
        })
    }

    fn left(&self, client: u64) {
        self.call(FarCall::Left(client));
    }

    fn done(&self, client: u64) {
        self.call(FarCall::Done(client));
    }

    fn export(&self, format: Format) -> Boxed<'static, Result<Vec<u8>, Refusal>> {
        Box::pin(async move { Ok(format!("far {}", format.name()).into_bytes()) })
    }

    fn retained(&self, group: &str) -> Option<Reading> {
        let json = |_| sensor_group("version", 1, &json!({}));
        (group == "version").then(|| Reading::new("version", json))
    }
}
