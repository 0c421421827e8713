//! The builder of adapters.

use std::any::type_name;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_protocol::SizeLimits;

use super::BuildError;
use super::Parts;
use super::config::ConfigSource;
use super::rebuild::build_from;
use super::{Adapter, Settings};
use crate::execution::ExecutionOptions;
use crate::execution::concurrency::Concurrency;
use crate::extension::Extension;
use crate::observe::audit::{AuditObserver, AuditSink};
use crate::observe::observers::Observers;
use crate::operation::{
    DynamicOperation, Handler, Operation, OperationEntry, OperationSpec, Operations, StateMap,
};
use crate::rate_limits::LimitsExtension;
use crate::router::{EndpointMode, EndpointProfile};
use crate::schema::spec::SharedState;
use crate::store::StateStore;
use crate::util::clock::TimeSource;

/// Builds an adapter. Add operations and settings, then call [`build`](Self::build). It reports all problems at once.
///
/// The user's configuration file and the environment override the builder. The file is `mcp-aql/NAME/mcp-aql.toml`,
/// with the name of your adapter, in one of these directories:
///
/// - Linux: `$XDG_CONFIG_HOME` or `~/.config`
/// - macOS: `~/Library/Application Support`
/// - Windows: `%APPDATA%`
///
/// An `mcp-aql.toml` in the working directory can only make the adapter stricter, because it may belong to a cloned
/// project.
#[must_use = "call `build()` to create the adapter"]
pub struct AdapterBuilder {
    name: String,
    version: String,
    instructions: Option<String>,
    operations: Vec<(OperationSpec, Handler)>,
    /// Operations that you can replace by adding another operation with the same name.
    ready_operations: Vec<(OperationSpec, Handler)>,
    states: StateMap,
    /// Problems found before `build`.
    problems: Vec<String>,
    profiles: Vec<EndpointProfile>,
    store: Option<Arc<dyn StateStore>>,
    pub(super) audit_sinks: Vec<Arc<dyn AuditSink>>,
    pub(super) audit_observers: Vec<Arc<dyn AuditObserver>>,
    pub(super) observers: Observers,
    pub(super) settings: Settings,
    source: ConfigSource,
}

