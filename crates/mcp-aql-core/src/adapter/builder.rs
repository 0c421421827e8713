//! The builder of adapters.

use std::any::type_name;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_protocol::SizeLimits;

use super::BuildError;
use super::config::ConfigSource;
use super::parts::Parts;
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

/// Builds an adapter. [`build`](Self::build) reports all problems at once.
///
/// The user's configuration file and the environment override the builder. The file is
/// `mcp-aql/NAME/mcp-aql.toml`, with the adapter's name, in `$XDG_CONFIG_HOME` or `~/.config`; on macOS in
/// `~/Library/Application Support`, on Windows in `%APPDATA%`. An `mcp-aql.toml` in the working directory
/// can only make the adapter stricter, because it may belong to a cloned project.
#[must_use = "an adapter exists after `build()`"]
pub struct AdapterBuilder {
    name: String,
    version: String,
    instructions: Option<String>,
    operations: Vec<(OperationSpec, Handler)>,
    /// The operations that others of the same name replace.
    ready_operations: Vec<(OperationSpec, Handler)>,
    states: StateMap,
    /// Problems that were found before `build`.
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

    /// Sets the adapter's own version, which clients see: `.version(env!("CARGO_PKG_VERSION"))`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets the text that a model should read before its first call. The general instructions for MCP-AQL
    /// precede it.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds the operations of a type: the methods of its `#[operations]` block, and of the blocks that it
    /// lists.
    pub fn operations<T: Operations>(mut self, receiver: T) -> Self {
        let receiver = Arc::new(receiver);
        for method in T::OPERATIONS.iter().chain(T::FURTHER.iter().copied().flatten()) {
            let spec = method.spec.origin(type_name::<T>());
            self.operations.push((spec, Handler::of(Arc::clone(&receiver), method)));
        }
        self
    }

    /// Adds an operation that is a free function: `.operation(get_server_time {})`.
    pub fn operation<O: Operation>(mut self, _operation: O) -> Self {
        let method = O::OPERATION;
        let spec = method.spec.origin(type_name::<O>());
        self.operations.push((spec, Handler::of(Arc::new(()), &method)));
        self
    }

    /// Adds an operation that is known only at run time.
    pub fn dynamic_operation(mut self, operation: DynamicOperation) -> Self {
        self.operations.push(operation.into_parts(&mut self.problems));
        self
    }

