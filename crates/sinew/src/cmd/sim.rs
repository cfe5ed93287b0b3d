//! `sinew sim`: robots that are not there.

#[cfg(feature = "g1")]
use std::time::Duration;
use std::{io::Write, path::PathBuf};

use clap::Subcommand;
use serde_json::json;
#[cfg(feature = "g1")]
use sinew_faults::DatagramFaults;
use sinew_io::sim::Simulator;
#[cfg(feature = "g1")]
use sinew_io::{
    Around,
    sim::{Discovery, G1Options, G1Simulator, Hand},
};
#[cfg(feature = "g1")]
use sinew_sim::g1::Script;
use sinew_sim::vacuum::Options;
#[cfg(feature = "g1")]
use sinew_wire::teach::G1_ARM_JOINTS;

use crate::{
    DONE, interrupt,
    say::{program, say},
};

/// Run a simulated robot until Ctrl-C.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    robot: Robot,
}

#[derive(Subcommand)]
enum Robot {
    /// A CRL-200S vacuum on a pseudo-terminal.
    Vacuum {
        /// Also give the serial port this name.
        #[arg(long, value_name = "PATH")]
        symlink: Option<PathBuf>,
        /// Status packets a second.
        #[arg(long, value_name = "HZ", default_value_t = 110, value_parser = clap::value_parser!(u32).range(1..=500))]
        rate: u32,
        /// What its world and its noise are made from.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// A Unitree G1 that is taught by datagrams.
    #[cfg(feature = "g1")]
    G1(G1),
}

#[cfg(feature = "g1")]
#[derive(clap::Args)]
struct G1 {
    /// Where its teaching service listens.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:49504")]
    teach: std::net::SocketAddr,
    /// Keep its actions in this directory.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Answer discovery on this interface.
    #[arg(long, value_name = "IFACE")]
    discovery: Option<String>,
    /// Who moves its arms while they are soft.
    #[arg(long, value_enum, default_value = "wave")]
    operator: Operator,
    /// What the movements of its operator are made from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Damage its datagrams both ways, as in
    /// `drop=0.1,duplicate=0.05,reorder=0.05,corrupt=0.01,delay=20ms,jitter=10ms,seed=7`.
    #[arg(long, value_name = "FAULTS")]
    fault: Option<DatagramFaults>,
    /// Cut its power for a moment every so often, as in `30s`: it forgets its clients, teaching and
    /// what it does, and keeps its actions.
    #[arg(long, value_name = "TIME", value_parser = restart_every)]
    restart_every: Option<Duration>,
}

#[cfg(feature = "g1")]
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Operator {
    /// Somebody who waves with the right arm.
    Wave,
    /// Nobody.
    None,
    /// You: lines such as `left_elbow 0.5` on standard input, in rad.
    Stdin,
}

#[cfg(feature = "g1")]
impl G1 {
    fn start(&self) -> anyhow::Result<G1Simulator> {
        let operator = (self.operator == Operator::Wave).then_some(Script::Wave);
        let robot = sinew_sim::g1::Options {
            seed: self.seed,
            operator,
            restart_every: self.restart_every,
            ..Default::default()
        };
        let options = G1Options {
            robot,
            listen: self.teach,
            store: self.store.clone(),
            discovery: self.discovery.clone().map(Discovery::new),
        };
        // Other luck than that of a daemon with the same faults.
        let around = self.fault.map(|faults| Around::Faults(faults, 2)).into_iter().collect();
        let simulator = G1Simulator::spawn_with(options, around)?;
        if self.operator == Operator::Stdin {
            let hand = simulator.hand();
            std::thread::spawn(move || operate(&hand));
        }
        Ok(simulator)
    }
}

/// Moves the arms as standard input says, to its end.
#[cfg(feature = "g1")]
fn operate(hand: &Hand) {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let slot = G1_ARM_JOINTS.iter().position(|joint| joint.name == name);
        let target = words.next().and_then(|word| word.parse().ok());
        match (slot, target.filter(|target: &f32| target.is_finite())) {
            (Some(slot), Some(target)) => hand.move_arm(slot, target),
            (None, _) => {
                let names: Vec<_> = G1_ARM_JOINTS.iter().map(|joint| joint.name).collect();
                eprintln!("wanted one of {}, got {name:?}", names.join(", "));
            }
            _ => eprintln!("wanted a joint and radians, as in left_elbow 0.5, got {line:?}"),
        }
    }
}

#[cfg(feature = "g1")]
fn restart_every(text: &str) -> Result<Duration, String> {
    let every = super::duration(text)?;
    if every < Duration::from_secs(1) {
        return Err(format!("wanted a second or more, got {text:?}"));
    }
    Ok(every)
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    // Held until the end: a simulator runs for as long as it is not dropped.
    let (link, lidar, flag, _robot): (String, _, &str, Box<dyn std::any::Any>) = match &args.robot {
        Robot::Vacuum { symlink, rate, seed } => {
            let options = Options { seed: *seed, rate_hz: *rate, ..Options::default() };
            let simulator = Simulator::spawn(options, symlink.as_deref())?;
            let link = format!("serial:{}", simulator.path().display());
            let lidar = format!("serial:{}", simulator.lidar_path().display());
            (link, Some(lidar), "--vacuum", Box::new(simulator))
        }
        #[cfg(feature = "g1")]
        Robot::G1(robot) => {
            let simulator = robot.start()?;
            (format!("udp:{}", simulator.address()), None, "--g1", Box::new(simulator))
        }
    };
    let mut out = std::io::stdout().lock();
    if json {
        let mut ready = json!({ "type": "ready", "link": link });
        if let Some(lidar) = lidar {
            ready["lidar"] = lidar.into();
        }
        writeln!(out, "{ready}")?;
    } else {
        let (place, flags) = match &lidar {
            Some(lidar) => (format!(", its lidar at {lidar}"), format!(" --lidar {lidar}")),
            None => Default::default(),
        };
        writeln!(out, "simulated robot at {link}{place}")?;
        say(&format!("{} serve {flag} {link}{flags}   # in another terminal", program()));
    }
    out.flush()?;
    drop(out);
    interrupted.wait_for_it();
    Ok(DONE)
}
