//! The configuration files and the environment variables of an adapter.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_aql_protocol::nearest_name;
use serde::Deserialize;

use super::Settings;
use crate::file_access::{ForbiddenAccess, exposures};
use crate::gatekeeper::GateTable;
use crate::router::EndpointMode;
use crate::tightening::Tightening;
use crate::user_directory::{self, Purpose};

/// The name of the configuration file, in the user's configuration directory and in the working directory.
const FILE_NAME: &str = "mcp-aql.toml";

/// The sources of configuration besides the builder.
#[derive(Debug, Clone, Default)]
pub(crate) enum ConfigSource {
    /// The user's file, a file in the working directory, which can only tighten, and the environment.
    /// Neither file needs to exist.
    #[default]
    Found,
    /// This file, which must exist, and the environment.
    File(PathBuf),
    /// Only the environment.
    Environment,
    /// Neither a file nor the environment.
    None,
}

/// The configuration file. Every key is optional.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    endpoint_mode: Option<String>,
    endpoint_profile: Option<String>,
    tool_prefix: Option<String>,
    strict_mode: Option<bool>,
    structured_content: Option<bool>,
    #[serde(default)]
    limits: LimitsTable,
    #[serde(default)]
    executions: ExecutionsTable,
    #[cfg(feature = "safety")]
    safety_loop: Option<crate::safety_loop::LoopTable>,
    audit_log: Option<PathBuf>,
    #[serde(default)]
    gatekeeper: GateTable,
    #[cfg(feature = "limits")]
    #[serde(default)]
    api_limits: Vec<crate::limits::ApiLimitTable>,
    #[cfg(feature = "limits")]
    #[serde(default)]
    quotas: Vec<crate::limits::Quota>,
    #[cfg(feature = "limits")]
    cost: Option<crate::limits::CostTable>,
    #[cfg(feature = "limits")]
    rate_limits: Option<crate::limits::FlatTable>,
}