impl AdapterBuilder {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            version: "0.0.0".to_owned(),
            instructions: None,
            operations: Vec::new(),
            ready_operations: Vec::new(),
            states: StateMap::default(),
            problems: Vec::new(),
            profiles: vec![EndpointProfile::crude()],
            store: None,
            audit_sinks: Vec::new(),
            audit_observers: Vec::new(),
            observers: Observers::default(),
            settings: Settings {
                extensions: vec![Box::new(LimitsExtension::default())],
                ..Settings::default()
            },
            source: ConfigSource::default(),
        }
    }

    /// Sets the version of your adapter, as shown to clients: `.version(env!("CARGO_PKG_VERSION"))`. Default: `0.0.0`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets instructions for the model to read before its first call. They follow the general instructions for MCP-AQL,
    /// so you only need to explain your own domain.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds the operations of a type: the methods of its `#[operations]` block, and of further blocks listed there.
    pub fn operations<T: Operations>(mut self, receiver: T) -> Self {
        let receiver = Arc::new(receiver);
        for method in T::OPERATIONS.iter().chain(T::FURTHER.iter().copied().flatten()) {
            let spec = method.spec.origin(type_name::<T>());
            self.operations.push((spec, method.bound_to(Arc::clone(&receiver))));
        }
        self
    }

    /// Adds a free function as an operation: `.operation(get_server_time {})`.
    pub fn operation<O: Operation>(mut self, _operation: O) -> Self {
        let method = O::OPERATION;
        let spec = method.spec.origin(type_name::<O>());
        self.operations.push((spec, method.bound_to(Arc::new(()))));
        self
    }

    /// Adds an operation known only at run time. Use it for operations described by data, such as another API's
    /// definition.
    pub fn dynamic_operation(mut self, operation: DynamicOperation) -> Self {
        self.operations.push(operation.into_parts(&mut self.problems));
        self
    }

    /// Adds operations provided by a crate of this workspace. An author's operation with the same name replaces one of
    /// them.
    #[doc(hidden)]
    pub fn ready_operations<S: Send + Sync + 'static>(
        mut self,
        receiver: Arc<S>,
        entries: &[OperationEntry<S>],
    ) -> Self {
        let handler = |entry: &OperationEntry<S>| {
            (entry.spec.origin(type_name::<S>()), entry.bound_to(Arc::clone(&receiver)))
        };
        self.ready_operations.extend(entries.iter().map(handler));
        self
    }

    /// Returns the adapter's name.
    #[doc(hidden)]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a problem for [`build`](Self::build) to report.
    #[doc(hidden)]
    pub fn problem(mut self, problem: String) -> Self {
        self.problems.push(problem);
        self
    }

    /// Returns the state of a part of the framework. Adds the default state if there is none yet.
    #[doc(hidden)]
    pub fn state_of_part<T: SharedState + Default>(&mut self) -> T {
        self.states.get::<T>().unwrap_or_else(|| {
            let state = T::default();
            self.states.insert(state.clone());
            state
        })
    }

    /// Adds shared state. Your operations receive it as an argument of type `State<T>`. You can add one state of each
    /// type.
    pub fn state<T: SharedState>(mut self, state: T) -> Self {
        if !self.states.insert(state) {
            let name = type_name::<T>();
            self.problems.push(format!(
                "two states of type `{name}` are registered: wrap one of them in a type of its own"
            ));
        }
        self
    }

    /// Sets the tools offered to clients. Default: [`EndpointMode::Semantic`] (REQ-EPT-12).
    pub fn mode(mut self, mode: EndpointMode) -> Self {
        self.settings.mode = mode;
        self
    }

    /// Adds a profile of endpoint families, and selects it unless the configuration selects another one. Default:
    /// CRUDE. The default profile stays available as `crude`.
    pub fn profile(mut self, profile: EndpointProfile) -> Self {
        self.settings.profile = profile.name().to_owned();
        self.profiles.retain(|known| known.is_crude() || known.name() != profile.name());
        self.profiles.push(profile);
        self
    }

    /// Sets a prefix for all tool names, such as `github_`, so that a client can use several adapters. A prefix
    /// consists of lower-case letters, digits and underscores, and ends with an underscore (REQ-MCP-18).
    ///
    /// ```
    /// use mcp_aql::Adapter;
    ///
    /// // The tools are `github_mcp_aql_create`, `github_mcp_aql_read`, …
    /// let builder = Adapter::builder("github").tool_prefix("github_");
    /// ```
    pub fn tool_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.settings.tool_prefix = prefix.into();
        self
    }

    /// Sets the limits on the sizes of requests and replies.
    pub fn limits(mut self, limits: SizeLimits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// If `true`, batches (`operations: […]`) are accepted. Default: `true`.
    pub fn batch(mut self, on: bool) -> Self {
        self.settings.batch = on;
        self
    }

    /// If `true`, calls with unknown parameters are rejected. If `false`, unknown parameters only cause warnings. Turn
    /// it off for development only (REQ-UNK-06). Default: `true`.
    pub fn strict_mode(mut self, on: bool) -> Self {
        self.settings.strict = on;
        self
    }

    /// If `true`, `taskId` is accepted for `task_id`. Default: `false` (REQ-RQ-05).
    pub fn camel_case_aliases(mut self, on: bool) -> Self {
        self.settings.camel_case_aliases = on;
        self
    }

    /// If `true`, clients may send `params`, and objects and lists in parameters, as strings that contain JSON.
    /// Default: `false`. Some clients send such strings, and their models cannot correct it. A parameter that accepts
    /// strings still receives the string itself.
    ///
    /// ```json
    /// { "operation": "create_task", "params": "{\"title\": \"Ship it\"}" }
    /// ```
    pub fn json_texts(mut self, on: bool) -> Self {
        self.settings.json_texts = on;
        self
    }

    /// If `true`, replies contain MCP structured content in addition to JSON as a string. Default: `false`, because it
    /// doubles the size of replies.
    pub fn structured_content(mut self, on: bool) -> Self {
        self.settings.structured_content = on;
        self
    }

    /// Sets the approximate size of the tool list in tokens. Tool descriptions contain the parameters of as many
    /// operations as the budget allows. They always name the other operations, even if the names exceed the budget.
    /// With 0, they only contain names. Default: 1,500, or 600 in mode `single`.
    ///
    /// ```
    /// use mcp_aql::Adapter;
    ///
    /// let builder = Adapter::builder("tasks").description_budget(3_000);
    /// ```
    pub fn description_budget(mut self, tokens: usize) -> Self {
        self.settings.description_budget = Some(tokens);
        self
    }

    /// If `true`, the details of errors contain the session's id. Default: `true` (REQ-SES-06).
    pub fn session_id_in_errors(mut self, on: bool) -> Self {
        self.settings.session_id_in_errors = on;
        self
    }

    /// Sets which calls may run concurrently. Default: [`Concurrency::FullyConcurrent`] (REQ-CON-01).
    ///
    /// An execution counts as a running call until it ends. Operations on executions, such as `get_execution`, never
    /// wait.
    pub fn concurrency(mut self, category: Concurrency) -> Self {
        self.settings.concurrency = category;
        self
    }

    /// Sets the maximum number of concurrent calls. Further calls wait. Default: unlimited.
    ///
    /// An execution counts as a running call until it ends. While it waits for its turn, its status is `pending`.
    pub fn max_concurrent_requests(mut self, count: usize) -> Self {
        self.settings.max_concurrent_requests = Some(count);
        self
    }

    /// Sets the maximum time for which an operation may run, including the functions of executions. Default: unlimited.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = Some(limit);
        self
    }

    /// Sets how long a stopping server waits for running calls and executions: 0 to 3,600 seconds. Default: 30 seconds.
    /// The server rejects new calls meanwhile. Calls that take longer are aborted, and each of them is logged.
    ///
    /// A server stops after a signal (SIGTERM or Ctrl-C), or when the future passed to `serve_listener` completes. It
    /// also stops when the client closes standard input. In that case changes have this time to finish, and READs half
    /// a second.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let builder = mcp_aql::Adapter::builder("tasks").drain_timeout(Duration::from_secs(90));
    /// ```
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.settings.drain_timeout = timeout;
        self
    }

    /// Sets the store for confirmation tokens, counters, executions and blocks. By default they are kept in memory and
    /// lost when the process ends. With a safety loop, the default is a file named after the adapter in the user's
    /// state directory, because blocks must outlive the process (REQ-OOB-09).
    pub fn store(mut self, store: impl StateStore) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Sets the clock. Default: the system's clock. Use your own in tests of expiry.
    pub fn time_source(mut self, time: TimeSource) -> Self {
        self.settings.time = time;
        self
    }

    /// Sets the options of executions, the background calls of operations with a lifecycle.
    pub fn executions(mut self, options: ExecutionOptions) -> Self {
        self.settings.executions = options;
        self
    }

    /// Adds an extension. It replaces an extension of the same type.
    #[doc(hidden)]
    pub fn extension(mut self, extension: impl Extension + 'static) -> Self {
        self.settings.extend(Box::new(extension));
        self
    }

    /// Sets the secret key of cursors. Set it if cursors must stay valid after a restart or in another process.
    /// Default: a random secret (REQ-PAG-10).
    pub fn cursor_key(mut self, key: crate::paging::CursorKey) -> Self {
        self.settings.cursor_key = key;
        self
    }

    /// Reads this configuration file instead of the user's file and of `mcp-aql.toml` in the working directory. The
    /// file must exist. It may change every setting, so only the operator should be able to write to it.
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.source = ConfigSource::File(path.into());
        self
    }

    /// Reads no configuration file, neither the user's nor one in the working directory. The environment still
    /// overrides the builder.
    pub fn without_config_file(mut self) -> Self {
        self.source = ConfigSource::Environment;
        self
    }

    /// Reads neither a configuration file nor the environment. Use it in tests, so that they do not depend on the
    /// machine.
    pub fn without_config(mut self) -> Self {
        self.source = ConfigSource::None;
        self
    }

    /// Checks all settings and builds the adapter.
    ///
    /// # Errors
    ///
    /// Returns all problems at once: duplicate names, unknown families, missing state, limits out of range, an invalid
    /// prefix, invalid examples, an invalid configuration.
    pub fn build(mut self) -> Result<Adapter, BuildError> {
        let own: HashSet<_> = self.operations.iter().map(|(spec, _)| spec.name).collect();
        self.ready_operations.retain(|(spec, _)| !own.contains(spec.name));
        self.operations.append(&mut self.ready_operations);
        let parts = Arc::new(Parts {
            name: self.name,
            version: self.version,
            instructions: self.instructions,
            operations: self.operations,
            states: Arc::new(self.states),
            problems: self.problems,
            profiles: self.profiles,
            store: self.store,
            audit_sinks: self.audit_sinks,
            audit_observers: self.audit_observers,
            observers: self.observers,
            settings: self.settings,
        });
        build_from(parts, &self.source)
    }
}
