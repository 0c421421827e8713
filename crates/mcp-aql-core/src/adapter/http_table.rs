//! The table `[http]` of the configuration file, which the HTTP server reads.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// The settings of serving over HTTP, as they are in the configuration file.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HttpTable {
    /// The address on which `serve` listens.
    pub address: Option<SocketAddr>,
    /// Whether the address may be one that other machines reach.
    pub allow_remote: Option<bool>,
    /// Further accepted hosts.
    #[serde(default)]
    pub allow_hosts: Vec<String>,
    /// Further accepted origins.
    #[serde(default)]
    pub allow_origins: Vec<String>,
    /// Whether a remote address needs no authenticator.
    pub insecure_anonymous: Option<bool>,
    /// Whether no sessions are kept.
    pub stateless: Option<bool>,
    /// The maximum number of sessions.
    pub max_sessions: Option<usize>,
    /// The maximum number of sessions of one principal.
    pub max_sessions_per_principal: Option<usize>,
    /// The lifetime of an unused session.
    pub session_timeout_seconds: Option<u64>,
    /// The time within which clients must make progress.
    pub client_timeout_seconds: Option<u64>,
    /// The maximum number of connections.
    pub max_connections: Option<usize>,
    /// The maximum size of all incomplete requests.
    pub max_inflight_mib: Option<usize>,
    /// The time for which finished replies are kept.
    pub reply_retention_seconds: Option<u64>,
    /// The maximum size of all kept replies.
    pub max_kept_replies_mib: Option<usize>,
    /// The maximum size of the kept replies of one session.
    pub max_kept_replies_per_session_mib: Option<usize>,
    /// The time between the signal to stop and the refusal of calls.
    pub stop_delay_seconds: Option<u64>,
}

impl HttpTable {
    /// The valid numbers of sessions, connections and MiB.
    pub const COUNTS: RangeInclusive<i64> = 1..=1_000_000;
    /// The valid sizes of kept replies, in MiB.
    pub const REPLY_SIZES: RangeInclusive<i64> = 0..=1_000_000;
    /// The valid seconds for which replies are kept.
    pub const REPLY_SECONDS: RangeInclusive<i64> = 0..=86_400;
    /// The valid seconds of a session's lifetime.
    pub const SESSION_SECONDS: RangeInclusive<i64> = 1..=2_592_000;
    /// The valid seconds in which clients must make progress.
    pub const CLIENT_SECONDS: RangeInclusive<i64> = 1..=86_400;

    /// The valid seconds between the signal to stop and the refusal of calls.
    pub const STOP_SECONDS: RangeInclusive<i64> = 0..=600;

    /// Reports numbers outside of their ranges.
    pub(super) fn check(&self, problems: &mut Vec<String>) {
        let count = |value: Option<usize>| value.map(|value| value as u64);
        for (key, value, range) in [
            ("max_sessions", count(self.max_sessions), Self::COUNTS),
            ("max_sessions_per_principal", count(self.max_sessions_per_principal), Self::COUNTS),
            ("max_connections", count(self.max_connections), Self::COUNTS),
            ("max_inflight_mib", count(self.max_inflight_mib), Self::COUNTS),
            ("max_kept_replies_mib", count(self.max_kept_replies_mib), Self::REPLY_SIZES),
            (
                "max_kept_replies_per_session_mib",
                count(self.max_kept_replies_per_session_mib),
                Self::REPLY_SIZES,
            ),
            ("reply_retention_seconds", self.reply_retention_seconds, Self::REPLY_SECONDS),
            ("session_timeout_seconds", self.session_timeout_seconds, Self::SESSION_SECONDS),
            ("client_timeout_seconds", self.client_timeout_seconds, Self::CLIENT_SECONDS),
            ("stop_delay_seconds", self.stop_delay_seconds, Self::STOP_SECONDS),
        ] {
            let is_valid =
                |value: u64| i64::try_from(value).is_ok_and(|value| range.contains(&value));
            if let Some(value) = value.filter(|value| !is_valid(*value)) {
                let (first, last) = (range.start(), range.end());
                problems.push(format!("`http.{key}` is {value}: choose {first} to {last}"));
            }
        }
    }
}
