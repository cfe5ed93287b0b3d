//! Who may come in: browsers are checked for the page they come from, everyone for a token.

use std::net::SocketAddr;

use axum::{
    extract::{ConnectInfo, FromRequestParts, Request, State, connect_info::Connected},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
    serve::IncomingStream,
};
use sinew_robot::{Code, Refusal};

use super::{Desk, Door, failure, status};
use crate::{Access, hub::Client};

/// The address at the other end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

impl Connected<IncomingStream<'_, Door>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        Peer(*stream.remote_addr())
    }
}

/// Refuses what a page of another host makes a browser send.
pub(super) async fn check(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host = headers.get(header::HOST).and_then(authority);
    let foreign = match headers.get(header::ORIGIN) {
        None => false,
        Some(origin) => origin_authority(origin).is_none_or(|origin| Some(origin) != host),
    };
    // Without tokens the name counts too: a page can make its own name lead to this address, and
    // is then of the same origin.
    let renamed = desk.hub.config.tokens.is_empty()
        && host.as_ref().is_some_and(|host| !is_local_or_number(host.host()));
    if foreign || renamed {
        let message = "pages of other hosts may not come in; open this one by its address";
        let refusal = Refusal::new(Code::Unauthorized, message);
        return (StatusCode::FORBIDDEN, failure(&refusal)).into_response();
    }
    next.run(request).await
}

fn authority(value: &HeaderValue) -> Option<Authority> {
    value.to_str().ok()?.to_ascii_lowercase().parse().ok()
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

/// Somebody who asks, and what their token allows.
#[derive(Debug)]
pub(super) struct Visitor {
    pub(super) client: Client,
    pub(super) peer: SocketAddr,
    desk: Desk,
    bad_token: Option<Refusal>,
}

impl FromRequestParts<Desk> for Visitor {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, desk: &Desk) -> Result<Self, Self::Rejection> {
        let peer = parts.extensions.get::<ConnectInfo<Peer>>().map(|info| info.0.0);
        let mut visitor = Visitor {
            client: desk.hub.client("http", desk.open),
            peer: peer.unwrap_or(([0, 0, 0, 0], 0).into()),
            desk: desk.clone(),
            bad_token: None,
        };
        if let Some(token) = bearer(&parts.headers) {
            visitor.show(token);
        }
        Ok(visitor)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl Visitor {
    /// Takes a token instead of whatever was allowed before.
    pub(super) fn show(&mut self, token: &str) {
        match self.desk.hub.access(token) {
            Ok(access) => self.client.access = access,
            Err(refusal) => {
                self.client.access = Access::Nothing;
                self.bad_token = Some(refusal);
            }
        }
    }

    pub(super) fn permit(&self, needed: Access) -> Result<(), Refusal> {
        if let Some(refusal) = &self.bad_token {
            return Err(refusal.clone());
        }
        if needed > Access::Nothing && self.client.access == Access::Nothing {
            let message = "a token is needed: send `Authorization: Bearer TOKEN`";
            return Err(Refusal::new(Code::Unauthorized, message));
        }
        self.desk.hub.permit(&self.client, needed)
    }

    /// The status of a refusal: 401 asks for a token, 403 says that the one shown is not enough.
    pub(super) fn status(&self, refusal: &Refusal) -> StatusCode {
        match refusal.code {
            Code::Unauthorized if self.client.access > Access::Nothing => StatusCode::FORBIDDEN,
            code => status(code),
        }
    }

    pub(super) fn turn_away(&self, refusal: &Refusal) -> Response {
        let scheme = [(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))];
        (self.status(refusal), scheme, failure(refusal)).into_response()
    }
}