#[cfg(feature = "limits")]
impl ConfigFile {
    /// Takes the tables of rate limits and quotas out of the file.
    fn split_limits(mut self) -> (crate::limits::LimitTables, Self) {
        let tables = crate::limits::LimitTables {
            api_limits: std::mem::take(&mut self.api_limits),
            quotas: std::mem::take(&mut self.quotas),
            cost: self.cost.take(),
            rate_limits: self.rate_limits.take(),
        };
        (tables, self)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExecutionsTable {
    wait_seconds: Option<u64>,
    grace_seconds: Option<u64>,
    lease_seconds: Option<u64>,
    keep_seconds: Option<u64>,
    max_running: Option<usize>,
    max_running_per_session: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsTable {
    max_request_size: Option<usize>,
    max_response_size: Option<usize>,
    max_string_length: Option<usize>,
    max_array_elements: Option<usize>,
    max_nesting_depth: Option<usize>,
    max_batch_operations: Option<usize>,
}

#[cfg(feature = "safety")]
const NO_SAFETY_LOOP: &str = "`[safety_loop]` is configured, and the adapter has no safety loop: add \
                              `.safety_loop(…)`, or remove the table";

/// The reasons why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
enum ConfigError {
    /// The file cannot be read.
    #[error("configuration file `{file}` cannot be read: {cause}")]
    Unreadable {
        /// The path of the file.
        file: String,
        /// The error of the system.
        cause: std::io::Error,
    },
    /// The content of the file is invalid.
    #[error("configuration file `{file}`: {message}")]
    Malformed {
        /// The path of the file.
        file: String,
        /// The problem and its place.
        message: String,
    },
}

/// Applies files and environment to the builder's settings: the environment overrides the file, and the
/// file overrides the builder (REQ-EPT-10, REQ-EPT-11, REQ-MCP-17). Adds problems, and notices for the
/// operator.
pub(crate) fn resolve(
    mut settings: Settings,
    name: &str,
    source: &ConfigSource,
    problems: &mut Vec<String>,
) -> Settings {
    match source {
        ConfigSource::None => return settings,
        ConfigSource::Environment => {}
        ConfigSource::File(path) => apply_trusted(&mut settings, path, problems),
        ConfigSource::Found => {
            let user_file = user_directory::of(Purpose::Config, name)
                .map(|directory| directory.join(FILE_NAME))
                .ok();
            find(&mut settings, user_file.as_deref(), Path::new(FILE_NAME), problems);
        }
    }
    apply_environment(&mut settings, |name| std::env::var(name).ok(), problems);
    settings
}

/// Applies the user's file and the file in the working directory, if they exist.
fn find(
    settings: &mut Settings,
    user_file: Option<&Path>,
    project_file: &Path,
    problems: &mut Vec<String>,
) {
    if let Some(path) = user_file.filter(|path| exists(path, problems)) {
        apply_trusted(settings, path, problems);
    }
    let is_users = || {
        let real = project_file.canonicalize();
        user_file.is_some_and(|path| path.canonicalize().ok() == real.ok())
    };
    if exists(project_file, problems) && !is_users() {
        match read(project_file) {
            Ok(file) => apply_project(settings, file, (project_file, user_file), problems),
            Err(error) => problems.push(error.to_string()),
        }
    }
}

/// Whether a file exists. If that cannot be determined, it is a problem, because the file may contain
/// protections.
fn exists(path: &Path, problems: &mut Vec<String>) -> bool {
    path.try_exists().unwrap_or_else(|cause| {
        let file = path.display().to_string();
        problems.push(ConfigError::Unreadable { file, cause }.to_string());
        false
    })
}

/// Applies a file that belongs to the operator.
fn apply_trusted(settings: &mut Settings, path: &Path, problems: &mut Vec<String>) {
    match read(path) {
        Ok(file) => apply_file(settings, file, problems),
        Err(error) => problems.push(error.to_string()),
    }
    let found = exposures(path, ForbiddenAccess::Write).into_iter();
    settings
        .notices
        .extend(found.map(|it| format!("the configuration is not safe from other users: {it}")));
}

/// Applies a file in the working directory. Clients start servers in the directories of projects, so the
/// file may come with a project of someone else. Tool names are applied, and otherwise only settings that
/// make the adapter stricter.
fn apply_project(
    settings: &mut Settings,
    file: ConfigFile,
    (path, user_file): (&Path, Option<&Path>),
    problems: &mut Vec<String>,
) {
    #[cfg(feature = "limits")]
    let (tables, file) = file.split_limits();
    set_mode(settings, file.endpoint_mode, "`endpoint_mode`", problems);
    set(&mut settings.profile, file.endpoint_profile);
    set(&mut settings.tool_prefix, file.tool_prefix);
    set(&mut settings.structured_content, file.structured_content);
    let mut tightening = Tightening::default();
    tightening.replace("strict_mode", &mut settings.strict, file.strict_mode, |new, _| *new);
    tightening.refuse("audit_log", file.audit_log);
    #[cfg(feature = "safety")]
    match (&mut settings.safety, file.safety_loop) {
        (Some(safety), Some(table)) => safety.tighten(table, &mut tightening, problems),
        (None, Some(_)) => problems.push(NO_SAFETY_LOOP.to_owned()),
        (_, None) => {}
    }
    settings.gate.tighten(file.gatekeeper, &mut tightening, problems);
    #[cfg(feature = "limits")]
    tables.tighten(&mut settings.rate_limits, &mut tightening, problems);
    let (limits, given) = (&mut settings.limits, file.limits);
    for (key, limit, value) in [
        ("limits.max_request_size", &mut limits.max_request_size, given.max_request_size),
        ("limits.max_response_size", &mut limits.max_response_size, given.max_response_size),
        ("limits.max_string_length", &mut limits.max_string_length, given.max_string_length),
        ("limits.max_array_elements", &mut limits.max_array_elements, given.max_array_elements),
        ("limits.max_nesting_depth", &mut limits.max_nesting_depth, given.max_nesting_depth),
        (
            "limits.max_batch_operations",
            &mut limits.max_batch_operations,
            given.max_batch_operations,
        ),
    ] {
        tightening.lower(key, limit, value);
    }
    let (executions, given) = (&mut settings.executions, file.executions);
    for (key, limit, value) in [
        ("executions.max_running", &mut executions.max_running, given.max_running),
        (
            "executions.max_running_per_session",
            &mut executions.max_running_per_session,
            given.max_running_per_session,
        ),
    ] {
        tightening.lower(key, limit, value);
    }
    for (key, value) in [
        ("executions.wait_seconds", given.wait_seconds),
        ("executions.grace_seconds", given.grace_seconds),
        ("executions.lease_seconds", given.lease_seconds),
        ("executions.keep_seconds", given.keep_seconds),
    ] {
        tightening.refuse(key, value);
    }
    settings.notices.push(project_notice(path, user_file, &tightening.ignored));
}

/// The notice for the operator about a file in the working directory.
fn project_notice(path: &Path, user_file: Option<&Path>, ignored: &[String]) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = path.display();
    if ignored.is_empty() {
        return format!(
            "`{path}` was found in the working directory and applied: such a file can only make the \
             adapter stricter"
        );
    }
    let elsewhere = match user_file {
        Some(file) => {
            format!("write them into `{}`, or name a file with `--config`", file.display())
        }
        None => "name a file with `--config`".to_owned(),
    };
    format!(
        "`{path}` was found in the working directory, where a file can only make the adapter stricter. \
         These settings of it are ignored: `{}`. If they are yours, {elsewhere}",
        ignored.join("`, `")
    )
}

fn read(path: &Path) -> Result<ConfigFile, ConfigError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|cause| ConfigError::Unreadable { file: file.clone(), cause })?;
    toml_edit::de::from_str(&text)
        .map_err(|error| ConfigError::Malformed { file, message: describe_error(&error) })
}

