//! Topics and calls, one row each, with what is known and from where.

/// A topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topic {
    /// Its whole name.
    pub topic: &'static str,
    /// What travels on it.
    pub what: &'static str,
    /// From where that is known.
    pub evidence: Evidence,
}

/// A call of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api {
    /// The service; its topics are `rt/api/SERVICE/request` and `/response`.
    pub service: &'static str,
    /// The number. Services use the same numbers for different things.
    pub id: i64,
    /// What is called.
    pub name: &'static str,
    /// From where that is known.
    pub evidence: Evidence,
}

/// From where something is known, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// The log of the vendor's app with a G1.
    Log,
    /// The vendor's documentation or SDK.
    Vendor,
    /// The public library unitree_webrtc_connect.
    Library,
    /// Said by another public project.
    Said,
}

use Evidence::{Library, Log, Said, Vendor};

const fn row(topic: &'static str, what: &'static str, evidence: Evidence) -> Topic {
    Topic { topic, what, evidence }
}

const fn call(service: &'static str, id: i64, name: &'static str, evidence: Evidence) -> Api {
    Api { service, id, name, evidence }
}

/// The topics. Those of services are not among them: see [`API`].
pub const TOPICS: &[Topic] = &[
    row("rt/arm/action/state", "what the arms do", Log),
    row("rt/servicestate", "the robot's services", Log),
    row("rt/lf/lowstate", "motors and IMU", Library),
    row("rt/lf/bmsstate", "battery", Library),
    row("rt/lf/secondary_imu", "IMU of the pelvis", Library),
    row("rt/lf/mainboardstate", "temperature of the main board", Library),
    row("rt/lf/sportmodestate", "motion state", Library),
    row("rt/sportmodestate", "motion state", Library),
    row("rt/multiplestate", "volume, brightness and switches", Library),
    row("rt/slam_info", "how mapping and walking go", Vendor),
    row("rt/slam_key_info", "the end of a walk", Vendor),
    row("rt/unitree/slam_mapping/points", "cloud while mapping", Vendor),
    row("rt/unitree/slam_mapping/odom", "pose while mapping", Vendor),
    row("rt/unitree/slam_relocation/points", "cloud in a loaded map", Vendor),
    row("rt/unitree/slam_relocation/odom", "pose in a loaded map", Vendor),
    row("rt/unitree/slam_relocation/global_map", "the loaded map", Vendor),
    row("rt/utlidar/switch", "switches a GO2's lidar", Library),
    row("rt/utlidar/voxel_map_compressed", "a GO2's voxel map", Library),
    row("rt/utlidar/robot_pose", "a GO2's pose", Library),
    row("rt/uslam/frontend/cloud_world_ds", "a GO2's cloud, packed as a G1's", Said),
    row("rt/wirelesscontroller", "sticks and keys", Library),
    row("rt/lowcmd", "commands to motors", Library),
    row("rt/arm_sdk", "commands to the arms' motors", Said),
];

/// The calls.
pub const API: &[Api] = &[
    call("arm", 7106, "play a preset action", Vendor),
    call("arm", 7107, "list actions", Log),
    call("arm", 7108, "play a taught action", Log),
    call("arm", 7109, "rename a taught action", Log),
    call("arm", 7110, "record", Log),
    call("arm", 7111, "pause", Said),
    call("arm", 7112, "delete a taught action", Log),
    call("arm", 7113, "stop playing", Log),
    call("slam_operate", 1801, "start mapping", Vendor),
    call("slam_operate", 1802, "end mapping and store", Vendor),
    call("slam_operate", 1803, "cancel mapping", Said),
    call("slam_operate", 1804, "load a map", Vendor),
    call("slam_operate", 1102, "walk to a place", Vendor),
    call("slam_operate", 1201, "pause walking", Vendor),
    call("slam_operate", 1202, "resume walking", Vendor),
    call("slam_operate", 1901, "close", Vendor),
    call("motion_switcher", 1001, "get the motion mode", Log),
    call("motion_switcher", 1002, "set the motion mode", Library),
    call("robot_state", 1001, "switch a service", Log),
    call("robot_state", 1002, "set the rate of reports", Log),
    call("bashrunner", 1001, "run a named script", Log),
    call("sport", 7001, "get the state", Library),
    call("sport", 7002, "get the mode of the state", Library),
    call("sport", 7003, "get the balance mode", Vendor),
    call("sport", 7004, "get the swing height", Vendor),
    call("sport", 7005, "get the stand height", Vendor),
    call("sport", 7101, "set the state", Library),
    call("sport", 7102, "set the balance mode", Vendor),
    call("sport", 7103, "set the swing height", Vendor),
    call("sport", 7104, "set the stand height", Vendor),
    call("sport", 7105, "set the velocity", Library),
    call("sport", 7107, "set the speed mode", Library),
    call("vui", 1003, "set the volume", Library),
    call("vui", 1004, "get the volume", Library),
    call("vui", 1005, "set the brightness", Library),
    call("vui", 1006, "get the brightness", Library),
    call("vui", 1007, "set the colour", Library),
];

/// What is known of a topic.
pub fn topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|row| row.topic == name)
}

/// What is known of a call.
pub fn api(service: &str, id: i64) -> Option<&'static Api> {
    API.iter().find(|row| (row.service, row.id) == (service, id))
}
