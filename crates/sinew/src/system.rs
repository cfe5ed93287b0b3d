//! What the operating system tells about users, processes, ports and sockets. Nothing is changed and
//! nothing is opened but the files in which it is told.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The files in which a system tells about itself, below a root: `/`, or a test's.
pub(crate) struct System {
    root: PathBuf,
}

/// A user, by `/etc/passwd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// A process that has something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Its program, as `sinew`.
    pub(crate) name: String,
    pub(crate) uid: u32,
}

/// A socket that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) uid: u32,
    inode: u64,
}

impl System {
    /// This one.
    pub(crate) fn here() -> Self {
        System { root: "/".into() }
    }

    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        System { root: root.into() }
    }

    /// Where a file is, by its path from the root.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of a file; nothing where there is none.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> String {
        let bytes = fs::read(self.path(path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end().into()
    }

    /// The names in a directory, in order.
    pub(crate) fn names(&self, dir: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.path(dir)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        // ttyS2 before ttyS10.
        names.sort_by_cached_key(|name| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            (stem.to_owned(), name[stem.len()..].parse::<u64>().ok())
        });
        names
    }
}

/// Serial ports.
impl System {
    /// The ports of this machine. Of the usual four or 32 `ttyS` only those count that have hardware.
    pub(crate) fn serial_ports(&self) -> Vec<PathBuf> {
        let is_port = |name: &String| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let is_real = stem != "ttyS" || self.read(format!("/sys/class/tty/{name}/type")) != "0";
            ["ttyS", "ttyUSB", "ttyACM", "ttyAMA"].contains(&stem) && stem != name && is_real
        };
        let names = self.names("/dev").into_iter().filter(is_port);
        names.map(|name| self.path("/dev").join(name)).collect()
    }
}

/// Users and groups.
impl System {
    pub(crate) fn user(&self, name: &str) -> Option<User> {
        self.users().find(|user| user.name == name)
    }

    /// A user's name, or number where it has none here.
    pub(crate) fn user_name(&self, uid: u32) -> String {
        let found = self.users().find(|user| user.uid == uid);
        found.map_or_else(|| uid.to_string(), |user| user.name)
    }

    /// The same for a group.
    pub(crate) fn group_name(&self, gid: u32) -> String {
        let found = self.groups().find(|(_, number, _)| *number == gid);
        found.map_or_else(|| gid.to_string(), |(name, ..)| name)
    }

    /// Whether a user belongs to a group from its next login on.
    pub(crate) fn is_member(&self, user: &str, gid: u32) -> bool {
        self.groups().any(|(_, number, members)| {
            number == gid && members.iter().any(|member| member == user)
        }) || self.user(user).is_some_and(|user| user.gid == gid)
    }

    fn users(&self) -> impl Iterator<Item = User> {
        let text = self.read("/etc/passwd");
        let read = |line: &str| {
            let fields: Vec<_> = line.split(':').collect();
            let (uid, gid) = (fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?);
            Some(User { name: fields[0].into(), uid, gid })
        };
        text.lines().filter_map(read).collect::<Vec<_>>().into_iter()
    }

    fn groups(&self) -> impl Iterator<Item = (String, u32, Vec<String>)> {
        let text = self.read("/etc/group");
        let read = |line: &str| {
            let fields: Vec<_> = line.split(':').collect();
            let members = fields.get(3)?.split(',').map(str::to_owned).collect();
            Some((fields[0].into(), fields.get(2)?.parse().ok()?, members))
        };
        text.lines().filter_map(read).collect::<Vec<_>>().into_iter()
    }
}

/// Processes, and what they have.
impl System {
    pub(crate) fn process(&self, pid: u32) -> Option<Process> {
        let dir = format!("/proc/{pid}");
        let uid = fs::metadata(self.path(&dir)).ok()?.uid();
        Some(Process { pid, name: self.read(format!("{dir}/comm")), uid })
    }

    fn processes(&self) -> impl Iterator<Item = u32> {
        self.names("/proc").into_iter().filter_map(|name| name.parse().ok())
    }

    /// The process that has this file open, if we may see that: ours, or all for root.
    fn opener(&self, is_it: impl Fn(&Path) -> bool) -> Option<Process> {
        let has = |pid: &u32| {
            let dir = format!("/proc/{pid}/fd");
            let target = |name: &String| fs::read_link(self.path(&dir).join(name)).ok();
            self.names(&dir).iter().filter_map(target).any(|target| is_it(&target))
        };
        let others = self.processes().filter(|pid| *pid != std::process::id());
        others.into_iter().find(has).and_then(|pid| self.process(pid))
    }

