use crate::constraint::{Bound, Constraint, EnumValue};
use crate::operation::{DefaultSpec, ExampleSpec, OperationSpec, ParameterEntry, ParameterSpec};
use crate::vocab::SemanticCategory;

/// The table of `introspect` itself: it is validated and shown like any other (REQ-INT-01,
/// REQ-INT-20, REQ-INT-24, REQ-INT-29).
pub(crate) const SPEC: OperationSpec = OperationSpec::new(
    "introspect",
    SemanticCategory::Read,
    "List operations and types, or show one in full.",
)
.parameters(&[
    ParameterEntry::One(ParameterSpec::required::<String>("query", "What to show.").constraints(
        &[Constraint::Enum(&[EnumValue::Str("operations"), EnumValue::Str("types")])],
    )),
    ParameterEntry::One(ParameterSpec::optional::<String>(
        "name",
        "One operation or type, in full; a name that does not exist gives null.",
    )),
    ParameterEntry::One(
        ParameterSpec::optional::<String>("category", "List only this category's operations.")
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
        "List only names that start so.",
    )),
    ParameterEntry::One(ParameterSpec::optional::<Vec<String>>(
        "names",
        "List only these operations.",
    )),
    ParameterEntry::One(
        ParameterSpec::optional::<bool>(
            "parameters",
            "Put what each listed operation takes into its description.",
        )
        .default(DefaultSpec::Json("false")),
    ),
    ParameterEntry::One(
        ParameterSpec::optional::<u32>(
            "first",
            "Page of the operations list: how many; _protocol.pageInfo then tells of the rest.",
        )
        .constraints(&[Constraint::Minimum(Bound::Int(1))]),
    ),
    ParameterEntry::One(ParameterSpec::optional::<String>(
        "after",
        "Go on behind this endCursor; with 'first'.",
    )),
])
.examples(&[
    ExampleSpec { description: "All operations", params: r#"{"query":"operations"}"# },
    ExampleSpec {
        description: "One operation in full",
        params: r#"{"query":"operations","name":"introspect"}"#,
    },
    ExampleSpec {
        description: "All that update, with their parameters",
        params: r#"{"query":"operations","category":"UPDATE","parameters":true}"#,
    },
]);