    /// Adds operations that a crate of this workspace provides. An operation that is added in another way under the
    /// same name replaces one of them.
    #[doc(hidden)]
    pub fn ready_operations<S: Send + Sync + 'static>(
        mut self,
        receiver: Arc<S>,
        entries: &[OperationEntry<S>],
    ) -> Self {
        let handler = |entry: &OperationEntry<S>| {
            (entry.spec.origin(type_name::<S>()), Handler::of(Arc::clone(&receiver), entry))
        };
        self.ready_operations.extend(entries.iter().map(handler));
        self
    }

    /// The adapter's name.
    #[doc(hidden)]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a problem, which [`build`](Self::build) reports.
    #[doc(hidden)]
    pub fn problem(mut self, problem: String) -> Self {
        self.problems.push(problem);
        self
    }

    /// Returns the state of a part of the framework, which is added if it is missing.
    #[doc(hidden)]
    pub fn state_of_part<T: SharedState + Default>(&mut self) -> T {
        self.states.get::<T>().unwrap_or_else(|| {
            let state = T::default();
            self.states.insert(state.clone());
            state
        })
    }

    /// Adds shared state, which operations take as `State<T>`. There can be one state of each type.
    pub fn state<T: SharedState>(mut self, state: T) -> Self {
        if !self.states.insert(state) {
            let name = type_name::<T>();
            self.problems
                .push(format!("two states of type `{name}`: wrap one in a type of its own"));
        }
        self
    }

    /// Sets the offered tools. Default: [`EndpointMode::Semantic`] (REQ-EPT-12).
    pub fn mode(mut self, mode: EndpointMode) -> Self {
        self.settings.mode = mode;
        self
    }

    /// Adds a profile of endpoint families and uses it, unless the configuration selects another one.
    /// Default: CRUDE, which stays available as `crude`.
    pub fn profile(mut self, profile: EndpointProfile) -> Self {
        self.settings.profile = profile.name().to_owned();
        self.profiles.retain(|known| known.is_crude() || known.name() != profile.name());
        self.profiles.push(profile);
        self
    }

    /// Sets a prefix of all tool names, such as `github_`, so that a client can use several adapters. A
    /// prefix has lower-case letters, digits and underscores, and ends with an underscore (REQ-MCP-18).
    pub fn tool_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.settings.tool_prefix = prefix.into();
        self
    }

    /// Sets the payload limits.
    pub fn limits(mut self, limits: SizeLimits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Sets the number of bytes after which a page ends, which is the limit `result_budget`: 1 KiB to 100 MiB.
    /// The next page begins with the entries that are left. Choose it by the client that cuts replies first.
    /// Default: 64 KiB.
    pub fn result_budget(mut self, bytes: usize) -> Self {
        self.settings.limits.result_budget = bytes;
        self
    }

    /// Sets whether batches (`operations: […]`) are accepted. Default: on.
    pub fn batch(mut self, on: bool) -> Self {
        self.settings.batch = on;
        self
    }

    /// Sets whether unknown parameters are refused. Default: on. If off, they cause warnings instead, which
    /// is meant for development only (REQ-UNK-06).
    pub fn strict_mode(mut self, on: bool) -> Self {
        self.settings.strict = on;
        self
    }

    /// Sets whether `taskId` is accepted for `task_id`. Default: off (REQ-RQ-05).
    pub fn camel_case_aliases(mut self, on: bool) -> Self {
        self.settings.camel_case_aliases = on;
        self
    }

    /// Sets whether `params`, and objects and lists in parameters, may be sent as text that contains their JSON. Default: off.
    /// Some clients send them so, and their models cannot correct it. A text for a parameter that accepts it stays a text.
    pub fn json_texts(mut self, on: bool) -> Self {
        self.settings.json_texts = on;
        self
    }

    /// Sets whether replies are sent as MCP structured content as well as text. Default: off, because it
    /// doubles the size of replies.
    pub fn structured_content(mut self, on: bool) -> Self {
        self.settings.structured_content = on;
        self
    }

    /// Sets the approximate size of the tool list in tokens. Operations are described with their parameters
    /// while they fit; the others are only named, even if the names exceed it. Default: 1,500, and 600 in
    /// mode `single`. With 0, descriptions only name the operations.
    ///
    /// ```
    /// # use mcp_aql_core as mcp_aql;
    /// use mcp_aql::adapter::Adapter;
    ///
    /// let builder = Adapter::builder("tasks").description_budget(3_000);
    /// ```
    pub fn description_budget(mut self, tokens: usize) -> Self {
        self.settings.description_budget = Some(tokens);
        self
    }

    /// Sets whether the details of failures contain the session's id. Default: on (REQ-SES-06).
    pub fn session_id_in_errors(mut self, on: bool) -> Self {
        self.settings.session_id_in_errors = on;
        self
    }

    /// Sets which calls may run concurrently. Default: [`Concurrency::FullyConcurrent`] (REQ-CON-01).
    ///
    /// An execution counts as a call for as long as it runs. Operations on executions, such as
    /// `get_execution`, never wait.
    pub fn concurrency(mut self, category: Concurrency) -> Self {
        self.settings.concurrency = category;
        self
    }

    /// Sets the maximum number of concurrent calls; further calls wait. Default: unlimited.
    ///
    /// An execution counts for as long as it runs, and is `pending` before that.
    pub fn max_concurrent_requests(mut self, count: usize) -> Self {
        self.settings.max_concurrent_requests = Some(count);
        self
    }

    /// Sets the time limit of an operation, including the functions of executions. Default: unlimited.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = Some(limit);
        self
    }

    /// Sets how long a server waits at its end for running calls and executions: 0 to 3,600 seconds. Default: 30
    /// seconds. New calls are refused meanwhile. Calls that run for longer are cut off, and each is logged.
    ///
    /// The end is a signal (SIGTERM, or Ctrl-C), or the future of `serve_listener`. A client that closes standard input
    /// ends its server as well: changes have this time then, and READs half a second.
    ///
    /// ```
    /// # use mcp_aql_core as mcp_aql;
    /// use std::time::Duration;
    ///
    /// let builder = mcp_aql::adapter::Adapter::builder("tasks").drain_timeout(Duration::from_secs(90));
    /// ```
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.settings.drain_timeout = timeout;
        self
    }

    /// Sets the store for tokens, counters, executions and blocks. Default: in memory, until the process
    /// ends; with a safety loop, a file with the adapter's name in the user's state directory, because
    /// blocks must outlive the process (REQ-OOB-09).
    pub fn store(mut self, store: impl StateStore) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Sets the source of the time. Default: the system's clock.
    pub fn time_source(mut self, time: TimeSource) -> Self {
        self.settings.time = time;
        self
    }

    /// Sets the options of executions, which are calls of operations with a lifecycle.
    pub fn executions(mut self, options: ExecutionOptions) -> Self {
        self.settings.executions = options;
        self
    }

    /// Adds an extension. It replaces one of the same type.
    #[doc(hidden)]
    pub fn extension(mut self, extension: impl Extension + 'static) -> Self {
        self.settings.extend(Box::new(extension));
        self
    }

    /// Sets the secret of cursors. Cursors of an earlier run or of another process with the same secret
    /// stay valid. Default: a random secret (REQ-PAG-10).
    pub fn cursor_key(mut self, key: crate::paging::CursorKey) -> Self {
        self.settings.cursor_key = key;
        self
    }

    /// Reads this configuration file, which must exist, instead of the user's file and of `mcp-aql.toml` in
    /// the working directory. It may change every setting, so only the operator should be able to write to
    /// it.
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.source = ConfigSource::File(path.into());
        self
    }

    /// Reads no configuration file, neither the user's nor one in the working directory. The environment
    /// still overrides the builder.
    pub fn without_config_file(mut self) -> Self {
        self.source = ConfigSource::Environment;
        self
    }

    /// Reads neither a configuration file nor the environment.
    pub fn without_config(mut self) -> Self {
        self.source = ConfigSource::None;
        self
    }

    /// Checks all settings and builds the adapter.
    ///
    /// # Errors
    /// All problems at once: names that clash, unknown families, missing state, limits outside of
    /// their ranges, a bad prefix, invalid examples, a faulty configuration.
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