    /// The process that keeps a device to itself: by a lock of the kernel, by a lock file, or
    /// because it has it open.
    pub(crate) fn holder(&self, device: &Path) -> Option<Process> {
        let by_lock = fs::metadata(device).ok().and_then(|metadata| self.locker(&metadata));
        let by_file = || {
            let name = device.file_name()?.to_str()?;
            let pid =
                self.read(format!("/run/lock/LCK..{name}")).split_whitespace().next()?.parse();
            self.process(pid.ok()?)
        };
        by_lock.or_else(by_file).or_else(|| self.opener(|target| target == device))
    }

    /// The process that has locked a file; locks can be seen of other users' processes, too.
    fn locker(&self, file: &fs::Metadata) -> Option<Process> {
        let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
        let place = format!("{major:02x}:{minor:02x}:{}", file.ino());
        let locks = self.read("/proc/locks");
        let pid = locks.lines().find_map(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let here = fields.get(1) == Some(&"FLOCK") && fields.get(5) == Some(&place.as_str());
            fields.get(4).filter(|_| here)?.parse().ok()
        })?;
        self.process(pid)
    }

    /// Whether a process has a thread of real-time priority; none where it is not told.
    pub(crate) fn has_real_time_thread(&self, pid: u32) -> Option<bool> {
        const POLICY: usize = 41;
        let dir = format!("/proc/{pid}/task");
        let policies: Vec<u32> = self
            .names(&dir)
            .iter()
            .filter_map(|thread| {
                let stat = self.read(format!("{dir}/{thread}/stat"));
                // The second field is a name in brackets, which may hold anything.
                let rest = stat.rsplit_once(')')?.1;
                rest.split_whitespace().nth(POLICY - 3)?.parse().ok()
            })
            .collect();
        // SCHED_FIFO and SCHED_RR.
        (!policies.is_empty()).then(|| policies.iter().any(|policy| matches!(policy, 1 | 2)))
    }
}

/// Sockets.
impl System {
    /// The socket that listens at an address, or at all addresses of its port.
    pub(crate) fn listener(&self, address: SocketAddr) -> Option<Listener> {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| self.read(path));
        let mut rows = tables.iter().flat_map(|table| table.lines()).filter_map(listening);
        rows.find(|(local, _)| is_same(*local, address)).map(|(_, listener)| listener)
    }

    /// The process that has a socket, if we may see that.
    pub(crate) fn opener_of(&self, listener: &Listener) -> Option<Process> {
        let socket = format!("socket:[{}]", listener.inode);
        self.opener(|target| target.as_os_str() == socket.as_str())
    }

    /// The same; where we may not see it, a process of the same user and of this name.
    pub(crate) fn process_of(&self, listener: &Listener, name: &str) -> Option<Process> {
        let by_name = || {
            let mut all = self.processes().filter_map(|pid| self.process(pid));
            all.find(|process| process.uid == listener.uid && process.name == name)
        };
        self.opener_of(listener).or_else(by_name)
    }
}

/// Whether a socket at one address keeps another from the second.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    one.port() == other.port() && (a == b || a.is_unspecified() || b.is_unspecified())
}

/// A row of `/proc/net/tcp` that is about a socket that listens.
fn listening(row: &str) -> Option<(SocketAddr, Listener)> {
    const LISTEN: &str = "0A";
    let fields: Vec<_> = row.split_whitespace().collect();
    if fields.get(3) != Some(&LISTEN) {
        return None;
    }
    let (ip, port) = fields[1].split_once(':')?;
    // Each word of 32 bits is written as this machine reads it.
    let words: Option<Vec<_>> = (0..ip.len() / 8)
        .map(|word| u32::from_str_radix(ip.get(8 * word..8 * word + 8)?, 16).ok())
        .collect();
    let bytes: Vec<u8> = words?.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let ip: IpAddr = match bytes.len() {
        4 => Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into(),
        _ => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into(),
    };
    let address = SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?);
    let (uid, inode) = (fields.get(7)?.parse().ok()?, fields.get(9)?.parse().ok()?);
    Some((address, Listener { uid, inode }))
}

