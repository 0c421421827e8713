//! Applies configuration files and environment variables to the settings of an adapter.

mod file;
mod file_reader;
#[cfg(any(test, feature = "test-util"))]
pub mod test_util;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use self::file::{ConfigError, ConfigFile};
use super::Settings;
use super::settings::key_list::declarations;
use crate::config::file_access::{ForbiddenAccess, exposures};
use crate::config::setting::{Setting, SettingSource};
use crate::config::tightening::Tightening;
use crate::config::user_directory::{self, Purpose};

/// Name of the configuration file in the user's configuration directory and in the working directory.
const FILE_NAME: &str = "mcp-aql.toml";

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
    let before = settings.listed();
    let mut tightening = Tightening::default();
    let (folder, origin) = source.origin();
    for declaration in declarations() {
        let Some(value) = source.values.remove(declaration.key.path) else { continue };
        let set = declaration.tighten(settings, value, (&folder, &origin), &mut tightening);
        problems.extend(set.err());
    }
    let owned = std::mem::take(&mut source.owned);
    tightening.refuse("auth", owned.auth);
    settings.gate.tighten(owned.gatekeeper, &mut tightening, problems);
    for extension in &mut settings.extensions {
        let tightened = extension.tighten(&source.text, &mut tightening, problems);
        tightened.map_err(|error| source.malformed(&error))?;
    }
    record_changes(settings, &before, &SettingSource::WorkingDirectory(path.to_owned()));
    settings.notices.push(project_notice(path, user_file, &tightening.ignored));
    Ok(())
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
    let before = settings.listed();
    let (folder, origin) = source.origin();
    for declaration in declarations() {
        let Some(value) = source.values.remove(declaration.key.path) else { continue };
        problems.extend(declaration.set(settings, value, (&folder, &origin)).err());
    }
    let owned = std::mem::take(&mut source.owned);
    if let Some(table) = owned.auth {
        settings.auth = Some((table, folder));
    }
    settings.gate.apply(owned.gatekeeper, problems);
    for extension in &mut settings.extensions {
        let applied = extension.apply(&source.text, problems);
        applied.map_err(|error| source.malformed(&error))?;
    }
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
    let mut set = Vec::new();
    for declaration in declarations() {
        let Some(name) = declaration.key.variable else { continue };
        let Some(text) = variable(name) else { continue };
        set.push((name, declaration.key.path));
        let origin = format!("`{name}`");
        let value = declaration.key.parse(&text).map_err(|advice| format!("{origin}: {advice}"));
        let outcome =
            value.and_then(|value| declaration.set(settings, value, (Path::new(""), &origin)));
        problems.extend(outcome.err());
    }
    for extension in &mut settings.extensions {
        extension.apply_environment(&variable, &mut settings.notices, problems);
    }
    let of_extensions = settings.extensions.iter().flat_map(|extension| extension.variables());
    for (name, key) in set.into_iter().chain(of_extensions.copied()) {
        if variable(name).is_some() {
            settings.sources.record(key, SettingSource::Environment(name.to_owned()));
        }
    }
}
