//! Stands in for the settings of the operator console if the feature `console` is off.

/// The settings of the operator console, which does not exist.
#[derive(Clone, Default)]
pub(crate) struct ConsoleSettings {}
