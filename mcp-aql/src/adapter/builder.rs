use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_protocol::Limits;

use super::assemble::{BuildError, assemble};
use super::config::{self, ConfigSource};
use super::parts::Parts;
use super::{Adapter, Settings};
use crate::audit::AuditSink;
use crate::clock::TimeSource;
use crate::concurrency::Concurrency;
use crate::execution::ExecutionOptions;
use crate::gatekeeper::{self, Policy, Trust};
use crate::operation::OperationSpec;
use crate::operation::{Handler, Operation, Operations, StateMap};
use crate::router::{EndpointMode, EndpointProfile};
use crate::spec::SharedState;
use crate::store::Store;

/// Puts an adapter together; [`build`](Self::build) reports everything that is wrong at once.
///
/// The user's configuration file and the environment come on top of what is set here. The file is
/// `mcp-aql/NAME/mcp-aql.toml`, by the adapter's name, in `$XDG_CONFIG_HOME` or `~/.config`; on macOS in
/// `~/Library/Application Support`, on Windows in `%APPDATA%`. An `mcp-aql.toml` in the working directory can
/// only make the adapter stricter, since it may have come with a cloned project.
#[must_use = "an adapter exists after `build()`"]
pub struct AdapterBuilder {
    name: String,
    version: String,
    instructions: Option<String>,
    operations: Vec<(OperationSpec, Handler)>,
    states: StateMap,
    doubled_states: Vec<&'static str>,
    profiles: Vec<EndpointProfile>,
    store: Option<Arc<dyn Store>>,
    audit_sinks: Vec<Arc<dyn AuditSink>>,
    settings: Settings,
    source: ConfigSource,
}

