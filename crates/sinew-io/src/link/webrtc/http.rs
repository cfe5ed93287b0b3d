//! One HTTP request on one connection: robots close it after each answer without saying so.

use std::{
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use ureq::Agent;

/// How long a port may take to accept a connection.
const PROBE: Duration = Duration::from_millis(1500);
/// How long an answer may take, all in all.
const ANSWER: Duration = Duration::from_secs(10);
/// Longest body that is read.
const LONGEST: u64 = 256 << 10;

/// Whether a port takes connections; nothing is sent.
pub(super) fn probe(address: SocketAddr) -> Result<(), String> {
    TcpStream::connect_timeout(&address, PROBE).map(drop).map_err(|error| error.to_string())
}

/// Status and body of the answer to a POST, or what the system says.
pub(super) fn post(
    address: SocketAddr,
    path: &str,
    content_type: Option<&str>,
    body: &[u8],
) -> Result<(u16, Vec<u8>), String> {
    let agent: Agent = Agent::config_builder()
        .timeout_global(Some(ANSWER))
        .timeout_connect(Some(PROBE))
        .max_idle_connections(0)
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent("sinew")
        .build()
        .into();
    let mut request = agent.post(format!("http://{address}{path}"));
    if let Some(content_type) = content_type {
        request = request.header("Content-Type", content_type);
    }
    let said = |error: ureq::Error| error.to_string();
    let mut answer = request.send(body).map_err(said)?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(LONGEST).read_to_vec().map_err(said)?;
    Ok((status, body))
}