/// The problem in a file, with the most likely correction.
fn describe_error(error: &toml_edit::de::Error) -> String {
    let text = error.to_string();
    let text = text.trim_end();
    match correction_in(error.message()) {
        Some(near) => format!("{text}. Did you mean `{near}`?"),
        None => text.to_owned(),
    }
}

/// Finds the known name that is nearest to an unknown one. The message of serde has the unknown name and
/// all known ones in backquotes: ``unknown field `a`, expected `b` or `c` ``.
fn correction_in(message: &str) -> Option<&str> {
    let of_names = ["unknown field `", "unknown variant `"];
    of_names.iter().find(|words| message.starts_with(**words))?;
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    nearest_name(unknown, names)
}

fn apply_file(settings: &mut Settings, file: ConfigFile, problems: &mut Vec<String>) {
    #[cfg(feature = "limits")]
    let (tables, file) = file.split_limits();
    set_mode(settings, file.endpoint_mode, "`endpoint_mode`", problems);
    set(&mut settings.profile, file.endpoint_profile);
    set(&mut settings.tool_prefix, file.tool_prefix);
    set(&mut settings.strict, file.strict_mode);
    set(&mut settings.structured_content, file.structured_content);
    #[cfg(feature = "safety")]
    match (&mut settings.safety, file.safety_loop) {
        (Some(safety), Some(table)) => safety.apply(table, problems),
        (None, Some(_)) => problems.push(NO_SAFETY_LOOP.to_owned()),
        (_, None) => {}
    }
    settings.gate.apply(file.gatekeeper, problems);
    #[cfg(feature = "limits")]
    tables.apply(&mut settings.rate_limits, problems);
    if let Some(path) = file.audit_log {
        settings.audit_log = Some(path);
    }
    let limits = &mut settings.limits;
    set(&mut limits.max_request_size, file.limits.max_request_size);
    set(&mut limits.max_response_size, file.limits.max_response_size);
    set(&mut limits.max_string_length, file.limits.max_string_length);
    set(&mut limits.max_array_elements, file.limits.max_array_elements);
    set(&mut limits.max_nesting_depth, file.limits.max_nesting_depth);
    set(&mut limits.max_batch_operations, file.limits.max_batch_operations);
    let executions = &mut settings.executions;
    for (option, seconds) in [
        (&mut executions.wait, file.executions.wait_seconds),
        (&mut executions.grace, file.executions.grace_seconds),
        (&mut executions.lease, file.executions.lease_seconds),
        (&mut executions.keep, file.executions.keep_seconds),
    ] {
        set(option, seconds.map(Duration::from_secs));
    }
    set(&mut executions.max_running, file.executions.max_running);
    set(&mut executions.max_running_per_session, file.executions.max_running_per_session);
}

