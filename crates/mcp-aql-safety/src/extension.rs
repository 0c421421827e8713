//! Adds the safety loop to an adapter, as an extension.

use std::any::Any;
use std::sync::Arc;

use mcp_aql_core::audit::AuditSink;
use mcp_aql_core::internal::config::{Key, Setting, Tightening};
use mcp_aql_core::internal::extension::{
    Extension, ExtensionOperation, ExtensionParts, PreparedExtension, RegisteredAdapter, Service,
    StartedExtension,
};
use mcp_aql_core::internal::services::Services;
use mcp_aql_core::store::StateStore;
use mcp_aql_core::{Adapter, BoxFuture, Policy, Result, Session};
use mcp_aql_stores::SqliteState;
use serde::Deserialize;

use crate::console::start_console;
use crate::human_channel::Operator;
use crate::safety_loop::{
    self, AgentBlockGate, AgentPolicies, ApprovalQueue, LoopMode, LoopTable, RecentAudit,
    SafetyCore, SafetyLoop,
};

/// Adds [`by_operator`](Self::by_operator) to [`Policy`].
pub trait ByOperator {
    /// Requires that an operator confirms the call, through a channel that the caller cannot reach.
    ///
    /// ```
    /// use mcp_aql::Policy;
    /// use mcp_aql::prelude::*;
    ///
    /// let policy = Policy::confirm("delete_*").by_operator();
    /// ```
    #[must_use]
    fn by_operator(self) -> Self;
}

impl ByOperator for Policy {
    fn by_operator(mut self) -> Self {
        self.by_operator = true;
        self
    }
}

/// Adds [`operator`](Self::operator) to [`Adapter`].
pub trait OperatorAccess {
    /// Returns the handle for the operators of this adapter. `None` without a safety loop.
    ///
    /// The handle can approve and unblock, so do not give operations access to it.
    fn operator(&self) -> Option<Operator>;
}

impl OperatorAccess for Adapter {
    fn operator(&self) -> Option<Operator> {
        Some(Operator(Arc::new(ApprovalQueue(Arc::clone(safety_core(self)?)))))
    }
}

/// Returns the safety loop of an adapter. `None` if it has none.
pub fn safety_core(adapter: &Adapter) -> Option<&Arc<SafetyCore>> {
    adapter.extension_value()
}

/// The tables of the safety loop in the configuration file.
#[derive(Deserialize)]
struct SafetyTables {
    safety_loop: Option<LoopTable>,
}

impl Extension for SafetyLoop {
    fn copy(&self) -> Box<dyn Extension> {
        Box::new(self.clone())
    }