impl AdapterBuilder {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            version: "0.0.0".to_owned(),
            instructions: None,
            operations: Vec::new(),
            states: StateMap::default(),
            doubled_states: Vec::new(),
            profiles: vec![EndpointProfile::crude()],
            store: None,
            audit_sinks: Vec::new(),
            settings: Settings::default(),
            source: ConfigSource::default(),
        }
    }

    /// The adapter's own version, which clients see: `.version(env!("CARGO_PKG_VERSION"))`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// What a model should know of this adapter before its first call, besides how to start, which
    /// is told anyway.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds the operations of a type: the methods of its `#[operations]` block, and of the blocks that it
    /// lists.
    pub fn operations<T: Operations>(mut self, receiver: T) -> Self {
        let receiver = Arc::new(receiver);
        for method in T::OPERATIONS.iter().chain(T::FURTHER.iter().copied().flatten()) {
            self.operations.push((method.spec, Handler::of(Arc::clone(&receiver), method)));
        }
        self
    }

    /// Adds an operation that is a free function: `.operation(get_server_time {})`.
    pub fn operation<O: Operation>(mut self, _operation: O) -> Self {
        let method = O::OPERATION;
        self.operations.push((method.spec, Handler::of(Arc::new(()), &method)));
        self
    }

    /// Adds shared state, which operations take as `State<T>`. One of each type.
    pub fn state<T: SharedState>(mut self, state: T) -> Self {
        if !self.states.insert(state) {
            self.doubled_states.push(std::any::type_name::<T>());
        }
        self
    }

    /// Which tools are offered. Default: [`EndpointMode::Semantic`] (REQ-EPT-12).
    pub fn mode(mut self, mode: EndpointMode) -> Self {
        self.settings.mode = mode;
        self
    }

    /// Adds a profile of endpoint families and uses it, unless the configuration chooses another.
    /// Default: CRUDE, which stays available as `crude`.
    pub fn profile(mut self, profile: EndpointProfile) -> Self {
        self.settings.profile = profile.name().to_owned();
        self.profiles.retain(|known| known.is_crude() || known.name() != profile.name());
        self.profiles.push(profile);
        self
    }

    /// Puts this before every tool name, so that several adapters fit into one client: `github_`.
    /// Lower-case letters, digits and underscores, with an underscore at the end (REQ-MCP-18).
    pub fn tool_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.settings.tool_prefix = prefix.into();
        self
    }

    /// Sets the payload limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Takes batches (`operations: […]`). Default: on.
    pub fn batch(mut self, on: bool) -> Self {
        self.settings.batch = on;
        self
    }

    /// Refuses unknown parameters. Default: on. Off, they are warned of instead: for development
    /// only (REQ-UNK-06).
    pub fn strict_mode(mut self, on: bool) -> Self {
        self.settings.strict = on;
        self
    }

    /// Takes `taskId` for `task_id`. Default: off (REQ-RQ-05).
    pub fn camel_case_aliases(mut self, on: bool) -> Self {
        self.settings.camel_case_aliases = on;
        self
    }

    /// Sends replies as MCP structured content too, beside the text. Default: off, since it doubles
    /// what a client receives.
    pub fn structured_content(mut self, on: bool) -> Self {
        self.settings.structured_content = on;
        self
    }

    /// Puts the session's id into the details of failures. Default: on (REQ-SES-06).
    pub fn session_id_in_errors(mut self, on: bool) -> Self {
        self.settings.session_id_in_errors = on;
        self
    }

    /// Which calls may run side by side; the adapter keeps to it. Default:
    /// [`Concurrency::FullyConcurrent`] (REQ-CON-01).
    ///
    /// An execution counts as a call that takes as long as it runs. The operations that steer
    /// executions wait for nobody.
    pub fn concurrency(mut self, category: Concurrency) -> Self {
        self.settings.concurrency = category;
        self
    }

    /// The most calls that run side by side; others wait their turn. Default: no bound.
    ///
    /// An execution counts as long as it runs, and is `pending` before that.
    pub fn max_concurrent_requests(mut self, count: usize) -> Self {
        self.settings.max_concurrent_requests = Some(count);
        self
    }

    /// The longest that an operation may take, an execution's function too. Default: no limit.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = Some(limit);
        self
    }

    /// Keeps tokens, counters, executions and blocks there. Default: in memory, as long as the process
    /// lives; with a safety loop, in a file of the adapter's name under the user's state directory, as
    /// blocks must outlive the process (REQ-OOB-09).
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Takes the time from there. Default: the system's clock.
    pub fn time_source(mut self, time: TimeSource) -> Self {
        self.settings.time = time;
        self
    }

    /// How executions are kept and ended: operations with a lifecycle.
    pub fn executions(mut self, options: ExecutionOptions) -> Self {
        self.settings.executions = options;
        self
    }

    /// Adds a rule of the gatekeeper. Rules of the configuration file come on top of these
    /// (REQ-GATE-04, REQ-GATE-05).
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings.gate.policies.push(policy);
        self
    }

    /// Declares how far the adapter is trusted, which puts the matrix of trust and danger in force.
    /// Until then, danger alone decides: calls of `destructive` operations and up are confirmed
    /// (REQ-DNG-06, REQ-DNG-13).
    pub fn trust(mut self, trust: Trust) -> Self {
        self.settings.gate.trust = Some(trust);
        self
    }

    /// How long a confirmation is good: 1 second to 15 minutes, of `forbidden` operations never more
    /// than 5. Default: 5 minutes, and 2 for those (REQ-TOK-08).
    pub fn confirmation_ttl(mut self, ttl: Duration) -> Self {
        self.settings.gate.confirmation_ttl = Some(gatekeeper::delta(ttl));
        self
    }

    /// How much longer a confirmation is taken after it has expired, for clocks that differ: up to 300
    /// seconds. Default: 30 seconds; zero switches it off (REQ-TOK-09).
    pub fn clock_skew_tolerance(mut self, tolerance: Duration) -> Self {
        self.settings.gate.skew = gatekeeper::delta(tolerance);
        self
    }

    /// The number of confirmation tokens that a session may ask for in a minute; it may send a quarter as
    /// many that are not good. Beyond that, calls are answered with `RATE_LIMIT_EXCEEDED`. Default: 120
    /// (REQ-TOK-17).
    pub fn confirmations_per_minute(mut self, count: usize) -> Self {
        self.settings.gate.per_minute = count;
        self
    }

    /// Appends the audit log to this file, which is made if it is not there.
    pub fn audit_log(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.audit_log = Some(path.into());
        self
    }

    /// Keeps the audit log in the store too: for ever, unless [`audit_keep`](Self::audit_keep) says how
    /// long. A store in memory grows with it.
    pub fn audit_in_store(mut self, on: bool) -> Self {
        self.settings.audit_in_store = on;
        self
    }

    /// How long the store keeps an entry of the audit log. Default: for ever (REQ-GATE-09).
    pub fn audit_keep(mut self, keep: Duration) -> Self {
        self.settings.audit_keep = Some(gatekeeper::delta(keep));
        self
    }

    /// Sends the audit log's lines there too, besides `tracing`.
    pub fn audit_sink(mut self, sink: impl AuditSink) -> Self {
        self.audit_sinks.push(Arc::new(sink));
        self
    }

    /// Lets agents execute in this safety loop. Default: none, which costs nothing (REQ-LOOP-01).
    ///
    /// What must outlive the process, such as blocks, is kept in the [`store`](Self::store). A test sets
    /// a [`MemoryStore`](crate::store::MemoryStore).
    #[cfg(feature = "safety")]
    pub fn safety_loop(mut self, safety_loop: crate::safety_loop::SafetyLoop) -> Self {
        self.settings.safety = Some(safety_loop);
        self
    }

    /// Sets rate limits and quotas, which are counted in the [store](Self::store). Default: none
    /// (REQ-RATE-01).
    #[cfg(feature = "limits")]
    pub fn rate_limits(mut self, limits: crate::limits::RateLimits) -> Self {
        self.settings.rate_limits = Some(limits);
        self
    }

    /// Makes cursors with this secret, so that those of an earlier run, or of another process with the
    /// same secret, are still good. Default: a random one (REQ-PAG-10).
    pub fn cursor_key(mut self, key: crate::CursorKey) -> Self {
        self.settings.cursor_key = key;
        self
    }

    /// Reads this configuration file, which must exist, in place of the user's file and of `mcp-aql.toml` in
    /// the working directory. It may set everything: name a file that only the operator can write to.
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.source = ConfigSource::File(path.into());
        self
    }

    /// Reads no configuration file, neither the user's nor one in the working directory. The environment has
    /// the last word all the same.
    pub fn without_config_file(mut self) -> Self {
        self.source = ConfigSource::Environment;
        self
    }

    /// Reads neither configuration file nor environment.
    pub fn without_config(mut self) -> Self {
        self.source = ConfigSource::None;
        self
    }

    /// Checks everything and makes the adapter.
    ///
    /// # Errors
    /// All problems at once: names that clash, unknown families, missing state, limits outside of
    /// their ranges, a bad prefix, invalid examples, a faulty configuration.
    pub fn build(self) -> Result<Adapter, BuildError> {
        let parts = Arc::new(Parts {
            name: self.name,
            version: self.version,
            instructions: self.instructions,
            operations: self.operations,
            states: Arc::new(self.states),
            doubled_states: self.doubled_states,
            profiles: self.profiles,
            store: self.store,
            audit_sinks: self.audit_sinks,
            settings: self.settings,
        });
        build(parts, &self.source)
    }
}

