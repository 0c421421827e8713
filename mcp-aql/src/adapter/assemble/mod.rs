//! Builds an adapter from the parts and the settings of its builder.

mod checks;
mod examples;
mod foundation;
mod introspection;
mod operations;
mod parameters;

use std::collections::HashSet;
use std::sync::{Arc, Once};

use self::checks::{check_parts, chosen_profile};
use self::foundation::Foundation;
use self::introspection::{further_queries, render, returns_of_introspect};
use self::operations::{DescribedOperations, Operations};
use super::{Adapter, BuildError, Inner, Parts, Settings};
use crate::concurrency::ConcurrencyLimit;
use crate::execution::Executions;
#[cfg(feature = "limits")]
use crate::further_query::FurtherQuery;
use crate::gatekeeper::Gatekeeper;
#[cfg(feature = "limits")]
use crate::limits::{Limiter, NoUpstreamMemory, QuotaStatus};
#[cfg(feature = "limits")]
use crate::operation::UpstreamMemory;
use crate::router::{EndpointProfile, Registry};
#[cfg(feature = "limits")]
use crate::router::{Entry, Family};
#[cfg(feature = "limits")]
use crate::services::Services;

/// Builds the adapter, or lists all problems.
pub(super) fn assemble(
    parts: Arc<Parts>,
    mut settings: Settings,
    mut problems: Vec<String>,
) -> Result<Adapter, BuildError> {
    check_parts(&parts, &settings, &mut problems);
    let profile = chosen_profile(&parts, &settings, &mut problems);
    let foundation = Foundation::new(&parts, &mut settings, &mut problems);
    let reserved = foundation.reserved_operations();
    let mut operations = Operations::register(&parts, &settings, &profile, reserved, &mut problems);
    operations.check(&mut settings, &mut problems);
    #[cfg_attr(not(feature = "limits"), expect(unused_mut, reason = "limits add a query"))]
    let mut further = further_queries(&operations.entries, &parts, &settings, &mut problems);
    #[cfg(feature = "limits")]
    let limiter =
        limiter(&operations.entries, &profile, &settings, &foundation.services, &mut problems);
    #[cfg(feature = "limits")]
    further.extend(
        limiter.clone().map(|limiter| -> Box<dyn FurtherQuery> { Box::new(QuotaStatus(limiter)) }),
    );
    if let Some(introspect) = operations.entries.first_mut() {
        crate::introspection::publish(&mut introspect.operation, &further);
    }
    returns_of_introspect(operations.returns.first_mut(), &further);
    #[cfg(feature = "safety")]
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
    #[cfg(feature = "safety")]
    let Foundation { services, safety } = foundation;
    #[cfg(not(feature = "safety"))]
    let Foundation { services } = foundation;
    #[cfg(feature = "safety")]
    if let Some(safety) = &safety {
        let own = registry.entries.iter().skip(built_ins);
        let levels = own.map(|own| (own.operation.spec.name.to_owned(), own.gate.danger));
        safety.set_operations(levels.collect());
    }
    let gatekeeper = Gatekeeper::new(
        Arc::clone(&services),
        &settings.gate,
        #[cfg(feature = "safety")]
        safety.clone(),
        #[cfg(feature = "limits")]
        limiter.clone(),
    );
    let inner = Inner {
        concurrency: Arc::new(concurrency_limit(&settings)),
        executions: Executions::new(Arc::clone(&services), parts.name.clone(), settings.executions),
        #[cfg(feature = "limits")]
        upstream: upstream_memory(limiter.as_ref(), &settings),
        parts,
        settings,
        registry,
        shapes,
        shown,
        introspection,
        services,
        gatekeeper,
        notices_logged: Once::new(),
        #[cfg(feature = "safety")]
        safety,
        #[cfg(feature = "limits")]
        limiter,
    };
    Ok(Adapter { inner: Arc::new(inner) })
}

/// The counter of calls, if limits are set. It does not count `introspect`.
#[cfg(feature = "limits")]
fn limiter(
    entries: &[Entry],
    profile: &EndpointProfile,
    settings: &Settings,
    services: &Arc<Services>,
    problems: &mut Vec<String>,
) -> Option<Arc<Limiter>> {
    let declared = settings.rate_limits.as_ref()?;
    problems.extend(declared.problems(profile.families().iter().map(Family::name)));
    let operations = entries.iter().map(|Entry { operation, .. }| {
        (operation.spec.name, &*operation.endpoint, operation.spec.category)
    });
    Some(Arc::new(Limiter::new(declared, operations, Arc::clone(services))))
}

/// The memory for the limits that wrapped APIs report.
#[cfg(feature = "limits")]
fn upstream_memory(limiter: Option<&Arc<Limiter>>, settings: &Settings) -> Arc<dyn UpstreamMemory> {
    match limiter {
        Some(limiter) => Arc::clone(limiter) as Arc<dyn UpstreamMemory>,
        None => Arc::new(NoUpstreamMemory(settings.time.clone())),
    }
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