    fn keys(&self) -> &'static [Key] {
        safety_loop::KEYS
    }

    fn apply(
        &mut self,
        file: &str,
        problems: &mut Vec<String>,
    ) -> std::result::Result<(), toml_edit::de::Error> {
        if let Some(table) = toml_edit::de::from_str::<SafetyTables>(file)?.safety_loop {
            self.apply_table(table, problems);
        }
        Ok(())
    }

    fn tighten(
        &mut self,
        file: &str,
        tightening: &mut Tightening,
        problems: &mut Vec<String>,
    ) -> std::result::Result<(), toml_edit::de::Error> {
        if let Some(table) = toml_edit::de::from_str::<SafetyTables>(file)?.safety_loop {
            self.tighten_table(table, tightening, problems);
        }
        Ok(())
    }

    fn apply_environment(
        &mut self,
        variable: &dyn Fn(&str) -> Option<String>,
        notices: &mut Vec<String>,
        problems: &mut Vec<String>,
    ) {
        // If both are set, the protocol's own name takes precedence (REQ-LOOP-15, choice C-66).
        let names = ["MCPAQL_SAFETY_LOOP", "MCP_AQL_SAFETY_LOOP"];
        let found = names.into_iter().find_map(|name| Some((name, variable(name)?)));
        let Some((name, mode)) = found else { return };
        let before = self.current_mode();
        self.set_mode(&mode, &format!("`{name}`"), problems);
        if self.current_mode().is_laxer_than(before) {
            notices.push(format!(
                "the environment variable `{name}` switches the safety loop from `{before}` to `{mode}`"
            ));
        }
    }

    fn listed(&self) -> Vec<Setting> {
        Self::listed(self)
    }

    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        // The last variable takes precedence.
        &[("MCP_AQL_SAFETY_LOOP", "safety_loop.mode"), ("MCPAQL_SAFETY_LOOP", "safety_loop.mode")]
    }

    /// Returns a store in a file, because the blocks of an enabled safety loop must outlive the process.
    fn default_store(
        &self,
        adapter: &str,
        problems: &mut Vec<String>,
    ) -> Option<Arc<dyn StateStore>> {
        if self.current_mode() == LoopMode::Disabled {
            return None;
        }
        match SqliteState::in_user_state(adapter) {
            Ok(store) => Some(Arc::new(store)),
            Err(error) => {
                problems.push(format!(
                    "the safety loop has no store for its state: {error}; add a `.store(…)`"
                ));
                None
            }
        }
    }

    fn reaches_people(&self) -> bool {
        Self::reaches_people(self)
    }

    fn prepare(&self, problems: &mut Vec<String>) -> Box<dyn PreparedExtension> {
        let policies = self.compile(problems);
        Box::new(Prepared { settings: self.clone(), policies, recent: RecentAudit::default() })
    }
}

struct Prepared {
    settings: SafetyLoop,
    policies: AgentPolicies,
    recent: RecentAudit,
}

impl PreparedExtension for Prepared {
    fn audit_sink(&self) -> Option<Arc<dyn AuditSink>> {
        Some(Arc::new(self.recent.clone()))
    }

    fn start(self: Box<Self>, services: &Arc<Services>) -> Box<dyn StartedExtension> {
        let Self { settings, policies, recent } = *self;
        let core = Arc::new(SafetyCore::new(&settings, policies, recent, Arc::clone(services)));
        Box::new(Started { settings, core })
    }
}

struct Started {
    settings: SafetyLoop,
    core: Arc<SafetyCore>,
}

impl StartedExtension for Started {
    fn operations(&self) -> Vec<ExtensionOperation> {
        safety_loop::operations(&self.core, &self.settings)
    }

    fn connect(
        self: Box<Self>,
        adapter: &RegisteredAdapter<'_>,
        parts: &mut ExtensionParts,
        _: &mut Vec<String>,
    ) {
        let Self { settings, core } = *self;
        let own = adapter.entries.iter().skip(adapter.built_ins);
        let levels = own
            .map(|entry| (entry.operation.spec.name.to_owned(), entry.operation.permission.danger));
        core.set_operations(levels.collect());
        let mode = settings.current_mode();
        // REQ-LOOP-02, REQ-LOOP-03
        parts.capabilities.insert("execution_safety_loop".to_owned(), mode.as_str().into());
        parts.gates.push(Arc::new(AgentBlockGate(Arc::clone(&core))));
        parts.approvals = Some(Arc::clone(&core) as _);
        parts.values.insert(Arc::clone(&core));
        parts.services.push(Box::new(SafetyService(core)));
    }
}

/// Runs the operator console while the adapter is served. Before the first call, it logs a warning about channels that
/// cannot reach a person.
struct SafetyService(Arc<SafetyCore>);

impl Service for SafetyService {
    fn start(&self) -> BoxFuture<'_, Result<Option<Box<dyn Any + Send>>>> {
        let Self(core) = self;
        Box::pin(async {
            let console = start_console(core).await?;
            core.warn_of_channels();
            Ok(console.map(|console| Box::new(console) as _))
        })
    }

    fn runs_work_of(&self, session: &Session) -> bool {
        self.0.has_executing_agents(session)
    }
}

#[cfg(test)]
mod tests;
