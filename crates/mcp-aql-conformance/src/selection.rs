//! The selection of checks for a run.

use std::collections::BTreeSet;

/// The selected checks. A check is selected if its category, its id or one of its requirements is. An empty selection
/// selects all checks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    pub(crate) categories: BTreeSet<String>,
    pub(crate) checks: BTreeSet<String>,
    pub(crate) requirements: BTreeSet<String>,
}

impl Selection {
    /// Returns `true` if the check with this id and these requirements is selected.
    pub(crate) fn contains(&self, id: &str, requirements: &[&str]) -> bool {
        let area = id.split('.').next().unwrap_or(id);
        self.is_all()
            || self.categories.contains(area)
            || self.checks.contains(id)
            || requirements.iter().any(|id| self.requirements.contains(*id))
    }

    /// Returns `true` if all checks are selected.
    pub(crate) fn is_all(&self) -> bool {
        self.categories.is_empty() && self.checks.is_empty() && self.requirements.is_empty()
    }

    /// Returns the selected names, as shown in reports.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = [&self.categories, &self.checks, &self.requirements];
        names.into_iter().flatten().cloned().collect()
    }
}
