//! Checks the host, the origin and the session of each request before a route handles it, and adds security headers to
//! every response.

use std::sync::Arc;
use std::time::Instant;

use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use super::Shared;
use super::response::{ICON, LOGIN, STYLE, refusal, signed_out};
use super::sessions::SessionCheck;
use crate::human_channel::OperatorName;

/// The header with the token of a browser's session.
pub(super) const TOKEN: &str = "x-console-token";

/// The headers of every response, including errors.
const HEADERS: [(HeaderName, &str); 8] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (X_FRAME_OPTIONS, "DENY"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

pub(super) async fn pass(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut response = match admit(&shared, &request) {
        Ok(operator) => {
            if let Some(operator) = operator {
                request.extensions_mut().insert(operator);
            }
            next.run(request).await
        }
        Err(refused) => refused.response(&shared, request.uri().path()),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The reason why a request was rejected.
#[derive(Debug, Clone, Copy)]
enum RejectedRequest {
    Host,
    Method,
    Site,
    Nobody,
    Token,
    Body,
}

impl RejectedRequest {
    fn response(self, shared: &Shared, path: &str) -> Response {
        let (status, message) = match self {
            Self::Nobody => {
                return signed_out(
                    shared,
                    path,
                    StatusCode::UNAUTHORIZED,
                    "You are not signed in.",
                );
            }
            Self::Host => (StatusCode::FORBIDDEN, "Open the console as 127.0.0.1 with its port."),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "Only GET and POST are allowed."),
            Self::Site => (StatusCode::FORBIDDEN, "The request came from another site."),
            Self::Token => (StatusCode::FORBIDDEN, "The session's token is missing or wrong."),
            Self::Body => (StatusCode::PAYLOAD_TOO_LARGE, "A request must not have a body."),
        };
        refusal(status, message)
    }
}

/// Returns the operator who sent the request. Returns `None` for files that need no session.
fn admit(shared: &Shared, request: &Request) -> Result<Option<OperatorName>, RejectedRequest> {
    let headers = request.headers();
    let host = own_host(shared.port, request).ok_or(RejectedRequest::Host)?;
    let posts = match *request.method() {
        Method::GET => false,
        Method::POST => true,
        _ => return Err(RejectedRequest::Method),
    };
    let path = request.uri().path();
    let api = path.starts_with("/api/");
    if (api || posts) && !same_site(headers, host, posts) {
        return Err(RejectedRequest::Site);
    }
    // No route reads a body, so a request with a body is rejected.
    if !request.body().is_end_stream() {
        return Err(RejectedRequest::Body);
    }
    if !posts && [LOGIN, STYLE, ICON].contains(&path) {
        return Ok(None);
    }
    let token = headers.get(TOKEN).and_then(|value| value.to_str().ok());
    let cookie = cookie(shared.port, headers).ok_or(RejectedRequest::Nobody)?;
    match shared.sessions.look_up(cookie, token, Instant::now()) {
        SessionCheck::Invalid => Err(RejectedRequest::Nobody),
        SessionCheck::CookieOnly if api || posts => Err(RejectedRequest::Token),
        SessionCheck::CookieOnly => Ok(None),
        SessionCheck::Valid(operator) => Ok(Some(operator)),
    }
}

/// Returns the host of the request if it is exactly the address of the console.
///
/// Names are rejected, even `localhost`, because someone else may control their resolution. A browser that requests the
/// address itself certainly reaches this machine.
fn own_host(port: u16, request: &Request) -> Option<&str> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    let also = request.uri().authority().is_none_or(|authority| authority.as_str() == host);
    let own = host.strip_prefix("127.0.0.1:") == Some(port.to_string().as_str());
    (own && also && hosts.next().is_none()).then_some(host)
}

/// Returns `true` if a page of this server sent the request.
///
/// Browsers send `Origin` with each POST, and `Sec-Fetch-Site` with every request.
fn same_site(headers: &HeaderMap, host: &str, posts: bool) -> bool {
    let site = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin");
    let origin = match headers.get(ORIGIN) {
        Some(origin) => {
            origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://")) == Some(host)
        }
        None => !posts,
    };
    site && origin
}

/// Returns the name of the session's cookie. It contains the port, because all ports of a host share their cookies.
pub(super) fn cookie_name(port: u16) -> String {
    format!("mcp_aql_console_{port}")
}

pub(super) fn cookie(port: u16, headers: &HeaderMap) -> Option<&str> {
    let wanted = cookie_name(port);
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == wanted).then_some(value))
}
