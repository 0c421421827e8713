//! Why a server gave no answer, in words of our own.

use std::fmt;
use std::time::Duration;

/// Why a server gave no answer. What is shown of it are fixed words: what a server says of its faults may
/// hold a password, or be written for the model that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "some happen over HTTP alone"))]
pub(crate) enum Failure {
    /// It did not answer in this time.
    Timeout(Duration),
    /// Nobody listens where it should.
    Refused,
    /// It wants another credential than the configured one, or any.
    Unauthorized,
    /// Its certificate is not trusted.
    Untrusted,
    /// It sends requests on to another server.
    Redirected,
    /// It would be asked without encryption over a network.
    Plain,
    /// Its command is not there, ends at once, or does not finish its start in time.
    FailedToStart,
    /// It ended, or hung up, while it was asked.
    Exited,
    /// What it sent is not MCP, or it answered with a JSON-RPC error.
    Protocol,
    /// It, or what stands before it, says over HTTP that it cannot answer now.
    ServerError,
    /// It is asked too often, it says.
    RateLimited,
    /// The tool said that it failed.
    Tool,
    /// It sent more than may be sent.
    TooLarge,
    /// Other calls of ours are in the way: it was not asked.
    Busy,
    /// It failed several times in a row, and is left alone for a while.
    CircuitOpen,
    /// It is still starting.
    Starting,
    /// It has no tool that can be asked.
    NoQueryTool,
    /// It is an aggregator that the query came through already.
    Loop,
    /// The aggregator is closing.
    Closed,
}

impl Failure {
    /// The name under which failures of this kind are counted.
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

    /// Whether another call would likely meet the same: a server that refuses one call is alive.
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
            Self::Redirected => "redirect refused",
            Self::Plain => "plain http refused",
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

/// `3s`, `1.5s`, `250ms`.
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
