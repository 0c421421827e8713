//! The values of settings, as JSON in the unit of the configuration file.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::file_access::SettingPath;

/// A field of the settings that a key of the configuration file sets.
pub(crate) trait SettingValue {
    /// Returns the value. Null if it is unset.
    fn to_json(&self) -> Value;

    /// Sets the value. `folder` is the folder of the file, against which relative paths are resolved. Lists are
    /// extended.
    ///
    /// # Errors
    ///
    /// Returns what to write.
    fn set(&mut self, value: Value, folder: &Path) -> Result<(), String>;
}

/// Deserializes a value and assigns it.
fn assign<T: serde::de::DeserializeOwned>(field: &mut T, value: Value) -> Result<(), String> {
    *field = serde_json::from_value(value).map_err(|error| error.to_string())?;
    Ok(())
}

macro_rules! plain_values {
    ($($type:ty)*) => {$(
        impl SettingValue for $type {
            fn to_json(&self) -> Value {
                json!(self)
            }

            fn set(&mut self, value: Value, _: &Path) -> Result<(), String> {
                assign(self, value)
            }
        }
    )*};
}

plain_values!(bool usize u64 String);

impl SettingValue for Vec<String> {
    fn to_json(&self) -> Value {
        json!(self)
    }

    fn set(&mut self, value: Value, _: &Path) -> Result<(), String> {
        let mut further = Self::new();
        assign(&mut further, value)?;
        self.append(&mut further);
        Ok(())
    }
}

impl SettingValue for Duration {
    fn to_json(&self) -> Value {
        match self.subsec_nanos() {
            0 => json!(self.as_secs()),
            _ => json!(self.as_secs_f64()),
        }
    }

    fn set(&mut self, value: Value, _: &Path) -> Result<(), String> {
        let mut seconds = 0;
        assign(&mut seconds, value)?;
        *self = Self::from_secs(seconds);
        Ok(())
    }
}

impl SettingValue for TimeDelta {
    fn to_json(&self) -> Value {
        self.to_std().unwrap_or_default().to_json()
    }

    fn set(&mut self, value: Value, folder: &Path) -> Result<(), String> {
        let mut duration = Duration::ZERO;
        duration.set(value, folder)?;
        *self = Self::from_std(duration).unwrap_or(Self::MAX);
        Ok(())
    }
}

impl<T: SettingValue + Default> SettingValue for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }

    fn set(&mut self, value: Value, folder: &Path) -> Result<(), String> {
        self.get_or_insert_default().set(value, folder)
    }
}

impl SettingValue for Option<SocketAddr> {
    fn to_json(&self) -> Value {
        json!(self)
    }

    /// Sets an address with a port. `8787` and `localhost:8787` are ports on the loopback interface.
    fn set(&mut self, value: Value, _: &Path) -> Result<(), String> {
        let text = value.as_str().unwrap_or_default();
        let local = |port: &str| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().ok()?)));
        let port = text.strip_prefix("localhost:").unwrap_or(text);
        let address = local(port).or_else(|| text.parse().ok());
        *self = Some(address.ok_or_else(|| {
            "write a port, such as 8787, or an address with a port, such as 127.0.0.1:8787"
                .to_owned()
        })?);
        Ok(())
    }
}

impl SettingValue for Option<SettingPath> {
    /// JSON cannot represent a path outside of UTF-8, so the path is shown as a string.
    fn to_json(&self) -> Value {
        json!(self.as_ref().map(|path| path.path().display().to_string()))
    }

    fn set(&mut self, value: Value, folder: &Path) -> Result<(), String> {
        let mut path = String::new();
        assign(&mut path, value)?;
        *self = Some(SettingPath::new(folder, path));
        Ok(())
    }
}
