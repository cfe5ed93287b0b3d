//! Serial ports: those that are configured, and those that are there.

use std::{
    fs::{self, Metadata},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, access},
    process::{geteuid, getgroups},
};
use sinew_io::kind::Entry;

use super::{Context, Finding};
use crate::system::{Process, System, User, shell_word};

/// What is known about a port, without opening it: that would raise its lines, and a controller may
/// restart on that.
struct Port {
    path: PathBuf,
    /// The robot that is configured there.
    robot: Option<String>,
    device: Option<Device>,
}

struct Device {
    is_terminal: bool,
    owner: String,
    group: String,
    /// Permissions, as 0o660.
    mode: u32,
    /// What the daemon's user may do with it.
    access: Rights,
    holder: Option<Process>,
    /// The kernel's name for it, if it writes its messages to it.
    console: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rights {
    Allowed,
    /// From the next login on, by the group that it has joined.
    Joined,
    /// The group could be joined.
    Group,
    None,
}

pub(super) fn check(context: &Context) -> Vec<Finding> {
    let (system, user) = (&context.system, Whose::look(context));
    let configured = context.config.robot.iter().flat_map(Entry::serial_ports);
    let configured = configured.map(|(name, path)| Port::look(system, &user, path, Some(name)));
    let mut ports: Vec<_> = configured.collect();
    let known: Vec<_> = ports.iter().map(|port| fs::canonicalize(&port.path).ok()).collect();
    let others =
        system.serial_ports().into_iter().filter(|path| !known.contains(&Some(path.clone())));
    ports.extend(others.map(|path| Port::look(system, &user, path, None)));
    if ports.is_empty() {
        return vec![Finding::ok("no serial ports here")];
    }
    ports
        .iter()
        .map(|port| judge(port, user.name()).about(port.path.display().to_string()))
        .collect()
}

impl Port {
    fn look(system: &System, user: &Whose, path: PathBuf, robot: Option<String>) -> Self {
        let device =
            fs::metadata(&path).ok().map(|metadata| Device::look(system, user, &path, &metadata));
        Port { path, robot, device }
    }
}

impl Device {
    fn look(system: &System, user: &Whose, path: &Path, metadata: &Metadata) -> Self {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let consoles = system.read("/sys/class/tty/console/active");
        Device {
            is_terminal: metadata.file_type().is_char_device(),
            owner: system.user_name(metadata.uid()),
            group: system.group_name(metadata.gid()),
            mode: metadata.mode() & 0o777,
            access: user.rights(system, path, metadata),
            holder: system.holder(&real),
            console: consoles
                .split_whitespace()
                .any(|console| *console == *name)
                .then(|| name.into()),
        }
    }
}

/// Whose daemon it is about.
enum Whose {
    /// This user's.
    Own(String),
    /// The service's.
    Service(User),
}

impl Whose {
    fn look(context: &Context) -> Self {
        let own = || Whose::Own(context.system.user_name(geteuid().as_raw()));
        context.service_user().map_or_else(own, Whose::Service)
    }

    fn name(&self) -> &str {
        match self {
            Whose::Own(name) | Whose::Service(User { name, .. }) => name,
        }
    }

