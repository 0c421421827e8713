//! The extension point of adapters. An extension adds a capability with its own settings, operations, gates and
//! introspection queries.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use http::Extensions;
use serde_json::{Map, Value};

use crate::caller::session::Session;
use crate::config::key::Key;
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
use crate::util::BoxFuture;

/// A capability that plugs into an adapter, such as rate limits. This type holds its settings.
///
/// Each built adapter copies the settings, applies the configuration to its copy, and starts the extension in these
/// steps:
///
/// ```text
/// Extension → prepare → PreparedExtension → start → StartedExtension → connect
/// ```
///
/// If you find a problem, add it to `problems` and continue, so that all problems are reported together.
pub trait Extension: Any + fmt::Debug + Send + Sync {
    /// Copies the settings.
    fn copy(&self) -> Box<dyn Extension>;

    /// Returns the keys of the configuration file that belong to this extension.
    fn keys(&self) -> &'static [Key];

    /// Applies the tables of the operator's file. `file` is the source of the whole file and may be malformed.
    fn apply(&mut self, file: &str, problems: &mut Vec<String>)
    -> Result<(), toml_edit::de::Error>;

    /// Applies the tables of a file in the working directory. Such a file can only make an adapter stricter.
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

    /// Returns the variables read by [`apply_environment`](Self::apply_environment), with the keys they set.
    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns the default store of an adapter with this name. Returns `None` if a store in memory is sufficient.
    fn default_store(
        &self,
        _adapter: &str,
        _problems: &mut Vec<String>,
    ) -> Option<Arc<dyn StateStore>> {
        None
    }

    /// Returns `true` if the extension has a channel to people, who can confirm calls.
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

/// An extension with checked settings. The services of the adapter do not exist yet.
pub trait PreparedExtension {
    /// Returns an additional destination for audit entries.
    fn audit_sink(&self) -> Option<Arc<dyn AuditSink>> {
        None
    }

    /// Starts the extension.
    fn start(self: Box<Self>, services: &Arc<Services>) -> Box<dyn StartedExtension>;
}

/// A started extension of one adapter.
pub trait StartedExtension {
    /// Returns the operations added by the extension. Their names are reserved by the protocol.
    fn operations(&self) -> Vec<ExtensionOperation> {
        Vec::new()
    }

    /// Adds the extension's parts to the adapter. Called after all operations are registered.
    fn connect(
        self: Box<Self>,
        adapter: &RegisteredAdapter<'_>,
        parts: &mut ExtensionParts,
        problems: &mut Vec<String>,
    );
}

/// An operation added by an extension.
pub struct ExtensionOperation {
    /// Table of the operation.
    pub spec: OperationSpec,
    /// Function of the operation.
    pub handler: Handler,
    /// A note for the description.
    pub note: Option<String>,
    /// Renames parameters with alternative names. The protocol allows such names for some operations.
    pub rename_params: Option<RenameParams>,
}

/// The parts of an adapter available to extensions once all operations are registered.
pub struct RegisteredAdapter<'a> {
    /// All operations: the built-in ones, then those of the author and those on executions.
    pub entries: &'a [Entry],
    /// Number of built-in operations.
    pub built_ins: usize,
    /// The endpoint families.
    pub profile: &'a EndpointProfile,
    /// Issues and checks the tokens of calls.
    pub tokens: &'a Arc<CallTokens>,
}

/// The parts that extensions add to an adapter.
#[derive(Default)]
pub struct ExtensionParts {
    /// Gates. The gatekeeper sorts them by stage.
    pub gates: Vec<Arc<dyn Gate>>,
    /// Approvals by people.
    pub approvals: Option<Arc<dyn Approvals>>,
    /// Introspection queries.
    pub queries: FurtherQueries,
    /// Capabilities to show in introspection.
    pub capabilities: Map<String, Value>,
    /// Counts the usage reported by operations.
    pub usage: Option<Arc<dyn UsageRecorder>>,
    /// Stores the limits reported by wrapped APIs.
    pub upstream: Option<Arc<dyn UpstreamMemory>>,
    /// Values for the extension's own code. Look them up with `Adapter::extension_value`.
    pub values: Extensions,
    /// Background work while the adapter serves clients.
    pub services: Vec<Box<dyn Service>>,
}

/// Work that an extension does while its adapter serves clients.
pub trait Service: Send + Sync {
    /// Called when an adapter begins to serve clients, before their first call.
    fn begin(&self) {}

    /// Starts background work when a built-in transport serves the adapter. Dropping the returned value stops it.
    fn start(&self) -> BoxFuture<'_, Result<Option<Box<dyn Any + Send>>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns `true` if work of this session is running that would stop when the session ends.
    fn runs_work_of(&self, _session: &Session) -> bool {
        false
    }
}
