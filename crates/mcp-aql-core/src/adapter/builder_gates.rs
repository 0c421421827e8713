//! Builder methods for access, gates, audit logs and observers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::AdapterBuilder;
use crate::config::access::Access;
use crate::config::file_access::SettingPath;
use crate::gatekeeper::{self, Policy, Trust};
use crate::observe::audit::{AuditObserver, AuditSink};
use crate::observe::call_event::CallEvent;
use crate::observe::call_tracer::CallTracer;
use crate::rate_limits::{LimitsExtension, RateLimits};

impl AdapterBuilder {
    /// Sets the scopes that authenticated callers need.
    pub fn access(mut self, access: Access) -> Self {
        self.settings.access = access;
        self
    }

    /// Adds a rule to the gatekeeper. Rules of the configuration file are added to yours (REQ-GATE-04, REQ-GATE-05).
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings.gate.policies.push(policy);
        self
    }

    /// Sets the trust level of the adapter. It activates the matrix of trust and danger. Without a trust level, calls
    /// of operations with the danger level `destructive` or higher require a confirmation (REQ-DNG-06, REQ-DNG-13).
    pub fn trust(mut self, trust: Trust) -> Self {
        self.settings.gate.trust = Some(trust);
        self
    }

    /// Sets the lifetime of confirmation tokens: 1 second to 15 minutes, and at most 5 minutes for `forbidden`
    /// operations. Default: 5 minutes, and 2 minutes for `forbidden` operations (REQ-TOK-08).
    pub fn confirmation_ttl(mut self, ttl: Duration) -> Self {
        self.settings.gate.confirmation_ttl = Some(gatekeeper::delta(ttl));
        self
    }

    /// Sets how long a confirmation token is still accepted after its expiry, to compensate for clock differences: up
    /// to 300 seconds. Default: 30 seconds. Zero disables the tolerance (REQ-TOK-09).
    pub fn clock_skew_tolerance(mut self, tolerance: Duration) -> Self {
        self.settings.gate.skew = gatekeeper::delta(tolerance);
        self
    }

    /// Sets the maximum number of confirmation tokens per session and minute. A session may present a quarter as many
    /// invalid tokens. Further calls fail with `RATE_LIMIT_EXCEEDED`. Default: 120 (REQ-TOK-17).
    pub fn confirmations_per_minute(mut self, count: usize) -> Self {
        self.settings.gate.per_minute = count;
        self
    }

    /// Sets the maximum number of confirmation tokens per minute for all callers without a session together, such as
    /// stateless HTTP clients. They may present a quarter as many invalid tokens. Defaults to the limit of one session,
    /// see [`confirmations_per_minute`](Self::confirmations_per_minute) (REQ-TOK-17).
    ///
    /// Raise it if many independent callers share the adapter, because one of them can use up the confirmations of the
    /// others. Authenticated callers are counted separately, like sessions.
    ///
    /// ```
    /// # fn main() -> mcp_aql::Result<()> {
    /// let adapter = mcp_aql::Adapter::builder("empty")
    ///     .confirmations_per_minute(20)
    ///     .confirmations_per_minute_without_session(2_000)
    ///     .build()?;
    /// # Ok(()) }
    /// ```
    pub fn confirmations_per_minute_without_session(mut self, count: usize) -> Self {
        self.settings.gate.per_minute_without_session = Some(count);
        self
    }

    /// If `true`, the adapter asks users for confirmations through their clients, if a client can show a question. If
    /// `false`, every confirmation needs a token. Default: `true`.
    pub fn elicitation(mut self, on: bool) -> Self {
        self.settings.gate.elicits = on;
        self
    }

    /// Appends the audit log to this file. The file is created if it does not exist. A relative path is resolved
    /// against the working directory. Symbolic links below that directory are not followed, because a client may start
    /// the server in a project of another person.
    pub fn audit_log(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.audit_log = Some(SettingPath::new(Path::new(""), path));
        self
    }

    /// If `true`, the store keeps the audit log too. Default: `false`. Entries are kept forever, unless you set a time
    /// with [`audit_retention`](Self::audit_retention). A store in memory grows with the log.
    pub fn audit_in_store(mut self, on: bool) -> Self {
        self.settings.audit_in_store = on;
        self
    }

    /// Sets how long the store keeps an entry of the audit log. Default: forever (REQ-GATE-09).
    pub fn audit_retention(mut self, keep: Duration) -> Self {
        self.settings.audit_retention = Some(gatekeeper::delta(keep));
        self
    }

    /// Sends the lines of the audit log to this sink, in addition to `tracing`.
    pub fn audit_sink(mut self, sink: impl AuditSink) -> Self {
        self.audit_sinks.push(Arc::new(sink));
        self
    }

    /// Calls your function after each call, including rejected ones, and at the end of each execution. Use it for your
    /// own metrics and audit logs.
    ///
    /// The function must return quickly, because the reply waits for it. For slow work, send the data you need through
    /// a channel. An adapter without observers measures nothing.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use mcp_aql::Adapter;
    /// use mcp_aql::observe::CallOutcome;
    /// use serde_json::json;
    ///
    /// # fn main() -> mcp_aql::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let failures = Arc::new(AtomicU64::new(0));
    /// let counter = Arc::clone(&failures);
    /// let adapter = Adapter::builder("empty")
    ///     .observe(move |event| {
    ///         if event.outcome == CallOutcome::Failed {
    ///             counter.fetch_add(1, Ordering::Relaxed);
    ///         }
    ///     })
    ///     .build()?;
    /// adapter.call("delete_everything", json!({})).await;
    /// assert_eq!(failures.load(Ordering::Relaxed), 1);
    /// # Ok(()) }) }
    /// ```
    pub fn observe(mut self, observer: impl Fn(&CallEvent<'_>) + Send + Sync + 'static) -> Self {
        self.observers.add(observer);
        self
    }

    /// Sets rate limits and quotas, which are counted in the [store](Self::store). Default: none
    /// (REQ-RATE-01).
    pub fn rate_limits(self, limits: RateLimits) -> Self {
        self.extension(LimitsExtension(Some(limits)))
    }

    /// Sets the tracer and the observer of its metrics. They replace an earlier tracer.
    #[doc(hidden)]
    pub fn tracer<T: CallTracer + AuditObserver>(mut self, tracer: Arc<T>) -> Self {
        self.audit_observers = vec![Arc::clone(&tracer) as _];
        self.observers.set_tracer(tracer);
        self
    }
}