    fn rights(&self, system: &System, path: &Path, metadata: &Metadata) -> Rights {
        let (mode, gid) = (metadata.mode(), metadata.gid());
        let joined = system.is_member(self.name(), gid);
        let is_allowed = match self {
            Whose::Own(_) => access(path, Access::READ_OK | Access::WRITE_OK).is_ok(),
            // It does not run, and belongs to its groups when it does.
            Whose::Service(user) => {
                let bits = match (user.uid == metadata.uid(), joined) {
                    (true, _) => mode >> 6,
                    (false, true) => mode >> 3,
                    (false, false) => mode,
                };
                user.uid == 0 || bits & 0o6 == 0o6
            }
        };
        let has = getgroups().is_ok_and(|groups| groups.iter().any(|group| group.as_raw() == gid));
        match (is_allowed, mode & 0o060 == 0o060 && gid != 0) {
            (true, _) => Rights::Allowed,
            (false, false) => Rights::None,
            (false, true) if joined && !has => Rights::Joined,
            (false, true) => Rights::Group,
        }
    }
}

fn judge(port: &Port, user: &str) -> Finding {
    let path = shell_word(&port.path);
    let Some(device) = &port.device else {
        let robot = port.robot.as_deref().unwrap_or("a robot");
        return Finding::problem(format!("{robot}'s port is not there"))
            .mend("sudo dmesg | grep tty");
    };
    // What keeps a robot from its port is worse than what keeps nothing.
    let fault = |message: String| match port.robot {
        Some(_) => Finding::problem(message),
        None => Finding::warning(message),
    };
    let Device { owner, group, mode, .. } = device;
    if !device.is_terminal {
        return fault(format!("{} is no serial port", port.path.display()))
            .mend(format!("ls -l {path}"));
    }
    if let Some(Process { pid, name, .. }) = &device.holder {
        let message = format!("in use by {name} (process {pid})");
        return match (name.as_str(), &port.robot) {
            ("sinew", _) | (_, None) => Finding::ok(message),
            _ => Finding::problem(message).mend(format!("sudo kill {pid}")),
        };
    }
    if let Some(name) = &device.console {
        let message = "the kernel's console: take console= from the kernel's command line";
        return match port.robot {
            None => Finding::ok("the kernel's console, not for robots"),
            Some(_) => Finding::problem(message)
                .mend(format!("sudo systemctl disable --now serial-getty@{name}")),
        };
    }
    let whose = format!("it is {owner}'s and group {group}'s, mode {mode:o}");
    match device.access {
        Rights::Allowed => Finding::ok(match &port.robot {
            Some(robot) => format!("{robot}'s; {user} may use it"),
            None => format!("{user} may use it"),
        }),
        Rights::Joined => {
            fault(format!("{user} has joined {group}, and may use it after the next login"))
                .mend(format!("newgrp {group}"))
        }
        Rights::Group => fault(format!("{user} may not use it: {whose}; log in again afterwards"))
            .mend(format!("sudo usermod -aG {} {}", shell_word(group), shell_word(user))),
        Rights::None => fault(format!("{user} may not use it: {whose}"))
            .mend(format!("sudo chown {} {path}", shell_word(user))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::{cmd::doctor::State, system::tests::system};

    fn port(robot: Option<&str>, access: Rights) -> Port {
        let device = Device {
            is_terminal: true,
            owner: "root".into(),
            group: "dialout".into(),
            mode: 0o660,
            access,
            holder: None,
            console: None,
        };
        Port { path: "/dev/ttyS3".into(), robot: robot.map(Into::into), device: Some(device) }
    }

    fn judged(port: &Port) -> (State, String) {
        let finding = judge(port, "ann");
        (finding.state, finding.mend.unwrap_or_default())
    }

    #[test]
    fn rights_are_mended_by_the_group() {
        for (access, wanted) in [
            (Rights::Allowed, (State::Ok, "")),
            (Rights::Joined, (State::Problem, "newgrp dialout")),
            (Rights::Group, (State::Problem, "sudo usermod -aG dialout ann")),
            (Rights::None, (State::Problem, "sudo chown ann /dev/ttyS3")),
        ] {
            let (state, mend) = wanted;
            assert_eq!(judged(&port(Some("vacuum"), access.clone())), (state, mend.into()));
            // A port that no robot needs is not worth a problem.
            let state = state.min(State::Warning);
            assert_eq!(judged(&port(None, access)), (state, mend.into()));
        }
    }

    #[test]
    fn a_port_may_be_gone_taken_or_something_else() {
        let missing = Port { device: None, ..port(Some("vacuum"), Rights::Allowed) };
        assert_eq!(judged(&missing).0, State::Problem);
        let with = |robot, change: &dyn Fn(&mut Device)| {
            let mut port = port(robot, Rights::Allowed);
            port.device.as_mut().into_iter().for_each(change);
            judged(&port)
        };
        let robot = Some("vacuum");
        assert_eq!(with(robot, &|device| device.is_terminal = false).0, State::Problem);
        let console = with(robot, &|device| device.console = Some("ttyS3".into()));
        assert_eq!(console.0, State::Problem);
        assert_eq!(console.1, "sudo systemctl disable --now serial-getty@ttyS3");
        assert_eq!(with(None, &|device| device.console = Some("ttyS3".into())).0, State::Ok);
        let held = |name: &str, robot| {
            let holder = Some(Process { pid: 7, name: name.into(), uid: 0 });
            with(robot, &|device| device.holder.clone_from(&holder))
        };
        assert_eq!(held("gpsd", robot), (State::Problem, "sudo kill 7".into()));
        assert_eq!(held("gpsd", None).0, State::Ok);
        assert_eq!(held("sinew", robot).0, State::Ok);
    }

    #[test]
    fn the_rights_of_a_service_are_those_of_its_user() {
        let (dir, system) = system(&[("etc/passwd", ""), ("port", "")]);
        let path = dir.path().join("port");
        let owner = fs::metadata(&path).expect("is there");
        let group = format!("ports:x:{}:member\n", owner.gid());
        fs::write(dir.path().join("etc/group"), group).expect("is written");
        let is_allowed = |mode: u32, name: &str, uid: u32| {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(&path, permissions).expect("is ours");
            let metadata = fs::metadata(&path).expect("is there");
            let user = Whose::Service(User { name: name.into(), uid, gid: 64321 });
            user.rights(&system, &path, &metadata) == Rights::Allowed
        };
        let other = owner.uid() + 64321;
        assert!(is_allowed(0o600, "owner", owner.uid()) && !is_allowed(0o600, "member", other));
        assert!(is_allowed(0o660, "member", other) && !is_allowed(0o660, "other", other));
        assert!(is_allowed(0o606, "other", other) && !is_allowed(0o606, "member", other));
    }

    #[test]
    fn ports_without_hardware_are_left_out() {
        let (_dir, system) = system(&[
            ("dev/ttyS0", ""),
            ("dev/ttyS1", ""),
            ("dev/ttyUSB10", ""),
            ("dev/ttyUSB9", ""),
            ("dev/tty1", ""),
            ("dev/ttyS", ""),
            ("sys/class/tty/ttyS0/type", "4\n"),
            ("sys/class/tty/ttyS1/type", "0\n"),
        ]);
        let names: Vec<_> = system
            .serial_ports()
            .iter()
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .collect();
        assert_eq!(names, ["ttyS0", "ttyUSB9", "ttyUSB10"]);
    }
}
