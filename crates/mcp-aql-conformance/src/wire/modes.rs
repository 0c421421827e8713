//! Reaches the adapter differently in each mode.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Link, NoResponse, Tap, Target, sealed::Transport};
use crate::category::Mode;

/// A target that reaches the adapter differently in each mode, for example with two URLs.
///
/// ```
/// use mcp_aql_conformance::{CommandTarget, Mode, PerMode};
///
/// let target = PerMode::new(CommandTarget::new("tasks", ["serve"]))
///     .with(Mode::Single, CommandTarget::new("tasks", ["serve", "--single"]));
/// ```
#[derive(Debug, Clone)]
pub struct PerMode {
    first: Arc<dyn Target>,
    others: BTreeMap<Mode, Arc<dyn Target>>,
}

impl PerMode {
    /// Creates a target that uses `first` if no mode is selected.
    pub fn new(first: impl Target + 'static) -> Self {
        Self::of(Arc::new(first))
    }

    /// Creates a target from a shared one.
    pub fn of(first: Arc<dyn Target>) -> Self {
        Self { first, others: BTreeMap::new() }
    }

    /// Sets how to reach the adapter in this mode.
    #[must_use]
    pub fn with(self, mode: Mode, target: impl Target + 'static) -> Self {
        self.with_shared(mode, Arc::new(target))
    }

    /// Sets a shared target for this mode. Use this if you choose the type of the target at run time.
    #[must_use]
    pub fn with_shared(mut self, mode: Mode, target: Arc<dyn Target>) -> Self {
        self.others.insert(mode, target);
        self
    }
}

impl Target for PerMode {}

impl Transport for PerMode {
    fn open(&self, mode: Option<Mode>, tap: Arc<Tap>) -> BoxFuture<'_, Result<Link, NoResponse>> {
        mode.and_then(|mode| self.others.get(&mode)).unwrap_or(&self.first).open(mode, tap)
    }

    fn offers(&self, mode: Mode) -> bool {
        self.others.contains_key(&mode) || self.first.offers(mode)
    }

    fn describe(&self) -> String {
        self.first.describe()
    }

    fn secrets(&self) -> Vec<String> {
        let all = self.others.values().chain([&self.first]);
        all.flat_map(|target| target.secrets()).collect()
    }
}
