//! Which requests are taken: a browser's is checked for the page it comes from, each for a token.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use sinew_robot::{Code, Refusal};
use tokio::time::sleep_until;

use super::{HttpState, Peer, failure, status};
use crate::{Access, hub::Client, seats::Seat};

/// Refuses what a page of another host makes a browser send.
pub(super) async fn check(
    State(state): State<HttpState>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let host = headers.get(header::HOST).map(authority);
    // What is no name, or two of them, is no browser's; neither is an address of another host in
    // the first line.
    let single = |name| headers.get_all(name).iter().count() <= 1;
    let nameless = matches!(host, Some(None)) || !single(header::HOST) || !single(header::ORIGIN);
    let host = host.flatten();
    let elsewhere = request.uri().authority().is_some_and(|line| Some(line) != host.as_ref());
    let foreign = match headers.get(header::ORIGIN) {
        None => false,
        Some(origin) => origin_authority(origin).is_none_or(|origin| Some(origin) != host),
    };
    // A page can make its own name lead to this address, and is then of the same origin: only
    // names that are known lead here, whether tokens are in use or not.
    let hosts = &state.hub.config.hosts;
    let is_ours = |name: &str| hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
    let renamed = host
        .as_ref()
        .map(Authority::host)
        .is_some_and(|name| !is_local_or_number(name) && !is_ours(name));
    if foreign || renamed || nameless || elsewhere {
        let message = "pages of other hosts may not come in; open this one by its address, or \
                       allow its name: [server] hosts";
        let refusal = Refusal::new(Code::Unauthorized, message);
        state.log("a page of another host", &refusal);
        return (StatusCode::FORBIDDEN, failure(&refusal)).into_response();
    }
    next.run(request).await
}

fn authority(value: &HeaderValue) -> Option<Authority> {
    let authority: Authority = value.to_str().ok()?.to_ascii_lowercase().parse().ok()?;
    Some(authority).filter(|authority| !authority.as_str().contains('@'))
}

fn origin_authority(value: &HeaderValue) -> Option<Authority> {
    let origin = value.to_str().ok()?.to_ascii_lowercase();
    let (_, rest) = origin.split_once("://")?;
    rest.parse().ok()
}

fn is_local_or_number(host: &str) -> bool {
    let number = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || number.parse::<std::net::IpAddr>().is_ok()
}

/// A client that asks, and what its token allows.
#[derive(Debug)]
pub(super) struct HttpClient {
    pub(super) client: Client,
    pub(super) peer: SocketAddr,
    state: HttpState,
    bad_token: Option<Refusal>,
    seat: Option<Arc<Seat>>,
}

impl FromRequestParts<HttpState> for HttpClient {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &HttpState,
    ) -> Result<Self, Self::Rejection> {
        let peer = parts.extensions.get::<Peer>();
        let address = peer.map_or(([0, 0, 0, 0], 0).into(), |peer| peer.address);
        let mut caller = HttpClient {
            client: state.hub.client("http", address.ip(), state.open),
            peer: address,
            state: state.clone(),
            bad_token: None,
            seat: peer.map(|peer| Arc::clone(&peer.seat)),
        };
        if let Some(token) = bearer(&parts.headers) {
            caller.show(token);
        }
        Ok(caller)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl HttpClient {
    /// Takes a token instead of whatever was allowed before.
    pub(super) fn show(&mut self, token: &str) {
        match self.state.hub.access(token) {
            Ok(access) => self.client.access = access,
            Err(refusal) => {
                self.client.access = Access::Nothing;
                self.bad_token = Some(refusal);
            }
        }
    }

    /// It asked for something that it may have, so it is no stranger; whether there is a seat.
    pub(super) fn introduce(&self) -> bool {
        self.seat.as_ref().is_none_or(|seat| seat.introduce())
    }

    pub(super) fn may(&self, needed: Access) -> bool {
        self.client.access >= needed
    }

    pub(super) fn check_token(&self) -> Result<(), Refusal> {
        self.bad_token.clone().map_or(Ok(()), Err)
    }

    pub(super) fn permit(&self, needed: Access) -> Result<(), Refusal> {
        self.permit_command(needed, false)
    }

    /// The same for a command; one that stops needs no seat.
    pub(super) fn permit_command(&self, needed: Access, stops: bool) -> Result<(), Refusal> {
        self.check_token()?;
        if needed > Access::Nothing && self.client.access == Access::Nothing {
            let message = "a token is needed: send `Authorization: Bearer TOKEN`";
            return Err(Refusal::new(Code::Unauthorized, message));
        }
        self.state.hub.permit(&self.client, needed)?;
        if needed > Access::Nothing && !self.introduce() && !stops {
            self.state.hub.metrics.count_turned_away();
            return Err(self.state.hub.no_seat());
        }
        Ok(())
    }

    /// The status of a refusal: 401 asks for a token, 403 says that the one shown is not enough.
    pub(super) fn status(&self, refusal: &Refusal) -> StatusCode {
        match refusal.code {
            Code::Unauthorized if self.client.access > Access::Nothing => StatusCode::FORBIDDEN,
            code => status(code),
        }
    }

    pub(super) fn log(&self, refusal: &Refusal) {
        self.state.log(&self.client.name, refusal);
    }

    /// Says no. A wrong token is answered at the pace of its address.
    pub(super) async fn turn_away(&self, refusal: Refusal) -> Response {
        self.log(&refusal);
        if self.bad_token.is_some() {
            match self.state.hub.guesses.wrong(self.peer.ip(), Instant::now()) {
                Some(at) => sleep_until(at.into()).await,
                None => return StatusCode::TOO_MANY_REQUESTS.into_response(),
            }
        }
        let scheme = [(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))];
        (self.status(&refusal), scheme, failure(&refusal)).into_response()
    }
}
