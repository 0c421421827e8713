//! The operations of the safety loop: their tables and handlers (REQ-LOOP-04, REQ-CLS-11). Their names are reserved.

use std::sync::Arc;

use mcp_aql_core::constraint::{Constraint, EnumValue};
use mcp_aql_core::internal::extension::ExtensionOperation;
use mcp_aql_core::internal::operation::{
    Call, DataKey, ExampleSpec, Handler, OperationSpec, Outcome, ParameterEntry, Plain, Run,
};
use mcp_aql_core::internal::schema::{ParameterSpec, ReturnsSpec};
use mcp_aql_core::{BoxFuture, OperationError};
use mcp_aql_protocol::SemanticCategory;
use serde_json::{Map, Value};

use super::agent_state::AgentExecutionStatus;
use super::directive::StepOutcome;
use super::operation_handlers::StepReport;
use super::replies::{AgentExecution, StepReply, VerificationReply};
use super::runtime::SafetyCore;
use super::settings::SafetyLoop;

const SHORT: &[Constraint] = &[Constraint::MinLength(1), Constraint::MaxLength(200)];
const LONG: &[Constraint] = &[Constraint::MaxLength(20_000)];

const AGENT: ParameterEntry = ParameterEntry::One(
    ParameterSpec::required::<String>("element_name", "The agent.").constraints(SHORT),
);
const EXECUTION: ParameterEntry = ParameterEntry::One(
    ParameterSpec::optional::<String>("execution_id", "The id of its execution, to check it.")
        .constraints(SHORT),
);

const EXECUTE_AGENT: OperationSpec = OperationSpec::new(
    "execute_agent",
    SemanticCategory::Execute,
    "Start an agent's execution in the safety loop. A person may have to approve the start.",
)
.parameters(&[
    AGENT,
    ParameterEntry::One(ParameterSpec::optional::<Map<String, Value>>(
        "parameters",
        "The agent's parameters; shown to the person who approves.",
    )),
])
.examples(&[ExampleSpec {
    description: "",
    params: r#"{"element_name":"gardener","parameters":{"bed":"north"}}"#,
}])
.returns(ReturnsSpec::of::<AgentExecution, Plain>())
.data_key(DataKey::Bare);

