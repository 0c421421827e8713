//! The settings of an adapter.

pub(super) mod declaration;
mod http_settings;
pub(super) mod key_list;
mod keys;
pub(super) mod owned_keys;

use std::any::Any;
use std::path::PathBuf;
use std::time::Duration;

use mcp_aql_protocol::SizeLimits;

use crate::config::access::Access;
use crate::config::file_access::SettingPath;
use crate::config::setting::ConfigSources;
use crate::execution::ExecutionOptions;
use crate::execution::concurrency::Concurrency;
use crate::extension::Extension;
use crate::gatekeeper::GateSettings;
use crate::observe::logging::LogFormat;
use crate::router::EndpointMode;
use crate::util::clock::TimeSource;

pub use self::http_settings::HttpSettings;
pub use self::key_list::{check_value, flag_defaults, flag_keys};

/// Default of [`AdapterBuilder::drain_timeout`](super::AdapterBuilder::drain_timeout), in seconds.
const DEFAULT_DRAIN_SECONDS: u64 = 30;

/// All settings of an adapter. They come from the builder, then the configuration file, then the environment.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The offered tools: one for each endpoint family, one for all operations, or both.
    pub mode: EndpointMode,
    /// Name of the profile.
    pub(crate) profile: String,
    pub(crate) tool_prefix: String,
    pub(crate) limits: SizeLimits,
    /// If `true`, clients can send several operations in one call.
    pub batch: bool,
    /// If `true`, calls with unknown parameters are rejected.
    pub strict: bool,
    pub(crate) camel_case_aliases: bool,
    pub(crate) json_texts: bool,
    /// If `true`, replies also contain structured content.
    pub structured_content: bool,
    /// Approximate size of the tool list in tokens. Defaults to [`default_description_budget`].
    pub description_budget: Option<usize>,
    pub(crate) session_id_in_errors: bool,
    pub(crate) concurrency: Concurrency,
    pub(crate) max_concurrent_requests: Option<usize>,
    pub(crate) time_limit: Option<Duration>,
    /// How long a stopping server waits for running calls.
    pub drain_timeout: Duration,
    pub(crate) time: TimeSource,
    pub(crate) executions: ExecutionOptions,
    pub(crate) access: Access,
    /// The table `auth` of the configuration file, and the folder of the file. The HTTP server reads the table.
    pub auth: Option<(serde_json::Value, PathBuf)>,
    pub(crate) gate: GateSettings,
    pub(crate) extensions: Vec<Box<dyn Extension>>,
    /// File of the audit log.
    pub audit_log: Option<SettingPath>,
    /// Format of the log written by the command line.
    pub log_format: LogFormat,
    pub(crate) audit_in_store: bool,
    pub(crate) audit_retention: Option<chrono::TimeDelta>,
    pub(crate) cursor_key: crate::paging::CursorKey,
    /// The settings of HTTP in the configuration. The HTTP server reads them.
    pub http: HttpSettings,
    /// Sources of the settings changed by configuration files or the environment.
    pub sources: ConfigSources,
    /// Notices about configuration files and the environment for the operator. They are logged when the adapter starts.
    pub(crate) notices: Vec<String>,
}

/// Returns the default size of the tool list in a mode, in tokens.
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
            http: HttpSettings::default(),
            sources: ConfigSources::default(),
            notices: Vec::new(),
        }
    }
}

impl Settings {
    /// Returns the notices for the operator about files, the environment and permissions.
    #[doc(hidden)]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Adds an extension. It replaces an extension of the same type.
    pub(super) fn extend(&mut self, extension: Box<dyn Extension>) {
        let type_of = |extension: &dyn Any| extension.type_id();
        let own = type_of(&*extension);
        self.extensions.retain(|known| type_of(&**known) != own);
        self.extensions.push(extension);
    }
}
