//! The services beside the arms' and the mapping's.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_wire::unitree::state::{MOTION_SWITCHER, MotionMode, Service};

use super::{Call, Robot, UnitreeOptions};

/// How long an answer takes where nothing was measured.
const LATENCY: Duration = Duration::from_millis(20);
/// The service has no such call.
pub(super) const NO_SUCH_CALL: i64 = 3203;
/// The service does not accept the parameter.
pub(super) const BAD_PARAMETER: i64 = 3204;

const NO_SUCH_MODE: i64 = 7004;
const NO_TRANSITION: i64 = 1001;
const NO_SUCH_STATE: i64 = 1003;
const NOT_SWITCHED: i64 = 5201;
const PROTECTED: i64 = 5202;

/// States of the motion control in which the robot balances by itself.
const BALANCED: [i64; 5] = [4, 200, 500, 501, 801];
/// Those in which it can walk.
const WALKS: [i64; 3] = [500, 501, 801];
const DAMPED: i64 = 1;

/// The software that the imitated robot has.
const SOFTWARE: &str = "1.4.7";

/// Services of the imitated robot: name, whether it is protected, whether it runs, version.
const SERVICES: [(&str, bool, bool, &str); 27] = [
    ("ai_sport", false, true, "8.5.1.1"),
    ("audio_player_service", false, true, ""),
    ("auto_test_arm", false, false, ""),
    ("auto_test_low", false, false, ""),
    ("bashrunner", false, true, "1.0.3.1"),
    ("basic_service", true, true, "1.0.1.37"),
    ("battery_guard", false, true, "1.0.0.2"),
    ("chat_go", false, true, "1.9.2.13"),
    ("dex3_service_l", false, true, ""),
    ("dex3_service_r", false, true, ""),
    ("g1_arm_example", false, true, "2.0.0.19"),
    ("lidar_driver", false, true, "1.0.0.5"),
    ("log_system", false, true, "1.0.0.10"),
    ("master_service", true, true, "1.2.1.2"),
    ("motion_switcher", false, true, "1.0.0.1"),
    ("net_switcher", false, true, "1.0.2.1"),
    ("ota_box", false, false, ""),
    ("robot_state", true, true, "1.2.3.6"),
    ("robot_type_service", false, true, "1.0.1.3"),
    ("ros_bridge", false, true, "1.0.0.4"),
    ("state_estimator", false, true, "1.0.0.3"),
    ("unitree_slam", false, true, "1.0.2.1"),
    ("video_hub", false, true, "1.0.1.1"),
    ("vui_service", false, true, "2.1.0.12"),
    ("webrtc_bridge", true, true, "1.0.8.10"),
    ("webrtc_multicast_responder", false, true, ""),
    ("webrtc_signal_server", true, true, ""),
];

/// What the services remember.
#[derive(Debug, Clone)]
pub(super) struct Services {
    pub(super) fsm_id: i64,
    mode: String,
    pub(super) all: Vec<Service>,
    pub(super) volume: i64,
    pub(super) brightness: i64,
}

impl Services {
    pub(super) fn new(options: &UnitreeOptions) -> Self {
        let service = |&(name, protected, running, version): &(&str, bool, bool, &str)| Service {
            name: name.into(),
            protected,
            running,
            version: version.into(),
        };
        Services {
            fsm_id: options.fsm_id,
            mode: "ai".into(),
            all: SERVICES.iter().map(service).collect(),
            volume: 5,
            brightness: 5,
        }
    }

    /// Switches a service; says its number, 0 when it runs.
    fn switch(&mut self, parameter: &Value) -> Result<String, i64> {
        let name = parameter["name"].as_str().ok_or(BAD_PARAMETER)?;
        let on = parameter["switch"].as_i64().ok_or(BAD_PARAMETER)? != 0;
        let service = self.all.iter_mut().find(|service| service.name == name);
        let service = service.ok_or(NOT_SWITCHED)?;
        if service.protected {
            return Err(PROTECTED);
        }
        service.running = on;
        Ok(json!({ "name": name, "status": i32::from(!on) }).to_string())
    }

