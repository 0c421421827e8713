//! The limits on calls, if the settings have any.

use std::sync::Arc;

use super::Limits;
use crate::adapter::Settings;
use crate::limits::{Limiter, NoUpstreamMemory, QuotaStatus};
use crate::router::{EndpointProfile, Entry, Family};
use crate::services::Services;

/// Creates the limits. They do not count `introspect`.
pub(super) fn limits(
    entries: &[Entry],
    profile: &EndpointProfile,
    settings: &Settings,
    services: &Arc<Services>,
    problems: &mut Vec<String>,
) -> Limits {
    let Some(declared) = &settings.rate_limits else {
        let upstream = Arc::new(NoUpstreamMemory(settings.time.clone()));
        return Limits { upstream: Some(upstream), ..Limits::default() };
    };
    problems.extend(declared.problems(profile.families().iter().map(Family::name)));
    let operations = entries.iter().map(|Entry { operation, .. }| {
        (operation.spec.name, &*operation.endpoint, operation.spec.category)
    });
    let limiter = Arc::new(Limiter::new(declared, operations, Arc::clone(services)));
    Limits {
        query: Some(Box::new(QuotaStatus(Arc::clone(&limiter)))),
        upstream: Some(Arc::clone(&limiter) as _),
        limiter: Some(limiter),
    }
}
