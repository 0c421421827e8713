//! The table of an operation.

use mcp_aql_protocol::SemanticCategory;

use super::CompositeSpec;
use crate::error::warning::Deprecation;
use crate::schema::spec::{
    ClaimSpec, DangerSpec, InputSpec, LifecycleSpec, ParameterSpec, ReturnsSpec, StateSpec,
};

/// An entry of an operation's parameter table. It describes one parameter, or several parameters from one type.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ParameterEntry {
    /// One argument of the function.
    One(ParameterSpec),
    /// The parameters of a [`ParamGroup`](crate::ParamGroup), expanded inline (REQ-INT-26).
    Group(&'static [ParameterSpec]),
    /// The `input` of an UPDATE operation, with the table of its fields (REQ-UPD-01).
    Input(InputSpec),
    /// Parameters read together, for example those of a `CollectionQuery`.
    Composite(&'static dyn CompositeSpec),
}

/// The static table of an operation. Routing, validation, introspection and tool descriptions only use this table
/// (REQ-RQ-12).
///
/// The macro generates it for you. You can also write it by hand:
///
/// ```
/// use mcp_aql::table::{OperationSpec, ReturnsSpec};
/// use mcp_aql::SemanticCategory;
///
/// static SPEC: OperationSpec =
///     OperationSpec::new("get_server_time", SemanticCategory::Read, "Tell the time.")
///         .returns(ReturnsSpec::of::<String, _>());
/// assert_eq!(SPEC.name, "get_server_time");
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OperationSpec {
    /// Name in requests: `^[a-z][a-z0-9_]*$`.
    pub name: &'static str,
    /// Effect of the operation on stored state.
    pub category: SemanticCategory,
    /// Description. Lists and tools show its first paragraph.
    pub description: &'static str,
    /// Endpoint family in a profile other than CRUDE, if the category does not determine it.
    pub endpoint: Option<&'static str>,
    /// Reason why the name's verb and the category differ (REQ-CLS-04, REQ-CLS-09).
    pub rationale: Option<&'static str>,
    /// Parameters, in the order of the function's arguments.
    pub parameters: &'static [ParameterEntry],
    /// Type of the result.
    pub returns: ReturnsSpec,
    /// Position of the result in `data`.
    pub data_key: DataKey,
    /// Examples written by the author.
    pub examples: &'static [ExampleSpec],
    /// Deprecation, if callers should use another operation.
    pub deprecated: Option<Deprecation>,
    /// Shared state used by the function.
    pub states: &'static [StateSpec],
    /// Claims of the caller that the function receives. A caller without one of them may not call the operation.
    pub claims: &'static [ClaimSpec],
    /// Declared danger.
    pub danger: DangerSpec,
    /// Lifecycle, if the operation runs in the background as an execution.
    pub lifecycle: Option<LifecycleSpec>,
    /// Time limit in seconds. Defaults to that of the adapter.
    pub timeout_seconds: Option<u32>,
    /// Scope that a caller needs. Defaults to that of the category.
    pub scope: Option<&'static str>,
    /// If `true`, introspection shows a generated example even if it adds nothing to the parameters.
    pub(crate) shows_sample: bool,
    /// Type that the operation belongs to. The type of a free function has the name of the function.
    pub(crate) origin: &'static str,
}

impl OperationSpec {
    /// Creates a table without parameters and with an empty result.
    pub const fn new(
        name: &'static str,
        category: SemanticCategory,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            category,
            description,
            endpoint: None,
            rationale: None,
            parameters: &[],
            returns: ReturnsSpec::of_data::<()>(),
            data_key: DataKey::Auto,
            examples: &[],
            deprecated: None,
            states: &[],
            claims: &[],
            danger: DangerSpec::UNDECLARED,
            lifecycle: None,
            timeout_seconds: None,
            scope: None,
            shows_sample: false,
            origin: "mcp_aql",
        }
    }

    /// Sets the parameters.
    #[must_use]
    pub const fn parameters(mut self, parameters: &'static [ParameterEntry]) -> Self {
        self.parameters = parameters;
        self
    }

    /// Sets the type of the result.
    #[must_use]
    pub const fn returns(mut self, returns: ReturnsSpec) -> Self {
        self.returns = returns;
        self
    }

    /// Sets the position of the result in `data`.
    #[must_use]
    pub const fn data_key(mut self, key: DataKey) -> Self {
        self.data_key = key;
        self
    }

    /// Sets the examples.
    #[must_use]
    pub const fn examples(mut self, examples: &'static [ExampleSpec]) -> Self {
        self.examples = examples;
        self
    }

    /// Sets the endpoint family for profiles other than CRUDE.
    #[must_use]
    pub const fn endpoint(mut self, family: &'static str) -> Self {
        self.endpoint = Some(family);
        self
    }

    /// Sets the reason for a verb that differs from the category.
    #[must_use]
    pub const fn rationale(mut self, rationale: &'static str) -> Self {
        self.rationale = Some(rationale);
        self
    }

    /// Marks the operation as deprecated.
    #[must_use]
    pub const fn deprecated(mut self, deprecation: Deprecation) -> Self {
        self.deprecated = Some(deprecation);
        self
    }

    /// Lists the shared state used by the function.
    #[must_use]
    pub const fn states(mut self, states: &'static [StateSpec]) -> Self {
        self.states = states;
        self
    }

    /// Lists the claims of the caller that the function receives.
    #[must_use]
    pub const fn claims(mut self, claims: &'static [ClaimSpec]) -> Self {
        self.claims = claims;
        self
    }

    /// Sets the declared danger.
    #[must_use]
    pub const fn danger(mut self, danger: DangerSpec) -> Self {
        self.danger = danger;
        self
    }

    /// Makes the operation run in the background as an execution.
    #[must_use]
    pub const fn lifecycle(mut self, lifecycle: LifecycleSpec) -> Self {
        self.lifecycle = Some(lifecycle);
        self
    }

    /// Sets the time limit in seconds. It replaces that of your adapter.
    #[must_use]
    pub const fn timeout_seconds(mut self, seconds: u32) -> Self {
        self.timeout_seconds = Some(seconds);
        self
    }

    /// Sets the scope that a caller needs, for example `tasks:delete`. It replaces that of the category, and must be
    /// a single scope of RFC 6749 §3.3.
    #[must_use]
    pub const fn scope(mut self, scope: &'static str) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Shows a generated example even if it adds nothing to the parameters. Ready operations use this, because they
    /// have no author who writes an example.
    #[doc(hidden)]
    #[must_use]
    pub const fn show_sample(mut self) -> Self {
        self.shows_sample = true;
        self
    }

    /// Sets the type that the operation belongs to.
    pub(crate) const fn origin(mut self, origin: &'static str) -> Self {
        self.origin = origin;
        self
    }

    /// Returns the first paragraph of the description on one line.
    pub fn summary(&self) -> String {
        summary(self.description)
    }
}

/// Returns the first paragraph of a description on one line.
pub(crate) fn summary(description: &str) -> String {
    description
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The position of a result in `data` (REQ-RSP-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataKey {
    /// Selects the position by the type of the result:
    ///
    /// - A list becomes the member `items`.
    /// - A named object or union becomes a member with its type's name in snake case, so that a `Task` is
    ///   `data.task`.
    /// - A [`Page`](crate::Page) and any other result is `data` itself.
    Auto,
    /// A member with this name.
    Named(&'static str),
    /// `data` itself.
    Bare,
}

/// An example call by the author.
#[derive(Debug, Clone, Copy)]
pub struct ExampleSpec {
    /// Description of the example. It may be empty.
    pub description: &'static str,
    /// The `params` object as JSON.
    pub params: &'static str,
}