fn build(parts: Arc<Parts>, source: &ConfigSource) -> Result<Adapter, BuildError> {
    let mut problems = Vec::new();
    let settings = config::resolve(parts.settings.clone(), &parts.name, source, &mut problems);
    let adapter = assemble(parts, settings, problems)?;
    adapter.log_notices();
    Ok(adapter)
}

impl Adapter {
    /// The same adapter with this configuration file, as [`AdapterBuilder::config_file`].
    ///
    /// # Errors
    /// As [`AdapterBuilder::build`].
    pub fn with_config_file(&self, path: impl Into<PathBuf>) -> Result<Self, BuildError> {
        build(Arc::clone(&self.inner.parts), &ConfigSource::File(path.into()))
    }

    /// The same adapter with other tools, with services of its own, and with as many confirmation tokens as
    /// the conformance runner asks for.
    #[cfg(feature = "conformance")]
    pub(crate) fn in_mode(&self, mode: EndpointMode) -> Result<Self, BuildError> {
        /// More than a run of five minutes uses, with any number of operations.
        const PER_MINUTE: usize = 1_000_000;
        let mut settings = Settings { mode, ..self.inner.settings.clone() };
        settings.gate.per_minute = settings.gate.per_minute.max(PER_MINUTE);
        assemble(Arc::clone(&self.inner.parts), settings, Vec::new())
    }
}
