//! Semantic categories of operations, and endpoint modes.

use std::fmt;

/// The endpoint mode: the set of tools that accept calls of operations.
///
/// ```
/// assert_eq!(mcp_aql_conformance::Mode::Semantic.to_string(), "semantic");
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One tool per family of operations.
    Semantic,
    /// One tool for all operations.
    Single,
    /// The tools of both modes at once.
    All,
}

impl Mode {
    /// Returns the value of the environment variable `MCP_AQL_ENDPOINT_MODE` for this mode.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Semantic => "semantic",
            Self::Single => "single",
            Self::All => "all",
        }
    }

    /// Returns the mode that a run tests in addition to this one.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Single => Self::Semantic,
            Self::Semantic | Self::All => Self::Single,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The semantic category of an operation.
///
/// ```
/// use mcp_aql_conformance::Category;
///
/// assert_eq!("delete".parse::<Category>()?, Category::Delete);
/// assert_eq!(Category::Delete.as_str(), "DELETE");
/// # Ok::<(), mcp_aql_conformance::ConfigError>(())
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Category {
    /// Adds data.
    Create,
    /// Changes nothing.
    Read,
    /// Overwrites data.
    Update,
    /// Removes data.
    Delete,
    /// Has other effects, for example runs a job.
    Execute,
}

impl Category {
    /// All five categories.
    pub const ALL: [Self; 5] =
        [Self::Create, Self::Read, Self::Update, Self::Delete, Self::Execute];

    /// Returns the name in capitals, as in introspection.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Execute => "EXECUTE",
        }
    }

    /// Returns the endpoint family in the CRUDE profile. It is also the value for `--allow`.
    pub const fn family(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Execute => "execute",
        }
    }

    /// Parses the name in capitals.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.as_str() == word)
    }

    /// Returns the permissions `readOnly` and `destructive` of this category.
    pub(crate) const fn permissions(self) -> (bool, bool) {
        match self {
            Self::Read => (true, false),
            Self::Create => (false, false),
            Self::Update | Self::Delete | Self::Execute => (false, true),
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
