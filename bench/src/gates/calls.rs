//! Measures calls that the gates allow, compared with the same calls without gates.

use mcp_aql::gatekeeper::Condition;
use mcp_aql::gatekeeper::Trust;
use mcp_aql::rate_limits::{ApiLimit, RateLimits, Window};
use mcp_aql::{Adapter, Policy, TrustLevel};
use serde_json::{Map, Value, json};

use super::Setup;
use super::adapters::{adapter, arguments, good, handle, room};
use crate::measure::runtime;
use crate::table::{Outcome, Row, Target};
use crate::{Result, Turns, in_turns, nanos_each_async};

/// Maximum time that the gates may add to a call, in nanoseconds.
const MAX_ADDED_NANOS: f64 = 2_000.0;

fn turns(
    setup: &Setup,
    gated: &Adapter,
    plain: &Adapter,
    call: &Map<String, Value>,
) -> Result<Turns> {
    let runtime = runtime()?;
    let turn = |adapter: &Adapter| {
        nanos_each_async(
            &runtime,
            setup.calls,
            |_| call.clone(),
            |arguments| handle(adapter, arguments),
            good,
        )
    };
    in_turns(setup.rounds, || turn(gated), || turn(plain))
}

/// Measures the trust gate, and two policies that decide about CREATE operations.
pub(super) fn gates(setup: &Setup) -> Result<Outcome> {
    let plain = adapter(|builder| builder)?;
    let trusted = adapter(|builder| builder.trust(Trust::new(TrustLevel::Certified)))?;
    let with_policies = adapter(|builder| {
        builder
            .trust(Trust::new(TrustLevel::Certified))
            .policy(Policy::allow("create_room"))
            .policy(Policy::confirm("create_room").when(Condition::above("seats", 100.0)))
    })?;
    let read = arguments("get_room", json!({ "number": 7 }));
    let row = |name: &str, what: &str, gated, call| -> Result<Row> {
        Ok(Row::of_times(
            name,
            what,
            turns(setup, gated, &plain, call)?,
            Target::AddsAtMost(MAX_ADDED_NANOS),
        ))
    };
    Ok(Outcome::Rows(vec![
        row("gate-read", "READ, trust declared; without gates", &trusted, &read)?,
        row(
            "gate-policies",
            "CREATE, trust and two policies; without gates",
            &with_policies,
            &room(),
        )?,
    ]))
}

/// Measures rate limits far above the number of calls.
pub(super) fn limits(setup: &Setup) -> Result<Outcome> {
    let plain = adapter(|builder| builder)?;
    let limited = adapter(|builder| {
        builder.rate_limits(RateLimits::new().limit(ApiLimit::global(u32::MAX).per(Window::Minute)))
    })?;
    Ok(Outcome::Rows(vec![Row::of_times(
        "limit",
        "CREATE with a rate limit, state in memory; without",
        turns(setup, &limited, &plain, &room())?,
        Target::None,
    )]))
}
