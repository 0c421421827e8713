//! The table of an operation.

use mcp_aql_protocol::SemanticCategory;

use super::CompositeSpec;
use crate::error::warning::Deprecation;
use crate::schema::spec::{
    DangerSpec, InputSpec, LifecycleSpec, ParameterSpec, ReturnsSpec, StateSpec,
};

/// One entry of an operation's parameter table: a parameter, or several from one type.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ParameterEntry {
    /// One argument of the function.
    One(ParameterSpec),
    /// The parameters of a [`ParamGroup`](crate::ParamGroup), expanded inline (REQ-INT-26).
    Group(&'static [ParameterSpec]),
    /// The `input` of an UPDATE operation with the table of its fields (REQ-UPD-01).
    Input(InputSpec),
    /// Parameters that are read together, such as those of a
    /// `CollectionQuery`.
    Composite(&'static dyn CompositeSpec),
}

/// The static table of an operation: everything that routing, validation, introspection and tool
/// descriptions use (REQ-RQ-12).
///
/// The macro generates it, but it can be written by hand as well.
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
    /// The name in requests: `^[a-z][a-z0-9_]*$`.
    pub name: &'static str,
    /// The effect of the operation on stored state.
    pub category: SemanticCategory,
    /// The description. Lists and tools show its first paragraph.
    pub description: &'static str,
    /// The endpoint family in a profile other than CRUDE, if the category does not determine it.
    pub endpoint: Option<&'static str>,
    /// The reason why the name's verb and the category differ (REQ-CLS-04, REQ-CLS-09).
    pub rationale: Option<&'static str>,
    /// The parameters, in the order of the function's arguments.
    pub parameters: &'static [ParameterEntry],
    /// The type of the result.
    pub returns: ReturnsSpec,
    /// The position of the result in `data`.
    pub data_key: DataKey,
    /// The author's examples.
    pub examples: &'static [ExampleSpec],
    /// The deprecation, if callers should use another operation.
    pub deprecated: Option<Deprecation>,
    /// The shared state that the function takes.
    pub states: &'static [StateSpec],
    /// The declared danger.
    pub danger: DangerSpec,
    /// The lifecycle, if the operation runs in the background as an execution.
    pub lifecycle: Option<LifecycleSpec>,
    /// The time limit in seconds, instead of that of the adapter.
    pub timeout_seconds: Option<u32>,
    /// The scope that a caller needs, instead of that of the category.
    pub scope: Option<&'static str>,
    /// Whether a generated example is shown although the parameters say the same.
    pub(crate) shows_sample: bool,
    /// The type that the operation belongs to, which is named after the function of a free one.
    pub(crate) origin: &'static str,
}

impl OperationSpec {
    /// Creates a table without parameters and result.
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

    /// Lists the shared state that the function takes.
    #[must_use]
    pub const fn states(mut self, states: &'static [StateSpec]) -> Self {
        self.states = states;
        self
    }

    /// Sets the declared danger.
    #[must_use]
    pub const fn danger(mut self, danger: DangerSpec) -> Self {
        self.danger = danger;
        self
    }

    /// Lets the operation run in the background, as an execution.
    #[must_use]
    pub const fn lifecycle(mut self, lifecycle: LifecycleSpec) -> Self {
        self.lifecycle = Some(lifecycle);
        self
    }

    /// Sets the time limit in seconds, instead of that of the adapter.
    #[must_use]
    pub const fn timeout_seconds(mut self, seconds: u32) -> Self {
        self.timeout_seconds = Some(seconds);
        self
    }

    /// Sets the scope that a caller needs, instead of that of the category, such as `tasks:delete`. It must be a
    /// single scope of RFC 6749 §3.3.
    #[must_use]
    pub const fn scope(mut self, scope: &'static str) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Shows a generated example, also if the parameters say the same. No author writes one for a ready operation.
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

    /// The first paragraph of the description on one line.
    pub fn summary(&self) -> String {
        summary(self.description)
    }
}

/// The first paragraph of a description on one line.
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
    /// A list becomes `items`. A named object or union becomes a member with its type's name in snake case,
    /// so that a `Task` is `data.task`. A [`Page`](crate::Page) and any other result is `data` itself.
    Auto,
    /// A member with this name.
    Named(&'static str),
    /// `data` itself.
    Bare,
}

/// An example call by the author.
#[derive(Debug, Clone, Copy)]
pub struct ExampleSpec {
    /// The description of the example, which may be empty.
    pub description: &'static str,
    /// The `params` object as JSON text.
    pub params: &'static str,
}
