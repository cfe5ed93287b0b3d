//! OpenSSL's headers, which the data channels of a G1 are built with.

use std::{env, process::Command};

use crate::tools::{Failure, apt_install, works};

const PACKAGES: [&str; 2] = ["libssl-dev", "pkg-config"];

/// Sees to it that they are there: installs them where that takes no password and no other system's
/// package manager.
pub(crate) fn is_there() -> Result<(), Failure> {
    // Those who set one of these know where theirs is.
    let is_given =
        ["OPENSSL_DIR", "OPENSSL_LIB_DIR"].iter().any(|name| env::var_os(name).is_some());
    if is_given || found() {
        return Ok(());
    }
    if !apt_install(&PACKAGES)? {
        return Err(Failure::Task(missing()));
    }
    if found() { Ok(()) } else { Err(Failure::Task(missing())) }
}

fn found() -> bool {
    works(Command::new("pkg-config").args(["--exists", "openssl"]))
}

fn missing() -> String {
    format!(
        "OpenSSL's headers are not here; install them:\n  sudo apt-get install {}\nor have OpenSSL \
         built too, which takes perl, make and a C compiler:\n  cargo build --release -p sinew \
         --features vendored",
        PACKAGES.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn what_is_missing_is_said_as_commands() {
        let text = missing();
        assert!(text.contains("apt-get install libssl-dev pkg-config"), "{text}");
        assert!(text.contains("--features vendored"), "{text}");
    }
}
