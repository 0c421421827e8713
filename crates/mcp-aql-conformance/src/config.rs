//! The configuration of a run: permissions, fixtures and time limits.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::category::{Category, Mode};
use crate::requirements::SPEC_VERSIONS;
use crate::selection::Selection;
use crate::time_limits::TimeLimits;

/// The minimum time limit.
const MIN_TIME_LIMIT: Duration = Duration::from_millis(1);
/// The maximum time limit. Longer ones might overflow an `Instant`.
pub(crate) const MAX_TIME_LIMIT: Duration = Duration::from_secs(86_400);

/// The settings of a run. By default, it makes only calls of READ operations and calls that must fail.
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
    /// Sets the requested level, 1 or 2. It decides the verdict and selects the checks.
    #[must_use]
    pub fn level(mut self, level: u8) -> Self {
        self.level = level.clamp(1, 2);
        self
    }

    /// Allows operations of this category, on items that the run creates and on configured fixtures.
    #[must_use]
    pub fn allow(mut self, category: Category) -> Self {
        self.allowed.insert(category);
        self
    }

    /// Allows all operations.
    #[must_use]
    pub fn allow_all(mut self) -> Self {
        self.allowed.extend(Category::ALL);
        self
    }

    /// Whether operations of this category may run.
    #[must_use]
    pub fn allows(&self, category: Category) -> bool {
        category == Category::Read || self.allowed.contains(&category)
    }

    /// Runs only the checks of this category, and others that are selected.
    #[must_use]
    pub fn category(mut self, name: impl Into<String>) -> Self {
        self.selection.categories.insert(name.into());
        self
    }

    /// Runs only this check, and others that are selected.
    #[must_use]
    pub fn check(mut self, id: impl Into<String>) -> Self {
        self.selection.checks.insert(id.into());
        self
    }

    /// Runs only the checks of this requirement, and others that are selected.
    #[must_use]
    pub fn requirement(mut self, id: impl Into<String>) -> Self {
        self.selection.requirements.insert(id.into());
        self
    }

    /// Tests the adapter in this endpoint mode only. Level 2 requires both.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Sets the version of the protocol to test against, one of
    /// [`SPEC_VERSIONS`]. Other versions are ignored.
    #[must_use]
    pub fn spec_version(mut self, version: &str) -> Self {
        if SPEC_VERSIONS.contains(&version) {
            version.clone_into(&mut self.spec_version);
        }
        self
    }

    /// Sets the time limits of one request and of the whole run, at most a day each. The defaults are 10
    /// seconds and 5 minutes.
    #[must_use]
    pub fn time_limits(mut self, limits: TimeLimits) -> Self {
        let clamp = |limit: Duration| limit.clamp(MIN_TIME_LIMIT, MAX_TIME_LIMIT);
        self.limits = TimeLimits { request: clamp(limits.request), run: clamp(limits.run) };
        self
    }

    /// States that the adapter's data belong to this run alone. Operations of the category READ are called
    /// without a verb such as get or list in their names, and neither the calls whose effects the run cannot
    /// undo nor the created items are limited, unless a configuration file limits them.
    #[must_use]
    pub fn isolated(mut self) -> Self {
        self.is_isolated = true;
        self.max_irreversible = self.file.limits.irreversible_calls.unwrap_or(usize::MAX);
        self.max_created = self.file.limits.created_items.unwrap_or(usize::MAX);
        self
    }

    /// Returns the time limits.
    #[must_use]
    pub fn limits(&self) -> TimeLimits {
        self.limits
    }

    /// Applies a configuration file.
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

/// The configuration file in TOML, which the command reads with `--config`.
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
    /// Categories of operations that may run, in lower case.
    #[serde(deserialize_with = "families")]
    pub allow: BTreeSet<Category>,
    /// Single verbs, which are compared without case: READ operations whose names begin with one of them only read data.
    pub reading_verbs: BTreeSet<String>,
    /// READ operations that only read data although their names do not begin with a verb that says so.
    pub reading_operations: BTreeSet<String>,
    /// The time limits and the concurrency.
    pub limits: Limits,
    /// Parameters of single operations: by operation, by parameter.
    pub params: BTreeMap<String, Map<String, Value>>,
    /// Values of parameters in all operations: identifiers of existing items.
    pub values: Map<String, Value>,
    /// The operations on each resource, by its name.
    pub resources: BTreeMap<String, ResourceConfig>,
    /// Excluded operations and checks.
    pub skip: Vec<Exclusion>,
    /// Environment variables of the adapter.
    pub env: BTreeMap<String, String>,
    /// Further ways to reach the same adapter, by mode: `semantic` or `single`.
    pub modes: BTreeMap<Mode, ModeTarget>,
    /// Headers for HTTP.
    pub headers: BTreeMap<String, String>,
    /// Texts that reports must not show. They include the values of `${NAME}`.
    pub secrets: Vec<String>,
}

/// `[limits]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Seconds for one request.
    pub request_seconds: Option<u64>,
    /// Seconds for the whole run.
    pub run_seconds: Option<u64>,
    /// The maximum number of concurrent requests, 1 to 64.
    pub in_flight: Option<usize>,
    /// The maximum number of exercised operations. An adapter with more is tested by a sample of them. By
    /// default, 48 operations of an adapter with more than 100 are exercised.
    pub operations: Option<usize>,
    /// The maximum number of successful calls of each operation whose effects the run cannot undo, in each
    /// mode. The default is 40.
    pub irreversible_calls: Option<usize>,
    /// The maximum number of items of each resource that the run has created and not yet removed, in each
    /// mode. The default is 200.
    pub created_items: Option<usize>,
}

/// `[resources.NAME]`: the operations on one resource. Omitted ones are inferred from names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResourceConfig {
    /// The parameter that identifies an item.
    pub id: Option<String>,
    /// The CREATE operation.
    pub create: Option<String>,
    /// The READ operation for one item.
    pub read: Option<String>,
    /// The READ operation for several items.
    pub list: Option<String>,
    /// The UPDATE operation.
    pub update: Option<String>,
    /// The DELETE operation.
    pub delete: Option<String>,
    /// Fields that no update may change.
    pub read_only: Vec<String>,
    /// Lists that updates may only extend.
    pub append_only: Vec<String>,
}

/// `[[skip]]`: an excluded operation or check with the reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// An operation that is never called.
    pub operation: Option<String>,
    /// A check that does not run.
    pub check: Option<String>,
    /// The reason.
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

/// `[modes.NAME]`: the way to reach the adapter in that mode.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModeTarget {
    /// A command with its arguments.
    pub command: Vec<String>,
    /// A URL.
    pub url: Option<String>,
}

/// Returned when a configuration is invalid.
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
    /// The file cannot be read.
    #[error("cannot read the configuration {path}: {reason}")]
    Unreadable {
        /// The path of the file.
        path: String,
        /// The cause.
        reason: String,
    },
    /// The content is invalid.
    #[error("the configuration is wrong: {0}")]
    Wrong(String),
}

impl FromStr for Category {
    type Err = ConfigError;

    /// Parses the name in lower case: `create`, `read`, `update`, `delete`, `execute`.
    fn from_str(word: &str) -> Result<Self, ConfigError> {
        Self::ALL.into_iter().find(|category| category.family() == word).ok_or_else(|| {
            ConfigError::Wrong(format!(
                "`{word}` is not a category of operations: write create, read, update, delete or execute"
            ))
        })
    }
}

/// Deserializes categories in lower case.
fn families<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeSet<Category>, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    words.into_iter().map(|word| word.parse().map_err(serde::de::Error::custom)).collect()
}
