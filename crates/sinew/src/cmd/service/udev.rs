//! The rule for serial ports: whose they are, and a name that stays.

use std::{fs, path::Path};

use anyhow::bail;

use crate::system::System;

/// A robot's serial port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SerialPort {
    pub(super) robot: String,
    /// As it is configured.
    pub(super) device: String,
    /// The kernel's name for it, as `ttyS3`.
    kernel: String,
    usb: Option<Usb>,
}

/// What tells a USB adapter from others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Usb {
    vendor: String,
    product: String,
    serial: String,
    /// Which of its ports.
    interface: String,
}

impl SerialPort {
    pub(super) fn look(system: &System, robot: &str, path: &Path) -> anyhow::Result<Self> {
        // They stand in the unit, in the rule and in commands.
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._:-+".contains(c);
        let device = path.to_str().filter(|path| path.chars().all(plain) && !path.contains(".."));
        let Some(device) = device.filter(|path| path.starts_with("/dev/")) else {
            bail!("{path:?}: wanted a port below /dev, as /dev/ttyS3");
        };
        if !robot.chars().all(|c| plain(c) && c != '/') {
            bail!("robot {robot:?}: wanted letters, digits, - _ and .");
        }
        let real = fs::canonicalize(system.path(path)).unwrap_or_else(|_| path.into());
        let kernel = real.file_name().unwrap_or_default().to_string_lossy();
        if !kernel.starts_with("tty") && !real.starts_with("/dev/pts") {
            bail!("{device} is not there, or is no serial port: connect it first");
        }
        let usb = Usb::look(system, &kernel);
        Ok(SerialPort { robot: robot.into(), device: device.into(), kernel: kernel.into(), usb })
    }

    /// The name that the rule gives it.
    pub(super) fn lasting_name(&self) -> String {
        format!("/dev/sinew-{}", self.robot)
    }

    /// The name that the daemon should use: adapters change their numbers, ports of boards do not.
    pub(super) fn best_name(&self) -> String {
        match self.usb {
            Some(_) => self.lasting_name(),
            None => self.device.clone(),
        }
    }

    /// What the unit allows: of adapters all, since they change their numbers while it runs; whose
    /// they are says the rule.
    pub(super) fn allowed(&self) -> String {
        let stem = self.kernel.trim_end_matches(|c: char| c.is_ascii_digit());
        match stem {
            "ttyUSB" | "ttyACM" => format!("char-{stem}"),
            _ => self.device.clone(),
        }
    }

    /// Whether it is an adapter that is not connected, so that only its number is known.
    pub(super) fn is_missing(&self) -> bool {
        self.usb.is_none() && self.allowed().starts_with("char-")
    }

    fn rule(&self, group: &str) -> String {
        let (which, more) = match &self.usb {
            Some(usb) => (usb.matches(), ", ENV{ID_MM_DEVICE_IGNORE}=\"1\""),
            None => (format!("KERNEL==\"{}\"", self.kernel), ""),
        };
        let name = &self.robot;
        format!(
            "SUBSYSTEM==\"tty\", {which}, GROUP=\"{group}\", MODE=\"0660\", \
             SYMLINK+=\"sinew-{name}\"{more}\n"
        )
    }
}

/// The rules for these ports.
pub(super) fn rules(ports: &[SerialPort], group: &str) -> String {
    let mut text = String::from(
        "# Made by `sinew service`: a robot's port belongs to the daemon, has a name that stays, and is\n\
         # left alone by ModemManager.\n",
    );
    ports.iter().for_each(|port| text += &port.rule(group));
    text
}

impl Usb {
    /// The adapter behind a port, if it is one.
    fn look(system: &System, kernel: &str) -> Option<Self> {
        let start =
            fs::canonicalize(system.path(format!("/sys/class/tty/{kernel}/device"))).ok()?;
        let mut usb = Usb::default();
        for dir in start.ancestors() {
            // Texts of a device are not to be trusted.
            let text = |name: &str| {
                let text = fs::read_to_string(dir.join(name)).unwrap_or_default();
                let plain = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
                Some(text.trim().to_owned()).filter(|text| text.chars().all(plain))
            };
            if usb.interface.is_empty() {
                usb.interface = text("bInterfaceNumber").unwrap_or_default();
            }
            usb.vendor = text("idVendor").unwrap_or_default();
            if !usb.vendor.is_empty() {
                usb.product = text("idProduct").unwrap_or_default();
                usb.serial = text("serial").unwrap_or_default();
                return Some(usb);
            }
        }
        None
    }

