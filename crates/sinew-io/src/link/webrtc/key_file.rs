use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use sinew_wire::unitree::DeviceKey;

/// A key has 32 letters; what is much longer is something else.
const LONGEST: u64 = 1024;

/// A robot's own key, from a file.
#[derive(Debug, Clone)]
pub struct KeyFile {
    /// The key.
    pub key: DeviceKey,
    /// What is wrong with the file, in words, though it can be used.
    pub warning: Option<String>,
}

impl KeyFile {
    /// Reads 32 hex digits. An error names the file, never what is in it.
    pub fn read(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("key_file {}: {error}", path.display()))
        };
        // Opening a pipe would wait for its other end.
        if !fs::metadata(path).map_err(named)?.is_file() {
            let what = io::Error::new(io::ErrorKind::InvalidInput, "wanted a file");
            return Err(named(what));
        }
        let file = File::open(path).map_err(named)?;
        let mode = file.metadata().map_err(named)?.permissions().mode();
        let mut text = String::new();
        let read = file.take(LONGEST).read_to_string(&mut text);
        let key = read.ok().and_then(|_| DeviceKey::from_hex(&text).ok());
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "wanted 32 hex digits");
        let key = key.ok_or_else(|| named(wrong()))?;
        let warning = (mode & 0o077 != 0).then(|| {
            let path = path.display();
            format!("key_file {path} can be read by others; chmod 600 {path}")
        });
        if let Some(warning) = &warning {
            tracing::warn!("{warning}");
        }
        Ok(KeyFile { key, warning })
    }
}