const RECORD_EXECUTION_STEP: OperationSpec = OperationSpec::new(
    "record_execution_step",
    SemanticCategory::Create,
    "Report an agent's next action before it is taken. Take it only if data.autonomy.continue is true.\n\n\
     Report every action with outside effects: calls of tools of any server, files, shell, network, \
     databases. If stopped is true, take no more. Requests that wait for a person are returned as notifications \
     of type permission_pending, autonomy_pause, danger_zone, status or error.\n\n\
     The protocol's names nextActionHint and stepDescription are accepted as well.",
)
.parameters(&[
    AGENT,
    ParameterEntry::One(
        ParameterSpec::required::<String>(
            "next_action_hint",
            "The next action, in words: the verb and its object. Also: nextActionHint.",
        )
        // The function `step` also requires three letters or digits.
        .constraints(&[Constraint::MinLength(3), Constraint::MaxLength(4_000)]),
    ),
    ParameterEntry::One(
        ParameterSpec::optional::<String>(
            "step_description",
            "What was done in the previous step. Also: stepDescription.",
        )
        .constraints(LONG),
    ),
    ParameterEntry::One(
        ParameterSpec::optional::<String>("outcome", "The outcome of the previous step.").constraints(&[
            Constraint::Enum(&[
                EnumValue::Str("success"),
                EnumValue::Str("failure"),
                EnumValue::Str("skipped"),
            ]),
        ]),
    ),
    ParameterEntry::One(
        ParameterSpec::optional::<String>("findings", "Findings of the previous step.")
            .constraints(LONG),
    ),
])
.examples(&[ExampleSpec { description: "", params: r#"{"element_name":"gardener","next_action_hint":"call update_bed: water bed north","outcome":"success"}"# }])
.returns(ReturnsSpec::of::<StepReply, Plain>())
.data_key(DataKey::Bare);

const COMPLETE_EXECUTION: OperationSpec = OperationSpec::new(
    "complete_execution",
    SemanticCategory::Execute,
    "End an agent's completed execution.",
)
.parameters(&[
    AGENT,
    EXECUTION,
    ParameterEntry::One(
        ParameterSpec::optional::<String>("summary", "What was done.").constraints(LONG),
    ),
])
.examples(&[ExampleSpec {
    description: "",
    params: r#"{"element_name":"gardener","summary":"Bed north is watered."}"#,
}])
.returns(ReturnsSpec::of::<AgentExecution, Plain>())
.data_key(DataKey::Bare);

const ABORT_EXECUTION: OperationSpec = OperationSpec::new(
    "abort_execution",
    SemanticCategory::Execute,
    "Abort an agent's execution, after a stop or when it is cancelled.",
)
.parameters(&[
    AGENT,
    EXECUTION,
    ParameterEntry::One(
        ParameterSpec::optional::<String>("reason", "The reason.").constraints(LONG),
    ),
])
.examples(&[ExampleSpec {
    description: "",
    params: r#"{"element_name":"gardener","reason":"The tank is empty."}"#,
}])
.returns(ReturnsSpec::of::<AgentExecution, Plain>())
.data_key(DataKey::Bare);

const CONFIRM_OPERATION: OperationSpec = OperationSpec::new(
    "confirm_operation",
    SemanticCategory::Execute,
    "Confirm a request that waits for a person, with the code that the person was shown.\n\n\
     For the start of an agent, a paused action, or an operation that needs approval. Only a \
     person has the code: ask for it.",
)
.parameters(&[ParameterEntry::One(
    ParameterSpec::required::<String>("confirmation_token", "The code.")
        .constraints(SHORT)
        .sensitive(),
)])
.examples(&[ExampleSpec {
    description: "",
    params: r#"{"confirmation_token":"the code that the person was shown"}"#,
}])
.returns(ReturnsSpec::of::<VerificationReply, Plain>())
.data_key(DataKey::Bare);

const VERIFY_CHALLENGE: OperationSpec = OperationSpec::new(
    "verify_challenge",
    SemanticCategory::Create,
    "Send the code of a challenge, so that a paused or blocked agent may continue.\n\n\
     Only a person has the code: ask for it. It allows one attempt, and expires after a few minutes.",
)
.parameters(&[
    ParameterEntry::One(
        ParameterSpec::required::<String>(
            "challenge_id",
            "The challenge: verificationId of a notification.",
        )
        .constraints(SHORT),
    ),
    ParameterEntry::One(
        ParameterSpec::required::<String>("code", "The code.").constraints(SHORT).sensitive(),
    ),
])
.examples(&[ExampleSpec { description: "", params: r#"{"challenge_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","code":"the code that the person was shown"}"# }])
.returns(ReturnsSpec::of::<VerificationReply, Plain>())
.data_key(DataKey::Bare);

/// Returns the operations of the safety loop.
pub(crate) fn operations(core: &Arc<SafetyCore>, settings: &SafetyLoop) -> Vec<ExtensionOperation> {
    let operation = |spec, which| {
        let operation = ReservedOperation { which, core: Arc::clone(core) };
        let handler = Handler::Function(Arc::new(operation));
        ExtensionOperation { spec, handler, note: None, rename_params: None }
    };
    vec![
        operation(EXECUTE_AGENT, Reserved::Start),
        ExtensionOperation {
            note: Some(settings.summary()),
            rename_params: Some(accept_literal_names),
            ..operation(RECORD_EXECUTION_STEP, Reserved::Step)
        },
        operation(COMPLETE_EXECUTION, Reserved::Complete),
        operation(ABORT_EXECUTION, Reserved::Abort),
        operation(CONFIRM_OPERATION, Reserved::Confirm),
        operation(VERIFY_CHALLENGE, Reserved::Verify),
    ]
}

/// Accepts two parameters of `record_execution_step` in the protocol's own spelling, too (choice C-24).
///
/// ```text
/// nextActionHint → next_action_hint
/// ```
fn accept_literal_names(params: &mut Map<String, Value>) {
    for (literal, name) in
        [("nextActionHint", "next_action_hint"), ("stepDescription", "step_description")]
    {
        // If both names are given, the literal name stays, and validation rejects it.
        if !params.contains_key(name)
            && let Some(value) = params.remove(literal)
        {
            params.insert(name.to_owned(), value);
        }
    }
}

#[derive(Clone, Copy)]
enum Reserved {
    Start,
    Step,
    Complete,
    Abort,
    Confirm,
    Verify,
}

struct ReservedOperation {
    which: Reserved,
    core: Arc<SafetyCore>,
}

impl Run for ReservedOperation {
    fn run(&self, call: Call) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            match self.which {
                Reserved::Start => self.start(call).await,
                Reserved::Step => self.step(call).await,
                Reserved::Complete => self.finish(call, AgentExecutionStatus::Completed).await,
                Reserved::Abort => self.finish(call, AgentExecutionStatus::Cancelled).await,
                Reserved::Confirm => self.confirm(call).await,
                Reserved::Verify => self.verify(call).await,
            }
        })
    }
}

impl ReservedOperation {
    async fn start(&self, mut call: Call) -> Outcome {
        let agent: String = call.param()?;
        let parameters: Option<Map<String, Value>> = call.optional()?;
        let context = call.context();
        let begun = self.core.start(&context, &agent, parameters).await;
        call.reply(begun)
    }

    async fn step(&self, mut call: Call) -> Outcome {
        let reported = StepReport {
            agent: call.param()?,
            hint: call.param()?,
            description: call.optional()?,
            outcome: call.optional::<StepOutcome>()?,
            findings: call.optional()?,
        };
        let context = call.context();
        let reply = self.core.step(&context, &reported).await;
        call.reply(reply)
    }

    async fn finish(&self, mut call: Call, status: AgentExecutionStatus) -> Outcome {
        let agent: String = call.param()?;
        let id: Option<String> = call.optional()?;
        let reason: Option<String> = call.optional()?;
        let reason = reason.unwrap_or_else(|| "The agent has ended it without a reason".to_owned());
        let context = call.context();
        let ended = self.core.finish(&context, &agent, id.as_deref(), (status, &reason)).await;
        call.reply(ended)
    }

    async fn confirm(&self, mut call: Call) -> Outcome {
        let code: String = call.param()?;
        let context = call.context();
        let confirmed: Result<_, OperationError> = self.core.confirm(&context, &code).await;
        call.reply(confirmed)
    }

    async fn verify(&self, mut call: Call) -> Outcome {
        let id: String = call.param()?;
        let code: String = call.param()?;
        let context = call.context();
        let verified = self.core.verify(&context, &id, &code).await;
        call.reply(verified)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_hint_under_both_names_is_refused_and_not_chosen() {
        // REQ-LOOP-07
        for (given, taken) in [
            (json!({ "nextActionHint": "a" }), json!({ "next_action_hint": "a" })),
            (json!({ "next_action_hint": "a" }), json!({ "next_action_hint": "a" })),
            // The literal name remains as an unknown parameter, so the call is rejected.
            (
                json!({ "nextActionHint": "a", "next_action_hint": "b" }),
                json!({ "nextActionHint": "a", "next_action_hint": "b" }),
            ),
        ] {
            let mut params = given.as_object().cloned().unwrap();
            accept_literal_names(&mut params);
            assert_eq!(Value::Object(params), taken);
        }
    }

    #[test]
    fn every_operation_has_an_example() {
        // REQ-INT-25
        for spec in [
            EXECUTE_AGENT,
            RECORD_EXECUTION_STEP,
            COMPLETE_EXECUTION,
            ABORT_EXECUTION,
            CONFIRM_OPERATION,
            VERIFY_CHALLENGE,
        ] {
            assert!(!spec.examples.is_empty(), "{}", spec.name);
        }
    }
}
