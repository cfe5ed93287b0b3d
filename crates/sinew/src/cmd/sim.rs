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
#[cfg(feature = "webrtc")]
use sinew_io::{Habits, KeyFile, Signalling, WebRtcServerOptions};
#[cfg(feature = "g1")]
use sinew_sim::g1::Script;
#[cfg(feature = "webrtc")]
use sinew_sim::g1::UnitreeOptions;
use sinew_sim::vacuum::Options;
#[cfg(feature = "webrtc")]
use sinew_wire::slam::Reading;
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
    /// A Unitree G1 that is taught by datagrams and over WebRTC.
    #[cfg(feature = "g1")]
    G1(Box<G1>),
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
    /// Where its signalling for WebRTC listens; robots use port 9991. Off unless given.
    #[cfg(feature = "webrtc")]
    #[arg(long, value_name = "ADDR")]
    webrtc: Option<std::net::SocketAddr>,
    /// The same of older robots, which use port 8081.
    #[cfg(feature = "webrtc")]
    #[arg(long, value_name = "ADDR")]
    webrtc_old: Option<std::net::SocketAddr>,
    /// What its signalling is encrypted with: nothing, the key that all robots share, its own.
    #[cfg(feature = "webrtc")]
    #[arg(long, value_enum, default_value = "static")]
    signalling: Encrypted,
    /// Its own key: a file with 32 hexadecimal digits.
    #[cfg(feature = "webrtc")]
    #[arg(long, value_name = "FILE", required_if_eq("signalling", "device"))]
    key_file: Option<PathBuf>,
    /// Clouds in the form of document 004, 12 bytes a point, instead of that of real robots.
    #[cfg(feature = "webrtc")]
    #[arg(long)]
    documented_clouds: bool,
    /// Shots of the lidar in a cloud.
    #[cfg(feature = "webrtc")]
    #[arg(long, value_name = "COUNT", default_value_t = UnitreeOptions::default().points_per_cloud, value_parser = points)]
    cloud_points: usize,
    /// Also publish voxel maps, as a GO2 does.
    #[cfg(feature = "webrtc")]
    #[arg(long)]
    go2_voxels: bool,
    /// Answer discovery on this interface.
    #[arg(long, value_name = "IFACE")]
    discovery: Option<String>,
    /// Who moves its arms while they are soft.
    #[arg(long, value_enum, default_value = "wave")]
    operator: Operator,
    /// What the movements of its operator are made from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Damage its datagrams both ways, and those that carry its data channels, as in
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

/// What a simulated robot's signalling is encrypted with.
#[cfg(feature = "webrtc")]
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Encrypted {
    /// Nothing.
    Plain,
    /// The key that all robots share.
    Static,
    /// Its own key.
    Device,
}

#[cfg(feature = "webrtc")]
impl G1 {
    /// What it does there.
    fn unitree(&self) -> UnitreeOptions {
        let layout = if self.documented_clouds { Reading::Documented } else { Reading::Packed };
        UnitreeOptions {
            layout,
            points_per_cloud: self.cloud_points,
            go2_voxels: self.go2_voxels,
            ..UnitreeOptions::default()
        }
    }

    /// Where and how it is reached over WebRTC.
    fn webrtc(&self) -> anyhow::Result<Option<WebRtcServerOptions>> {
        let (listen, listen_old) = (self.webrtc, self.webrtc_old);
        if listen.or(listen_old).is_none() {
            return Ok(None);
        }
        let signalling = match (self.signalling, &self.key_file) {
            (Encrypted::Plain, _) => Signalling::Plain,
            (Encrypted::Static, _) => Signalling::Static,
            (Encrypted::Device, Some(file)) => Signalling::Device(KeyFile::read(file)?.key),
            (Encrypted::Device, None) => anyhow::bail!("--signalling device needs --key-file"),
        };
        let interface = None;
        let habits = Habits::default();
        Ok(Some(WebRtcServerOptions { listen, listen_old, signalling, interface, habits }))
    }
}

#[cfg(feature = "g1")]
impl G1 {
    fn start(&self) -> anyhow::Result<G1Simulator> {
        let operator = (self.operator == Operator::Wave).then_some(Script::Wave);
        let robot = sinew_sim::g1::Options {
            seed: self.seed,
            operator,
            restart_every: self.restart_every,
            #[cfg(feature = "webrtc")]
            unitree: self.unitree(),
            ..Default::default()
        };
        let options = G1Options {
            robot,
            listen: self.teach,
            store: self.store.clone(),
            discovery: self.discovery.clone().map(Discovery::new),
            #[cfg(feature = "webrtc")]
            webrtc: self.webrtc()?,
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

#[cfg(feature = "webrtc")]
fn points(text: &str) -> Result<usize, String> {
    let wanted = |count: &usize| (1..=20_000).contains(count);
    let count = text.parse().ok().filter(wanted);
    count.ok_or_else(|| format!("wanted 1 to 20000, got {text:?}"))
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
    #[cfg_attr(not(feature = "webrtc"), expect(unused_mut, reason = "it has no others"))]
    let mut others: Vec<(&str, Option<String>)> = Vec::new();
    let (link, flag, _robot): (String, &str, Box<dyn std::any::Any>) = match &args.robot {
        Robot::Vacuum { symlink, rate, seed } => {
            let options = Options { seed: *seed, rate_hz: *rate, ..Options::default() };
            let simulator = Simulator::spawn(options, symlink.as_deref())?;
            (format!("serial:{}", simulator.path().display()), "--vacuum", Box::new(simulator))
        }
        #[cfg(feature = "g1")]
        Robot::G1(robot) => {
            let simulator = robot.start()?;
            #[cfg(feature = "webrtc")]
            for (name, at) in
                [("webrtc", simulator.webrtc()), ("webrtc_old", simulator.webrtc_old())]
            {
                others.push((name, at.map(|at| format!("webrtc:{at}"))));
            }
            (format!("udp:{}", simulator.address()), "--g1", Box::new(simulator))
        }
    };
    let mut out = std::io::stdout().lock();
    if json {
        let mut ready = json!({ "type": "ready", "link": link });
        others.into_iter().for_each(|(name, link)| ready[name] = json!(link));
        writeln!(out, "{ready}")?;
    } else {
        let others = others.into_iter().filter_map(|(_, link)| link);
        let links: Vec<_> = [link.clone()].into_iter().chain(others).collect();
        writeln!(out, "simulated robot at {}", links.join(" and "))?;
        let link = &links[links.len() - 1];
        say(&format!("{} serve {flag} {link}   # in another terminal", program()));
    }
    out.flush()?;
    drop(out);
    interrupted.wait_for_it();
    Ok(DONE)
}
