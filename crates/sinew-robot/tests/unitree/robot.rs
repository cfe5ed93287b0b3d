//! A robot as its app's log, its vendor's documents and its clients show it, in their own JSON.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

/// What a robot is sent in the log of a real session, and the answer that its check wants.
pub(crate) const CHALLENGE: &str = "0123456789abcdef";
pub(crate) const CHALLENGE_ANSWER: &str = "w+wJRSatpJQf2TpbA1FlIA==";

/// The robot, with times in milliseconds since the bench began.
pub(crate) struct Robot {
    pub(crate) validated: bool,
    pub(crate) topics: HashSet<String>,
    /// Every message that came, with its time.
    pub(crate) got: Vec<(u64, Value)>,
    pub(crate) taught: Vec<(String, f64)>,
    pub(crate) arms: Arms,
    /// A play or a recording that was asked for and begins soon.
    pub(crate) pending: Option<(u64, Arms)>,
    pub(crate) kept_alive: u64,
    /// Whether it ends a recording that is not kept alive; that real ones do is not proved.
    pub(crate) ends_unkept: bool,
    pub(crate) mapping: bool,
    pub(crate) map: Option<String>,
    pub(crate) walk: Option<Walk>,
    pub(crate) at: (f64, f64),
    pub(crate) files: HashMap<String, Vec<u8>>,
    /// Answers with this code instead of 0, by call.
    pub(crate) codes: HashMap<i64, i64>,
    /// Calls that are carried out and not answered.
    pub(crate) silent: HashSet<i64>,
    /// Calls that are neither answered nor carried out.
    pub(crate) deaf: HashSet<i64>,
    /// Calls that it says it has done, and has not.
    pub(crate) hollow: HashSet<i64>,
    /// Topics that it does not have.
    pub(crate) missing: HashSet<String>,
    pub(crate) answers_probes: bool,
    pub(crate) publishes: bool,
    /// Milliseconds between two poses.
    pub(crate) joints_every: u64,
    /// What it sends, with the time at which it leaves.
    pub(crate) out: Vec<(u64, Out)>,
    /// Starts of plays, by name or number.
    pub(crate) plays: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arms {
    Idle,
    Recording { name: String, since: u64 },
    Playing { name: String, id: i64, until: u64 },
    Returning { until: u64 },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Walk {
    pub(crate) to: (f64, f64),
    pub(crate) paused: bool,
    pub(crate) arrived: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Out {
    Text(String),
    Binary(Vec<u8>),
}

impl Robot {
    pub(crate) fn new() -> Self {
        Robot {
            validated: false,
            topics: HashSet::new(),
            got: Vec::new(),
            taught: vec![("Waist_Drum_Dance".into(), 9.5), ("touch me not".into(), 2.0)],
            arms: Arms::Idle,
            pending: None,
            kept_alive: 0,
            ends_unkept: true,
            mapping: false,
            map: None,
            walk: None,
            at: (0.0, 0.0),
            files: HashMap::new(),
            codes: HashMap::new(),
            silent: HashSet::new(),
            deaf: HashSet::new(),
            hollow: HashSet::new(),
            missing: HashSet::new(),
            answers_probes: true,
            publishes: true,
            joints_every: 50,
            out: Vec::new(),
            plays: Vec::new(),
        }
    }

    pub(crate) fn opened(&mut self, now: u64) {
        self.validated = false;
        self.topics.clear();
        self.out.clear();
        self.say(now, format!(r#"{{"type":"validation","topic":"","data":"{CHALLENGE}"}}"#));
    }

    pub(crate) fn say(&mut self, at: u64, text: impl Into<String>) {
        self.out.push((at, Out::Text(text.into())));
    }

    /// A message of the client's.
    pub(crate) fn hear(&mut self, now: u64, text: &str) {
        let message: Value = serde_json::from_str(text).unwrap();
        self.got.push((now, message.clone()));
        let topic = message["topic"].as_str().unwrap_or_default();
        match message["type"].as_str().unwrap() {
            "validation" => {
                self.validated = message["data"] == CHALLENGE_ANSWER;
                match self.validated {
                    true => {
                        self.say(now, r#"{"type":"validation","topic":"","data":"Validation Ok."}"#)
                    }
                    false => self.say(now, r#"{"type":"err","info":"Validation Needed."}"#),
                }
            }
            _ if !self.validated => self.say(now, r#"{"type":"err","info":"Validation Needed."}"#),
            "subscribe" if self.missing.contains(topic) => {
                self.say(now, format!(r#"{{"type":"err","info":"Invalid Topic.{topic}"}}"#));
            }
            "subscribe" => drop(self.topics.insert(topic.into())),
            "unsubscribe" => drop(self.topics.remove(topic)),
            "req" => self.called(now, topic, &message["data"]),
            "rtc_inner_req" => self.inner(now, &message["data"]),
            "heartbeat" => {
                let data = &message["data"];
                assert!(data["timeInNum"].is_i64() && data["timeInStr"].is_string(), "{data}");
            }
            other => panic!("a client sends no {other}"),
        }
    }

    fn inner(&mut self, now: u64, data: &Value) {
        match data["req_type"].as_str().unwrap() {
            "disable_traffic_saving" => self.say(
                now,
                r#"{"type":"rtc_inner_req","info":{"req_type":"disable_traffic_saving","execution":"ok"}}"#,
            ),
            "public_network_status" if self.answers_probes => {
                let uuid = &data["uuid"];
                self.say(now, format!(r#"{{"type":"rtc_inner_req","info":{{"req_type":"public_network_status","uuid":{uuid},"status":"NetworkStatus.ON_WIFI_CONNECTED"}}}}"#));
            }
            "request_static_file" => {
                let Some(file) = self.files.get(data["file_path"].as_str().unwrap()) else {
                    return;
                };
                let text: Vec<char> = base64(file).chars().collect();
                let slices: Vec<String> =
                    text.chunks(40).map(|slice| slice.iter().collect()).collect();
                let (uuid, total) = (&data["req_uuid"], slices.len());
                for (index, slice) in slices.iter().enumerate() {
                    let index = index + 1;
                    self.say(now + 10, format!(r#"{{"type":"rtc_inner_req","info":{{"req_type":"request_static_file","req_uuid":{uuid},"file":{{"enable_chunking":true,"chunk_index":{index},"total_chunk_num":{total},"data":"{slice}"}}}}}}"#));
                }
            }
            _ => {}
        }
    }

    fn called(&mut self, now: u64, topic: &str, data: &Value) {
        let identity = &data["header"]["identity"];
        let (id, api) = (identity["id"].as_i64().unwrap(), identity["api_id"].as_i64().unwrap());
        let parameter = data["parameter"].as_str().unwrap();
        if self.deaf.contains(&api) {
            return;
        }
        let service = topic.strip_prefix("rt/api/").and_then(|it| it.strip_suffix("/request"));
        let (code, delay, answer) = match self.codes.get(&api) {
            Some(code) => (*code, 20, Value::from("")),
            None if service == Some("arm") => self.arm(now, api, parameter),
            None => (0, 30, self.slam(now, api, parameter)),
        };
        if self.silent.contains(&api) {
            return;
        }
        let service = service.unwrap();
        self.say(now + delay, format!(r#"{{"type":"res","topic":"rt/api/{service}/response","data":{{"header":{{"identity":{{"id":{id},"api_id":{api}}},"status":{{"code":{code}}}}},"data":{answer}}}}}"#));
    }

    fn arm(&mut self, now: u64, api: i64, parameter: &str) -> (i64, u64, Value) {
        let member = |name: &str| {
            let value: Value = serde_json::from_str(parameter).unwrap();
            value[name].as_str().unwrap().to_owned()
        };
        let busy = self.pending.is_some() || self.arms != Arms::Idle;
        let done = (0, 20, Value::from(""));
        match api {
            7106 | 7108 if busy => (7400, 20, Value::from("")),
            7106 => {
                let value: Value = serde_json::from_str(parameter).unwrap();
                let id = value["data"].as_i64().unwrap();
                self.plays.push(id.to_string());
                let playing = Arms::Playing { name: "clamp".into(), id, until: now + 3500 };
                self.pending = Some((now + 500, playing));
                (0, 330, Value::from(""))
            }
            7107 => (0, 22, Value::from(self.list())),
            7108 => {
                let name = member("action_name");
                let Some((_, seconds)) = self.taught.iter().find(|(known, _)| *known == name)
                else {
                    return (7402, 20, Value::from(""));
                };
                let until = now + 500 + (seconds * 1000.0) as u64;
                self.plays.push(name.clone());
                self.pending = Some((now + 500, Arms::Playing { name, id: 100, until }));
                (0, 330, Value::from(""))
            }
            7109 => {
                let (old, new) = (member("pre_name"), member("new_name"));
                let Some(index) = self.taught.iter().position(|(name, _)| *name == old) else {
                    return (7402, 20, Value::from(""));
                };
                let (_, seconds) = self.taught.remove(index);
                self.taught.push((new, seconds));
                done
            }
            7110 if parameter.is_empty() => {
                self.end_recording(now);
                done
            }
            7110 => match member("action_name") {
                name if name.is_empty() => {
                    self.kept_alive = now;
                    done
                }
                _ if busy => (7400, 20, Value::from("")),
                name => {
                    self.kept_alive = now;
                    self.pending = Some((now + 300, Arms::Recording { name, since: now }));
                    (0, 327, Value::from(""))
                }
            },
            7112 => {
                let name = member("action_name");
                self.taught.retain(|(known, _)| *known != name);
                done
            }
            // It does not take back what has not begun: the worst that a robot could do.
            7113 => {
                if matches!(self.arms, Arms::Playing { .. }) {
                    self.arms = Arms::Returning { until: now + 4000 };
                }
                done
            }
            _ => (3203, 20, Value::from("")),
        }
    }

    pub(crate) fn end_recording(&mut self, now: u64) {
        if let Arms::Recording { name, since } = &self.arms {
            self.taught.push((name.clone(), (now - since) as f64 / 1000.0));
            self.arms = Arms::Returning { until: now + 4000 };
        }
    }

    fn list(&self) -> String {
        let taught: Vec<String> = self
            .taught
            .iter()
            .map(|(name, seconds)| format!(r#"{{"name":{},"time":{seconds}}}"#, json!(name)))
            .collect();
        format!(
            r#"[[{{"id":99,"name":"release_arm"}},{{"id":1,"name":"turn_back_wave","fsm":[500,501]}},{{"id":17,"name":"clamp"}}],[{}]]"#,
            taught.join(",")
        )
    }

    fn slam(&mut self, now: u64, api: i64, parameter: &str) -> Value {
        let value: Value = serde_json::from_str(parameter).unwrap();
        let data = &value["data"];
        let no = |code: i64, info: &str| {
            Value::from(
                json!({"succeed": false, "errorCode": code, "info": info, "data": {}}).to_string(),
            )
        };
        match api {
            api if self.hollow.contains(&api) => {}
            1801 => self.mapping = true,
            1802 => {
                let address = data["address"].as_str().unwrap();
                self.files.insert(address.into(), b"# .PCD v0.7".to_vec());
                self.mapping = false;
            }
            1804 => {
                let address = data["address"].as_str().unwrap();
                if !self.files.contains_key(address) {
                    return no(507, "Load pcd failed");
                }
                self.mapping = false;
                self.map = Some(address.into());
                self.at = (data["x"].as_f64().unwrap(), data["y"].as_f64().unwrap());
            }
            1102 => {
                let to = &data["targetPose"];
                assert_eq!(data["mode"], 1);
                let to = (to["x"].as_f64().unwrap(), to["y"].as_f64().unwrap());
                self.walk = Some(Walk { to, paused: false, arrived: false });
            }
            1201 => match &mut self.walk {
                Some(walk) => walk.paused = true,
                None => return no(1, "no task"),
            },
            1202 => match &mut self.walk {
                Some(walk) => walk.paused = false,
                None => return no(1, "no task"),
            },
            1901 => (self.walk, self.map, self.mapping) = (None, None, false),
            _ => return no(2, "unknown"),
        }
        let _ = now;
        Value::from(r#"{"succeed":true,"errorCode":0,"info":"","data":{}}"#)
    }

    /// Fifty milliseconds pass.
    pub(crate) fn tick(&mut self, now: u64) {
        if let Some((_, arms)) = self.pending.take_if(|(at, _)| now >= *at) {
            if let Arms::Recording { .. } = arms {
                self.kept_alive = self.kept_alive.max(now);
            }
            self.arms = arms;
        }
        match self.arms {
            Arms::Playing { until, .. } if now >= until => {
                self.arms = Arms::Returning { until: now + 4000 };
            }
            Arms::Returning { until } if now >= until => self.arms = Arms::Idle,
            Arms::Recording { .. } if self.ends_unkept && now > self.kept_alive + 3000 => {
                self.end_recording(now);
            }
            _ => {}
        }
        self.step();
        if !self.validated || !self.publishes {
            return;
        }
        if now.is_multiple_of(100) {
            let (id, name) = match &self.arms {
                Arms::Idle => (0, ""),
                Arms::Recording { name, .. } => (-1, name.as_str()),
                Arms::Playing { name, id, .. } => (*id, name.as_str()),
                Arms::Returning { .. } => (99, "release_arm"),
            };
            let state = format!(r#"{{"holding":false,"id":{id},"name":{}}}"#, json!(name));
            self.publish(now, "rt/arm/action/state", &json!(state));
            if self.mapping {
                self.odometry(now, "rt/unitree/slam_mapping/odom");
            } else if self.map.is_some() {
                self.odometry(now, "rt/unitree/slam_relocation/odom");
            }
        }
        if now.is_multiple_of(self.joints_every) {
            let motors: Vec<Value> =
                (0..29).map(|joint| json!({"q": f64::from(joint) / 100.0, "dq": 0.5})).collect();
            self.publish(now, "rt/lf/lowstate", &json!({"motor_state": motors}));
        }
        if now.is_multiple_of(500) {
            self.publish(now, "rt/lf/sportmodestate", &json!({"fsm_id": 4, "fsm_mode": 0}));
            self.publish(now, "rt/lf/bmsstate", &json!({"soc": 77}));
            let services = json!([{"name":"g1_arm_example","protect":0,"status":0,"version":"2.0.0.19"},
                {"name":"unitree_slam","protect":0,"status":1,"version":""}]);
            self.publish(now, "rt/servicestate", &json!(services.to_string()));
        }
        if now.is_multiple_of(200) && (self.map.is_some() || self.walk.is_some()) {
            let walk = self.walk.clone();
            let arrived = walk.as_ref().is_none_or(|walk| walk.arrived);
            let paused = walk.as_ref().is_some_and(|walk| walk.paused);
            let info = json!({"type":"ctrl_info","data":{"is_arrived":arrived,
                "stateMachine":{"isPause":paused},"progress":{"completion_percentage":10}}});
            self.publish(now, "rt/slam_info", &json!(info.to_string()));
        }
    }

    /// Half a metre a second.
    fn step(&mut self) {
        let Some(walk) = self.walk.as_mut().filter(|walk| !walk.paused && !walk.arrived) else {
            return;
        };
        let (dx, dy) = (walk.to.0 - self.at.0, walk.to.1 - self.at.1);
        let distance = dx.hypot(dy);
        if distance < 0.05 {
            walk.arrived = true;
            let now = 0;
            let result =
                json!({"type":"task_result","data":{"targetNodeName":"","is_arrived":true}});
            self.publish(now, "rt/slam_key_info", &json!(result.to_string()));
            return;
        }
        self.at = (self.at.0 + dx / distance * 0.025, self.at.1 + dy / distance * 0.025);
    }

    fn odometry(&mut self, now: u64, topic: &str) {
        let (x, y) = self.at;
        let odometry = json!({"header":{"frame_id":"map"},"pose":{"pose":{
            "position":{"x":x,"y":y,"z":0.0},"orientation":{"x":0.0,"y":0.0,"z":0.0,"w":1.0}}}});
        self.publish(now, topic, &odometry);
    }

    pub(crate) fn publish(&mut self, now: u64, topic: &str, data: &Value) {
        if self.topics.contains(topic) {
            self.say(now, format!(r#"{{"type":"msg","topic":"{topic}","data":{data}}}"#));
        }
    }

    /// Whether anything of it moves or records.
    pub(crate) fn is_still(&self) -> bool {
        let arms = matches!(self.arms, Arms::Idle | Arms::Returning { .. });
        let walks = self.walk.as_ref().is_some_and(|walk| !walk.paused && !walk.arrived);
        arms && self.pending.is_none() && !walks
    }

    /// Calls that came, with their parameters.
    pub(crate) fn calls(&self, api: i64) -> Vec<(u64, String)> {
        let is = |message: &&(u64, Value)| message.1["data"]["header"]["identity"]["api_id"] == api;
        let parameter = |(at, message): &(u64, Value)| {
            (*at, message["data"]["parameter"].as_str().unwrap().into())
        };
        self.got.iter().filter(is).map(parameter).collect()
    }

    /// Messages of a type.
    pub(crate) fn messages(&self, kind: &str) -> Vec<&(u64, Value)> {
        self.got.iter().filter(|(_, message)| message["type"] == kind).collect()
    }
}

/// RFC 4648, written here so that the codec does not test itself.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let block = chunk.iter().fold(0_u32, |block, byte| block << 8 | u32::from(*byte));
        let block = block << (8 * (3 - chunk.len()));
        for place in 0..4 {
            match place <= chunk.len() {
                true => text.push(char::from(LETTERS[(block >> (18 - 6 * place)) as usize & 63])),
                false => text.push('='),
            }
        }
    }
    text
}
