//! The flags of `[mqtt]`.

use std::path::PathBuf;

use sinew_mqtt::{Settings, Url};

/// The broker that has Home Assistant's discovery.
#[derive(clap::Args)]
pub(super) struct Flags {
    /// Offer the robots to Home Assistant by this broker: `mqtt://HOST`, or `mqtts://HOST:PORT` with TLS.
    #[arg(long = "mqtt", value_name = "URL")]
    url: Option<Url>,
    /// The name by which the broker knows this daemon.
    #[arg(long = "mqtt-user", value_name = "NAME")]
    user: Option<String>,
    /// A file with its password.
    #[arg(long = "mqtt-password-file", value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// The certificate (PEM) of the authority that signed the broker's; the system's otherwise.
    #[arg(long = "mqtt-ca-file", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// What the robots' topics begin with: sinew by default.
    #[arg(long = "mqtt-prefix", value_name = "TOPIC")]
    prefix: Option<String>,
    /// What topics of discovery begin with: homeassistant by default.
    #[arg(long = "mqtt-discovery", value_name = "TOPIC")]
    discovery: Option<String>,
    /// What this daemon is called among others of the broker: the machine's name by default.
    #[arg(long = "mqtt-node", value_name = "NAME")]
    node: Option<String>,
}

impl Flags {
    /// Puts what was given over the file's.
    pub(super) fn apply(&self, settings: &mut Settings) {
        fn put<T: Clone>(given: &Option<T>, setting: &mut Option<T>) {
            if given.is_some() {
                setting.clone_from(given);
            }
        }
        put(&self.url, &mut settings.url);
        put(&self.user, &mut settings.user);
        put(&self.password_file, &mut settings.password_file);
        put(&self.ca_file, &mut settings.ca_file);
        put(&self.node, &mut settings.node);
        if let Some(prefix) = &self.prefix {
            settings.prefix.clone_from(prefix);
        }
        if let Some(discovery) = &self.discovery {
            settings.discovery.clone_from(discovery);
        }
    }
}
