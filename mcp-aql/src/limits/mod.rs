//! Rate limits and quotas: how many calls may run, and how much they may use (feature `limits`).
//!
//! An [`ApiLimit`] is a promise to whoever is behind the adapter: so many calls in a second, minute, hour
//! or day, and never more. A [`Quota`] is about what calls use: requests, tokens, money, in three steps:
//! a warning, a pause that somebody has to confirm, the end. Declare them with
//! [`AdapterBuilder::rate_limits`](crate::AdapterBuilder::rate_limits) or in `mcp-aql.toml`:
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
//! # Which calls count
//! Those that run. A call is counted as the last thing before it runs, after routing, validation and all
//! gates, so that what was refused is not counted. `introspect` never is. Each item of a batch counts. A
//! retry of an execution counts as the operation that it runs. A call that was counted and then given up by
//! its caller stays counted: whether anything was sent, nobody can tell.
//!
//! A call that needs a token, or a person's approval, has its place before that is used up: of many that
//! come at once with one token, one runs, and when there is no place for it the token is still good. A
//! place whose call does not run is given back.
//!
//! # How it is counted
//! Windows slide: at any time, the last 60 seconds, 60 minutes, 24 hours hold no more calls than declared.
//! A window is kept in 60 parts, and a part counts until the last call in it has left, so that the count
//! errs on the strict side by a sixtieth of the window at most, and not at all for calls that are further
//! apart. `cost_per_month` and prices in tiers count by calendar months, UTC, as bills do.
//!
//! The counters are one record in the adapter's [store](crate::store), changed by compare and swap; calls
//! that come while it is written are counted together, with the next write. They
//! last as long as the store does, over sessions and restarts, and all processes that share a store share
//! them. Their clocks should agree: by what they differ a window may seem over too early, once. A call is
//! let through when the store has it. If the store fails, so does the call. If what is kept of a limit
//! cannot be read, calls that it counts are refused with `INTERNAL_ERROR`, the audit log has
//! `LIMIT_UNREADABLE`, and the log says what to do; all others go on.
//!
//! Time does not run backwards here. For a clock that is up to a minute behind it stands still; one that is
//! further behind has been set back, and takes along what was counted. A leap forward is believed: it looks
//! just like a machine that slept.
//!
//! [`ApiLimit::burst`] paces calls within a window. That is the generic cell rate algorithm, by the crate
//! `governor`, in each process for itself. On its own it would break the promise: with a burst of *N* it
//! lets almost 2 *N* calls into one window. So it only ever refuses more than the count in the store does;
//! a call that gives its place back has still taken its turn there.
//!
//! # Quotas
//! A quota's `current` is what has been used. At `hard_stop` calls are refused with
//! `RATE_LIMIT_QUOTA_EXHAUSTED`; so is a call whose price is known to lead beyond it. Tokens and costs that
//! an operation [reports](crate::Context::report_usage) are counted after the run, so that the last call
//! may go beyond the quota by what it used.
//!
//! From `pause` on, a call gets `RATE_LIMIT_QUOTA_PAUSE` with a token, and runs when it is sent again with
//! the token in `params._quota_continue`. A token is good for that one call, once, past all quotas that
//! pause at the time, never past a hard stop. The next call gets another one.
//!
//! # Wrapped APIs
//! Hand what the API answered to [`Context::upstream_answered`](crate::Context::upstream_answered).
//! `Retry-After` and the headers that the limits name are remembered in the store, and calls are refused
//! before they are sent while the API said so.

mod cost;
mod counter;
mod declare;
mod keeper;
mod ledger;
mod limiter;
mod pace;
mod refusal;
mod rules;
mod settings;
mod status;
#[cfg(test)]
mod tests;
mod upstream;

pub use cost::{CostModel, Tier};
pub use declare::{ApiLimit, Metric, Quota, Window};
pub(crate) use limiter::{Applicant, Forgetful, Limiter, QuotaTokens};
pub(crate) use rules::Counted;
pub use settings::RateLimits;
pub(crate) use settings::{ApiLimitTable, CostTable, FlatTable, LimitTables};
pub(crate) use status::QuotaStatus;

pub use crate::operation::Usage;
