//! The reasons why a request gets no response.

use std::time::Duration;

use crate::json_size::OBJECT_WEIGHT;

/// Maximum number of kept notifications, and of unrequested messages.
pub(super) const MAX_UNREQUESTED: usize = 10_000;
/// Maximum size of unrequested messages, in bytes.
pub(super) const MAX_UNREQUESTED_BYTES: usize = 2 << 20;

/// The error for a request without a response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoResponse {
    /// The adapter cannot be started or reached.
    #[error("the adapter cannot be reached: {0}")]
    Unreachable(String),
    /// The other side closed the connection.
    #[error("the adapter closed the connection: {0}")]
    Closed(String),
    /// The response did not arrive within the time limit.
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The adapter did not start within the time limit.
    #[error(
        "no answer to `initialize` within {} ms, three times the time limit of a request: raise that limit \
         with `--timeout SECONDS`, or with `request_seconds` under [limits] in the configuration file",
        .0.as_millis()
    )]
    SlowStart(Duration),
    /// The time of the run was over. The message explains how to allow more.
    #[error("{0}")]
    OutOfTime(String),
    /// A message exceeds the maximum length.
    #[error("a message of more than {0} bytes")]
    TooLong(usize),
    /// The adapter sends too many unrequested messages.
    #[error(
        "too many unrequested messages: more than {MAX_UNREQUESTED} or {MAX_UNREQUESTED_BYTES} \
         bytes"
    )]
    Flooded,
    /// A message has too many values.
    #[error(
        "a message with too many values: more than {0}, where an object counts as {OBJECT_WEIGHT}"
    )]
    TooMany(usize),
    /// The HTTP server rejected the message.
    #[error("HTTP status {0}{hint}", hint = hint(*.0))]
    Status(u16),
    /// The HTTP server redirects to another URL.
    #[error("HTTP status {0}: redirects are not followed; use the URL `{1}` if you trust it")]
    Redirected(u16, String),
    /// The HTTP reply is not MCP.
    #[error("the HTTP reply is not an MCP message: {0}")]
    Unfit(String),
}

/// Returns a hint for an HTTP status.
const fn hint(status: u16) -> &'static str {
    match status {
        401 | 403 => ": set credentials with `--header` or `[headers]`",
        404 | 405 => ": no MCP server was found at this path",
        _ => "",
    }
}
