//! Applies settings that may make an adapter stricter, but never less strict.

/// Applies settings from a source that others can write to, such as a project's file.
///
/// A setting that would weaken a protection is not applied. Its key is recorded, so that it can be reported to the
/// operator.
#[derive(Debug, Default)]
pub struct Tightening {
    /// Keys of ignored settings.
    pub(crate) ignored: Vec<String>,
}

impl Tightening {
    /// Applies a value if it is smaller than the current one.
    pub fn lower<T: PartialOrd>(&mut self, key: &str, place: &mut T, value: Option<T>) {
        self.replace(key, place, value, |new, old| new < old);
    }

    /// Applies a value if it is stricter than the current one.
    pub fn replace<T: PartialEq>(
        &mut self,
        key: &str,
        place: &mut T,
        value: Option<T>,
        is_stricter: impl FnOnce(&T, &T) -> bool,
    ) {
        let Some(value) = value.filter(|value| value != place) else { return };
        if is_stricter(&value, place) {
            *place = value;
        } else {
            self.ignore(key);
        }
    }

    /// Ignores a setting if it has a value.
    pub fn refuse<T>(&mut self, key: &str, value: Option<T>) {
        if value.is_some() {
            self.ignore(key);
        }
    }

    pub(crate) fn ignore(&mut self, key: impl Into<String>) {
        let key = key.into();
        if !self.ignored.contains(&key) {
            self.ignored.push(key);
        }
    }
}
