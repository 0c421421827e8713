//! The settings of an adapter.

use std::any::Any;
use std::path::PathBuf;
use std::time::Duration;

use mcp_aql_protocol::SizeLimits;

use super::http_table::HttpTable;
use crate::config::access::Access;
use crate::config::file_access::SettingPath;
use crate::config::setting::ConfigSources;
use crate::execution::ExecutionOptions;
use crate::execution::concurrency::Concurrency;
use crate::extension::Extension;
use crate::gatekeeper::GateSettings;
use crate::observe::log_format::LogFormat;
use crate::router::EndpointMode;
use crate::util::clock::TimeSource;

/// The default of [`AdapterBuilder::drain_timeout`](super::AdapterBuilder::drain_timeout), in seconds.
const DEFAULT_DRAIN_SECONDS: u64 = 30;
/// The upper bound of the time that a server waits at its end.
const MAX_DRAIN_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// All settings of an adapter: from the builder, then the configuration file, then the environment.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether there is one tool for each endpoint family, one for all, or both.
    pub mode: EndpointMode,
    /// The profile's name.
    pub(crate) profile: String,
    pub(crate) tool_prefix: String,
    pub(crate) limits: SizeLimits,
    /// Whether clients can send several operations in one call.
    pub batch: bool,
    /// Whether unknown parameters are errors.
    pub strict: bool,
    pub(crate) camel_case_aliases: bool,
    pub(crate) json_texts: bool,
    /// Whether replies also contain structured content.
    pub structured_content: bool,
    /// The approximate size of the tool list in tokens. Without it, [`default_description_budget`] decides.
    pub description_budget: Option<usize>,
    pub(crate) session_id_in_errors: bool,
    pub(crate) concurrency: Concurrency,
    pub(crate) max_concurrent_requests: Option<usize>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) drain_timeout: Duration,
    pub(crate) time: TimeSource,
    pub(crate) executions: ExecutionOptions,
    pub(crate) access: Access,
    /// The table `auth` of the configuration file, which the HTTP server reads, and the folder of the file.
    pub auth: Option<(serde_json::Value, PathBuf)>,
    pub(crate) gate: GateSettings,
    pub(crate) extensions: Vec<Box<dyn Extension>>,
    /// The file of the audit log.
    pub audit_log: Option<SettingPath>,
    /// The format of the log that the command line writes.
    pub log_format: LogFormat,
    pub(crate) audit_in_store: bool,
    pub(crate) audit_retention: Option<chrono::TimeDelta>,
    pub(crate) cursor_key: crate::paging::CursorKey,
    /// The table `http` of the configuration file, which the HTTP server reads.
    pub http: HttpTable,
    /// Where configuration files and the environment have set something.
    pub sources: ConfigSources,
    /// Notices about configuration files and environment for the operator, logged when the adapter starts.
    pub(crate) notices: Vec<String>,
}

/// The size of the tool list without a setting, in tokens.
pub const fn default_description_budget(mode: EndpointMode) -> usize {
    match mode {
        EndpointMode::Single => 600,
        EndpointMode::Semantic | EndpointMode::All => 1_500,
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: EndpointMode::default(),
            profile: "crude".to_owned(),
            tool_prefix: String::new(),
            limits: SizeLimits::default(),
            batch: true,
            strict: true,
            camel_case_aliases: false,
            json_texts: false,
            structured_content: false,
            description_budget: None,
            session_id_in_errors: true,
            concurrency: Concurrency::default(),
            max_concurrent_requests: None,
            time_limit: None,
            drain_timeout: Duration::from_secs(DEFAULT_DRAIN_SECONDS),
            time: TimeSource::default(),
            executions: ExecutionOptions::default(),
            access: Access::default(),
            auth: None,
            gate: GateSettings::default(),
            extensions: Vec::new(),
            audit_log: None,
            log_format: LogFormat::default(),
            audit_in_store: false,
            audit_retention: None,
            cursor_key: crate::paging::CursorKey::random(),
            http: HttpTable::default(),
            sources: ConfigSources::default(),
            notices: Vec::new(),
        }
    }
}

impl Settings {
    /// The notices for the operator about files, the environment and permissions.
    #[doc(hidden)]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Adds an extension. It replaces one of the same type.
    pub(super) fn extend(&mut self, extension: Box<dyn Extension>) {
        let type_of = |extension: &dyn Any| extension.type_id();
        let own = type_of(&*extension);
        self.extensions.retain(|known| type_of(&**known) != own);
        self.extensions.push(extension);
    }
}

/// The problem with a time that a server waits at its end, if there is one.
pub(in crate::adapter) fn drain_timeout_problem(timeout: Duration) -> Option<String> {
    (timeout > MAX_DRAIN_TIMEOUT).then(|| {
        format!(
            "`drain_timeout` is {timeout:?}: choose 0 to {} seconds",
            MAX_DRAIN_TIMEOUT.as_secs()
        )
    })
}
