//! The extension point of adapters: a capability with its own settings, operations, gates and introspection
//! queries.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use http::Extensions;
use serde_json::{Map, Value};

use crate::caller::session::Session;
use crate::config::setting::Setting;
use crate::config::tightening::Tightening;
use crate::error::main_error::Result;
use crate::gatekeeper::approvals::Approvals;
use crate::gatekeeper::{CallTokens, Gate};
use crate::observe::audit::AuditSink;
use crate::operation::further_query::FurtherQueries;
use crate::operation::{Handler, OperationSpec, RenameParams, UpstreamMemory, UsageRecorder};
use crate::router::{EndpointProfile, Entry};
use crate::services::Services;
use crate::store::StateStore;
use crate::util::future::BoxFuture;

/// The settings of a capability that plugs into an adapter, such as rate limits. Each adapter that is built
/// applies the configuration to its own copy of the settings, and then starts the extension.
///
/// Methods add every problem to `problems`, so that all are reported together.
pub trait Extension: Any + fmt::Debug + Send + Sync {
    /// Copies the settings.
    fn copy(&self) -> Box<dyn Extension>;

    /// The tables of the configuration file that belong to this extension.
    fn tables(&self) -> &'static [&'static str];

    /// Applies the tables of a file that belongs to the operator. The file may be malformed.
    fn apply(&mut self, file: &str, problems: &mut Vec<String>)
    -> Result<(), toml_edit::de::Error>;

    /// Applies the tables of a file in the working directory, which can only make an adapter stricter.
    fn tighten(
        &mut self,
        file: &str,
        tightening: &mut Tightening,
        problems: &mut Vec<String>,
    ) -> Result<(), toml_edit::de::Error>;

    /// Applies environment variables, and adds notices for the operator.
    fn apply_environment(
        &mut self,
        _variable: &dyn Fn(&str) -> Option<String>,
        _notices: &mut Vec<String>,
        _problems: &mut Vec<String>,
    ) {
    }

    /// Lists the settings that a file can set, for the operator.
    fn listed(&self) -> Vec<Setting> {
        Vec::new()
    }

    /// The variables that [`apply_environment`](Self::apply_environment) reads, with the keys that they set.
    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The store that an adapter of this name uses if none is set; `None` if a store in memory suffices.
    fn default_store(
        &self,
        _adapter: &str,
        _problems: &mut Vec<String>,
    ) -> Option<Arc<dyn StateStore>> {
        None
    }

    /// Whether the extension has a channel to people, who can confirm calls.
    fn reaches_people(&self) -> bool {
        false
    }

    /// Checks the settings and compiles them.
    fn prepare(&self, problems: &mut Vec<String>) -> Box<dyn PreparedExtension>;
}

impl Clone for Box<dyn Extension> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// An extension with checked settings, before the services that it uses exist.
pub trait PreparedExtension {
    /// A receiver of audit entries.
    fn audit_sink(&self) -> Option<Arc<dyn AuditSink>> {
        None
    }

    /// Starts the extension.
    fn start(self: Box<Self>, services: &Arc<Services>) -> Box<dyn StartedExtension>;
}

/// A started extension of one adapter.
pub trait StartedExtension {
    /// The operations that the extension adds, whose names the protocol reserves.
    fn operations(&self) -> Vec<ExtensionOperation> {
        Vec::new()
    }

    /// Adds the extension's parts to the adapter, after all operations are registered.
    fn connect(
        self: Box<Self>,
        adapter: &RegisteredAdapter<'_>,
        parts: &mut ExtensionParts,
        problems: &mut Vec<String>,
    );
}

/// An operation that an extension adds.
pub struct ExtensionOperation {
    /// The table of the operation.
    pub spec: OperationSpec,
    /// The function of the operation.
    pub handler: Handler,
    /// A note for the description.
    pub note: Option<String>,
    /// Renames alternative names of parameters that the protocol allows.
    pub rename_params: Option<RenameParams>,
}

/// The parts of an adapter that an extension may need once all operations are registered.
pub struct RegisteredAdapter<'a> {
    /// All operations: the built-in ones, then those of the author and those on executions.
    pub entries: &'a [Entry],
    /// The number of built-in operations.
    pub built_ins: usize,
    /// The endpoint families.
    pub profile: &'a EndpointProfile,
    /// Issues and checks the tokens of calls.
    pub tokens: &'a Arc<CallTokens>,
}

/// The parts that extensions add to an adapter.
#[derive(Default)]
pub struct ExtensionParts {
    /// Gates, which are sorted by their stage.
    pub gates: Vec<Arc<dyn Gate>>,
    /// The approvals of people.
    pub approvals: Option<Arc<dyn Approvals>>,
    /// Introspection queries.
    pub queries: FurtherQueries,
    /// Capabilities for introspection.
    pub capabilities: Map<String, Value>,
    /// Counts the usage that operations report.
    pub usage: Option<Arc<dyn UsageRecorder>>,
    /// Stores the limits that wrapped APIs report.
    pub upstream: Option<Arc<dyn UpstreamMemory>>,
    /// Values that the extension's own code can look up on the adapter.
    pub values: Extensions,
    /// The work beside a serving adapter.
    pub services: Vec<Box<dyn Service>>,
}

/// The work that an extension does while its adapter serves clients.
pub trait Service: Send + Sync {
    /// Called when an adapter begins to serve clients, before their first call.
    fn begin(&self) {}

    /// Starts background work when a built-in transport serves the adapter. Dropping the returned value stops it.
    fn start(&self) -> BoxFuture<'_, Result<Option<Box<dyn Any + Send>>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns whether work of this session runs that the end of the session would stop.
    fn runs_work_of(&self, _session: &Session) -> bool {
        false
    }
}
