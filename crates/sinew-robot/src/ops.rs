//! Commands that have ops: tables of them, for parsers, error texts and documentation.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Code, Refusal, Remedy, shown};

/// A row of such a table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Op {
    /// Its name, in member `op`.
    pub op: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Members that must be given.
    pub needs: &'static [&'static str],
    /// Whether `id` or `name`, and not both, must be given.
    pub target: bool,
    /// Members that may be given.
    pub takes: &'static [&'static str],
    /// Why it needs `confirm`, if it does.
    pub confirm: Option<&'static str>,
    /// What its answer has.
    pub answers: &'static str,
}

/// Reads the members that a row allows.
pub(crate) type Parse<R> = fn(&Members<'_>) -> Result<R, Refusal>;

/// Members that belong to the message and not to the request.
const ENVELOPE: [&str; 4] = ["type", "robot", "req", "confirm"];

pub(crate) const fn op(op: &'static str, what: &'static str, answers: &'static str) -> Op {
    Op { op, what, needs: &[], target: false, takes: &[], confirm: None, answers }
}

/// The rows of a table without their parsers.
pub(crate) const fn rows<R, const N: usize>(table: &[(Op, Parse<R>); N]) -> [Op; N] {
    let mut rows = [table[0].0; N];
    let mut next = 1;
    while next < N {
        rows[next] = table[next].0;
        next += 1;
    }
    rows
}

/// Parses the members of a command by its table.
pub(crate) fn parse<R>(
    table: &[(Op, Parse<R>)],
    members: &Map<String, Value>,
) -> Result<R, Refusal> {
    let asked = members.get("op");
    let Some((row, parse)) = table.iter().find(|(row, _)| asked.is_some_and(|op| op == row.op))
    else {
        let ops: Vec<_> = table.iter().map(|(row, _)| row.op).collect();
        let got = asked.map_or("nothing".into(), shown);
        return Err(Refusal::invalid(format!("op: wanted one of {}, got {got}", ops.join(", "))));
    };
    row.check(members)?;
    let request = parse(&Members { op: row.op, members })?;
    match row.confirm.filter(|_| members.get("confirm") != Some(&Value::Bool(true))) {
        Some(why) => Err(Refusal::new(Code::NotConfirmed, why).helped_by(Remedy::Confirm)),
        None => Ok(request),
    }
}

impl Op {
    /// Refuses members that the request does not know, and misses those it needs.
    fn check(&self, members: &Map<String, Value>) -> Result<(), Refusal> {
        let target: &[&str] = if self.target { &["id", "name"] } else { &[] };
        let known = |key: &str| {
            key == "op"
                || [&ENVELOPE, self.needs, target, self.takes].iter().any(|set| set.contains(&key))
        };
        if let Some(unknown) = members.keys().find(|key| !known(key)) {
            return Err(Refusal::invalid(format!(
                "{}: wanted {}, got {unknown:?}",
                self.op,
                self.wanted()
            )));
        }
        let given = |key: &str| members.get(key).is_some_and(|value| !value.is_null());
        if let Some(missing) = self.needs.iter().find(|key| !given(key)) {
            return Err(Refusal::invalid(format!(
                "{}: wanted {}, got no {missing:?}",
                self.op,
                self.wanted()
            )));
        }
        let got = match (given("id"), given("name")) {
            _ if !self.target => return Ok(()),
            (true, true) => "both",
            (false, false) => "neither",
            _ => return Ok(()),
        };
        Err(Refusal::invalid(format!("{}: wanted id or name, got {got}", self.op)))
    }

    /// The members it takes, in words.
    pub fn wanted(&self) -> String {
        let mut words: Vec<String> = self.needs.iter().map(|need| (*need).into()).collect();
        if self.target {
            words.push("id or name".into());
        }
        if !self.takes.is_empty() {
            words.push(format!("optionally {}", self.takes.join(", ")));
        }
        if words.is_empty() { "no members".into() } else { words.join(", ") }
    }
}

/// The members of one command; null counts as not given.
pub(crate) struct Members<'a> {
    pub(crate) op: &'static str,
    members: &'a Map<String, Value>,
}

impl Members<'_> {
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.members.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn wrong(&self, key: &str, wanted: &str) -> Refusal {
        let got = self.get(key).map_or("nothing".into(), shown);
        Refusal::invalid(format!("{}: {key}: wanted {wanted}, got {got}", self.op))
    }

    pub(crate) fn name(&self, key: &str) -> Result<Option<String>, Refusal> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(name)) if !name.is_empty() => Ok(Some(name.clone())),
            Some(_) => Err(self.wrong(key, "a text that is not empty")),
        }
    }

    pub(crate) fn needed(&self, key: &str) -> Result<String, Refusal> {
        self.name(key)?.ok_or_else(|| self.wrong(key, "a text that is not empty"))
    }
}
