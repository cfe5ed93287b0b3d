/// Makes [`Command`](super::Command), [`Body`](super::Body), [`MESSAGES`](super::MESSAGES) and the
/// matches over them of the rows in `table.rs`.
macro_rules! messages {
    ($(
        $code:literal $command:ident $name:literal $confidence:ident $(, answer $answer:literal)? {
            $($sender:ident $body:ident
                $(($value:ident: $type:ty))?
                $({ $($(#[$doc:meta])* $part:ident: $part_type:ty),+ })?
                [$($field:expr),*] $(if $guard:ident)? $(as $word:literal)?: $about:literal;)+
        }
    )+) => {
        /// A command byte. Host and controller share the numbers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "`name` is the documentation")]
        pub enum Command {
            $($command,)+
            /// A byte no document mentions.
            Unknown(u8),
        }

        impl Command {
            /// Every command that document 003 names.
            pub const ALL: &[Command] = &[$(Command::$command),+];

            /// The byte on the wire.
            pub const fn code(self) -> u8 {
                match self {
                    $(Command::$command => $code,)+
                    Command::Unknown(code) => code,
                }
            }

            /// Document 003's name for it when the host sends it; the status packet has only the
            /// controller's.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Command::$command => $name,)+
                    Command::Unknown(_) => "Unknown",
                }
            }

            /// Document 003's name for it when the controller sends it, if it does.
            pub const fn answer_name(self) -> Option<&'static str> {
                match self {
                    $($(Command::$command => Some($answer),)?)+
                    _ => None,
                }
            }

            /// How sure the document is; an unknown byte is its lowest grade.
            pub const fn confidence(self) -> Confidence {
                match self {
                    $(Command::$command => Confidence::$confidence,)+
                    Command::Unknown(_) => Confidence::Low,
                }
            }
        }

        impl From<u8> for Command {
            fn from(code: u8) -> Self {
                match code {
                    $($code => Command::$command,)+
                    other => Command::Unknown(other),
                }
            }
        }

        /// A command and its payload. Values that no document names are kept as they are.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum Body<'a> {
            $($(
                #[doc = concat!(stringify!($code), ", ", stringify!($sender), ": ", $about, ".")]
                $body $(($type))? $({ $($(#[$doc])* $part: $part_type),+ })?,
            )+)+
            /// A command or a direction no document describes.
            Unknown {
                /// The command byte.
                command: u8,
                /// Its payload.
                payload: &'a [u8],
            },
        }

        /// Every message that is known, by number.
        pub const MESSAGES: &[Entry] = &[$($(Entry {
            command: Command::$command,
            sender: Sender::$sender,
            word: messages!(@optional $($word)?),
            about: $about,
            fields: &[$($field),*],
        }),+),+];

        /// Places in [`MESSAGES`].
        enum Place {
            $($($body),+),+
        }

        impl<'a> Body<'a> {
            /// Types a payload; what is not read is surplus.
            pub(super) fn read(sender: Sender, code: u8, reader: &mut Reader<'a>) -> Result<Self> {
                let payload = reader.rest();
                Ok(match (sender, code) {
                    $($((Sender::$sender, $code) $(if payload.$guard())? => {
                        enough(payload, const { least(&[$($field),*]) })?;
                        $(let $value = <$type as Payload>::read(reader)?;)?
                        $(let ($($part),+) = <($($part_type),+) as Payload>::read(reader)?;)?
                        Body::$body $(($value))? $({ $($part),+ })?
                    })+)+
                    _ => {
                        reader.take("payload", payload.len())?;
                        Body::Unknown { command: code, payload }
                    }
                })
            }

            pub(super) fn write(&self, out: &mut Writer<'_>) -> Result<()> {
                match *self {
                    $($(Body::$body $(($value))? $({ $($part),+ })? => {
                        $($value.write(out)?;)?
                        $(($($part),+).write(out)?;)?
                    })+)+
                    Body::Unknown { payload, .. } => out.put("payload", payload)?,
                }
                Ok(())
            }

            /// The command byte it travels under.
            pub fn command(&self) -> Command {
                match *self {
                    $($(Body::$body { .. } => Command::$command,)+)+
                    Body::Unknown { command, .. } => Command::from(command),
                }
            }

            /// What is known of this message; nothing of an unknown one.
            pub fn entry(&self) -> Option<&'static Entry> {
                let place = match self {
                    $($(Body::$body { .. } => Place::$body,)+)+
                    Body::Unknown { .. } => return None,
                };
                MESSAGES.get(place as usize)
            }
        }
    };
    (@optional) => { None };
    (@optional $value:literal) => { Some($value) };
}
