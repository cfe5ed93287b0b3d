use core::fmt;

/// How sure the reverse engineering is of a command, by document 003.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the document's own grades")]
pub enum Confidence {
    High,
    Medium,
    Low,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Confidence::High => "high",
            Confidence::Medium => "medium",
            Confidence::Low => "low",
        })
    }
}

macro_rules! commands {
    ($($code:literal $variant:ident $name:literal $confidence:ident $(, answer $answer:literal)?;)+) => {
        /// A command byte. Host and controller share the numbers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "`name` is the documentation")]
        pub enum Command {
            $($variant,)+
            /// A byte no document mentions.
            Unknown(u8),
        }

        impl Command {
            /// Every command that document 003 names.
            pub const ALL: &[Command] = &[$(Command::$variant),+];

            /// The byte on the wire.
            pub const fn code(self) -> u8 {
                match self {
                    $(Command::$variant => $code,)+
                    Command::Unknown(code) => code,
                }
            }

            /// Document 003's name for it when the host sends it; the status packet has only the
            /// controller's.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Command::$variant => $name,)+
                    Command::Unknown(_) => "Unknown",
                }
            }

            /// Document 003's name for it when the controller sends it, if it does.
            pub const fn answer_name(self) -> Option<&'static str> {
                match self {
                    $($(Command::$variant => Some($answer),)?)+
                    _ => None,
                }
            }

            /// How sure the document is; an unknown byte is its lowest grade.
            pub const fn confidence(self) -> Confidence {
                match self {
                    $(Command::$variant => Confidence::$confidence,)+
                    Command::Unknown(_) => Confidence::Low,
                }
            }
        }

        impl From<u8> for Command {
            fn from(code: u8) -> Self {
                match code {
                    $($code => Command::$variant,)+
                    other => Command::Unknown(other),
                }
            }
        }
    };
}

commands! {
    0x04 McuSleep "MCU Sleep" Medium;
    0x05 WakeupAck "Wakeup Ack" Medium;
    0x06 Heartbeat "Heartbeat" High, answer "Heartbeat Ack";
    0x07 Version "Version Request" High, answer "Version Response";
    0x08 Initialize "Initialize/IMU Zero" High, answer "Init Ack";
    0x0A ResetErrorCode "Reset Error Code" High;
    0x0C ProtocolSync "Protocol Sync" High, answer "Protocol Sync Ack";
    0x0D RequestData "Request STM32 Data" High;
    0x15 Status "Status Packet" High, answer "Status Packet";
    0x17 LidarConfig "Lidar Config" Low, answer "Lidar Config Ack";
    0x18 LidarQuery "Lidar Query" Low, answer "Lidar Query Response";
    0x19 LidarEnable "Lidar Enable" Low;
    0x65 MotorMode "Motor Mode" High;
    0x66 MotorVelocity "Motor Velocity" High;
    0x67 MotorSpeed "Motor Speed" Medium;
    0x68 Vacuum "Air Pump (Vacuum)" High;
    0x69 SideBrush "Side Brush" High;
    0x6A MainBrush "Main Brush" High;
    0x6B MotorInit "Motor Controller Init" High;
    0x71 LidarPwm "Lidar PWM" High;
    0x78 CliffIr "Cliff IR Control" High;
    0x79 CliffIrDirection "Cliff IR Direction" Medium;
    0x7C UnknownLidar "Unknown Lidar" Low;
    0x86 DockIr "Dock IR Sensor" Medium;
    0x8D Led "Button LED State" High;
    0x97 LidarPower "Lidar Power" High;
    0x99 MainBoardPower "Main Board Power" Medium;
    0x9A MainBoardRestart "Main Board Restart" Medium;
    0x9B ChargerPower "Charger Power" Medium;
    0x9D UnknownSensor "Unknown Sensor" Low;
    0xA1 ImuCalibrate "IMU Factory Calibrate" Medium;
    0xA2 ImuState "IMU Calibrate State" High, answer "IMU Cal Response";
    0xA3 CompassCalibrate "Compass Calibrate" Medium;
    0xA4 CompassState "Compass Cal State" Medium;
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (0x{:02X})", self.name(), self.code())
    }
}
