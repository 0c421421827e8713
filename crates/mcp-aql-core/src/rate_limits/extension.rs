//! Adds rate limits to an adapter as an extension.

use std::sync::Arc;

use super::keys::KEYS;
use super::settings::LimitTables;
use super::{LimitGate, Limiter, QuotaStatus, RateLimits};
use crate::config::key::Key;
use crate::config::setting::Setting;
use crate::config::tightening::Tightening;
use crate::extension::{
    Extension, ExtensionParts, PreparedExtension, RegisteredAdapter, Service, StartedExtension,
};
use crate::router::{Entry, Family};
use crate::services::Services;

/// The rate limits and quotas of an adapter. They are `None` if neither the code nor the configuration file declares
/// any.
#[derive(Debug, Clone, Default)]
pub(crate) struct LimitsExtension(pub(crate) Option<RateLimits>);

impl Extension for LimitsExtension {
    fn copy(&self) -> Box<dyn Extension> {
        Box::new(self.clone())
    }

    fn keys(&self) -> &'static [Key] {
        KEYS
    }

    fn apply(
        &mut self,
        file: &str,
        problems: &mut Vec<String>,
    ) -> Result<(), toml_edit::de::Error> {
        toml_edit::de::from_str::<LimitTables>(file)?.apply(&mut self.0, problems);
        Ok(())
    }

    fn tighten(
        &mut self,
        file: &str,
        tightening: &mut Tightening,
        problems: &mut Vec<String>,
    ) -> Result<(), toml_edit::de::Error> {
        toml_edit::de::from_str::<LimitTables>(file)?.tighten(&mut self.0, tightening, problems);
        Ok(())
    }

    fn listed(&self) -> Vec<Setting> {
        self.0.clone().unwrap_or_default().listed()
    }

    fn prepare(&self, _: &mut Vec<String>) -> Box<dyn PreparedExtension> {
        Box::new(Prepared(self.0.clone()))
    }
}

struct Prepared(Option<RateLimits>);

impl PreparedExtension for Prepared {
    fn start(self: Box<Self>, services: &Arc<Services>) -> Box<dyn StartedExtension> {
        Box::new(Started { declared: self.0, services: Arc::clone(services) })
    }
}

struct Started {
    declared: Option<RateLimits>,
    services: Arc<Services>,
}

impl StartedExtension for Started {
    fn connect(
        self: Box<Self>,
        adapter: &RegisteredAdapter<'_>,
        parts: &mut ExtensionParts,
        problems: &mut Vec<String>,
    ) {
        let Some(declared) = self.declared else { return };
        let families = adapter.profile.families().iter().map(Family::name);
        problems.extend(declared.problems(families));
        let operations = adapter.entries.iter().map(|Entry { operation, .. }| {
            (operation.spec.name, &*operation.endpoint, operation.spec.category)
        });
        let limiter = Arc::new(Limiter::new(&declared, operations, self.services));
        let gate = LimitGate::new(Arc::clone(&limiter), Arc::clone(adapter.tokens));
        parts.gates.push(Arc::new(gate));
        parts.queries.push(Box::new(QuotaStatus(Arc::clone(&limiter))));
        parts.upstream = Some(Arc::clone(&limiter) as _);
        parts.usage = Some(Arc::clone(&limiter) as _);
        parts.services.push(Box::new(LimitService(limiter)));
    }
}

/// Logs a warning on start if the counters are lost when the process ends.
struct LimitService(Arc<Limiter>);

impl Service for LimitService {
    fn begin(&self) {
        if let Some(warning) = self.0.forgotten_limits() {
            tracing::warn!("{warning}");
        }
    }
}