    /// Changes the state of the motion control. Damping is reached from everywhere.
    fn set_fsm(&mut self, parameter: &Value) -> Result<String, i64> {
        let wanted = parameter["data"].as_i64().ok_or(BAD_PARAMETER)?;
        let from = self.fsm_id;
        let allowed = match wanted {
            DAMPED => true,
            0 => !BALANCED.contains(&from) || from == 4,
            2 | 3 | 4 | 702 | 706 => !matches!(from, 0 | 801),
            200 | 500 | 501 | 801 => BALANCED.contains(&from),
            _ => return Err(NO_SUCH_STATE),
        };
        if !allowed {
            return Err(NO_TRANSITION);
        }
        self.fsm_id = wanted;
        Ok(String::new())
    }

    fn set_mode(&mut self, parameter: &Value) -> Result<String, i64> {
        let name = parameter["name"].as_str().ok_or(BAD_PARAMETER)?;
        if !["ai", "normal", "advanced"].contains(&name) {
            return Err(NO_SUCH_MODE);
        }
        self.mode = name.into();
        Ok(String::new())
    }
}

impl Robot {
    pub(super) fn call_service(&mut self, now: Instant, call: &Call, parameter: &str) {
        let json = || -> Value { serde_json::from_str(parameter).unwrap_or_default() };
        let moves = self.is_walking();
        let services = &mut self.unitree.services;
        let level = |name: &str| {
            let level = json()[name].as_i64().filter(|level| (0..=10).contains(level));
            level.ok_or(BAD_PARAMETER)
        };
        let was = services.fsm_id;
        let done = match (call.service.as_str(), call.api_id) {
            (MOTION_SWITCHER, MotionMode::GET) => {
                Ok(MotionMode { form: "0".into(), name: services.mode.clone() }.emit())
            }
            (MOTION_SWITCHER, MotionMode::SET) => services.set_mode(&json()),
            ("sport", 7001) => Ok(json!({ "data": services.fsm_id }).to_string()),
            ("sport", 7002) => Ok(json!({ "data": i32::from(moves) }).to_string()),
            ("sport", 7101) => services.set_fsm(&json()),
            ("robot_state", 1001) => services.switch(&json()),
            ("robot_state", 1002) => Ok(String::new()),
            ("bashrunner", 1001) if json()["script"] == "get_software_version.sh" => {
                Ok(json!({ "type": "content acquisition", "info": SOFTWARE }).to_string())
            }
            ("bashrunner", 1001) => Err(BAD_PARAMETER),
            ("vui", 1003) => level("volume").map(|level| {
                services.volume = level;
                String::new()
            }),
            ("vui", 1004) => Ok(json!({ "volume": services.volume }).to_string()),
            ("vui", 1005) => level("brightness").map(|level| {
                services.brightness = level;
                String::new()
            }),
            ("vui", 1006) => Ok(json!({ "brightness": services.brightness }).to_string()),
            _ => Err(NO_SUCH_CALL),
        };
        if self.unitree.services.fsm_id != was {
            self.fsm_changed(now);
        }
        self.answer_call(now, LATENCY, call, done);
    }

    /// Answers a call after a while.
    pub(super) fn answer_call(
        &mut self,
        now: Instant,
        latency: Duration,
        call: &Call,
        done: Result<String, i64>,
    ) {
        let (code, data) = match &done {
            Ok(data) => (0, data.as_str()),
            Err(code) => (*code, ""),
        };
        self.unitree.answer_later(crate::later(now, latency), call, code, data);
    }

    /// The state of the motion control: 500 walks, 1 is damping.
    pub fn fsm_id(&self) -> i64 {
        self.unitree.services.fsm_id
    }

    /// Whether the motion control can walk, and the arms may move.
    pub(super) fn can_walk(&self) -> bool {
        WALKS.contains(&self.unitree.services.fsm_id)
    }

    /// Where it cannot walk, nothing goes on.
    fn fsm_changed(&mut self, now: Instant) {
        if self.can_walk() {
            return self.rouse_slam(now);
        }
        self.break_off_arm();
        self.end_play();
        self.end_walk(now);
    }
}
