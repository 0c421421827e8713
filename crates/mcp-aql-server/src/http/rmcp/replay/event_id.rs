//! The ids of events. Clients send them as `Last-Event-ID` after losing their connection.
//!
//! An id contains its session and its request. A client that waits for a reply can therefore be answered even if
//! neither the reply nor the session exists any longer. This is necessary because several clients do not treat a failed
//! reconnection as the end of their request.

use std::fmt;

/// Maximum length of a request's id to be included in event ids, in bytes.
const MAX_REQUEST_ID_BYTES: usize = 256;
/// Number of characters of a session's id included in event ids.
const SESSION_CHARS: usize = 8;
/// The stream of events that belong to no request.
const STANDALONE: &str = "events";
/// The position after the answer to a request.
const END: &str = "end";

/// A stream of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamId {
    /// The first characters of the session's id.
    session: Box<str>,
    /// The number of the request's call, or `None` for events that belong to no request.
    pub(crate) call: Option<i64>,
    /// The id of the request in canonical form, unless it is too long.
    pub(crate) request: Option<Box<str>>,
}

/// The id of an event in a stream: `NEXT/CALL/SESSION/REQUEST`. The last part is missing if the request is unknown.
///
/// ```text
/// 3/7/5f0c2a9e/12      before event 3 of the reply to call 7, which has the request id 12
/// end/7/5f0c2a9e/12    the answer
/// 0/events/5f0c2a9e    before event 0 of the session's own stream
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventId {
    /// The number of the next event of the stream, or `None` after the answer to the request.
    pub(crate) next: Option<usize>,
    pub(crate) stream: StreamId,
}

impl StreamId {
    /// Creates the id of the stream for a session's events that belong to no request.
    pub(crate) fn standalone(session: &str) -> Self {
        Self { session: start_of(session), call: None, request: None }
    }

    /// Creates the id of the stream for the reply to a request.
    pub(crate) fn of_call(session: &str, call: i64, request: &str) -> Self {
        let request = (request.len() <= MAX_REQUEST_ID_BYTES).then(|| request.into());
        Self { session: start_of(session), call: Some(call), request }
    }

    /// Returns `true` if the stream belongs to this session.
    pub(crate) fn is_of(&self, session: &str) -> bool {
        self.session == start_of(session)
    }

    /// Returns the id of the event before the one with the number `next`. If `next` is `None`, returns the id of the
    /// answer.
    pub(crate) fn event(&self, next: Option<usize>) -> EventId {
        EventId { next, stream: self.clone() }
    }
}

impl EventId {
    /// Parses an id. Returns `None` for ids in another format, for example those of other servers.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let mut parts = id.splitn(4, '/');
        let next = match parts.next()? {
            END => None,
            next => Some(next.parse().ok()?),
        };
        let call = match parts.next()? {
            STANDALONE => None,
            call => Some(call.parse().ok()?),
        };
        let session = parts.next()?.into();
        let request = match parts.next() {
            Some(request) => Some(decode(request)?.into()),
            None => None,
        };
        Some(Self { next, stream: StreamId { session, call, request } })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.next {
            Some(next) => write!(formatter, "{next}/")?,
            None => write!(formatter, "{END}/")?,
        }
        match self.stream.call {
            Some(call) => write!(formatter, "{call}/{}", self.stream.session)?,
            None => write!(formatter, "{STANDALONE}/{}", self.stream.session)?,
        }
        let Some(request) = &self.stream.request else { return Ok(()) };
        formatter.write_str("/")?;
        for byte in request.bytes() {
            match byte {
                b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' | b'.' => {
                    write!(formatter, "{}", char::from(byte))?;
                }
                _ => write!(formatter, "%{byte:02X}")?,
            }
        }
        Ok(())
    }
}

fn start_of(session: &str) -> Box<str> {
    session.chars().take(SESSION_CHARS).collect()
}

/// Decodes a percent-encoded string.
fn decode(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut decoded = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(2)?;
        decoded.push(u8::from_str_radix(code, 16).ok()?);
        decoded.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_names_its_request() {
        let stream = StreamId::of_call("5f0c2a9e-41d7-4c1b", 7, "\"a b/\u{e9}\"");
        let id = stream.event(Some(3)).to_string();
        assert_eq!(id, "3/7/5f0c2a9e/%22a%20b%2F%C3%A9%22");
        assert_eq!(EventId::parse(&id), Some(stream.event(Some(3))));
        assert!(stream.is_of("5f0c2a9e-41d7-4c1b") && !stream.is_of("5f0c2a9f-41d7-4c1b"));
        let end = StreamId::of_call("5f0c2a9e-41d7-4c1b", 7, "12").event(None);
        assert_eq!(end.to_string(), "end/7/5f0c2a9e/12");
        assert_eq!(
            StreamId::standalone("5f0c2a9e").event(Some(0)).to_string(),
            "0/events/5f0c2a9e"
        );
    }

    #[test]
    fn the_id_of_a_long_request_id_is_short() {
        let stream = StreamId::of_call("s", 1, &"9".repeat(MAX_REQUEST_ID_BYTES + 1));
        assert_eq!(stream.event(Some(1)).to_string(), "1/1/s");
    }

    #[test]
    fn other_ids_are_not_accepted() {
        for id in [
            "",
            "0",
            "0/7",
            "x/7/s",
            "0/x/s",
            "-1/7/s",
            "0/7/s/%",
            "0/7/s/%2",
            "0/7/s/%zz",
            "0/7/s/%FF",
        ] {
            assert_eq!(EventId::parse(id), None, "{id}");
        }
    }

    proptest! {
        #[test]
        fn ids_are_headers_and_come_back(
            next in proptest::option::of(0_usize..100), call in proptest::option::of(0_i64..100), request in "\\PC{0,20}",
        ) {
            let mut stream = StreamId::of_call("0123456789", 0, &request);
            stream.call = call;
            let id = stream.event(next);
            let text = id.to_string();
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(EventId::parse(&text), Some(id));
        }

        #[test]
        fn any_text_is_parsed_without_a_panic(text in "\\PC{0,40}") {
            let _ = EventId::parse(&text);
        }
    }
}
