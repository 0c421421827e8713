//! The settings of a run: the level, the permissions, the selection of checks and the limits.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::category::{Category, Mode};
use crate::config::File;

/// Shortest accepted time limit. A limit of zero would time out every request.
const MIN_TIME_LIMIT: Duration = Duration::from_millis(1);
/// Maximum accepted time limit, a day. Longer ones might overflow an `Instant`.
pub(crate) const MAX_TIME_LIMIT: Duration = Duration::from_secs(86_400);

/// Settings of a run.
///
/// By default, a run only calls READ operations and makes invalid calls. Call [`allow`](Self::allow) if you want it to
/// create, change or delete items, too.
///
/// ```
/// use mcp_aql_conformance::{Category, Settings};
///
/// let settings = Settings::default().level(1).allow(Category::Create).category("creates");
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    pub(crate) level: u8,
    pub(crate) allowed: BTreeSet<Category>,
    pub(crate) selection: Selection,
    pub(crate) mode: Option<Mode>,
    pub(crate) limits: TimeLimits,
    pub(crate) in_flight: usize,
    pub(crate) max_operations: Option<usize>,
    pub(crate) max_irreversible: usize,
    pub(crate) max_created: usize,
    pub(crate) is_isolated: bool,
    pub(crate) file: File,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            level: 2,
            allowed: BTreeSet::new(),
            selection: Selection::default(),
            mode: None,
            limits: TimeLimits::default(),
            in_flight: 64,
            max_operations: None,
            max_irreversible: 40,
            max_created: 200,
            is_isolated: false,
            file: File::default(),
        }
    }
}

impl Settings {
    /// Sets the requested conformance level, 1 or 2. The level selects the checks and decides the verdict.
    #[must_use]
    pub fn level(mut self, level: u8) -> Self {
        self.level = level.clamp(1, 2);
        self
    }

    /// Allows operations of this category. They act only on items created by the run and on configured fixtures.
    #[must_use]
    pub fn allow(mut self, category: Category) -> Self {
        self.allowed.insert(category);
        self
    }

    /// Allows the operations of all categories. Use this only with data that you can lose.
    #[must_use]
    pub fn allow_all(mut self) -> Self {
        self.allowed.extend(Category::ALL);
        self
    }

    /// Returns `true` if operations of this category may run. READ operations always may.
    ///
    /// ```
    /// use mcp_aql_conformance::{Category, Settings};
    ///
    /// let settings = Settings::default().allow(Category::Create);
    /// assert!(settings.allows(Category::Read) && settings.allows(Category::Create));
    /// assert!(!settings.allows(Category::Delete));
    /// ```
    #[must_use]
    pub fn allows(&self, category: Category) -> bool {
        category == Category::Read || self.allowed.contains(&category)
    }

    /// Selects the checks of this category. You can combine it with other selections.
    #[must_use]
    pub fn category(mut self, name: impl Into<String>) -> Self {
        self.selection.categories.insert(name.into());
        self
    }

    /// Selects one check by its id. You can combine it with other selections.
    #[must_use]
    pub fn check(mut self, id: impl Into<String>) -> Self {
        self.selection.checks.insert(id.into());
        self
    }

    /// Selects the checks of one requirement. You can combine it with other selections.
    #[must_use]
    pub fn requirement(mut self, id: impl Into<String>) -> Self {
        self.selection.requirements.insert(id.into());
        self
    }

    /// Tests the adapter in this endpoint mode only. You cannot reach level 2 then, because it requires both modes.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Sets the time limits of one request and of the whole run. The defaults are 10 seconds and 5 minutes. Values
    /// above one day are reduced to one day.
    #[must_use]
    pub fn time_limits(mut self, limits: TimeLimits) -> Self {
        let clamp = |limit: Duration| limit.clamp(MIN_TIME_LIMIT, MAX_TIME_LIMIT);
        self.limits = TimeLimits { request: clamp(limits.request), run: clamp(limits.run) };
        self
    }

    /// Declares that the data of the adapter belong to this run alone. Use this if you test with a throwaway database.
    ///
    /// The run then calls all READ operations, even those without a reading verb such as `get` or `list` in their
    /// names. It also lifts the limits on calls with permanent effects and on created items, unless a configuration
    /// file sets them.
    #[must_use]
    pub fn isolated(mut self) -> Self {
        self.is_isolated = true;
        self.max_irreversible = self.file.limits.irreversible_calls.unwrap_or(usize::MAX);
        self.max_created = self.file.limits.created_items.unwrap_or(usize::MAX);
        self
    }

    /// Returns the time limits of a request and of the run.
    #[must_use]
    pub fn limits(&self) -> TimeLimits {
        self.limits
    }

    /// Applies a configuration file. Its limits override those set earlier; its permissions are added.
    #[must_use]
    pub fn file(mut self, file: File) -> Self {
        self.allowed.extend(file.allow.iter().copied());
        let TimeLimits { request, run } = self.limits;
        self = self.time_limits(TimeLimits {
            request: file.limits.request_seconds.map_or(request, Duration::from_secs),
            run: file.limits.run_seconds.map_or(run, Duration::from_secs),
        });
        if let Some(in_flight) = file.limits.in_flight {
            self.in_flight = in_flight.clamp(1, 64);
        }
        if let Some(calls) = file.limits.irreversible_calls {
            self.max_irreversible = calls;
        }
        if let Some(items) = file.limits.created_items {
            self.max_created = items;
        }
        self.max_operations = file.limits.operations.or(self.max_operations);
        self.file = file;
        self
    }
}

/// The time limits of a run. Set them with [`Settings::time_limits`](crate::Settings::time_limits).
///
/// ```
/// use std::time::Duration;
/// use mcp_aql_conformance::{Settings, TimeLimits};
///
/// let limits = TimeLimits { request: Duration::from_secs(2), ..TimeLimits::default() };
/// let settings = Settings::default().time_limits(limits);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TimeLimits {
    /// Time limit of one request. Defaults to 10 seconds.
    pub request: Duration,
    /// Time limit of the whole run. Defaults to 5 minutes.
    pub run: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self { request: Duration::from_secs(10), run: Duration::from_secs(300) }
    }
}

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
