//! Applies configuration files and environment variables to the settings of an adapter.

mod file;
mod root_keys;
#[cfg(any(test, feature = "test-util"))]
pub mod test_util;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(test)]
pub(super) use self::file::KEYS as CORE_KEYS;
use self::file::{ConfigError, ConfigFile, ExecutionsTable};
use super::Settings;
use crate::config::file_access::{ForbiddenAccess, SettingPath, exposures};
use crate::config::setting::{Setting, SettingSource};
use crate::config::tightening::Tightening;
use crate::config::user_directory::{self, Purpose};
use crate::execution::ExecutionOptions;
use crate::router::EndpointMode;

/// Name of the configuration file in the user's configuration directory and in the working directory.
const FILE_NAME: &str = "mcp-aql.toml";

/// Environment variables, with the keys they set.
const VARIABLES: &[(&str, &str)] = &[
    ("MCP_AQL_ENDPOINT_MODE", "endpoint_mode"),
    ("MCP_AQL_ENDPOINT_PROFILE", "endpoint_profile"),
    ("MCP_AQL_TOOL_PREFIX", "tool_prefix"),
    ("MCP_AQL_RESULT_BUDGET", "limits.result_budget"),
    ("MCP_AQL_HTTP_ADDRESS", "http.address"),
    ("MCP_AQL_LOG_FORMAT", "log_format"),
];

/// The source of the configuration, in addition to the builder.
#[derive(Debug, Clone, Default)]
pub(crate) enum ConfigSource {
    /// The user's file, a file in the working directory, and the environment. The file in the working directory can
    /// only tighten settings. Neither file needs to exist.
    #[default]
    Found,
    /// The file at this path, and the environment. The file must exist.
    File(PathBuf),
    /// Only the environment.
    Environment,
    /// Neither files nor the environment.
    None,
}

/// Applies files and the environment to the builder's settings. The environment overrides the file, and the file
/// overrides the builder (REQ-EPT-10, REQ-EPT-11, REQ-MCP-17). Adds problems, and notices for the operator.
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
        settings.sources.files.push(project_file.to_owned());
        let applied = ConfigFile::read(project_file, &settings.extensions, problems)
            .and_then(|file| apply_project(settings, file, (project_file, user_file), problems));
        problems.extend(applied.err().map(|error| error.to_string()));
    }
}

/// Returns `true` if a file exists. A failing check is a problem and not the same as a missing file, because the file
/// may contain protections.
fn exists(path: &Path, problems: &mut Vec<String>) -> bool {
    path.try_exists().unwrap_or_else(|cause| {
        let file = path.display().to_string();
        problems.push(ConfigError::Unreadable { file, cause }.to_string());
        false
    })
}

/// Applies a file that belongs to the operator.
fn apply_trusted(settings: &mut Settings, path: &Path, problems: &mut Vec<String>) {
    settings.sources.files.push(path.to_owned());
    let applied = ConfigFile::read(path, &settings.extensions, problems)
        .and_then(|file| apply_file(settings, file, problems));
    problems.extend(applied.err().map(|error| error.to_string()));
    let found = exposures(path, ForbiddenAccess::Write).into_iter();
    settings
        .notices
        .extend(found.map(|it| format!("the configuration is not safe from other users: {it}")));
}

/// Applies a file in the working directory. Clients start servers in the directories of projects, so the file may have
/// come with a project of another person.
///
/// The form of replies and the length of descriptions are applied. All other settings are applied only if they make the
/// adapter stricter. Tool names cannot be changed, because the permission rules of clients refer to them: a client
/// would neither ask about nor deny a tool under a new name.
fn apply_project(
    settings: &mut Settings,
    mut source: ConfigFile,
    (path, user_file): (&Path, Option<&Path>),
    problems: &mut Vec<String>,
) -> Result<(), ConfigError> {
    let (file, before) = (std::mem::take(&mut source.core), settings.listed());
    let mut tightening = Tightening::default();
    tightening.refuse("endpoint_mode", file.endpoint_mode);
    tightening.refuse("endpoint_profile", file.endpoint_profile);
    tightening.refuse("tool_prefix", file.tool_prefix);
    set(&mut settings.structured_content, file.structured_content);
    set(&mut settings.description_budget, file.description_budget.map(Some));
    tightening.replace("strict_mode", &mut settings.strict, file.strict_mode, |new, _| *new);
    tightening.refuse("drain_timeout_seconds", file.drain_timeout_seconds);
    tightening.refuse("audit_log", file.audit_log);
    tightening.refuse("log_format", file.log_format);
    settings.access.tighten(file.access, &mut tightening);
    tightening.refuse("auth", file.auth);
    tightening.refuse("http", file.http);
    settings.gate.tighten(file.gatekeeper, &mut tightening, problems);
    for extension in &mut settings.extensions {
        let tightened = extension.tighten(&source.text, &mut tightening, problems);
        tightened.map_err(|error| source.malformed(&error))?;
    }
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
        ("limits.result_budget", &mut limits.result_budget, given.result_budget),
    ] {
        tightening.lower(key, limit, value);
    }
    tighten_executions(&mut settings.executions, &file.executions, &mut tightening);
    record_changes(settings, &before, &SettingSource::WorkingDirectory(path.to_owned()));
    settings.notices.push(project_notice(path, user_file, &tightening.ignored));
    Ok(())
}

