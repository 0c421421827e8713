//! The configuration file: permissions, fixtures and limits.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::category::{Category, Mode};

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
    #[error("the configuration is invalid: {0}")]
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
