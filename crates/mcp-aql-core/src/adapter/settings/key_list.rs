//! The list of all keys of the configuration file.

use std::path::Path;

use serde_json::Value;

use super::Settings;
use super::declaration::Declaration;
use super::http_settings::HTTP_KEYS;
use super::keys::KEYS;
use super::owned_keys::OWNED_KEYS;
use crate::config::key::Key;
use crate::extension::Extension;

/// Returns all keys that set a field of the settings, in the order of the documentation.
pub(in crate::adapter) fn declarations() -> impl Iterator<Item = &'static Declaration> + Clone {
    KEYS.iter().chain(HTTP_KEYS)
}

/// Returns all keys of an adapter with these extensions.
pub(in crate::adapter) fn keys_with(
    extensions: &[Box<dyn Extension>],
) -> impl Iterator<Item = &'static Key> + '_ {
    let of_extensions = extensions.iter().flat_map(|extension| extension.keys());
    declarations().map(|declaration| &declaration.key).chain(OWNED_KEYS).chain(of_extensions)
}

/// Returns the keys that flags of the command `serve` set.
pub fn flag_keys() -> impl Iterator<Item = &'static Key> {
    declarations().map(|declaration| &declaration.key).filter(|key| key.flag.is_some())
}

/// Returns the defaults of the keys with flags, by path. Null if a key is unset by default.
pub fn flag_defaults() -> Vec<(&'static str, Value)> {
    let mut default = Settings::default();
    let with_flags = declarations().filter(|declaration| declaration.key.flag.is_some());
    with_flags.map(|declaration| (declaration.key.path, declaration.value(&mut default))).collect()
}

/// Checks a value of a key in the unit of the file.
///
/// # Errors
///
/// Returns the problem.
pub fn check_value(key: &Key, value: Value) -> Result<(), String> {
    let found = declaration(key.path).ok_or_else(|| format!("`{}` is not a key", key.path))?;
    found.set_checked(&mut Settings::default(), value, Path::new(""))
}

/// Returns the declaration of a key.
pub(in crate::adapter) fn declaration(path: &str) -> Option<&'static Declaration> {
    declarations().find(|declaration| declaration.key.path == path)
}
