//! What the lidar sees, as clouds.

use std::time::Instant;

use serde_json::Value;
use sinew_wire::unitree::{Form, Variant};

use super::{
    Robot, Unitree,
    client::Client,
    map::{Map, cloud},
    slam::Mode,
    stream::Stream,
    voxels,
};

/// Most shots of a cloud: it has to fit a message of the channel.
const MOST_SHOTS: usize = 20_000;
/// Shots for a GO2's voxel map.
const VOXEL_SHOTS: usize = 4000;

impl Robot {
    /// Looks around once.
    pub(super) fn scan(&mut self) {
        let Unitree { slam, options, clients, .. } = &mut self.unitree;
        slam.scans += 1;
        let shots = options.points_per_cloud.clamp(1, MOST_SHOTS);
        let (place, layout) = (slam.body.at(), options.layout);
        let takes = |client: &Client, stream: Stream| {
            let thinned = options.saves_traffic && !client.takes_all;
            client.is_valid && !thinned && client.streams.contains_key(&stream)
        };
        let mut clouds: Vec<(Stream, Option<Vec<u8>>)> = Vec::new();
        let mut see = |stream: Stream, points: &[[f64; 3]]| {
            clouds.push((stream, cloud(stream.topic(), layout, points)));
        };
        match &mut slam.mode {
            Mode::Off => {}
            Mode::Mapping(map) => {
                let points = slam.lidar.scan(place, shots);
                let points: Vec<_> = points.into_iter().map(|p| map.frame.point(p)).collect();
                map.add(&points);
                see(Stream::MappingPoints, &points);
            }
            Mode::Located { frame, address } => {
                let points = slam.lidar.scan(place, shots);
                let points: Vec<_> = points.into_iter().map(|p| frame.point(p)).collect();
                see(Stream::RelocationPoints, &points);
                let wants =
                    |client: &&mut Client| !client.has_map && takes(client, Stream::GlobalMap);
                for client in clients.values_mut().filter(wants) {
                    let points = slam.maps.get(address).map(Map::thinned).unwrap_or_default();
                    let stream = Stream::GlobalMap;
                    client.has_map = true;
                    if let Some(message) = cloud(stream.topic(), layout, &points) {
                        client.publish(stream, Form::Binary, message);
                    }
                }
            }
        }
        if slam.is_on {
            let points = slam.lidar.scan(place, VOXEL_SHOTS);
            // Both headers are read by the library, so both are sent.
            let short = Variant::Short { unused: 0 };
            let variant = if slam.scans.is_multiple_of(2) { Variant::Cloud } else { short };
            let topic = Stream::Voxels.topic();
            clouds.push((Stream::Voxels, voxels::message(topic, variant, slam.body, &points)));
        }
        for (stream, message) in clouds {
            let Some(message) = message else { continue };
            for client in clients.values_mut().filter(|client| takes(client, stream)) {
                client.publish(stream, Form::Binary, message.clone());
            }
        }
    }

    /// Switches a GO2's lidar.
    pub(super) fn switch_lidar(&mut self, now: Instant, data: Option<&Value>) {
        let word = data.and_then(Value::as_str).unwrap_or_default();
        if self.unitree.options.go2_voxels {
            self.unitree.slam.is_on = word.eq_ignore_ascii_case("on");
            self.rouse_slam(now);
        }
    }
}
