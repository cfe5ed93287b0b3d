//! The robot's actions and the numbers by which clients call them.

use std::collections::HashMap;

use sinew_wire::unitree::arm::ActionList;

use crate::{
    Code, Refusal,
    teach::{Action, ActionKind, Target},
};

/// The lowest number of a taught action: presets have up to some hundred.
pub const FIRST_TAUGHT: u32 = 1001;
/// Actions of a list that are taken. The vendor's app lets a robot learn 15.
const MAX_ACTIONS: usize = 256;
/// Names whose numbers are remembered, before all are given anew.
const MAX_NAMES: usize = 10_000;

/// The last list, and the numbers of taught actions.
#[derive(Debug, Default)]
pub(super) struct Actions {
    pub(super) listed: Vec<Action>,
    /// Those that have no number, or are more than can be taken.
    pub(super) unlisted: usize,
    /// Presets that are not for every state of the robot.
    states: Vec<(u32, Vec<i64>)>,
    numbers: HashMap<String, u32>,
}

impl Actions {
    /// Takes a list.
    pub(super) fn take(&mut self, list: &ActionList) {
        self.listed.clear();
        self.states.clear();
        if self.numbers.len() > MAX_NAMES {
            self.numbers.clear();
        }
        for preset in &list.presets {
            let id = u32::try_from(preset.id).ok().filter(|id| *id > 0);
            if let Some(id) = id.filter(|_| self.listed.len() < MAX_ACTIONS) {
                let (name, kind) = (preset.name.clone(), ActionKind::Preset);
                self.listed.push(Action { id, name, kind, duration_ms: None });
                if !preset.fsm.is_empty() {
                    self.states.push((id, preset.fsm.clone()));
                }
            }
        }
        for taught in &list.taught {
            if self.listed.len() < MAX_ACTIONS {
                let id = self.number(&taught.name);
                let ms = (taught.seconds * 1000.0).round();
                let duration_ms = (0.0..1e9).contains(&ms).then_some(ms as u32);
                let (name, kind) = (taught.name.clone(), ActionKind::Taught);
                self.listed.push(Action { id, name, kind, duration_ms });
            }
        }
        self.unlisted = list.presets.len() + list.taught.len() - self.listed.len();
    }

    /// The number of a taught action, which no preset has.
    fn number(&mut self, name: &str) -> u32 {
        let is_preset = |id: u32| {
            self.listed.iter().any(|action| action.kind == ActionKind::Preset && action.id == id)
        };
        if let Some(id) = self.numbers.get(name).filter(|id| !is_preset(**id)) {
            return *id;
        }
        let last = self.numbers.values().copied().max().unwrap_or(FIRST_TAUGHT - 1);
        let id = (last.saturating_add(1)..).find(|id| !is_preset(*id)).unwrap_or(u32::MAX);
        self.numbers.insert(name.into(), id);
        id
    }

    /// An action of the last list; of two with one name, the taught one.
    pub(super) fn find(&self, target: &Target) -> Result<&Action, Refusal> {
        let by_name = |name: &str| {
            let named = || self.listed.iter().filter(|action| action.name == name);
            named().find(|action| action.kind == ActionKind::Taught).or_else(|| named().next())
        };
        match target {
            Target::Id(id) => self.listed.iter().find(|action| action.id == *id).ok_or_else(|| {
                Refusal::new(Code::NotFound, format!("no action has the number {id}; see the list"))
            }),
            Target::Name(name) => by_name(name).ok_or_else(|| self.not_found(name)),
        }
    }

    /// Whether the robot was taught something of that name.
    pub(super) fn has_taught(&self, name: &str) -> bool {
        let is = |action: &Action| action.kind == ActionKind::Taught && action.name == name;
        self.listed.iter().any(is)
    }

    /// The states in which a preset can be played, where the robot says so.
    pub(super) fn states_of(&self, id: u32) -> Option<&[i64]> {
        let row = self.states.iter().find(|(preset, _)| *preset == id)?;
        Some(&row.1)
    }

    fn not_found(&self, name: &str) -> Refusal {
        let taught = self.listed.iter().filter(|action| action.kind == ActionKind::Taught);
        let names: Vec<_> = taught.map(|action| action.name.as_str()).collect();
        let taught = if names.is_empty() { "nothing".into() } else { names.join(", ") };
        let message = format!("no action is called {name:?}; the robot was taught: {taught}");
        Refusal::new(Code::NotFound, crate::cut(message, 500))
    }
}
