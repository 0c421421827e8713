//! The failures of a server, in a fixed wording.

use std::fmt;
use std::time::Duration;

/// The reason why a server returned no answer.
///
/// The displayed message is fixed. A server's own message may contain a password, or address the
/// model that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub(crate) enum Failure {
    /// The server did not answer within this time.
    Timeout(Duration),
    /// No process listens at the address.
    Refused,
    /// The server requires a credential, or rejects the configured one.
    Unauthorized,
    /// The server's certificate is not trusted.
    Untrusted,
    /// The server redirects to another server.
    Redirected,
    /// The connection would be unencrypted over a network.
    Plain,
    /// The command does not exist, exits at once, or does not finish its start in time.
    FailedToStart,
    /// The server exited or closed the connection during the call.
    Exited,
    /// The server sent an invalid message or answered with a JSON-RPC error.
    Protocol,
    /// The server or a gateway reports over HTTP that it cannot answer.
    ServerError,
    /// The server reports that it receives too many requests.
    RateLimited,
    /// The tool reported an error.
    Tool,
    /// The server sent more than the maximum size.
    TooLarge,
    /// The maximum number of concurrent calls is reached; the server was not called.
    Busy,
    /// The server failed several times in a row and is not called for a while.
    CircuitOpen,
    /// The server is still starting.
    Starting,
    /// The server has no search tool.
    NoQueryTool,
    /// The server is an aggregator that the query has already passed through.
    Loop,
    /// The aggregator is closing.
    Closed,
}

impl Failure {
    /// Returns the name under which failures of this kind are counted.
    #[must_use]
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Timeout(_) => "timeout",
            Self::Refused => "refused",
            Self::Unauthorized => "unauthorized",
            Self::Untrusted => "untrusted",
            Self::Redirected => "redirected",
            Self::Plain => "plain",
            Self::FailedToStart => "failedToStart",
            Self::Exited => "exited",
            Self::Protocol => "protocol",
            Self::ServerError => "serverError",
            Self::RateLimited => "rateLimited",
            Self::Tool => "tool",
            Self::TooLarge => "tooLarge",
            Self::Busy => "busy",
            Self::CircuitOpen => "circuitOpen",
            Self::Starting => "starting",
            Self::NoQueryTool => "noQueryTool",
            Self::Loop => "loop",
            Self::Closed => "closed",
        }
    }

    /// Returns `true` if another call would probably fail in the same way. A rejected call does not
    /// count, because the server is alive.
    pub(crate) const fn is_of_server(&self) -> bool {
        matches!(
            self,
            Self::Timeout(_)
                | Self::Refused
                | Self::Unauthorized
                | Self::Untrusted
                | Self::Redirected
                | Self::Exited
                | Self::ServerError
                | Self::RateLimited
                | Self::TooLarge
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Timeout(limit) => return write!(formatter, "timeout after {}", Seconds(*limit)),
            Self::Refused => "connection refused",
            Self::Unauthorized => "not authorized",
            Self::Untrusted => "certificate not trusted",
            Self::Redirected => "redirect rejected",
            Self::Plain => "plain http rejected",
            Self::FailedToStart => "failed to start",
            Self::Exited => "exited",
            Self::Protocol => "protocol error",
            Self::ServerError => "server error",
            Self::RateLimited => "rate limited",
            Self::Tool => "tool error",
            Self::TooLarge => "response too large",
            Self::Busy => "too many calls at once",
            Self::CircuitOpen => "circuit open",
            Self::Starting => "still starting",
            Self::NoQueryTool => "no query tool",
            Self::Loop => "loop of aggregators",
            Self::Closed => "closed",
        })
    }
}

impl std::error::Error for Failure {}

/// Formats a duration, for example `3s`, `1.5s` or `250ms`.
pub(super) struct Seconds(pub(super) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        match millis {
            ..1000 => write!(formatter, "{millis}ms"),
            _ if millis.is_multiple_of(1000) => write!(formatter, "{}s", millis / 1000),
            _ => write!(formatter, "{}s", self.0.as_millis() as f64 / 1000.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // REQ-AGR-09
    #[test]
    fn the_words_are_fixed() {
        let after = |millis| Failure::Timeout(Duration::from_millis(millis)).to_string();
        assert_eq!(after(3000), "timeout after 3s");
        assert_eq!(after(1500), "timeout after 1.5s");
        assert_eq!(after(250), "timeout after 250ms");
        assert_eq!(Failure::Refused.to_string(), "connection refused");
        assert_eq!(Failure::TooLarge.to_string(), "response too large");
    }
}
