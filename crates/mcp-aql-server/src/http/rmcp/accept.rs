//! Handles the `Accept` header of MCP requests. rmcp only knows the full names of media types, so it would reject
//! `*/*`, and it rejects clients that accept only JSON or only events.

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, future, stream};
use serde::Deserialize;
use sse_stream::SseStream;

use super::events::events;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The media types that a client accepts for the reply to a message.
///
/// MCP requires clients to accept JSON and events, but some clients accept only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcceptedType {
    /// Both, or neither. rmcp rejects the request in the latter case.
    AsSent,
    Json,
    Events,
}

impl AcceptedType {
    /// Reads the media ranges of a message (RFC 9110, section 12.5.1). A request without the header accepts everything.
    ///
    /// The header is replaced with both media types if the ranges cover only one of them, or both with a wildcard:
    ///
    /// ```text
    /// Accept: application/json  →  Accept: application/json, text/event-stream  (the reply is converted to JSON)
    /// ```
    pub(crate) fn of_message(headers: &mut HeaderMap) -> Self {
        if headers.get(ACCEPT) == Some(&BOTH) {
            return Self::AsSent;
        }
        let (accepted, is_named) = match covered(headers) {
            Some(([true, true], is_named)) => (Self::AsSent, is_named),
            Some(([true, false], _)) => (Self::Json, false),
            Some(([false, true], _)) => (Self::Events, false),
            _ => return Self::AsSent,
        };
        if !is_named {
            headers.insert(ACCEPT, BOTH);
        }
        accepted
    }

    /// Converts a reply to the media type accepted by the client.
    pub(crate) async fn convert(self, response: Response) -> Response {
        let sent =
            response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
        let (is_json, is_events) =
            (sent.starts_with(JSON.as_bytes()), sent.starts_with(EVENTS.as_bytes()));
        match self {
            Self::Json if is_events => to_json(response).await,
            Self::Events if is_json && response.status() == StatusCode::OK => to_events(response),
            _ => response,
        }
    }
}

/// Extracts the reply from the events of a response. Notifications are dropped. Such clients are not sent questions.
async fn to_json(response: Response) -> Response {
    /// The head of a message. A message with a method is not a reply.
    #[derive(Deserialize)]
    struct Head {
        method: Option<serde::de::IgnoredAny>,
    }
    let is_reply =
        |data: &str| serde_json::from_str(data).is_ok_and(|message: Head| message.method.is_none());
    let (mut parts, body) = response.into_parts();
    let data =
        SseStream::new(body).filter_map(|event| future::ready(event.ok().and_then(|it| it.data)));
    let mut replies = std::pin::pin!(data.filter(|data| future::ready(is_reply(data))));
    let Some(reply) = replies.next().await else {
        let text =
            "The request has ended without a reply: it was cancelled, or its session has ended\n";
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    Response::from_parts(parts, Body::from(reply))
}

/// Converts a JSON reply to a single event. The reply must be a single line.
fn to_events(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let part =
        |text: &'static str| stream::once(future::ready(Ok(Bytes::from_static(text.as_bytes()))));
    let body = part("data: ").chain(body.into_data_stream()).chain(part("\n\n"));
    let mut response = events(Body::from_stream(body));
    for (name, value) in
        parts.headers.iter().filter(|(name, _)| *name != CONTENT_TYPE && *name != CONTENT_LENGTH)
    {
        response.headers_mut().append(name, value.clone());
    }
    response
}

/// Replaces wildcards with the media types of MCP that they cover.
pub(crate) fn resolve_wildcards(headers: &mut HeaderMap) {
    let Some((covered, false)) = covered(headers) else { return };
    let covered: Vec<_> = [JSON, EVENTS]
        .into_iter()
        .zip(covered)
        .filter_map(|(name, is_covered)| is_covered.then_some(name))
        .collect();
    if headers.contains_key(ACCEPT)
        && let Ok(covered) = HeaderValue::try_from(covered.join(", "))
    {
        headers.insert(ACCEPT, covered);
    }
}

/// Returns whether the media ranges of a request cover JSON and events. The second value is `true` if there are ranges,
/// none with a wildcard. Returns `None` if the header is unreadable.
fn covered(headers: &HeaderMap) -> Option<([bool; 2], bool)> {
    let mut ranges = Vec::new();
    for header in headers.get_all(ACCEPT) {
        ranges.extend(header.to_str().ok()?.split(',').map(Range::parse));
    }
    let is_covered = |media_type| ranges.is_empty() || is_acceptable(&ranges, media_type);
    let is_named = !ranges.is_empty() && ranges.iter().all(|range| !range.essence.ends_with("/*"));
    Some(([JSON, EVENTS].map(is_covered), is_named))
}

/// One media range of the header.
struct Range {
    essence: String,
    is_excluded: bool,
}

impl Range {
    fn parse(text: &str) -> Self {
        let mut parts = text.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_excluded = parts.filter_map(|part| part.split_once('=')).any(|(name, value)| {
            name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0_f32)
        });
        Self { essence, is_excluded }
    }
}

/// Returns `true` if the most specific range for the media type accepts it.
fn is_acceptable(ranges: &[Range], media_type: &str) -> bool {
    let (main, _) = media_type.split_once('/').unwrap_or_default();
    [media_type, &format!("{main}/*"), "*/*"]
        .into_iter()
        .find_map(|essence| ranges.iter().find(|range| range.essence == essence))
        .is_some_and(|range| !range.is_excluded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(accept: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(ACCEPT, HeaderValue::from_static(value));
        }
        headers
    }

    fn text(headers: &HeaderMap) -> String {
        let all = headers.get_all(ACCEPT).iter().map(|one| one.to_str().unwrap());
        all.collect::<Vec<_>>().join(" and ")
    }

    #[test]
    fn media_ranges_cover_the_types_of_mcp() {
        let both = "application/json, text/event-stream";
        let unchanged = "application/json;q=0.5, text/event-stream";
        // Columns: the sent header, the header of a request for a stream, the header of a message, and the conversion
        // of the reply.
        for (accept, stream, message, accepted) in [
            (&["*/*"][..], both, both, AcceptedType::AsSent),
            (&["application/json, */*;q=0.1"], both, both, AcceptedType::AsSent),
            (&["application/*", "text/*"], both, both, AcceptedType::AsSent),
            (&["TEXT/*, Application/JSON"], both, both, AcceptedType::AsSent),
            (&["application/*"], "application/json", both, AcceptedType::Json),
            (&["*/*, text/event-stream;q=0"], "application/json", both, AcceptedType::Json),
            (&["*/*;q=0.000"], "", "*/*;q=0.000", AcceptedType::AsSent),
            (&["application/json"], "application/json", both, AcceptedType::Json),
            (
                &["text/event-stream, text/html"],
                "text/event-stream, text/html",
                both,
                AcceptedType::Events,
            ),
            // Headers with the names of both or neither remain unchanged.
            (&[unchanged], unchanged, unchanged, AcceptedType::AsSent),
            (&["text/html"], "text/html", "text/html", AcceptedType::AsSent),
            (&[], "", both, AcceptedType::AsSent),
        ] {
            let mut headers = with(accept);
            resolve_wildcards(&mut headers);
            assert_eq!(text(&headers), stream, "{accept:?}");
            let mut headers = with(accept);
            assert_eq!(AcceptedType::of_message(&mut headers), accepted, "{accept:?}");
            assert_eq!(text(&headers), message, "{accept:?}");
        }
    }
}
