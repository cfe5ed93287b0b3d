//! The dashboard: a page and its parts, as `cargo xtask web` built them.
//!
//! They hold nothing secret and need no token: the page asks for one, and shows it on its
//! connection.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use sinew_robot::{Code, Refusal};

use super::failure;

/// A file of the dashboard. It is kept and sent compressed: no browser has to be without gzip, and
/// over plain HTTP none has anything better.
struct Asset {
    path: &'static str,
    /// Another one for each content, in quotation marks.
    tag: &'static str,
    gzip: &'static [u8],
}

const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// What a page may do: use what is served here, and nothing else. Its scripts make no markup of
/// texts, but for the templates of the framework; `frame-ancestors` keeps its buttons out of
/// other pages.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types svelte-trusted-html";

/// Instead of the dashboard, where it was not built. Without scripts and styles.
const WITHOUT: &str = "<!doctype html><html lang=en><meta charset=utf-8>\
    <meta name=viewport content=\"width=device-width\"><title>Sinew</title><h1>Sinew</h1>\
    <p>The daemon runs. This program was built without its dashboard.\
    <p>To get it, install Node 20 or newer, run <code>cargo xtask web</code>, then build the \
    program again (with the feature <code>dashboard</code>, which is on by default). \
    <code>cargo xtask demo</code> does all of that.\
    <p><a href=\"/api/v1/robots\">robots</a>, <a href=\"/metrics\">metrics</a></html>";

pub(super) async fn index(request: Request) -> Response {
    match find("/index.html") {
        Some(asset) => send(asset, &request),
        None => {
            let kind = HeaderValue::from_static("text/html; charset=utf-8");
            (safe(), [(header::CONTENT_TYPE, kind)], WITHOUT).into_response()
        }
    }
}

/// A part of the page, by its path.
pub(super) async fn part(request: Request) -> Response {
    match find(request.uri().path()) {
        Some(asset) => send(asset, &request),
        None => failure(&Refusal::new(Code::NotFound, "there is no such page")),
    }
}

fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

fn send(asset: &'static Asset, request: &Request) -> Response {
    // Names under /assets/ hold a hash of the content.
    let keep = match asset.path.starts_with("/assets/") {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let known = request.headers().get_all(header::IF_NONE_MATCH).iter();
    let known = known.filter_map(|tags| tags.to_str().ok()).any(|tags| tags.contains(asset.tag));
    let headers = [
        (header::CACHE_CONTROL, HeaderValue::from_static(keep)),
        (header::ETAG, HeaderValue::from_static(asset.tag)),
    ];
    if known {
        return (StatusCode::NOT_MODIFIED, safe(), headers).into_response();
    }
    let about = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind(asset.path))),
        (header::CONTENT_ENCODING, HeaderValue::from_static("gzip")),
    ];
    (safe(), headers, about, Body::from(asset.gzip)).into_response()
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain; charset=utf-8",
        Some("webmanifest") => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

fn safe() -> [(HeaderName, HeaderValue); 6] {
    let value = HeaderValue::from_static;
    [
        (header::CONTENT_SECURITY_POLICY, value(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, value("nosniff")),
        (header::REFERRER_POLICY, value("no-referrer")),
        (HeaderName::from_static("cross-origin-opener-policy"), value("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), value("same-origin")),
        (
            HeaderName::from_static("permissions-policy"),
            value("camera=(), microphone=(), geolocation=(), gamepad=(self)"),
        ),
    ]
}
