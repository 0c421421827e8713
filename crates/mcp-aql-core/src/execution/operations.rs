//! The operations on executions, offered by adapters with executions.

use mcp_aql_protocol::{DEFAULT_MAX_PAGE_SIZE, DEFAULT_PAGE_SIZE, SemanticCategory};

use super::state::ExecutionState;
use crate::operation::{
    DataKey, ExampleSpec, ExecutionCall, Handler, OperationSpec, ParameterEntry, Plain,
};
use crate::paging::{Page, PageSizes};
use crate::schema::constraint::{Bound, Constraint, EnumValue};
use crate::schema::spec::{DefaultSpec, ParameterSpec, ReturnsSpec};

const ID: ParameterEntry = ParameterEntry::One(
    ParameterSpec::required::<String>("execution_id", "The execution.")
        .constraints(&[Constraint::MinLength(1), Constraint::MaxLength(64)]),
);

const BY_ID: &[ExampleSpec] = &[ExampleSpec { description: "", params: EXAMPLE }];
const EXAMPLE: &str = r#"{"execution_id":"exec_y7n44vbkz352ckgw9my1mvz59tdwh9edd1r"}"#;

const GET: OperationSpec =
    OperationSpec::new("get_execution", SemanticCategory::Read, "Get the state of an execution.")
        .parameters(&[
            ID,
            ParameterEntry::One(
                ParameterSpec::optional::<u32>(
                    "wait_seconds",
                    "Seconds to wait for the execution to end.",
                )
                .constraints(&[
                    Constraint::Minimum(Bound::Int(0)),
                    Constraint::Maximum(Bound::Int(60)),
                ])
                .default(DefaultSpec::Json("0")),
            ),
        ])
        .examples(BY_ID)
        .returns(ReturnsSpec::of::<ExecutionState, Plain>())
        .data_key(DataKey::Bare);

const LIST: OperationSpec = OperationSpec::new(
    "list_executions",
    SemanticCategory::Read,
    "List the caller's executions, the newest first.",
)
.parameters(&[
    ParameterEntry::One(
        ParameterSpec::optional::<String>("status", "List only executions with this status.")
            .constraints(&[Constraint::Enum(&[
                EnumValue::Str("pending"),
                EnumValue::Str("running"),
                EnumValue::Str("completed"),
                EnumValue::Str("failed"),
                EnumValue::Str("cancelled"),
            ])]),
    ),
    ParameterEntry::One(ParameterSpec::optional::<String>(
        "operation_name",
        "List only executions of this operation.",
    )),
    // These numbers must match `PAGE_SIZES`.
    ParameterEntry::One(ParameterSpec::optional::<usize>(
        "first",
        "Number of executions on the page; default 20, maximum 100.",
    )),
    ParameterEntry::One(ParameterSpec::optional::<String>(
        "after",
        "'endCursor' of the previous page; with 'first'.",
    )),
    ParameterEntry::One(ParameterSpec::optional::<usize>(
        "last",
        "Number of executions from the end of the list.",
    )),
    ParameterEntry::One(ParameterSpec::optional::<String>(
        "before",
        "'startCursor' of the next page; with 'last'.",
    )),
])
.returns(ReturnsSpec::of::<Page<ExecutionState>, Plain>());

/// Page sizes of `list_executions`.
pub(crate) const PAGE_SIZES: PageSizes =
    PageSizes { default: DEFAULT_PAGE_SIZE, max: DEFAULT_MAX_PAGE_SIZE };

const CANCEL: OperationSpec = OperationSpec::new(
    "cancel_execution",
    SemanticCategory::Execute,
    "Cancel a pending or running execution.",
)
.parameters(&[ID])
.examples(BY_ID)
.returns(ReturnsSpec::of::<ExecutionState, Plain>())
.data_key(DataKey::Bare);

/// The repeated call passes the gates again.
const RETRY: OperationSpec = OperationSpec::new(
    "retry_execution",
    SemanticCategory::Execute,
    "Run a failed execution again with the same parameters.",
)
.parameters(&[ID])
.examples(BY_ID)
.returns(ReturnsSpec::of::<ExecutionState, Plain>())
.data_key(DataKey::Bare);

/// Returns the operations on executions for an adapter with these operations. Returns none if no operation has a
/// lifecycle.
pub(crate) fn built_in(operations: &[(OperationSpec, Handler)]) -> Vec<(OperationSpec, Handler)> {
    let lifecycles: Vec<_> = operations.iter().filter_map(|(spec, _)| spec.lifecycle).collect();
    [
        (GET, ExecutionCall::Get, !lifecycles.is_empty()),
        (LIST, ExecutionCall::List, !lifecycles.is_empty()),
        (CANCEL, ExecutionCall::Cancel, lifecycles.iter().any(|life| life.cancel)),
        (RETRY, ExecutionCall::Retry, lifecycles.iter().any(|life| life.retry)),
    ]
    .into_iter()
    .filter(|(_, _, offered)| *offered)
    .map(|(spec, call, _)| (spec, Handler::Execution(call)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_parameters_has_an_example() {
        // REQ-INT-25
        for spec in [GET, LIST, CANCEL, RETRY] {
            let needs = spec
                .parameters
                .iter()
                .any(|entry| matches!(entry, ParameterEntry::One(parameter) if parameter.required));
            assert_eq!(needs, !spec.examples.is_empty(), "{}", spec.name);
        }
    }
}