/// Lowers the limits on running executions. Ignores the times, and the limits on stored executions.
fn tighten_executions(
    executions: &mut ExecutionOptions,
    given: &ExecutionsTable,
    tightening: &mut Tightening,
) {
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
        ("executions.keep_bytes", given.keep_bytes),
        ("executions.keep_bytes_per_caller", given.keep_bytes_per_caller),
    ] {
        tightening.refuse(key, value);
    }
}

/// Returns the notice for the operator about a file in the working directory.
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

fn apply_file(
    settings: &mut Settings,
    mut source: ConfigFile,
    problems: &mut Vec<String>,
) -> Result<(), ConfigError> {
    source.record_in(&mut settings.sources);
    let (file, before) = (std::mem::take(&mut source.core), settings.listed());
    set_mode(settings, file.endpoint_mode, "`endpoint_mode`", problems);
    set(&mut settings.profile, file.endpoint_profile);
    set(&mut settings.tool_prefix, file.tool_prefix);
    set(&mut settings.strict, file.strict_mode);
    set(&mut settings.structured_content, file.structured_content);
    set(&mut settings.description_budget, file.description_budget.map(Some));
    set(&mut settings.drain_timeout, file.drain_timeout_seconds.map(Duration::from_secs));
    settings.access.apply(file.access);
    set(&mut settings.auth, file.auth.map(|table| Some((table, source.folder().to_owned()))));
    if let Some(table) = file.http {
        table.check(problems);
        settings.http = table;
    }
    settings.gate.apply(file.gatekeeper, problems);
    for extension in &mut settings.extensions {
        let applied = extension.apply(&source.text, problems);
        applied.map_err(|error| source.malformed(&error))?;
    }
    if let Some(path) = file.audit_log {
        settings.audit_log = Some(SettingPath::new(source.folder(), path));
    }
    set(&mut settings.log_format, file.log_format);
    let limits = &mut settings.limits;
    set(&mut limits.max_request_size, file.limits.max_request_size);
    set(&mut limits.max_response_size, file.limits.max_response_size);
    set(&mut limits.max_string_length, file.limits.max_string_length);
    set(&mut limits.max_array_elements, file.limits.max_array_elements);
    set(&mut limits.max_nesting_depth, file.limits.max_nesting_depth);
    set(&mut limits.max_batch_operations, file.limits.max_batch_operations);
    set(&mut limits.result_budget, file.limits.result_budget);
    let executions = &mut settings.executions;
    for (option, seconds) in [
        (&mut executions.wait, file.executions.wait_seconds),
        (&mut executions.grace, file.executions.grace_seconds),
        (&mut executions.lease, file.executions.lease_seconds),
        (&mut executions.keep, file.executions.keep_seconds),
    ] {
        set(option, seconds.map(Duration::from_secs));
    }
    set(&mut executions.keep_bytes, file.executions.keep_bytes);
    set(&mut executions.keep_bytes_per_caller, file.executions.keep_bytes_per_caller);
    set(&mut executions.max_running, file.executions.max_running);
    set(&mut executions.max_running_per_session, file.executions.max_running_per_session);
    record_changes(settings, &before, &source.as_source());
    Ok(())
}

/// Records `source` as the source of every changed setting.
fn record_changes(settings: &mut Settings, before: &[Setting], source: &SettingSource) {
    for setting in settings.listed().into_iter().filter(|setting| !before.contains(setting)) {
        settings.sources.record(setting.key, source.clone());
    }
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
    match variable("MCP_AQL_RESULT_BUDGET").map(|bytes| bytes.parse()) {
        Some(Ok(bytes)) => settings.limits.result_budget = bytes,
        Some(Err(_)) => {
            problems.push("`MCP_AQL_RESULT_BUDGET` is not a number of bytes, such as 65536".into());
        }
        None => {}
    }
    match variable("MCP_AQL_LOG_FORMAT").map(|format| format.parse()) {
        Some(Ok(format)) => settings.log_format = format,
        Some(Err(advice)) => problems.push(format!("`MCP_AQL_LOG_FORMAT`: {advice}")),
        None => {}
    }
    match variable("MCP_AQL_HTTP_ADDRESS").map(|address| address.parse()) {
        Some(Ok(address)) => settings.http.address = Some(address),
        Some(Err(_)) => problems.push(
            "`MCP_AQL_HTTP_ADDRESS` is not an address with a port, such as 127.0.0.1:8787".into(),
        ),
        None => {}
    }
    for extension in &mut settings.extensions {
        extension.apply_environment(&variable, &mut settings.notices, problems);
    }
    let of_extensions = settings.extensions.iter().flat_map(|extension| extension.variables());
    for (name, key) in VARIABLES.iter().chain(of_extensions) {
        if variable(name).is_some() {
            settings.sources.record(*key, SettingSource::Environment((*name).to_owned()));
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