    /// By what 60-serial.rules has found out.
    fn matches(&self) -> String {
        let all = [
            ("ID_VENDOR_ID", &self.vendor),
            ("ID_MODEL_ID", &self.product),
            ("ID_SERIAL_SHORT", &self.serial),
            ("ID_USB_INTERFACE_NUM", &self.interface),
        ];
        let known = all.iter().filter(|(_, value)| !value.is_empty());
        let known: Vec<_> =
            known.map(|(key, value)| format!("ENV{{{key}}}==\"{value}\"")).collect();
        known.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::system::tests::system;

    #[test]
    fn a_port_of_the_board_is_known_by_its_name() {
        let (_dir, system) = system(&[("dev/ttyS3", "")]);
        let port = SerialPort::look(&system, "vacuum", Path::new("/dev/ttyS3")).expect("is a port");
        assert_eq!((port.allowed(), port.best_name()), ("/dev/ttyS3".into(), "/dev/ttyS3".into()));
        assert_eq!(
            port.rule("sinew"),
            "SUBSYSTEM==\"tty\", KERNEL==\"ttyS3\", GROUP=\"sinew\", MODE=\"0660\", \
             SYMLINK+=\"sinew-vacuum\"\n"
        );
    }

    #[test]
    fn an_adapter_is_known_by_what_it_is() {
        let adapter = "sys/devices/usb1/1-2";
        let (dir, system) = system(&[
            ("dev/ttyUSB0", ""),
            (&format!("{adapter}/idVendor"), "0403\n"),
            (&format!("{adapter}/idProduct"), "6001\n"),
            (&format!("{adapter}/serial"), "A10K\", RUN+=\"/bin/sh\n"),
            (&format!("{adapter}/1-2:1.0/bInterfaceNumber"), "00\n"),
            (&format!("{adapter}/1-2:1.0/ttyUSB0/port_number"), "0\n"),
        ]);
        let tty = dir.path().join("sys/class/tty/ttyUSB0");
        fs::create_dir_all(&tty).expect("is made");
        let device = dir.path().join(format!("{adapter}/1-2:1.0/ttyUSB0"));
        symlink(device, tty.join("device")).expect("is made");
        let by_id = dir.path().join("dev/serial/by-id");
        fs::create_dir_all(&by_id).expect("is made");
        symlink("../../ttyUSB0", by_id.join("usb-one")).expect("is made");

        let path = Path::new("/dev/serial/by-id/usb-one");
        let look = || SerialPort::look(&system, "vacuum", path).expect("is a port");
        assert_eq!(look().allowed(), "char-ttyUSB");
        assert_eq!(look().best_name(), "/dev/sinew-vacuum");
        let rule = look().rule("sinew");
        let which = "ENV{ID_VENDOR_ID}==\"0403\", ENV{ID_MODEL_ID}==\"6001\", \
                     ENV{ID_USB_INTERFACE_NUM}==\"00\"";
        assert!(rule.contains(which), "{rule}");
        assert!(!rule.contains("RUN"), "what a device says of itself is no rule: {rule}");
        fs::write(dir.path().join(format!("{adapter}/serial")), "A10K\n").expect("is written");
        assert!(look().rule("sinew").contains("ENV{ID_SERIAL_SHORT}==\"A10K\""));
        assert!(!look().is_missing());
        let other = SerialPort::look(&system, "vacuum", Path::new("/dev/ttyUSB1"));
        assert!(other.expect("is a port").is_missing());
    }

    #[test]
    fn what_could_break_a_rule_is_refused() {
        let (_dir, system) = system(&[("dev/ttyS3", ""), ("dev/null", "")]);
        for (robot, path) in [
            ("vacuum", "ttyS3"),
            ("vacuum", "/tmp/ttyS3"),
            ("vacuum", "/dev/../etc/ttyS3"),
            ("vacuum", "/dev/tty\"S3"),
            ("vacuum", "/dev/ttyS3\nRUN+=x"),
            ("vacuum", "/dev/null"),
            ("vacuum", "/dev/sinew-vacuum"),
            ("va\"cuum", "/dev/ttyS3"),
            ("va/cuum", "/dev/ttyS3"),
        ] {
            assert!(SerialPort::look(&system, robot, Path::new(path)).is_err(), "{robot} {path}");
        }
    }
}
