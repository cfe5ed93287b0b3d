//! Keys of robots, in files.

use std::{fs::File, io::Read, os::unix::fs::PermissionsExt, path::Path};

use sinew_wire::unitree::DeviceKey;

/// More than a key and the blanks around it.
const LONGEST: u64 = 256;

/// Reads the key of a robot that has its own: 32 hexadecimal digits. One that others can read is
/// warned of. No message holds what stands in the file.
pub fn read(path: &Path) -> Result<DeviceKey, String> {
    let shown = path.display();
    let wrong = |why: &dyn std::fmt::Display| format!("key_file {shown}: {why}");
    let file = File::open(path).map_err(|error| wrong(&error))?;
    let metadata = file.metadata().map_err(|error| wrong(&error))?;
    let mut text = String::new();
    let read = file.take(LONGEST).read_to_string(&mut text);
    let key = read.ok().and_then(|_| DeviceKey::from_hex(text.trim()).ok());
    if metadata.is_file() && metadata.permissions().mode() & 0o044 != 0 {
        tracing::warn!("key_file {shown} can be read by others: chmod 600 {shown}");
    }
    key.ok_or_else(|| wrong(&"wanted 32 hexadecimal digits"))
}
