//! What can be subscribed to, and how often it comes.

use std::time::Duration;

use sinew_wire::unitree::{TOPICS, service_of};

/// Something that is published on a topic. Small things stand before clouds: that is the order in
/// which they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stream {
    ArmState,
    LowState,
    SportState,
    Battery,
    MainBoard,
    SecondaryImu,
    MultipleState,
    Services,
    MappingOdom,
    RelocationOdom,
    SlamControl,
    SlamPosition,
    SlamMapping,
    SlamRobot,
    KeyInfo,
    MappingPoints,
    RelocationPoints,
    Voxels,
    GlobalMap,
}

const VOXELS: &str = "rt/utlidar/voxel_map_compressed";
/// Where a GO2's lidar is switched.
pub(super) const LIDAR_SWITCH: &str = "rt/utlidar/switch";

/// Topic, what it carries, and its period in milliseconds; 0 for what comes by itself. The rates
/// of arm state and services are a real robot's, the others are supposed.
const STREAMS: [(&str, Stream, u64); 19] = [
    ("rt/arm/action/state", Stream::ArmState, 102),
    ("rt/lf/lowstate", Stream::LowState, 50),
    ("rt/lf/sportmodestate", Stream::SportState, 100),
    ("rt/lf/bmsstate", Stream::Battery, 1000),
    ("rt/lf/mainboardstate", Stream::MainBoard, 1000),
    ("rt/lf/secondary_imu", Stream::SecondaryImu, 50),
    ("rt/multiplestate", Stream::MultipleState, 1000),
    ("rt/servicestate", Stream::Services, 5000),
    ("rt/unitree/slam_mapping/odom", Stream::MappingOdom, 100),
    ("rt/unitree/slam_relocation/odom", Stream::RelocationOdom, 100),
    ("rt/slam_info", Stream::SlamControl, 200),
    ("rt/slam_info", Stream::SlamPosition, 200),
    ("rt/slam_info", Stream::SlamMapping, 200),
    ("rt/slam_info", Stream::SlamRobot, 2000),
    ("rt/slam_key_info", Stream::KeyInfo, 0),
    ("rt/unitree/slam_mapping/points", Stream::MappingPoints, 0),
    ("rt/unitree/slam_relocation/points", Stream::RelocationPoints, 0),
    (VOXELS, Stream::Voxels, 0),
    ("rt/unitree/slam_relocation/global_map", Stream::GlobalMap, 0),
];

impl Stream {
    /// What a topic carries.
    pub(super) fn of(topic: &str) -> impl Iterator<Item = Stream> {
        let rows = STREAMS.iter().filter(move |row| row.0 == topic);
        rows.map(|row| row.1)
    }

    pub(super) fn topic(self) -> &'static str {
        STREAMS.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }

    /// How often it comes; none when that is not by the clock.
    pub(super) fn period(self) -> Option<Duration> {
        let row = STREAMS.iter().find(|row| row.1 == self)?;
        (row.2 > 0).then(|| Duration::from_millis(row.2))
    }
}

/// Whether a topic can be subscribed to. Of what a G1 publishes, states come under `rt/lf` only,
/// and there is nothing of a GO2's lidar unless the robot is to have one.
pub(super) fn exists(topic: &str, go2_voxels: bool) -> bool {
    const NOT_HERE: [&str; 3] = ["rt/utlidar/", "rt/uslam/", "rt/sportmodestate"];
    let go2 = go2_voxels && [VOXELS, LIDAR_SWITCH].contains(&topic);
    let known = || TOPICS.iter().any(|row| row.topic == topic);
    let here = || !NOT_HERE.iter().any(|prefix| topic.starts_with(prefix));
    go2 || service_of(topic).is_some() || known() && here()
}
