//! Rate limits and quotas for the calls of an adapter.
//!
//! Use an [`ApiLimit`] to send at most a certain number of calls per second, minute, hour or day to the API behind
//! your adapter. Use a [`Quota`] to limit usage, counted in requests, tokens or cost. A quota has three thresholds: a
//! warning, a pause that requires a confirmation, and a hard stop. Declare both with
//! [`AdapterBuilder::rate_limits`](crate::AdapterBuilder::rate_limits), or in `mcp-aql.toml`:
//!
//! ```toml
//! [[api_limits]]
//! scope = "endpoint"           # or "category", or "global"
//! endpoint = "create"
//! limit = 20
//! window = "hour"              # second, minute, hour or day
//! remaining_header = "X-RateLimit-Remaining"
//!
//! [[quotas]]
//! metric = "cost_per_month"
//! warn = 20.0
//! pause = 24.0
//! hard_stop = 25.0
//!
//! [cost]
//! currency = "EUR"
//! per_call = 0.002
//!
//! [rate_limits]                # the short form of adapter files
//! requests_per_minute = 100
//! burst_limit = 10
//! ```
//!
//! # Which calls are counted
//! Only calls that run are counted. A call is counted immediately before it runs, after routing, validation and all
//! gates, so rejected calls do not count. These rules apply:
//!
//! - `introspect` is never counted.
//! - Each item of a batch counts.
//! - A retry of an execution counts as the operation that it runs.
//! - A call stays counted if its caller cancels it afterwards, because it may already have been sent.
//!
//! A call with a token, or with a person's approval, is counted before these are consumed. If several calls use one
//! token at the same time, one of them runs. If a limit rejects the call, the token stays valid. A counted call that
//! does not run is subtracted again.
//!
//! # How calls are counted
//! Windows slide: at any time, the last 60 seconds, 60 minutes or 24 hours contain at most the declared number of
//! calls. A window consists of 60 parts, and a part counts until its last call has left the window. The count is
//! therefore too strict by up to a sixtieth of the window, and exact for calls further apart. `cost_per_month` and
//! tiered prices count by calendar months (UTC), because bills do.
//!
//! The counters are one record in the adapter's [store](crate::store), changed by compare and swap. Calls that arrive
//! during a write are counted together with the next write. The counters are as durable as the store. They do not
//! depend on sessions and restarts, and all processes that share a store share them. The clocks of these processes
//! should agree: a window can end too early once, by the difference between the clocks.
//!
//! A call is admitted when the store has written it, so it fails if the store fails. Calls counted by neither a limit
//! nor a quota do not use the store and also run while it fails. If the stored state of a limit is unreadable, the
//! calls that it counts are rejected with `INTERNAL_ERROR`. The audit log then records `LIMIT_UNREADABLE`, and the
//! log explains the repair. Other calls are not affected.
//!
//! Time never decreases. If a clock is up to a minute behind, the limiter's time stands still. If it is further
//! behind, it was set back, and all counted amounts move back with it. A jump forward is accepted, because a
//! suspended machine looks the same after it resumes.
//!
//! [`ApiLimit::burst`] paces calls within a window with the generic cell rate algorithm. Each process paces its own
//! calls. This algorithm alone would not enforce the limit: with a burst of *N* it admits almost 2 *N* calls in one
//! window. It is therefore applied in addition to the count in the store. Subtracting a call from the count does not
//! affect the pacing.
//!
//! # Quotas
//! The `current` amount of a quota is the amount used until now. From `hard_stop` on, calls are rejected with
//! `RATE_LIMIT_QUOTA_EXHAUSTED`, and so are calls whose known cost would exceed it. Tokens and costs that an
//! operation [reports](crate::Context::report_usage) are counted after it has run, so the last call can exceed the
//! quota by its own usage.
//!
//! From `pause` on, a call fails with `RATE_LIMIT_QUOTA_PAUSE` and receives a token. It runs when the client sends it
//! again with the token in `params._quota_continue`:
//!
//! ```json
//! { "operation": "create_task", "params": { "title": "Ship it", "_quota_continue": "quota_continue_…" } }
//! ```
//!
//! A token is valid once, only for this call, and for all quotas paused when it was issued. It does not help beyond a
//! hard stop. Each further call needs its own token.
//!
//! # Wrapped APIs
//! Pass the API's response to [`Context::report_upstream_response`](crate::Context::report_upstream_response).
//! `Retry-After` and the headers named by the limits are remembered in the store. Calls that the API would reject are
//! then rejected before they are sent. If no limit counts the operation, its `Retry-After` is remembered only by the
//! process that received it.

mod burst_pacer;
mod cost;
mod counter;
mod declaration;
mod extension;
mod keys;
mod ledger;
mod ledger_store;
mod limit_error;
mod limit_gate;
mod limiter;
mod rules;
mod settings;
mod status;
#[cfg(test)]
mod tests;
mod upstream;
mod upstream_report;

pub use cost::{CostModel, Tier};
pub use declaration::{ApiLimit, Metric, Quota, Window};
pub(crate) use extension::LimitsExtension;
pub(crate) use limit_gate::LimitGate;
pub(crate) use limiter::Limiter;
pub use settings::RateLimits;
pub(crate) use status::QuotaStatus;

pub use crate::operation::Usage;
