//! The selection of checks for a run.

use std::collections::BTreeSet;

use crate::checks::Check;

/// The selected checks: those of any of these categories, ids and requirements. Without any, all checks are
/// selected.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    pub(crate) categories: BTreeSet<String>,
    pub(crate) checks: BTreeSet<String>,
    pub(crate) requirements: BTreeSet<String>,
}

impl Selection {
    /// Whether the check is selected.
    pub(crate) fn contains(&self, check: &Check) -> bool {
        self.is_all()
            || self.categories.contains(check.category())
            || self.checks.contains(check.id)
            || check.requirements.iter().any(|id| self.requirements.contains(*id))
    }

    /// Whether all checks are selected.
    pub(crate) fn is_all(&self) -> bool {
        self.categories.is_empty() && self.checks.is_empty() && self.requirements.is_empty()
    }

    /// The selected names, as reports show them.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = [&self.categories, &self.checks, &self.requirements];
        names.into_iter().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::selected;
    use crate::config::Settings;

    #[test]
    fn selects_by_category_id_and_requirement() {
        let ids =
            |settings: Settings| -> Vec<_> { selected(&settings).map(|check| check.id).collect() };
        assert_eq!(ids(Settings::default()).len(), crate::checks().count());
        assert_eq!(
            ids(Settings::default().check("introspection.bad_query")),
            ["introspection.bad_query"]
        );
        let of_requirement = ids(Settings::default().requirement("REQ-INT-28"));
        assert!(of_requirement.contains(&"introspection.bad_query"), "{of_requirement:?}");
        let both = ids(Settings::default().category("wire").check("introspection.bad_query"));
        assert!(both.len() > 1 && both.last() == Some(&"introspection.bad_query"), "{both:?}");
        assert!(ids(Settings::default().check("no.such")).is_empty());
        // The level still limits the selection.
        let second = crate::checks().find(|check| check.level == 2).map_or("", |check| check.id);
        assert!(ids(Settings::default().level(1).check(second)).is_empty());
    }
}
