//! Binds a key of the configuration file to the field of the settings that it sets.

use std::path::Path;

use serde_json::Value;

use super::Settings;
use crate::config::key::{Key, ProjectRule};
use crate::config::setting::Setting;
use crate::config::setting_value::SettingValue;
use crate::config::tightening::Tightening;

/// A key, and the field of the settings that it sets.
#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) key: Key,
    field: fn(&mut Settings) -> &mut dyn SettingValue,
    /// Returns the value in use while the field is unset. The string is the name of the adapter.
    unset: Option<fn(&Settings, &str) -> Value>,
}

/// Declares a key.
pub(in crate::adapter) const fn declare(
    key: Key,
    field: fn(&mut Settings) -> &mut dyn SettingValue,
) -> Declaration {
    Declaration { key, field, unset: None }
}

impl Declaration {
    /// Sets the value in use while the field is unset.
    pub(in crate::adapter) const fn unset(mut self, value: fn(&Settings, &str) -> Value) -> Self {
        self.unset = Some(value);
        self
    }

    /// Returns the value in the unit of the program.
    pub(in crate::adapter) fn raw_value(&self, settings: &mut Settings) -> Value {
        (self.field)(settings).to_json()
    }

    /// Sets the value in the unit of the program.
    pub(in crate::adapter) fn set_raw(
        &self,
        settings: &mut Settings,
        value: Value,
        folder: &Path,
    ) -> Result<(), String> {
        (self.field)(settings).set(value, folder)
    }

    /// Returns the value in the unit of the file. Null if it is unset.
    pub(in crate::adapter) fn value(&self, settings: &mut Settings) -> Value {
        self.key.with_unit(self.raw_value(settings))
    }

    /// Returns the value in use in the unit of the file, also if it is unset.
    pub(in crate::adapter) fn value_in_use(&self, settings: &mut Settings, name: &str) -> Value {
        match (self.value(settings), self.unset) {
            (Value::Null, Some(unset)) => unset(settings, name),
            (value, _) => value,
        }
    }

    /// Sets a value in the unit of the file. Relative paths are resolved against `folder`. `origin` names the source.
    ///
    /// # Errors
    ///
    /// Returns the problem with a value that is invalid or out of range. It is not set.
    pub(in crate::adapter) fn set(
        &self,
        settings: &mut Settings,
        value: Value,
        (folder, origin): (&Path, &str),
    ) -> Result<(), String> {
        let set = self.set_checked(settings, value, folder);
        set.map_err(|problem| format!("{origin}: {problem}"))
    }

    /// Sets a value in the unit of the file, and checks its range.
    pub(in crate::adapter) fn set_checked(
        &self,
        settings: &mut Settings,
        value: Value,
        folder: &Path,
    ) -> Result<(), String> {
        if let Some(problem) = self.key.range_problem(&value) {
            return Err(problem);
        }
        let set = self.set_raw(settings, self.key.without_unit(value), folder);
        set.map_err(|advice| format!("`{}`: {advice}", self.key.path))
    }

    /// Sets a value of a file in the working directory, if that makes the adapter stricter.
    pub(in crate::adapter) fn tighten(
        &self,
        settings: &mut Settings,
        value: Value,
        origin: (&Path, &str),
        tightening: &mut Tightening,
    ) -> Result<(), String> {
        let before = self.value_in_use(settings, "");
        let is_stricter = match self.key.project {
            ProjectRule::Applied => true,
            ProjectRule::Lower => is_lower(&value, &before),
            ProjectRule::True => value == Value::Bool(true),
            ProjectRule::Ignored | ProjectRule::Stricter(_) => false,
        };
        if is_stricter {
            return self.set(settings, value, origin);
        }
        if value != before {
            tightening.ignore(self.key.path);
        }
        Ok(())
    }

    /// Returns the problem with a number out of range.
    pub(in crate::adapter) fn range_problem(&self, settings: &mut Settings) -> Option<String> {
        self.key.range_problem(&self.value(settings))
    }

    /// Lists the setting for the operator, without the value in use while it is unset.
    pub(in crate::adapter) fn listed(
        &self,
        settings: &mut Settings,
        default: &mut Settings,
    ) -> Setting {
        let (value, default) = (self.value(settings), self.value(default));
        match (value, default) {
            (Value::Array(values), _) => Setting::joined(self.key.path, values),
            (value, default) => Setting::new(self.key.path, value, default),
        }
    }
}

/// Returns `true` if a number is lower than another one. An unset setting can have several values, by name: the number
/// must then be within the lowest.
fn is_lower(value: &Value, before: &Value) -> bool {
    match before {
        Value::Object(values) => values.values().all(|before| value.as_f64() <= before.as_f64()),
        before => value.as_f64() < before.as_f64(),
    }
}
