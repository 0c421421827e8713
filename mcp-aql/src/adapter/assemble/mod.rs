//! Builds an adapter from the parts and the settings of its builder.

mod checks;
mod examples;
mod foundation;
mod introspection;
#[cfg(feature = "limits")]
mod limits;
#[cfg(not(feature = "limits"))]
#[path = "without_limits.rs"]
mod limits;
mod operations;
mod parameters;

use std::collections::HashSet;
use std::sync::{Arc, Once};

use self::checks::{check_parts, chosen_profile};
use self::foundation::Foundation;
use self::introspection::{further_queries, render, returns_of_introspect};
use self::operations::{DescribedOperations, Operations};
use super::{Adapter, BuildError, Inner, Parts, Settings};
use crate::call_limits::CallLimits;
use crate::concurrency::ConcurrencyLimit;
use crate::execution::Executions;
use crate::further_query::FurtherQuery;
use crate::gatekeeper::Gatekeeper;
use crate::operation::UpstreamMemory;
use crate::router::{EndpointProfile, Registry};

/// The limits on calls.
#[derive(Default)]
struct Limits {
    limiter: Option<Arc<dyn CallLimits>>,
    /// Stores the limits that wrapped APIs report.
    upstream: Option<Arc<dyn UpstreamMemory>>,
    /// The introspection of the limits.
    query: Option<Box<dyn FurtherQuery>>,
}

/// Builds the adapter, or lists all problems.
pub(super) fn assemble(
    parts: Arc<Parts>,
    mut settings: Settings,
    mut problems: Vec<String>,
) -> Result<Adapter, BuildError> {
    check_parts(&parts, &settings, &mut problems);
    let profile = chosen_profile(&parts, &settings, &mut problems);
    let foundation = Foundation::new(&parts, &mut settings, &mut problems);
    let reserved = foundation.safety.operations();
    let mut operations = Operations::register(&parts, &settings, &profile, reserved, &mut problems);
    operations.check(&mut settings, &mut problems);
    let mut further = further_queries(&operations.entries, &parts, &settings, &mut problems);
    let (entries, services) = (&operations.entries, &foundation.services);
    let Limits { limiter, upstream, query } =
        limits::limits(entries, &profile, &settings, services, &mut problems);
    further.extend(query);
    if let Some(introspect) = operations.entries.first_mut() {
        crate::introspection::publish(&mut introspect.operation, &further);
    }
    returns_of_introspect(operations.returns.first_mut(), &further);
    let built_ins = operations.built_ins;
    let DescribedOperations { entries, shapes, shown, types } = operations.describe(&mut problems);
    if !problems.is_empty() {
        let mut seen = HashSet::new();
        problems.retain(|problem| seen.insert(problem.clone()));
        return Err(BuildError { problems });
    }

    let tool_names = tool_names(&profile, &settings);
    let registry = Registry::new(profile, entries, tool_names);
    let introspection = render(&registry, &settings, types, further);
    let Foundation { services, safety } = foundation;
    safety.set_operations(registry.entries.iter().skip(built_ins));
    let gatekeeper =
        Gatekeeper::new(Arc::clone(&services), &settings.gate, safety.approvals(), limiter.clone());
    let inner = Inner {
        concurrency: Arc::new(concurrency_limit(&settings)),
        executions: Executions::new(Arc::clone(&services), parts.name.clone(), settings.executions),
        parts,
        settings,
        registry,
        shapes,
        shown,
        introspection,
        services,
        gatekeeper,
        notices_logged: Once::new(),
        safety,
        limiter,
        upstream,
    };
    Ok(Adapter { inner: Arc::new(inner) })
}

fn concurrency_limit(settings: &Settings) -> ConcurrencyLimit {
    ConcurrencyLimit::new(
        settings.concurrency,
        settings.max_concurrent_requests,
        settings.time_limit,
    )
}

/// The tool names by family, followed by the name of the unified tool (REQ-MCP-03, REQ-MCP-20).
fn tool_names(profile: &EndpointProfile, settings: &Settings) -> Vec<String> {
    let prefix = &settings.tool_prefix;
    let families =
        profile.families().iter().map(|family| format!("{prefix}mcp_aql_{}", family.name()));
    families.chain(std::iter::once(format!("{prefix}mcp_aql"))).collect()
}
