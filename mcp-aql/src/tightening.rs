//! Applies settings that may make an adapter stricter and never laxer.

/// Settings from a place that not only the operator can write to. Those that would loosen a protection are
/// left as they are, and their keys are remembered, so that the operator learns of them.
#[derive(Debug, Default)]
pub(crate) struct Tightening {
    /// The keys of settings that were ignored.
    pub(crate) ignored: Vec<String>,
}

impl Tightening {
    /// Takes a value over where it is smaller.
    pub(crate) fn lower<T: PartialOrd>(&mut self, key: &str, place: &mut T, value: Option<T>) {
        self.replace(key, place, value, |new, old| new < old);
    }

    /// Takes a value over where it is stricter.
    pub(crate) fn replace<T: PartialEq>(
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

    /// Leaves out a setting that is given.
    pub(crate) fn refuse<T>(&mut self, key: &str, value: Option<T>) {
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
