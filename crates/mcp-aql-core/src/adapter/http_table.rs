//! The table `[http]` of the configuration file. The HTTP server reads it.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Settings for serving over HTTP, with the keys of the configuration file:
///
/// ```toml
/// [http]
/// address = "127.0.0.1:8787"
/// max_sessions = 1000
/// session_timeout_seconds = 3600
/// ```
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HttpTable {
    /// Address on which `serve` listens.
    pub address: Option<SocketAddr>,
    /// If `true`, the address may be reachable from other machines.
    pub allow_remote: Option<bool>,
    /// Additional accepted hosts.
    #[serde(default)]
    pub allow_hosts: Vec<String>,
    /// Additional accepted origins.
    #[serde(default)]
    pub allow_origins: Vec<String>,
    /// If `true`, a remote address needs no authenticator.
    pub insecure_anonymous: Option<bool>,
    /// If `true`, the server keeps no sessions.
    pub stateless: Option<bool>,
    /// Maximum number of sessions.
    pub max_sessions: Option<usize>,
    /// Maximum number of sessions per principal.
    pub max_sessions_per_principal: Option<usize>,
    /// Lifetime of an unused session.
    pub session_timeout_seconds: Option<u64>,
    /// Maximum time a client may take to make progress.
    pub client_timeout_seconds: Option<u64>,
    /// Maximum number of connections.
    pub max_connections: Option<usize>,
    /// Maximum total size of incomplete requests.
    pub max_inflight_mib: Option<usize>,
    /// How long finished replies are kept.
    pub reply_retention_seconds: Option<u64>,
    /// Maximum total size of kept replies.
    pub max_kept_replies_mib: Option<usize>,
    /// Maximum size of the kept replies of one session.
    pub max_kept_replies_per_session_mib: Option<usize>,
    /// Time between the signal to stop and the rejection of new calls.
    pub stop_delay_seconds: Option<u64>,
}

impl HttpTable {
    /// Valid numbers of sessions, connections and MiB.
    pub const COUNTS: RangeInclusive<i64> = 1..=1_000_000;
    /// Valid sizes of kept replies, in MiB.
    pub const REPLY_SIZES: RangeInclusive<i64> = 0..=1_000_000;
    /// Valid times for which replies are kept, in seconds.
    pub const REPLY_SECONDS: RangeInclusive<i64> = 0..=86_400;
    /// Valid lifetimes of a session, in seconds.
    pub const SESSION_SECONDS: RangeInclusive<i64> = 1..=2_592_000;
    /// Valid times in which clients must make progress, in seconds.
    pub const CLIENT_SECONDS: RangeInclusive<i64> = 1..=86_400;

    /// Valid times between the signal to stop and the rejection of calls, in seconds.
    pub const STOP_SECONDS: RangeInclusive<i64> = 0..=600;

    /// Adds a problem for each number out of range.
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
