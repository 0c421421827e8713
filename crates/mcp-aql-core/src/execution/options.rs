//! The options of executions.

use std::time::Duration;

/// Options for executions, the background calls of operations with `lifecycle(…)`. Pass them to
/// [`AdapterBuilder::executions`](crate::AdapterBuilder::executions).
///
/// ```
/// use std::time::Duration;
/// use mcp_aql::{Adapter, ExecutionOptions};
///
/// # fn main() -> mcp_aql::Result<()> {
/// let options = ExecutionOptions::new()
///     .grace(Duration::from_secs(20))
///     .keep(Duration::from_secs(7 * 24 * 60 * 60));
/// let adapter = Adapter::builder("exports").executions(options).build()?;
/// # Ok(()) }
/// ```
///
/// In the configuration file, the durations are numbers of seconds:
///
/// ```toml
/// [executions]
/// wait_seconds = 30
/// grace_seconds = 5
/// lease_seconds = 10
/// keep_seconds = 86400
/// keep_bytes = 268435456
/// keep_bytes_per_caller = 33554432
/// max_running = 256
/// max_running_per_session = 32
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutionOptions {
    pub(crate) wait: Duration,
    pub(crate) grace: Duration,
    pub(crate) lease: Duration,
    pub(crate) keep: Duration,
    pub(crate) keep_bytes: u64,
    pub(crate) keep_bytes_per_caller: u64,
    pub(crate) max_running: usize,
    pub(crate) max_running_per_session: usize,
}

impl Default for ExecutionOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl ExecutionOptions {
    /// Creates options with the default values.
    pub const fn new() -> Self {
        Self {
            wait: Duration::from_secs(30),
            grace: Duration::from_secs(5),
            lease: Duration::from_secs(10),
            keep: Duration::from_secs(24 * 60 * 60),
            keep_bytes: 256 << 20,
            keep_bytes_per_caller: 32 << 20,
            max_running: 256,
            max_running_per_session: 32,
        }
    }

    /// Sets how long a call waits for the end of the execution it has started. A call waits only if it requests
    /// progress. Other calls return the execution's state immediately. Default: 30 seconds. Range: 0 to 10 minutes.
    /// Set it to 0 if you want every call to return immediately.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Sets the grace period: how long a function may continue after a request to stop, before it is dropped. Default:
    /// 5 seconds. Range: 0 to 5 minutes.
    ///
    /// A function can only be dropped while it awaits. A function that computes without yielding, or blocks its thread,
    /// continues although its execution counts as canceled. In such a function, check
    /// [`is_cancelled`](crate::ExecutionContext::is_cancelled), or run the work in a task that you can stop.
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how long a process owns an execution before it must renew its ownership. If a process crashes, its
    /// executions count as failed after this time. Default: 10 seconds. Range: 1 second to 1 hour. If you choose a
    /// shorter time, crashes are noticed earlier, but the store is written more often.
    #[must_use]
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets how long an execution can be read after it has ended. Default: 24 hours. Range: 1 minute to 1 year.
    #[must_use]
    pub const fn keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    /// Sets the maximum size of stored outputs. Outputs are the results of ended executions, and the parameters for
    /// retries. Default: 256 MiB. Range: 1 MiB to 1 TiB.
    ///
    /// Beyond this size, outputs are dropped before the time of [`keep`](Self::keep) is over, beginning with the oldest
    /// outputs of the callers that use the most. The newest output is always kept. You can still read the state of an
    /// execution without its output: a completed one has `result_dropped: true`, and a retry of a failed one is
    /// rejected.
    ///
    /// The records of ended executions have the same limits, separately from the outputs. Each counts as at least 4 KiB,
    /// so by default the newest 8,192 of a caller are kept. Beyond the limits, the oldest executions are removed.
    ///
    /// To save reads of the store, each process checks the size only after it has written an eighth of the smaller
    /// limit. Sensitive parameters for retries are kept in memory, with the same limits.
    #[must_use]
    pub const fn keep_bytes(mut self, bytes: u64) -> Self {
        self.keep_bytes = bytes;
        self
    }

    /// Sets the share of [`keep_bytes`](Self::keep_bytes) that one caller can use. A caller is a principal, a session,
    /// or all callers with neither. Default: 32 MiB. Range: 1 MiB to 1 TiB.
    #[must_use]
    pub const fn keep_bytes_per_caller(mut self, bytes: u64) -> Self {
        self.keep_bytes_per_caller = bytes;
        self
    }

    /// Sets the maximum number of executions of this adapter in one process, including queued ones. Further calls are
    /// rejected with `RATE_LIMIT_EXCEEDED`. They are rejected before a confirmation is requested and before they count
    /// towards a rate limit. Default: 256. Range: 1 to 100,000.
    #[must_use]
    pub const fn max_running(mut self, count: usize) -> Self {
        self.max_running = count;
        self
    }

    /// Sets the maximum number of executions of one session, so that one session cannot use all slots. Callers without
    /// a session share one limit. Default: 32. Range: 1 to 100,000.
    #[must_use]
    pub const fn max_running_per_session(mut self, count: usize) -> Self {
        self.max_running_per_session = count;
        self
    }
}
