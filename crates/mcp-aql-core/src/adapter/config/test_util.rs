//! Applies configuration files and variables to settings, for tests of this crate and of extensions.

#![allow(clippy::unwrap_used, reason = "tests stop at an unexpected error")]

use std::path::Path;

use super::file::ConfigFile;
use super::{FILE_NAME, Settings, apply_file, apply_project};
use crate::config::setting::ConfigSources;
use crate::extension::Extension;

/// Returns the default settings with an extension.
pub fn extended(extension: impl Extension + 'static) -> Settings {
    let mut settings = Settings::default();
    settings.extend(Box::new(extension));
    settings
}

/// Parses a file for settings with these extensions. Panics if the file is malformed.
fn parse(text: &str, settings: &Settings, problems: &mut Vec<String>) -> ConfigFile {
    ConfigFile::parse(FILE_NAME.to_owned(), text.to_owned(), &settings.extensions, problems)
        .unwrap()
}

/// Applies the operator's file to settings.
pub fn apply(settings: &mut Settings, text: &str, problems: &mut Vec<String>) {
    let file = parse(text, settings, problems);
    apply_file(settings, file, problems).unwrap();
}

/// Returns the error message for a malformed file.
pub fn malformed(text: &str, mut settings: Settings) -> String {
    let (path, text) = (FILE_NAME.to_owned(), text.to_owned());
    ConfigFile::parse(path, text, &settings.extensions.clone(), &mut Vec::new())
        .and_then(|file| apply_file(&mut settings, file, &mut Vec::new()))
        .unwrap_err()
        .to_string()
}

/// Returns the keys allowed in a table of a file, taken from the error about an unknown key.
pub fn keys_of(table: &str, settings: Settings) -> Vec<String> {
    let error = malformed(&format!("[{table}]\n0123456789 = 1"), settings);
    let (_, known) = error.split_once("expected ").unwrap();
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Applies a file of the working directory to settings. Returns the problems.
pub fn project(settings: &mut Settings, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let file = parse(text, settings, &mut problems);
    apply_project(settings, file, (Path::new(FILE_NAME), None), &mut problems).unwrap();
    problems
}

/// Formats settings without notices and sources, to compare them.
pub fn shown(settings: &Settings) -> String {
    let settings =
        Settings { notices: Vec::new(), sources: ConfigSources::default(), ..settings.clone() };
    format!("{settings:#?}")
}

/// Applies environment variables to settings.
pub fn apply_environment(
    settings: &mut Settings,
    variable: impl Fn(&str) -> Option<String>,
    problems: &mut Vec<String>,
) {
    super::apply_environment(settings, variable, problems);
}

/// Returns the notices of settings.
pub fn notices(settings: &Settings) -> &[String] {
    &settings.notices
}
