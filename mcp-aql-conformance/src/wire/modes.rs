//! An adapter that is reached in another way for each mode.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::sealed::Way;
use super::{Link, Lost, Tap, Target};
use crate::learn::Mode;

/// An adapter that is reached in another way for each mode: two URLs, say.
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
    /// The adapter as it is reached first, in whatever mode it serves.
    pub fn new(first: impl Target + 'static) -> Self {
        Self::of(Arc::new(first))
    }

    /// The same of a target that is shared.
    pub fn of(first: Arc<dyn Target>) -> Self {
        Self { first, others: BTreeMap::new() }
    }

    /// How to reach it in this mode.
    #[must_use]
    pub fn with(self, mode: Mode, target: impl Target + 'static) -> Self {
        self.with_shared(mode, Arc::new(target))
    }

    /// The same of a target that is shared.
    #[must_use]
    pub fn with_shared(mut self, mode: Mode, target: Arc<dyn Target>) -> Self {
        self.others.insert(mode, target);
        self
    }
}

impl Target for PerMode {}

impl Way for PerMode {
    fn open(&self, mode: Option<Mode>, tap: Arc<Tap>) -> BoxFuture<'_, Result<Link, Lost>> {
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
