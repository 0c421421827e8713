//! The settings of serving over HTTP: the table `[http]` of the configuration file, the flags of `serve`, and the
//! values that a program sets. The HTTP server reads them.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use super::Settings;
use super::declaration::{Declaration, declare};
use crate::config::key::{Key, ValueKind};
use crate::config::setting::ConfigSources;

/// Upper bound of settings that count sessions, connections or MiB.
const MAX_COUNT: u64 = 1_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

macro_rules! http_settings {
    ($(
        $(#[doc = $doc:literal])+
        $field:ident: $type:ty = $default:expr, $key:expr;
    )+) => {
        /// Settings of serving over HTTP. Each is also a key of the table `[http]` in the configuration file and a flag
        /// of `serve`. Both override the value of your program.
        ///
        /// ```
        /// use std::time::Duration;
        ///
        /// use mcp_aql::HttpOptions;
        /// use mcp_aql::transport::HttpSettings;
        ///
        /// let options = HttpOptions::new().settings(HttpSettings {
        ///     max_sessions: 200,
        ///     stop_delay: Duration::from_secs(10),
        ///     ..HttpSettings::default()
        /// });
        /// ```
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct HttpSettings {
            $(
                $(#[doc = $doc])+
                #[doc = ""]
                #[doc = concat!(" Default: `", stringify!($default), "`.")]
                pub $field: $type,
            )+
        }

        impl Default for HttpSettings {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }

        /// The keys of the table `[http]`.
        pub(super) const HTTP_KEYS: &[Declaration] = &[
            $(declare($key.doc(&[$($doc),+]), |settings| &mut settings.http.$field)),+
        ];
    };
}

http_settings! {
    /// Address on which `serve` listens: a port of this machine, such as 8787, or 127.0.0.1:8787. The endpoint is `/mcp`.
    ///
    /// Only the command line reads this address. Your program passes its own to `serve_http`.
    address: Option<SocketAddr> = None, Key::new("http.address", ValueKind::Text)
        .flag("--http", "ADDRESS")
        .variable("MCP_AQL_HTTP_ADDRESS")
        .default("standard input and output")
        .example("\"127.0.0.1:8787\"");

    /// Accept requests to this host in addition to loopback.
    ///
    /// For example `tasks.example.org`, or `tasks.example.org:8443` with a port.
    allow_hosts: Vec<String> = Vec::new(), Key::new("http.allow_hosts", ValueKind::List)
        .flag("--allow-host", "HOST");

    /// Accept web pages of this origin in addition to loopback: scheme, host and port.
    ///
    /// For example `https://app.example.org`, or `https://app.example.org:*` for any port. Browsers also need CORS
    /// headers. To send them, add a layer to the router of the adapter.
    allow_origins: Vec<String> = Vec::new(), Key::new("http.allow_origins", ValueKind::List)
        .flag("--allow-origin", "ORIGIN");

    /// Listen on an address that other machines can reach.
    ///
    /// You must also allow the host names that they use.
    allow_remote: bool = false, Key::new("http.allow_remote", ValueKind::Switch)
        .flag("--allow-remote", "");

    /// Let everybody who reaches the address call every operation.
    ///
    /// Use this only if a proxy or the network authenticates callers.
    insecure_anonymous: bool = false, Key::new("http.insecure_anonymous", ValueKind::Switch)
        .flag("--insecure-anonymous", "");

    /// Keep no sessions.
    ///
    /// Otherwise, clients of MCP versions before 2026-07-28 have a session. Later versions have no sessions over HTTP,
    /// regardless of this setting.
    stateless: bool = false, Key::new("http.stateless", ValueKind::Switch)
        .flag("--stateless", "");

    /// Maximum number of sessions; the least recently used idle session is evicted.
    ///
    /// Sessions without any request since `initialize` are evicted first if they hold more than an eighth of the limit.
    /// The client of an evicted session receives 404 for its next request, and opens a new session as MCP requires.
    ///
    /// A session is idle if it has no running call or execution and no executing agent, and its client reads no reply
    /// and no stream of events. If no session is idle, a new client receives HTTP's 503 with `Retry-After` and
    /// JSON-RPC's error -32000.
    ///
    /// A session takes about 65 KiB, or 105 KiB with the replies to ten changes, plus the state that your operations
    /// keep in it.
    max_sessions: usize = 1_000, Key::new("http.max_sessions", ValueKind::Number(""))
        .range(1, MAX_COUNT)
        .session_flag("--max-sessions", "N");

    /// Maximum number of sessions of one authenticated caller; an idle session of the caller is evicted.
    ///
    /// One caller then cannot use up all of `max_sessions`. Callers without a principal have no limit of their own. If
    /// no session of the caller is idle, the caller receives HTTP's 429 with `Retry-After` and JSON-RPC's error -32000.
    /// The sessions of other callers are not affected.
    max_sessions_per_principal: usize = 100,
        Key::new("http.max_sessions_per_principal", ValueKind::Number(""))
            .range(1, MAX_COUNT)
            .session_flag("--max-sessions-per-principal", "N");

    /// Time after which an unused session ends.
    ///
    /// A session may last up to one eighth longer. The start of a call counts as use. A READ call without progress
    /// counts as use while it runs.
    session_timeout: Duration = Duration::from_secs(1_800),
        Key::new("http.session_timeout_seconds", ValueKind::Number("seconds"))
            .range(1, 30 * SECONDS_PER_DAY)
            .session_flag("--session-timeout", "SECONDS");

    /// Time after which a slow or idle client is closed.
    ///
    /// The connection of a client is closed if sending the headers or the body of a request takes longer (status 408),
    /// if the client does not read its answer for this long, or if the connection is idle for this long. This timeout
    /// does not affect operations: use the builder's `time_limit` to limit their duration.
    ///
    /// The router of an adapter applies the timeout to bodies only, because the connections belong to your server.
    client_timeout: Duration = Duration::from_secs(30),
        Key::new("http.client_timeout_seconds", ValueKind::Number("seconds"))
            .range(1, SECONDS_PER_DAY)
            .flag("--client-timeout", "SECONDS");

    /// Maximum number of open connections; the longest idle connection is closed.
    ///
    /// On Unix, the limit on open files may lower this value: to that limit minus 160, or to a quarter of it if this is
    /// more. The other descriptors remain for the operator console, stores and logs.
    ///
    /// If no connection is idle, because every one serves a request or a stream of events, a new client waits. After at
    /// most `client_timeout`, its connection is closed. The router of an adapter is not affected, because the
    /// connections belong to your server.
    max_connections: usize = 1_000, Key::new("http.max_connections", ValueKind::Number(""))
        .range(1, MAX_COUNT)
        .flag("--max-connections", "N");

    /// Maximum total size of the requests being received; the oldest incomplete request is aborted with 503.
    ///
    /// The value of a program is a number of bytes. The limit is never less than the maximum size of one request. The
    /// 503 has `Retry-After` and JSON-RPC's error -32000. If all other requests are complete, the new one is rejected
    /// in the same way.
    max_inflight_bytes: usize = 64 << 20, Key::new("http.max_inflight_mib", ValueKind::Number("MiB"))
        .range(1, MAX_COUNT)
        .flag("--max-inflight", "MIB");

    /// Time for which calls are still served after the signal to stop, while `/readyz` is 503.
    ///
    /// Use this behind a load balancer: it then sends its requests to other processes before this one rejects them.
    /// Afterwards the listener is closed. Calls on open connections are rejected half a second later, when requests on
    /// the last connections have arrived. Without a delay, connections are accepted until the end.
    stop_delay: Duration = Duration::ZERO,
        Key::new("http.stop_delay_seconds", ValueKind::Number("seconds"))
            .range(0, 600)
            .flag("--stop-delay", "SECONDS");

    /// Time for which the reply to a finished call is kept, for a client that has lost its connection.
    ///
    /// A reply is never kept longer than its session. The client fetches it with `Last-Event-ID`. Replies sent as
    /// events are kept: those to calls that change something or request progress, and those to READ calls longer than
    /// two seconds. A client that resumes a reply that is no longer kept receives an error as the answer to its
    /// request.
    reply_retention: Duration = Duration::from_secs(300),
        Key::new("http.reply_retention_seconds", ValueKind::Number("seconds"))
            .range(0, SECONDS_PER_DAY)
            .session_flag("--reply-retention", "SECONDS");

    /// Maximum total size of the kept replies of all sessions; the oldest replies are dropped.
    ///
    /// The value of a program is a number of bytes. Each reply counts with its length plus 1 KiB. With 0, no finished
    /// reply is kept. The events of running calls are not included; there are at most 64 for each call.
    max_kept_reply_bytes: usize = 16 << 20,
        Key::new("http.max_kept_replies_mib", ValueKind::Number("MiB"))
            .range(0, MAX_COUNT)
            .session_flag("--max-kept-replies", "MIB");

    /// Maximum total size of the kept replies of one session; the oldest replies are dropped.
    ///
    /// The value of a program is a number of bytes. One session then cannot use up all of `max_kept_reply_bytes`. A
    /// reply larger than the limit is not kept.
    max_kept_reply_bytes_per_session: usize = 4 << 20,
        Key::new("http.max_kept_replies_per_session_mib", ValueKind::Number("MiB"))
            .range(0, MAX_COUNT)
            .session_flag("--max-kept-replies-per-session", "MIB");
}

impl HttpSettings {
    /// Replaces the values that a configuration file, the environment or a flag has set. Lists are extended.
    #[doc(hidden)]
    pub fn override_with(&mut self, configured: &Self, sources: &ConfigSources) {
        let with = |http| Settings { http, ..Settings::default() };
        let mut configured = with(configured.clone());
        let mut own = with(std::mem::take(self));
        for declaration in HTTP_KEYS {
            if sources.of(declaration.key.path).next().is_some() {
                let value = declaration.raw_value(&mut configured);
                // The value comes from a field of the same type, so it is valid.
                _ = declaration.set_raw(&mut own, value, Path::new(""));
            }
        }
        *self = own.http;
    }

    /// Returns a problem for each number out of range. Your program can also set fractions of a second and of a MiB.
    #[doc(hidden)]
    pub fn problems(&self) -> Vec<String> {
        let mut settings = Settings { http: self.clone(), ..Settings::default() };
        let problem = |declaration: &Declaration| {
            let value = declaration.value(&mut settings);
            let fraction = value.as_f64().filter(|_| value.is_f64());
            let rounded = fraction.map_or(value, |fraction| fraction.ceil().into());
            declaration.key.range_problem(&rounded)
        };
        HTTP_KEYS.iter().filter_map(problem).collect()
    }
}
