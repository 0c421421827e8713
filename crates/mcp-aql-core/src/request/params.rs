//! The parameters of a call.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The parameters of a call by name. No name repeats.
///
/// A list and not a map, because calls have few parameters, and the names of most calls stay in the text that was sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Params<'a>(Vec<(Cow<'a, str>, Value)>);

impl<'a> Params<'a> {
    /// Reserves space for this number of parameters.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// Adds a parameter whose name is new.
    pub(super) fn push(&mut self, name: &'a str, value: Value) {
        self.0.push((Cow::Borrowed(name), value));
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|(given, _)| given == name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value)
    }

    /// Removes a parameter.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        let index = self.0.iter().position(|(given, _)| given == name)?;
        Some(self.0.remove(index).1)
    }

    /// Returns a map with the same parameters.
    pub(crate) fn to_map(&self) -> Map<String, Value> {
        self.clone().into_map()
    }

    pub(crate) fn into_map(self) -> Map<String, Value> {
        self.0.into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
    }
}

impl From<Map<String, Value>> for Params<'_> {
    fn from(params: Map<String, Value>) -> Self {
        Self(params.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect())
    }
}

impl<'a> IntoIterator for Params<'a> {
    type Item = (Cow<'a, str>, Value);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
