use std::{
    fs, io,
    os::{fd::OwnedFd, unix::fs::symlink},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{OptionalActions, tcgetattr, tcsetattr},
};

/// A pseudo-terminal: what is written at one end is read at the other, like a serial cable.
#[derive(Debug)]
pub struct Pty {
    master: OwnedFd,
    /// Held open, so that the cable outlives the program at its other end.
    #[cfg_attr(not(feature = "capture"), expect(dead_code, reason = "it is held, not used"))]
    slave: OwnedFd,
    path: PathBuf,
    link: Option<PathBuf>,
}

impl Pty {
    /// Opens one in raw mode; with `link`, also under a name that stays the same.
    pub fn open(link: Option<&Path>) -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(&master, OFlags::NONBLOCK)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let path = PathBuf::from(name.to_string_lossy().into_owned());
        let slave = open(&path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        let mut settings = tcgetattr(&slave)?;
        settings.make_raw();
        tcsetattr(&slave, OptionalActions::Now, &settings)?;
        let link = link.map(|link| replace_link(&path, link)).transpose()?;
        Ok(Pty { master, slave, path, link })
    }

    /// The end to hand to a host.
    pub fn path(&self) -> &Path {
        self.link.as_deref().unwrap_or(&self.path)
    }

    /// The host's end, for what no program has read.
    #[cfg(feature = "capture")]
    pub(crate) fn slave(&self) -> &OwnedFd {
        &self.slave
    }

    /// The robot's end, which never blocks.
    pub fn master(&self) -> io::Result<OwnedFd> {
        self.master.try_clone()
    }
}

/// Points `link` at `path`. Only a link, or nothing, may stand there before.
fn replace_link(path: &Path, link: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(link) {
        Ok(found) if found.is_symlink() => fs::remove_file(link)?,
        Ok(_) => {
            let message = format!("{} is in the way", link.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        Err(_) => {}
    }
    symlink(path, link)?;
    Ok(link.to_owned())
}

impl Drop for Pty {
    fn drop(&mut self) {
        // Another process may have taken the name over by now.
        if let Some(link) = &self.link
            && fs::read_link(link).is_ok_and(|target| target == self.path)
        {
            let _ = fs::remove_file(link);
        }
    }
}
