//! `sinew control`: any component, any action.

use serde_json::{Map, Value, json};

use super::Usage;
use crate::{DONE, client::Daemon, output};

/// Control a component: `sinew control vacuum Configure speed=75`.
///
/// `sinew control` alone lists the components and what each takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The component.
    id: Option<String>,
    /// Enable, Disable, Reset or Configure.
    action: Option<String>,
    /// NAME=VALUE for each parameter.
    config: Vec<String>,
    /// Needed for what can hurt.
    #[arg(long)]
    confirm: bool,
    #[command(flatten)]
    daemon: Daemon,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let (Some(id), Some(action)) = (&args.id, &args.action) else {
        list(json)?;
        return Ok(DONE);
    };
    let mut config = Map::new();
    for pair in &args.config {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(Usage(format!("{pair:?} is not NAME=VALUE")).into());
        };
        let value: Value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        config.insert(name.into(), value);
    }
    let command = component_control(id, action, config, args.confirm);
    args.daemon.connect()?.request(command)?;
    output::done(json)
}

/// The message that controls a component.
pub(super) fn component_control(
    id: &str,
    action: &str,
    config: Map<String, Value>,
    confirm: bool,
) -> Value {
    let mut action = json!({ "type": action });
    if !config.is_empty() {
        action["config"] = config.into();
    }
    let mut command = json!({ "type": "ComponentControl", "id": id, "action": action });
    if confirm {
        command["confirm"] = true.into();
    }
    command
}

fn list(json: bool) -> anyhow::Result<()> {
    use std::io::Write;
    let components = sinew_robot::component::COMPONENTS;
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(components)?)?;
        return Ok(());
    }
    for component in components {
        for action in component.actions {
            let confirm = if action.confirm { " (needs --confirm)" } else { "" };
            writeln!(
                out,
                "{:<12} {:<10} {:<34} {}{confirm}",
                component.id,
                action.verb.name(),
                action.wanted(),
                action.what
            )?;
        }
    }
    Ok(())
}
