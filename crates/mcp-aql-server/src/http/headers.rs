//! Checks and completes the headers of requests to the endpoint and its metadata, and of their responses. Probes are
//! not checked.

use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, RETRY_AFTER};
use axum::http::uri::{Authority, PathAndQuery};
use axum::http::{StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio_util::sync::CancellationToken;

/// Checks the headers of a request, and completes those of its response.
///
/// - Requests with a malformed `Origin` are rejected. rmcp would only compare the part before the port, and ignore an
///   invalid port.
/// - Errors of rmcp and axum have no `Content-Type`, so it is set to `text/plain`.
/// - Once the sessions end, requests are answered with 503, so that clients and proxies repeat them elsewhere. rmcp
///   would report an error of its session service instead.
pub(super) async fn checked(
    State(ended): State<CancellationToken>,
    mut request: Request,
    next: Next,
) -> Response {
    if ended.is_cancelled() {
        return shutting_down();
    }
    use_origin_form(&mut request);
    let is_checked = request.headers().get_all(ORIGIN).iter().all(is_origin);
    let mut response = match is_checked {
        true => next.run(request).await,
        false => (StatusCode::FORBIDDEN, "The header Origin is not an origin\n").into_response(),
    };
    let status = response.status();
    if status == StatusCode::INTERNAL_SERVER_ERROR && ended.is_cancelled() {
        return shutting_down();
    }
    if status.is_client_error() || status.is_server_error() {
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().entry(CONTENT_TYPE).or_insert(text);
    }
    response
}

/// Converts an absolute request target, as sent by proxies, to a path. Its host replaces the `Host` header, because the
/// header must be ignored in this case (RFC 9112 §3.2.2). All later checks then see the same host.
fn use_origin_form(request: &mut Request) {
    let Some(authority) = request.uri().authority() else { return };
    let is_repeated = request.headers().get_all(HOST).iter().nth(1).is_some();
    // HTTP/2 targets always contain an authority, and repeated hosts are rejected later.
    if request.version() >= Version::HTTP_2 || is_repeated {
        return;
    }
    let host = HeaderValue::from_str(authority.as_str());
    let path = request.uri().path_and_query().cloned();
    let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
    if let Ok(host) = host {
        request.headers_mut().insert(HOST, host);
        *request.uri_mut() = path.into();
    }
}

fn shutting_down() -> Response {
    let headers = [(RETRY_AFTER, "1"), (CONNECTION, "close")];
    let text = "The server is shutting down. Try again\n";
    (StatusCode::SERVICE_UNAVAILABLE, headers, text).into_response()
}

/// Returns `true` if a value has the form of an origin (RFC 6454 §7).
fn is_origin(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    let authority = |text: &str| text.split_once("://")?.1.parse::<Authority>().ok();
    text == "null"
        || authority(text).is_some_and(|authority| {
            !authority.as_str().contains('@')
                && (authority.as_str() == authority.host() || authority.port_u16().is_some())
        })
}

#[cfg(test)]
mod tests {
    use tower_service::Service as _;

    use super::*;

    #[test]
    fn an_origin_has_a_host_and_perhaps_a_port() {
        for (origin, is_valid) in [
            ("http://127.0.0.1:18787", true),
            ("http://[::1]:80", true),
            ("https://app.example.org", true),
            ("null", true),
            ("http://127.0.0.1:18787.evil.com", false),
            ("http://127.0.0.1:80@evil.com", false),
            ("http://127.0.0.1:", false),
            ("http://127.0.0.1:99999", false),
            ("http://127.0.0.1/", false),
            ("127.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(is_origin(&HeaderValue::from_static(origin)), is_valid, "{origin}");
        }
    }

    /// Returns the status sent to a client if the router answers with `status` while the sessions end or afterwards.
    async fn status_at_the_end(ended_before: bool, status: StatusCode) -> StatusCode {
        let ended = CancellationToken::new();
        if ended_before {
            ended.cancel();
        }
        let ends = ended.clone();
        let answer = axum::routing::get(async move || {
            ends.cancel();
            status
        });
        let layer = axum::middleware::from_fn_with_state(ended, checked);
        let mut router = axum::Router::new().route("/", answer).layer(layer);
        let response = router.call(Request::<axum::body::Body>::default()).await.unwrap();
        assert_eq!(
            response.headers().contains_key(RETRY_AFTER),
            response.status() == StatusCode::SERVICE_UNAVAILABLE
        );
        response.status()
    }

    #[tokio::test]
    async fn a_request_at_the_end_of_the_sessions_is_sent_again() {
        let (failed, unavailable) =
            (StatusCode::INTERNAL_SERVER_ERROR, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status_at_the_end(true, StatusCode::OK).await, unavailable);
        assert_eq!(status_at_the_end(false, failed).await, unavailable);
        // A successful answer is passed on.
        assert_eq!(status_at_the_end(false, StatusCode::OK).await, StatusCode::OK);
    }
}
