use clap::{
    Arg, ArgMatches, Command, FromArgMatches, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
    value_parser,
};
use sinew_wire::gd32::{Choice, Entry, Field, FrameBuf, MESSAGES, Meaning, Profile, WheelSpeeds};

use super::{Bytes, bytes};
use crate::cmd::{decode::ProfileArg, number};

/// A serial frame to the vacuum's motor controller: any command by number, or a typed one.
#[derive(clap::Args)]
#[command(
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    subcommand_help_heading = "Typed commands",
    subcommand_value_name = "TYPED"
)]
pub(crate) struct Args {
    /// The command byte.
    #[arg(long, value_parser = number::<u8>, required = true)]
    command: Option<u8>,
    /// The payload as hex.
    #[arg(long, value_parser = bytes, default_value = "")]
    payload: Bytes,
    #[command(subcommand)]
    typed: Option<Typed>,
}

/// A message of the table, and its fields as they were given.
struct Typed {
    entry: &'static Entry,
    given: ArgMatches,
}

pub(super) fn encode(args: Args) -> anyhow::Result<Vec<u8>> {
    let frame = match args.typed {
        Some(typed) => FrameBuf::new(typed.entry.command.code(), &typed.payload()?)?,
        None => FrameBuf::new(args.command.unwrap_or_default(), &args.payload.0)?,
    };
    Ok(frame.as_bytes().to_vec())
}

impl Typed {
    fn payload(&self) -> anyhow::Result<Vec<u8>> {
        let profile = match self.given.try_get_one::<ProfileArg>(PROFILE) {
            Ok(Some(profile)) => profile.profile(),
            _ => Profile::DOCUMENT,
        };
        let mut payload = Vec::new();
        for field in self.entry.fields {
            payload.extend(value(field, &self.given, &profile)?);
        }
        Ok(payload)
    }
}

const PROFILE: &str = "profile";

/// The bytes of a field as it was given.
fn value(field: &Field, given: &ArgMatches, profile: &Profile) -> anyhow::Result<Vec<u8>> {
    // Every flag is required or has a default, so there is a value.
    let byte = || given.get_one::<u8>(field.name).copied().unwrap_or_default();
    let speed = || given.get_one::<f32>(field.name).copied().unwrap_or_default();
    Ok(match field.meaning {
        Meaning::WidePercent => i32::from(byte()).to_le_bytes().to_vec(),
        Meaning::Power => profile.vacuum(byte())?.to_le_bytes().to_vec(),
        Meaning::Speed(_) => profile.units(field.name, speed())?.to_le_bytes().to_vec(),
        Meaning::WheelSpeed => WheelSpeeds::units(field.name, speed())?.to_le_bytes().to_vec(),
        Meaning::Bytes(_) => {
            given.get_one::<Bytes>(field.name).map(|bytes| bytes.0.clone()).unwrap_or_default()
        }
        Meaning::Always(bytes, _) => bytes.to_vec(),
        _ => vec![byte()],
    })
}

/// The flag of a field; what is always the same has none.
fn flag(field: &'static Field) -> Option<Arg> {
    let flag = Arg::new(field.name).long(field.name).help(field.about);
    let flag = match field.default {
        Some(default) => flag.default_value(default),
        None => flag.required(true),
    };
    Some(match field.meaning {
        Meaning::Always(..) => return None,
        Meaning::Percent | Meaning::WidePercent | Meaning::Power => {
            flag.value_name("PERCENT").value_parser(value_parser!(u8).range(0..=100))
        }
        Meaning::Speed(_) | Meaning::WheelSpeed => {
            flag.value_name("SPEED").value_parser(value_parser!(f32)).allow_negative_numbers(true)
        }
        Meaning::Choice(choices) => {
            let words = PossibleValuesParser::new(choices.iter().map(|choice| choice.word));
            let byte = |word: String| {
                let named = choices.iter().find(|choice| choice.word == word);
                named.map_or(0, |Choice { value, .. }| *value)
            };
            flag.value_name("STATE").value_parser(words.map(byte))
        }
        Meaning::Bytes(count) => {
            flag.value_name("HEX").value_parser(move |text: &str| exactly(count, text))
        }
        _ => flag.value_name("NUMBER").value_parser(number::<u8>),
    })
}

fn exactly(wanted: usize, text: &str) -> Result<Bytes, String> {
    let given = bytes(text)?;
    match given.0.len() {
        count if count == wanted => Ok(given),
        count => Err(format!("{wanted} bytes wanted, {count} given")),
    }
}

fn typed() -> impl Iterator<Item = (&'static str, &'static Entry)> {
    MESSAGES.iter().filter_map(|entry| Some((entry.word?, entry)))
}

impl Subcommand for Typed {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(typed().map(|(word, entry)| {
            let about = format!("0x{:02X}: {}", entry.command.code(), entry.about);
            let scaled =
                |field: &Field| matches!(field.meaning, Meaning::Speed(_) | Meaning::Power);
            let profile = entry.fields.iter().any(scaled).then(|| {
                let profile = Arg::new(PROFILE).long(PROFILE).value_name("PROFILE");
                profile
                    .help("Whose scale to use")
                    .value_parser(value_parser!(ProfileArg))
                    .default_value("document")
            });
            let flags = entry.fields.iter().filter_map(flag).chain(profile);
            Command::new(word).about(about).args(flags)
        }))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        typed().any(|(word, _)| word == name)
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = matches.subcommand().and_then(|(name, given)| {
            let (_, entry) = typed().find(|(word, _)| *word == name)?;
            Some(Typed { entry, given: given.clone() })
        });
        chosen.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
