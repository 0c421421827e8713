//! The configuration of a run: permissions, fixtures and time limits.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::category::{Category, Mode};
use crate::requirements::SPEC_VERSIONS;
use crate::selection::Selection;

/// Shortest accepted time limit. A limit of zero would time out every request.
const MIN_TIME_LIMIT: Duration = Duration::from_millis(1);
/// Longest accepted time limit, a day. Longer ones might overflow an `Instant`.
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
    pub(crate) spec_version: String,
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
            spec_version: SPEC_VERSIONS.first().copied().unwrap_or_default().to_owned(),
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

    /// Sets the version of the protocol to test against, one of [`SPEC_VERSIONS`]. Other versions are ignored.
    #[must_use]
    pub fn spec_version(mut self, version: &str) -> Self {
        if SPEC_VERSIONS.contains(&version) {
            version.clone_into(&mut self.spec_version);
        }
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

/// The configuration file in TOML. The command line reads it with `--config`.
///
/// ```
/// use mcp_aql_conformance::{File, Settings};
///
/// let file = File::parse(
///     r#"
///     allow = ["create", "update"]
///     reading_verbs = ["render"]
///     reading_operations = ["open_report"]
///
///     [limits]
///     request_seconds = 5
///
///     [params.send_mail]
///     to = "nobody@example.com"
///
///     [values]
///     project_id = "test-project"
///
///     [resources.task]
///     create = "create_task"
///     read = "get_task"
///     read_only = ["created_at"]
///
///     [[skip]]
///     operation = "send_invoice"
///     reason = "it costs money"
///
///     [env]
///     API_KEY = "${TEST_API_KEY}"
///
///     [modes.single]
///     command = ["my-adapter", "--single"]
///     "#,
///     |name| (name == "TEST_API_KEY").then(|| "secret".to_owned()),
/// )?;
/// let settings = Settings::default().file(file);
/// # Ok::<(), mcp_aql_conformance::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Allowed categories of operations, in lower case.
    #[serde(deserialize_with = "families")]
    pub allow: BTreeSet<Category>,
    /// Verbs that mark READ operations as reading, compared without case. An operation matches if its name begins with
    /// one of them.
    pub reading_verbs: BTreeSet<String>,
    /// Names of READ operations that only read data although their first word is not a reading verb.
    pub reading_operations: BTreeSet<String>,
    /// Time limits, concurrency and limits on effects.
    pub limits: Limits,
    /// Parameters of single operations, by operation and parameter.
    pub params: BTreeMap<String, Map<String, Value>>,
    /// Values for parameters of all operations, such as identifiers of existing items.
    pub values: Map<String, Value>,
    /// Operations on each resource, by the name of the resource.
    pub resources: BTreeMap<String, ResourceConfig>,
    /// Excluded operations and checks, with reasons.
    pub skip: Vec<Exclusion>,
    /// Environment variables for the process of the adapter.
    pub env: BTreeMap<String, String>,
    /// Other ways to reach the same adapter, by mode: `semantic` or `single`.
    pub modes: BTreeMap<Mode, ModeTarget>,
    /// Headers of HTTP requests.
    pub headers: BTreeMap<String, String>,
    /// Strings to mask in reports. Values inserted for `${NAME}` are added to them.
    pub secrets: Vec<String>,
}

/// The `[limits]` table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Time limit of one request, in seconds.
    pub request_seconds: Option<u64>,
    /// Time limit of the whole run, in seconds.
    pub run_seconds: Option<u64>,
    /// Maximum number of concurrent requests, 1 to 64.
    pub in_flight: Option<usize>,
    /// Maximum number of exercised operations. An adapter with more operations is tested on a sample. By default, the
    /// sample has 48 operations if the adapter has more than 100.
    pub operations: Option<usize>,
    /// Maximum number of successful calls per operation and mode with effects that the run cannot undo. The default
    /// is 40.
    pub irreversible_calls: Option<usize>,
    /// Maximum number of items per resource and mode that exist at the same time because the run created them. The
    /// default is 200.
    pub created_items: Option<usize>,
}

/// A `[resources.NAME]` table: the operations on one resource. Omitted operations are inferred from names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResourceConfig {
    /// Name of the parameter that identifies an item.
    pub id: Option<String>,
    /// Name of the CREATE operation.
    pub create: Option<String>,
    /// Name of the READ operation for one item.
    pub read: Option<String>,
    /// Name of the READ operation for several items.
    pub list: Option<String>,
    /// Name of the UPDATE operation.
    pub update: Option<String>,
    /// Name of the DELETE operation.
    pub delete: Option<String>,
    /// Fields that no update may change.
    pub read_only: Vec<String>,
    /// List fields that updates may only extend.
    pub append_only: Vec<String>,
}

/// A `[[skip]]` entry: an excluded operation or check, with the reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// Name of an operation that the run never calls.
    pub operation: Option<String>,
    /// Id of a check that does not run.
    pub check: Option<String>,
    /// Reason for the exclusion, shown in reports.
    pub reason: String,
}

impl std::fmt::Display for Exclusion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, name) = match (&self.operation, &self.check) {
            (Some(operation), _) => ("operation", operation),
            (None, Some(check)) => ("check", check),
            (None, None) => ("nothing", &self.reason),
        };
        write!(formatter, "the {what} `{name}`: {}", self.reason)
    }
}

/// A `[modes.NAME]` table: how to reach the adapter in that mode.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModeTarget {
    /// Command with its arguments.
    pub command: Vec<String>,
    /// URL of the adapter.
    pub url: Option<String>,
}

/// The error for an invalid configuration.
///
/// ```
/// use mcp_aql_conformance::File;
///
/// let error = File::parse("allowed = ['create']", |_| None).unwrap_err();
/// assert!(error.to_string().contains("unknown field `allowed`"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The configuration file cannot be read.
    #[error("cannot read the configuration {path}: {reason}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Cause of the failure.
        reason: String,
    },
    /// The content of the configuration is invalid.
    #[error("the configuration is wrong: {0}")]
    Wrong(String),
}

impl FromStr for Category {
    type Err = ConfigError;

    /// Parses a category in lower case: `create`, `read`, `update`, `delete` or `execute`.
    fn from_str(word: &str) -> Result<Self, ConfigError> {
        Self::ALL.into_iter().find(|category| category.family() == word).ok_or_else(|| {
            ConfigError::Wrong(format!(
                "`{word}` is not a category of operations: write create, read, update, delete or execute"
            ))
        })
    }
}

/// Deserializes categories in lower case, as in `allow = ["create"]`.
fn families<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeSet<Category>, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    words.into_iter().map(|word| word.parse().map_err(serde::de::Error::custom)).collect()
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