fn apply_environment(
    settings: &mut Settings,
    variable: impl Fn(&str) -> Option<String>,
    problems: &mut Vec<String>,
) {
    // An empty variable counts as unset.
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mode = variable("MCP_AQL_ENDPOINT_MODE");
    set_mode(settings, mode, "`MCP_AQL_ENDPOINT_MODE`", problems);
    set(&mut settings.profile, variable("MCP_AQL_ENDPOINT_PROFILE"));
    set(&mut settings.tool_prefix, variable("MCP_AQL_TOOL_PREFIX"));
    #[cfg(feature = "safety")]
    if let Some(safety) = &mut settings.safety {
        // The protocol's name takes precedence (REQ-LOOP-15, choice C-66).
        let names = ["MCPAQL_SAFETY_LOOP", "MCP_AQL_SAFETY_LOOP"];
        let found = names.into_iter().find_map(|name| Some((name, variable(name)?)));
        if let Some((name, mode)) = found {
            let before = safety.current_mode();
            safety.set_mode(&mode, &format!("`{name}`"), problems);
            if safety.current_mode().is_laxer_than(before) {
                settings.notices.push(format!(
                    "the environment variable `{name}` switches the safety loop from `{before}` to `{mode}`"
                ));
            }
        }
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn set_mode(
    settings: &mut Settings,
    mode: Option<String>,
    origin: &str,
    problems: &mut Vec<String>,
) {
    match mode.map(|mode| mode.parse::<EndpointMode>()) {
        Some(Ok(mode)) => settings.mode = mode,
        Some(Err(problem)) => problems.push(format!("{origin}: {problem}")),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_beats_file_beats_builder() {
        // REQ-MCP-17, REQ-EPT-10, REQ-EPT-11
        let mut settings = Settings { tool_prefix: "builder_".to_owned(), ..Settings::default() };
        let mut problems = Vec::new();
        let file = toml_edit::de::from_str(
            "tool_prefix = 'file_'\nendpoint_mode = 'single'\n[limits]\nmax_nesting_depth = 16",
        )
        .unwrap();
        apply_file(&mut settings, file, &mut problems);
        assert_eq!((settings.tool_prefix.as_str(), settings.mode), ("file_", EndpointMode::Single));
        assert_eq!(settings.limits.max_nesting_depth, 16);
        let variable = |name: &str| match name {
            "MCP_AQL_TOOL_PREFIX" => Some("env_".to_owned()),
            "MCP_AQL_ENDPOINT_MODE" => Some("all".to_owned()),
            _ => None,
        };
        apply_environment(&mut settings, variable, &mut problems);
        assert_eq!((settings.tool_prefix.as_str(), settings.mode), ("env_", EndpointMode::All));
        assert_eq!(problems, Vec::<String>::new());
    }

    #[cfg(feature = "safety")]
    #[test]
    fn the_loops_mode_comes_from_either_variable() {
        // REQ-LOOP-15
        use crate::safety_loop::{LoopMode, SafetyLoop};
        for names in [&["MCPAQL_SAFETY_LOOP"][..], &["MCP_AQL_SAFETY_LOOP"]] {
            let mut settings = Settings { safety: Some(SafetyLoop::new()), ..Settings::default() };
            let mut problems = Vec::new();
            let file = toml_edit::de::from_str("[safety_loop]\nmode = 'monitoring'").unwrap();
            apply_file(&mut settings, file, &mut problems);
            let variable = |name: &str| names.contains(&name).then(|| "logging".to_owned());
            apply_environment(&mut settings, variable, &mut problems);
            assert_eq!(problems, Vec::<String>::new());
            let told = format!("{:?}", settings.safety);
            assert!(told.contains(&format!("mode: {:?}", LoopMode::Logging)), "{told}");
        }
        let mut problems = Vec::new();
        let file = toml_edit::de::from_str("[safety_loop]\nmode = 'logging'").unwrap();
        apply_file(&mut Settings::default(), file, &mut problems);
        assert!(problems[0].contains("add `.safety_loop(…)`"), "{problems:?}");
        let mut settings = Settings { safety: Some(SafetyLoop::new()), ..Settings::default() };
        apply_environment(&mut settings, |_| Some("enforcing".to_owned()), &mut Vec::new());
        let mut problems = Vec::new();
        let variable = |name: &str| (name == "MCPAQL_SAFETY_LOOP").then(|| "off".to_owned());
        apply_environment(&mut settings, variable, &mut problems);
        assert!(problems[0].contains("`MCPAQL_SAFETY_LOOP`: `off`"), "{problems:?}");
    }

    /// Applies a file of the working directory to settings.
    fn project(settings: &mut Settings, text: &str) -> Vec<String> {
        let (mut problems, file) = (Vec::new(), toml_edit::de::from_str(text).unwrap());
        apply_project(settings, file, (Path::new(FILE_NAME), None), &mut problems);
        problems
    }

    fn shown(settings: &Settings) -> String {
        let settings = Settings { notices: Vec::new(), ..settings.clone() };
        format!("{settings:#?}")
    }

    /// All settings that a file could loosen, with the keys in the notice.
    const LOOSE: &[(&str, &str)] = &[
        ("strict_mode = false", "strict_mode"),
        ("audit_log = '/home/ada/.bashrc'", "audit_log"),
        ("[limits]\nmax_request_size = 99000000", "limits.max_request_size"),
        ("[limits]\nmax_response_size = 99000000", "limits.max_response_size"),
        ("[limits]\nmax_string_length = 99000000", "limits.max_string_length"),
        ("[limits]\nmax_array_elements = 99000", "limits.max_array_elements"),
        ("[limits]\nmax_nesting_depth = 99", "limits.max_nesting_depth"),
        ("[limits]\nmax_batch_operations = 999", "limits.max_batch_operations"),
        ("[executions]\nwait_seconds = 99", "executions.wait_seconds"),
        ("[executions]\ngrace_seconds = 99", "executions.grace_seconds"),
        ("[executions]\nlease_seconds = 99", "executions.lease_seconds"),
        ("[executions]\nkeep_seconds = 1", "executions.keep_seconds"),
        ("[executions]\nmax_running = 99999", "executions.max_running"),
        ("[executions]\nmax_running_per_session = 99999", "executions.max_running_per_session"),
        ("[gatekeeper]\nconfirmation_ttl_seconds = 200", "gatekeeper.confirmation_ttl_seconds"),
        (
            "[gatekeeper]\nclock_skew_tolerance_seconds = 300",
            "gatekeeper.clock_skew_tolerance_seconds",
        ),
        ("[gatekeeper]\nconfirmations_per_minute = 9999", "gatekeeper.confirmations_per_minute"),
        ("[gatekeeper.trust]\nlevel = 'certified'", "gatekeeper.trust"),
        (
            "[[gatekeeper.policies]]\noperation = 'delete_*'\npermission = 'allow'",
            "gatekeeper.policies: allow delete_*",
        ),
        #[cfg(feature = "safety")]
        ("[safety_loop]\nmode = 'disabled'", "safety_loop.mode"),
        #[cfg(feature = "safety")]
        ("[safety_loop]\nchallenge_timeout_seconds = 900", "safety_loop.challenge_timeout_seconds"),
        #[cfg(feature = "safety")]
        ("[safety_loop]\nmax_autonomous_steps = 51", "safety_loop.max_autonomous_steps"),
        #[cfg(feature = "safety")]
        ("[safety_loop]\nrisk_tolerance = 'aggressive'", "safety_loop.risk_tolerance"),
        #[cfg(feature = "safety")]
        ("[safety_loop]\nauto_approve = ['rm *']", "safety_loop.auto_approve"),
        #[cfg(feature = "safety")]
        ("[safety_loop]\nrequires_approval = ['*']", "safety_loop.requires_approval"),
        #[cfg(feature = "safety")]
        (
            "[safety_loop.agents.ada]\nrisk_tolerance = 'aggressive'",
            "safety_loop.agents.ada.risk_tolerance",
        ),
        #[cfg(feature = "limits")]
        ("[rate_limits]\nrequests_per_minute = 61", "limit global:minute"),
        #[cfg(feature = "limits")]
        (
            "[[api_limits]]\nscope = 'global'\nlimit = 60\nwindow = 'minute'\nburst = 9",
            "limit global:minute",
        ),
        #[cfg(feature = "limits")]
        ("[[quotas]]\nmetric = 'cost_per_month'\nhard_stop = 11", "quota cost_per_month"),
        #[cfg(feature = "limits")]
        ("[cost]\nper_call = 0.0", "cost"),
    ];

    /// Settings in which everything is restricted.
    fn strict() -> Settings {
        let mut settings = Settings::default();
        settings.gate.trust = Some(crate::Trust::new(crate::TrustLevel::Validated));
        #[cfg(feature = "safety")]
        {
            let safety = crate::safety_loop::SafetyLoop::new();
            settings.safety = Some(safety.deny(["drop_*"]).agent("ada", |ada| ada.deny(["rm *"])));
        }
        #[cfg(feature = "limits")]
        {
            use crate::limits::{ApiLimit, CostModel, Metric, Quota, RateLimits};
            settings.rate_limits = Some(
                RateLimits::new()
                    .limit(ApiLimit::global(60).burst(8))
                    .quota(Quota::new(Metric::CostPerMonth).hard_stop(10))
                    .cost(CostModel::PerCall(0.1)),
            );
        }
        settings
    }

    #[test]
    fn a_file_in_the_working_directory_loosens_nothing_and_is_named() {
        // REQ-GATE-03
        for (text, key) in LOOSE {
            let mut settings = strict();
            assert_eq!(project(&mut settings, text), Vec::<String>::new());
            // If a file names one agent, the settings of all agents are stored explicitly.
            let mut expected = strict();
            project(&mut expected, "");
            #[cfg(feature = "safety")]
            if text.starts_with("[safety_loop") {
                let agents = if text.contains("agents") { "[safety_loop.agents.ada]" } else { "" };
                project(&mut expected, &format!("[safety_loop]\n{agents}"));
            }
            assert_eq!(shown(&settings), shown(&expected), "{text}");
            let notice = settings.notices.last().unwrap();
            assert!(notice.contains(&format!("`{key}`")), "{key}: {notice}");
            // The operator's own file can change all of that.
            let mut settings = strict();
            let file = toml_edit::de::from_str(text).unwrap();
            apply_file(&mut settings, file, &mut Vec::new());
            assert_ne!(shown(&settings), shown(&strict()), "{text}");
        }
    }

    #[test]
    fn a_file_in_the_working_directory_makes_stricter_what_it_can() {
        // REQ-GATE-03
        for text in [
            "[limits]\nmax_request_size = 2048",
            "[executions]\nmax_running = 1",
            "[gatekeeper]\nconfirmation_ttl_seconds = 60\nclock_skew_tolerance_seconds = 0",
            "[gatekeeper]\nconfirmations_per_minute = 5",
            "[gatekeeper.trust]\nlevel = 'untested'",
            "[[gatekeeper.policies]]\noperation = 'a'\npermission = 'deny'",
            "[[gatekeeper.policies]]\noperation = 'a'\npermission = 'confirm'",
            #[cfg(feature = "safety")]
            "[safety_loop]\nmax_autonomous_steps = 3\nrisk_tolerance = 'conservative'\ndeny = ['x']",
            #[cfg(feature = "safety")]
            "[safety_loop.agents.ada]\ndeny = ['y']",
            #[cfg(feature = "limits")]
            "[rate_limits]\nrequests_per_minute = 5",
            #[cfg(feature = "limits")]
            "[[api_limits]]\nscope = 'endpoint'\nendpoint = 'read'\nlimit = 60\nwindow = 'hour'",
            #[cfg(feature = "limits")]
            "[[quotas]]\nmetric = 'cost_per_month'\nwarn = 5\nhard_stop = 9",
        ] {
            let mut settings = strict();
            assert_eq!(project(&mut settings, text), Vec::<String>::new());
            assert_ne!(shown(&settings), shown(&strict()), "{text}");
            let notice = settings.notices.last().unwrap();
            assert!(notice.contains("applied"), "{text}: {notice}");
        }
        let mut settings = Settings { strict: false, ..Settings::default() };
        let names = "strict_mode = true\nendpoint_mode = 'single'\ntool_prefix = 'a_'";
        assert_eq!(project(&mut settings, names), Vec::<String>::new());
        assert!(settings.strict && settings.mode == EndpointMode::Single);
        assert_eq!(settings.tool_prefix, "a_");
    }

    #[cfg(feature = "safety")]
    #[test]
    fn patterns_of_a_project_are_added_for_every_agent() {
        // REQ-AUT-17
        use crate::safety_loop::SafetyLoop;
        let people = crate::human_channel::MemoryChannel::default();
        let given = SafetyLoop::new()
            .channel(people)
            .deny(["drop_*"])
            .agent("ada", |ada| ada.deny(["rm *"]).max_autonomous_steps(5));
        let mut settings = Settings { safety: Some(given), ..Settings::default() };
        let text = "[safety_loop]\ndeny = ['wipe_*']\nmax_autonomous_steps = 9\n\
                    [safety_loop.agents.bob]\ndeny = ['send_*']";
        assert_eq!(project(&mut settings, text), Vec::<String>::new());
        let shown = format!("{:?}", settings.safety);
        for agent in [
            r#""ada": AgentSettings { max_autonomous_steps: Some(5), risk_tolerance: Some(Moderate), deny: Some(["rm *", "wipe_*"])"#,
            r#""bob": AgentSettings { max_autonomous_steps: Some(9), risk_tolerance: Some(Moderate), deny: Some(["drop_*", "wipe_*", "send_*"])"#,
        ] {
            assert!(shown.contains(agent), "{agent}: {shown}");
        }
    }

    #[test]
    fn the_users_file_comes_before_that_of_the_working_directory() {
        // REQ-EPT-10, REQ-GATE-03
        let folder = std::env::temp_dir().join(crate::vocab::new_id("config"));
        std::fs::create_dir_all(folder.join("user")).unwrap();
        let (user, project) = (folder.join("user").join(FILE_NAME), folder.join(FILE_NAME));
        let found = |user: &Path, project: &Path| {
            let (mut settings, mut problems) = (Settings::default(), Vec::new());
            find(&mut settings, Some(user), project, &mut problems);
            (settings, problems)
        };
        let (settings, problems) = found(&user, &project);
        assert_eq!((settings.notices.len(), problems.len()), (0, 0));
        let limits =
            |depth: u8| format!("strict_mode = false\n[limits]\nmax_nesting_depth = {depth}");
        std::fs::write(&user, limits(20)).unwrap();
        std::fs::write(&project, limits(30)).unwrap();
        let (settings, problems) = found(&user, &project);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!((settings.strict, settings.limits.max_nesting_depth), (false, 20));
        // If the adapter is started in the user's directory, the file is the user's.
        let (settings, _) = found(&user, &user);
        assert!(!settings.notices.iter().any(|it| it.contains("working directory")));
        std::fs::write(&project, "colour = 'red'").unwrap();
        let (_, problems) = found(&user, &project);
        assert!(problems[0].contains("colour"), "{problems:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(feature = "safety")]
    #[test]
    fn a_variable_that_switches_the_loop_off_is_named() {
        // REQ-LOOP-15
        use crate::safety_loop::{LoopMode, SafetyLoop};
        for (before, word, named) in [
            (LoopMode::Enforcing, "disabled", true),
            (LoopMode::Enforcing, "enforcing", false),
            (LoopMode::Logging, "monitoring", false),
        ] {
            let safety = Some(SafetyLoop::new().mode(before));
            let mut settings = Settings { safety, ..Settings::default() };
            let variable = |name: &str| (name == "MCPAQL_SAFETY_LOOP").then(|| word.to_owned());
            apply_environment(&mut settings, variable, &mut Vec::new());
            assert_eq!(
                settings.notices.len(),
                usize::from(named),
                "{word}: {:?}",
                settings.notices
            );
        }
    }

    #[test]
    fn the_file_sets_how_executions_are_kept() {
        let mut settings = Settings::default();
        let file = toml_edit::de::from_str(
            "[executions]\nwait_seconds = 1\ngrace_seconds = 2\nlease_seconds = 3\nkeep_seconds = 90\n\
             max_running = 4\nmax_running_per_session = 3",
        )
        .unwrap();
        apply_file(&mut settings, file, &mut Vec::new());
        let expected = crate::ExecutionOptions::new()
            .wait(Duration::from_secs(1))
            .grace(Duration::from_secs(2))
            .lease(Duration::from_secs(3))
            .keep(Duration::from_secs(90))
            .max_running(4)
            .max_running_per_session(3);
        assert_eq!(settings.executions, expected);
        assert!(toml_edit::de::from_str::<ConfigFile>("[executions]\nwait = 1").is_err());
    }

    #[test]
    fn a_name_that_is_nearly_right_is_told_with_the_right_one() {
        for (text, near) in [
            ("endpoint_mod = 'single'", "`endpoint_mode`"),
            ("[limits]\nmax_request_sice = 1", "`max_request_size`"),
            ("[executions]\nwait_second = 1", "`wait_seconds`"),
            ("[gatekeper]", "`gatekeeper`"),
            ("[[gatekeeper.policies]]\noperatoin = 'x'", "`operation`"),
            ("[[gatekeeper.policies]]\noperation = 'x'\npermission = 'confirn'", "`confirm`"),
            (
                "[[gatekeeper.policies]]\noperation = 'x'\npermission = 'deny'\n\
                 when = [{ parameter = 'a', equal = 1 }]",
                "`equals`",
            ),
            #[cfg(feature = "safety")]
            ("[safety_loop]\nrequire_approval = []", "`requires_approval`"),
            #[cfg(feature = "safety")]
            ("[safety_loop.agents.a]\nmax_autonomous_step = 1", "`max_autonomous_steps`"),
        ] {
            let error = toml_edit::de::from_str::<ConfigFile>(text).unwrap_err();
            let told = describe_error(&error);
            assert!(told.ends_with(&format!(". Did you mean {near}?")), "{told}");
        }
        let error = toml_edit::de::from_str::<ConfigFile>("colour = 'red'").unwrap_err();
        assert!(!describe_error(&error).contains("Did you mean"), "{}", describe_error(&error));
    }

    #[test]
    fn faults_are_told_and_nothing_is_ignored() {
        let mut settings = Settings::default();
        let mut problems = Vec::new();
        let variable = |name: &str| (name == "MCP_AQL_ENDPOINT_MODE").then(|| "both".to_owned());
        apply_environment(&mut settings, variable, &mut problems);
        assert!(problems[0].contains("`both` is not known"), "{problems:?}");
        assert!(toml_edit::de::from_str::<ConfigFile>("endpoint_mod = 'single'").is_err());
    }
}
