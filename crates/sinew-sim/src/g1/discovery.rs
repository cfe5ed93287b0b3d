//! What a robot says when a host looks for it.
//!
//! The vendor's app asks `{"sn":"…","key":"","name":"unitree_dapengche"}` at [`QUERY_PORT`] of all
//! [`GROUPS`]; a robot answers to [`ANSWER_GROUP`] at [`ANSWER_PORT`], 0.2 to 0.8 s later in captures.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::Value;

/// Where queries go.
pub const QUERY_PORT: u16 = 10131;
/// Where answers go.
pub const ANSWER_PORT: u16 = 10134;
/// The groups that the vendor's app asks. To which of them a robot listens is not known.
pub const GROUPS: [Ipv4Addr; 4] = [
    Ipv4Addr::new(231, 1, 1, 1),
    Ipv4Addr::new(231, 1, 1, 2),
    Ipv4Addr::new(239, 255, 1, 1),
    Ipv4Addr::new(239, 255, 1, 2),
];
/// The group that robots answer to.
pub const ANSWER_GROUP: Ipv4Addr = Ipv4Addr::new(231, 1, 1, 2);
/// The name in queries and answers.
pub const NAME: &str = "unitree_dapengche";

/// A query has 61 bytes; what is much longer is none.
const MAX_QUERY: usize = 1024;

/// The answer to a query for this robot's serial number, or for any robot's: one without `sn`, or
/// with an empty one. That a real robot answers the latter is not known.
pub fn answer(query: &[u8], sn: &str, ip: IpAddr) -> Option<Vec<u8>> {
    if query.len() > MAX_QUERY {
        return None;
    }
    let query: Value = serde_json::from_slice(query).ok()?;
    let query = query.as_object()?;
    // An answer that strayed here is no query.
    if query.get("name")?.as_str()? != NAME || query.contains_key("ip") {
        return None;
    }
    let wanted = query.get("sn").map_or(Some(""), Value::as_str)?;
    if !wanted.is_empty() && wanted != sn {
        return None;
    }
    // Spaces as in the captured answers, which a serializer would leave out.
    let sn = Value::from(sn);
    Some(format!(r#"{{"sn": {sn}, "key": "", "name": "{NAME}", "ip": "{ip}"}}"#).into_bytes())
}