/// A word as a shell takes it.
pub(crate) fn shell_word(word: impl AsRef<Path>) -> String {
    let word = word.as_ref().to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// A system with these files.
    pub(crate) fn system(files: &[(&str, &str)]) -> (TempDir, System) {
        let dir = tempfile::tempdir().expect("there is room");
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("is in a directory")).expect("is made");
            fs::write(path, text).expect("is written");
        }
        let system = System::at(dir.path());
        (dir, system)
    }

    #[test]
    fn users_and_groups_have_names_and_members() {
        let (_dir, system) = system(&[
            (
                "etc/passwd",
                "root:x:0:0::/root:/bin/sh\nann:x:1000:100::/home/ann:/bin/sh\nbroken\n",
            ),
            ("etc/group", "root:x:0:\nusers:x:100:\ndialout:x:20:bob,ann\n"),
        ]);
        assert_eq!((system.user_name(1000), system.user_name(7)), ("ann".into(), "7".into()));
        assert_eq!((system.group_name(20), system.group_name(7)), ("dialout".into(), "7".into()));
        assert_eq!(system.user("ann").map(|user| user.gid), Some(100));
        let member = |gid| system.is_member("ann", gid);
        assert_eq!((member(20), member(100), member(0)), (true, true, false));
    }

    #[test]
    fn ports_are_in_the_order_of_their_numbers() {
        let (_dir, system) = system(&[("dev/ttyS10", ""), ("dev/ttyS9", ""), ("dev/ttyACM2", "")]);
        assert_eq!(system.names("/dev"), ["ttyACM2", "ttyS9", "ttyS10"]);
        assert!(system.names("/nowhere").is_empty());
    }

    /// As the kernel prints them on a machine whose bytes stand in this order.
    fn word(ip: [u8; 4]) -> String {
        format!("{:08X}", u32::from_ne_bytes(ip))
    }

    #[test]
    fn sockets_that_listen_are_found_with_their_process() {
        let (local, any) = (word([127, 0, 0, 1]), word([0; 4]));
        let row = |address: &str, port: u16, state: &str, uid: u32, inode: u32| {
            format!("  0: {address}:{port:04X} {any}:0000 {state} 0:0 0:0 0 {uid} 0 {inode} 1\n")
        };
        let tcp = row(&local, 5555, "0A", 1000, 11) + &row(&local, 5556, "01", 1000, 12);
        let tcp6 = row(&any.repeat(4), 8787, "0A", 7, 13);
        let (dir, system) = system(&[
            ("proc/net/tcp", &format!("  sl  local_address\n{tcp}")),
            ("proc/net/tcp6", &tcp6),
            ("proc/400001/comm", "sinew\n"),
            ("proc/400001/fd/1", ""),
            ("proc/400002/comm", "other\n"),
        ]);
        symlink("socket:[11]", dir.path().join("proc/400001/fd/2")).expect("is made");
        let find = |address: &str| system.listener(address.parse().expect("is an address"));
        let found = find("127.0.0.1:5555").expect("it listens");
        assert_eq!(found.uid, 1000);
        let process = system.opener_of(&found).expect("it has the socket");
        assert_eq!((process.pid, process.name.as_str()), (400_001, "sinew"));
        assert_eq!(find("0.0.0.0:5555").map(|found| found.uid), Some(1000));
        assert_eq!(find("127.0.0.2:5555"), None);
        assert_eq!(find("127.0.0.1:5556"), None, "it is connected, and does not listen");
        let all = find("127.0.0.1:8787").expect("it listens at all addresses");
        assert_eq!((all.uid, system.opener_of(&all)), (7, None));
    }

    #[test]
    fn a_lock_has_a_holder() {
        let (dir, system) = system(&[("dev/port", ""), ("proc/400003/comm", "minicom\n")]);
        let port = dir.path().join("dev/port");
        assert_eq!(system.holder(&port), None);
        fs::create_dir_all(dir.path().join("run/lock")).expect("is made");
        let lock = dir.path().join("run/lock/LCK..port");
        fs::write(&lock, "    400003\n").expect("is written");
        assert_eq!(system.holder(&port).map(|holder| holder.pid), Some(400_003));
        fs::write(&lock, "    400004\n").expect("is written");
        assert_eq!(system.holder(&port), None, "that process has gone");
        let file = fs::metadata(&port).expect("is there");
        let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
        let row = format!(
            "1: FLOCK  ADVISORY  WRITE 400003 {major:02x}:{minor:02x}:{} 0 EOF\n",
            file.ino()
        );
        fs::write(dir.path().join("proc/locks"), row).expect("is written");
        assert_eq!(system.holder(&port).map(|holder| holder.name), Some("minicom".into()));
    }

    #[test]
    fn a_thread_of_real_time_priority_is_seen_whatever_its_name() {
        let stat = |policy: u32| {
            let fields: Vec<_> = (4..41).map(|_| "0").collect();
            format!("7 (a) b (c) S {} {policy} 0 0\n", fields.join(" "))
        };
        let (_dir, system) = system(&[
            ("proc/1/task/1/stat", &stat(0)),
            ("proc/2/task/2/stat", &stat(0)),
            ("proc/2/task/3/stat", &stat(1)),
        ]);
        let has = |pid| system.has_real_time_thread(pid);
        assert_eq!((has(1), has(2), has(3)), (Some(false), Some(true), None));
    }

    #[test]
    fn words_of_a_shell_are_quoted_where_they_must_be() {
        for (word, wanted) in
            [("/dev/ttyS3", "/dev/ttyS3"), ("a b", "'a b'"), ("", "''"), ("$(x)", "'$(x)'")]
        {
            assert_eq!(shell_word(word), wanted);
        }
        assert_eq!(shell_word("it's"), "'it'\\''s'");
    }
}
