use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::Settings;
use crate::gatekeeper::GateTable;
use crate::router::EndpointMode;
use crate::vocab::closest;

/// Where the configuration file is looked for when nothing else is said.
const DEFAULT_FILE: &str = "mcp-aql.toml";

/// Which configuration an adapter reads besides its builder.
#[derive(Debug, Clone, Default)]
pub(crate) enum ConfigSource {
    /// `mcp-aql.toml` in the working directory, if it exists, and the environment.
    #[default]
    Found,
    /// This file, which must exist, and the environment.
    File(PathBuf),
    /// The environment alone.
    Environment,
    /// Neither file nor environment.
    None,
}

/// The configuration file. Every key may be left out.
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

/// Why a configuration file could not be used.
#[derive(Debug, thiserror::Error)]
enum ConfigError {
    /// The file cannot be read.
    #[error("configuration file `{file}` cannot be read: {cause}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("configuration file `{file}`: {message}")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong with it, and where.
        message: String,
    },
}

/// Lays file and environment over the builder's settings: environment over file over builder
/// (REQ-EPT-10, REQ-EPT-11, REQ-MCP-17). Notes what is wrong.
pub(crate) fn resolve(
    mut settings: Settings,
    source: &ConfigSource,
    problems: &mut Vec<String>,
) -> Settings {
    let file = match source {
        ConfigSource::None => return settings,
        ConfigSource::Environment => Ok(None),
        ConfigSource::File(path) => read(path).map(Some),
        ConfigSource::Found => {
            let path = Path::new(DEFAULT_FILE);
            if path.exists() { read(path).map(Some) } else { Ok(None) }
        }
    };
    match file {
        Ok(Some(file)) => apply_file(&mut settings, file, problems),
        Ok(None) => {}
        Err(error) => problems.push(error.to_string()),
    }
    apply_environment(&mut settings, |name| std::env::var(name).ok(), problems);
    settings
}

fn read(path: &Path) -> Result<ConfigFile, ConfigError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|cause| ConfigError::Unreadable { file: file.clone(), cause })?;
    toml_edit::de::from_str(&text)
        .map_err(|error| ConfigError::Malformed { file, message: told(&error) })
}

/// What is wrong with a file, and what was probably meant.
fn told(error: &toml_edit::de::Error) -> String {
    let text = error.to_string();
    let text = text.trim_end();
    match meant(error.message()) {
        Some(near) => format!("{text}. Did you mean `{near}`?"),
        None => text.to_owned(),
    }
}

/// The name that is nearest to one that serde does not know. It tells it and all that it knows in
/// backquotes: ``unknown field `a`, expected `b` or `c` ``.
fn meant(message: &str) -> Option<&str> {
    let of_names = ["unknown field `", "unknown variant `"];
    of_names.iter().find(|words| message.starts_with(**words))?;
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    closest(unknown, names)
}

fn apply_file(settings: &mut Settings, file: ConfigFile, problems: &mut Vec<String>) {
    set_mode(settings, file.endpoint_mode, "`endpoint_mode`", problems);
    set(&mut settings.profile, file.endpoint_profile);
    set(&mut settings.tool_prefix, file.tool_prefix);
    set(&mut settings.strict, file.strict_mode);
    set(&mut settings.structured_content, file.structured_content);
    #[cfg(feature = "safety")]
    match (&mut settings.safety, file.safety_loop) {
        (Some(safety), Some(table)) => safety.apply(table, problems),
        (None, Some(_)) => problems.push(
            "`[safety_loop]` is configured, and the adapter has no safety loop: add \
             `.safety_loop(…)`, or remove the table"
                .to_owned(),
        ),
        (_, None) => {}
    }
    settings.gate.apply(file.gatekeeper, problems);
    #[cfg(feature = "limits")]
    crate::limits::LimitTables {
        api_limits: file.api_limits,
        quotas: file.quotas,
        cost: file.cost,
        rate_limits: file.rate_limits,
    }
    .apply(&mut settings.rate_limits, problems);
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
    // An empty variable is one that someone wanted to unset.
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mode = variable("MCP_AQL_ENDPOINT_MODE");
    set_mode(settings, mode, "`MCP_AQL_ENDPOINT_MODE`", problems);
    set(&mut settings.profile, variable("MCP_AQL_ENDPOINT_PROFILE"));
    set(&mut settings.tool_prefix, variable("MCP_AQL_TOOL_PREFIX"));
    #[cfg(feature = "safety")]
    if let Some(safety) = &mut settings.safety {
        // The protocol's name first (REQ-LOOP-15, choice C-66).
        let names = ["MCPAQL_SAFETY_LOOP", "MCP_AQL_SAFETY_LOOP"];
        let found = names.into_iter().find_map(|name| Some((name, variable(name)?)));
        if let Some((name, mode)) = found {
            safety.set_mode(&mode, &format!("`{name}`"), problems);
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
            let told = told(&error);
            assert!(told.ends_with(&format!(". Did you mean {near}?")), "{told}");
        }
        let error = toml_edit::de::from_str::<ConfigFile>("colour = 'red'").unwrap_err();
        assert!(!told(&error).contains("Did you mean"), "{}", told(&error));
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
