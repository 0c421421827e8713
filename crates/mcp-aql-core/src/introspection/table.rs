//! Defines the operation table of `introspect`.

use mcp_aql_protocol::{MAX_PAGE_SIZE, SemanticCategory};

use crate::operation::{ExampleSpec, OperationSpec, ParameterEntry};
use crate::paging::PageSizes;
use crate::schema::constraint::{Constraint, EnumValue};
use crate::schema::spec::ParameterSpec;

/// Page sizes of the operations list. A call without page controls returns the whole list, so a page may be as large
/// as the protocol allows.
pub(super) const PAGE_SIZES: PageSizes = PageSizes { default: MAX_PAGE_SIZE, max: MAX_PAGE_SIZE };

/// The operation table of `introspect`. It is validated and listed like any other operation (REQ-INT-01, REQ-INT-20,
/// REQ-INT-24, REQ-INT-29).
pub(crate) const SPEC: OperationSpec = OperationSpec::new(
    "introspect",
    SemanticCategory::Read,
    "List operations and types, or show one in full.",
)
.parameters(&[
    ParameterEntry::One(
        ParameterSpec::required::<String>("query", "What to list or show.").constraints(
            &[Constraint::Enum(&[EnumValue::Str("operations"), EnumValue::Str("types")])],
        ),
    ),
    ParameterEntry::One(ParameterSpec::optional::<String>(
        "name",
        "Name of an operation or type to show in full; null if it is unknown.",
    )),
    ParameterEntry::One(
        ParameterSpec::optional::<String>(
            "search",
            "A task in your own words. Lists the matching operations, best first, with their parameters.",
        )
        .constraints(&[Constraint::MinLength(1)]),
    ),
    ParameterEntry::One(
        ParameterSpec::optional::<String>("category", "List only operations of this category.")
            .constraints(&[Constraint::Enum(&[
                EnumValue::Str("CREATE"),
                EnumValue::Str("READ"),
                EnumValue::Str("UPDATE"),
                EnumValue::Str("DELETE"),
                EnumValue::Str("EXECUTE"),
            ])]),
    ),
    ParameterEntry::One(ParameterSpec::optional::<String>(
        "prefix",
        "List only names with this prefix.",
    )),
    ParameterEntry::One(ParameterSpec::optional::<Vec<String>>(
        "names",
        "List only these operations.",
    )),
    ParameterEntry::One(
        ParameterSpec::optional::<bool>(
            "parameters",
            "Include each operation's parameters in its description. Default: true with 'search', otherwise false.",
        ),
    ),
    // The maximum stated here must equal the one in `PAGE_SIZES`.
    ParameterEntry::One(ParameterSpec::optional::<usize>(
        "first",
        "Number of operations on the page, maximum 1000, default all; see _protocol.pageInfo. With 'search': \
         maximum 50, default 5.",
    )),
    ParameterEntry::One(ParameterSpec::optional::<String>(
        "after",
        "'endCursor' of the previous page; with 'first'.",
    )),
    ParameterEntry::One(ParameterSpec::optional::<usize>(
        "last",
        "Number of operations from the end of the list.",
    )),
    ParameterEntry::One(ParameterSpec::optional::<String>(
        "before",
        "'startCursor' of the next page; with 'last'.",
    )),
])
.examples(&[
    ExampleSpec { description: "All operations", params: r#"{"query":"operations"}"# },
    ExampleSpec {
        description: "One operation in full",
        params: r#"{"query":"operations","name":"introspect"}"#,
    },
    ExampleSpec {
        description: "The operations for a task",
        params: r#"{"query":"operations","search":"mark a task as done"}"#,
    },
    ExampleSpec {
        description: "All UPDATE operations with their parameters",
        params: r#"{"query":"operations","category":"UPDATE","parameters":true}"#,
    },
]);
