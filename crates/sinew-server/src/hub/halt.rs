use serde_json::{Value, json};
use sinew_api::Halt;
use sinew_robot::{OrderKind, Refusal, capability::Capability};

use super::{Client, Hub, Members};
use crate::{dispatch::Outcome, relay};

impl Hub {
    /// Stops what a message wants stopped: our own robots here and now, those of other daemons by
    /// what is sent to them. Gives the reply's data, or what waits for confirmations.
    pub(crate) fn halt(
        &self,
        robot: Option<&str>,
        halt: &Halt,
        by: &Client,
    ) -> Result<Outcome, Refusal> {
        // Before the robots are looked up: one that joins behind that knows of this stop by its number.
        let epoch = self.roster.epoch.advance();
        let (meant, kind) = match halt {
            Halt::Stop { .. } => (self.robots(robot)?, OrderKind::Stop),
            Halt::Reset => (self.driven(robot)?, OrderKind::Stop),
            Halt::Disable => (self.driven(robot)?, OrderKind::Disable),
        };
        let own = meant.iter().filter(|member| member.relayed.is_none());
        own.for_each(|member| member.halt(kind, by));
        let data = match halt {
            Halt::Stop { note: Some(note) } => {
                json!({ "note": format!("stopped all the same; {note}") })
            }
            _ => Value::Null,
        };
        Ok(match relay::halt(&meant, halt, by, epoch, &self.workers) {
            None => Outcome::Data(data),
            Some(confirmed) => Outcome::Halting(Box::pin(async { confirmed.await.map(|()| data) })),
        })
    }

    /// The robot named, or all that drive where none is named and there are several.
    fn driven(&self, name: Option<&str>) -> Result<Members, Refusal> {
        let drive = Capability::Drive;
        if name.is_some() {
            return self.robot(name, Some(drive)).map(|member| [member].into());
        }
        let driven: Members =
            self.members().iter().filter(|member| member.can(drive)).cloned().collect();
        match driven.is_empty() {
            true => self.robot(None, Some(drive)).map(|member| [member].into()),
            false => Ok(driven),
        }
    }
}
