//! Checks of executions, operations that continue after their call returned.

mod execution;
mod forms;
mod progress;
mod states;
mod steering;

use self::execution::starters;
use super::{Check, checks};
use crate::cases::Cases;
use crate::run::Run;

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "lifecycle.stated" => Every(forms::stated), ["REQ-LIF-09"],
        "An EXECUTE operation that returns an execution documents its lifecycle",
        expected: "`lifecycle` in the details of the operation, with `states`",
        fix: "document the states and the support for cancelling, retrying and progress";
    Should 2 "lifecycle.state_form" => Every(forms::state_form), ["REQ-LIF-04"],
        "The state of an execution has `execution_id` and `status`, and its times are instants",
        fix: "return the state of the execution as `data`, in the protocol's form";
    Should 2 "lifecycle.progress_form" => Every(forms::progress_form), ["REQ-LIF-06"],
        "`progress` of a state has a percentage, a number of a total, or a message",
        expected: "`progress` with a `percentage` from 0 to 100, with `current` up to `total`, or with a `message`",
        fix: "report the progress of an execution in one of these forms";
    Should 2 "lifecycle.error_form" => Every(forms::error_form), ["REQ-LIF-05"],
        "A failed execution has an `error` in the form of other failures",
        expected: "`error` with `code` and `message`: {faults}",
        fix: "report the cause in the form of other failures";
    Should 2 "lifecycle.core_states" => Learned(forms::core_states), ["REQ-LIF-01"],
        "Documented states include those of the protocol",
        expected: "the states pending, running, completed, failed and cancelled among `lifecycle.states`",
        fix: "support the states of the protocol in addition to custom ones";
    Must 2 "lifecycle.states" => Changes(states::states), ["REQ-LIF-07"],
        "Executions are only in documented states",
        expected: "a `status` that `lifecycle.states` lists",
        fix: "list every state that an execution can be in";
    Should 2 "lifecycle.readable" => Changes(states::readable), ["REQ-CLS-01"],
        "A READ operation returns the state of an execution",
        fix: "return the state of the requested execution";
    Should 2 "lifecycle.listed" => Changes(states::listed), ["REQ-CLS-01", "REQ-LIF-04"],
        "A list of executions contains the executions of the session",
        fix: "list the executions of the session as items, the newest first";
    Must 2 "lifecycle.transitions" => Changes(states::transitions), ["REQ-LIF-02"],
        "State transitions follow the protocol",
        expected: "pending, then running, then completed, failed or cancelled, in this order",
        fix: "allow forward transitions only";
    Must 2 "lifecycle.terminal" => Changes(states::terminal), ["REQ-LIF-03"],
        "Final states do not change",
        fix: "reject cancelling a finished execution, and keep its state";
    Must 2 "lifecycle.cancel" => Changes(steering::cancel), ["REQ-LIF-02", "REQ-LIF-08"],
        "A cancelled execution reaches the state cancelled",
        expected: "the state cancelled within the time limit, or a failure because the execution had already \
         finished",
        fix: "stop a cancelled execution, and report the state cancelled from then on";
    Should 2 "lifecycle.claims" => Changes(steering::claims), ["REQ-LIF-09", "REQ-LIF-11"],
        "`lifecycle` correctly states support for cancelling, retrying and progress",
        fix: "state in `lifecycle` what the operation actually supports";
    Must 2 "lifecycle.retry" => Changes(steering::retry), ["REQ-LIF-02", "REQ-LIF-03"],
        "Only failed executions can be retried",
        fix: "change the state from failed to running";
    Should 2 "lifecycle.progress" => Alone(progress::progress), ["REQ-MCP-13", "REQ-MCP-14"],
        "Progress notifications have the token of the call and MCP's form, and never decrease",
        fix: "use the token of the call, and increase `progress`";
];

/// Starts an execution if possible, so there is one to list.
pub(super) async fn begin_any(run: &Run) {
    let unheard = Cases::default();
    for starter in starters(run, &unheard) {
        if starter.begin().await.is_some() {
            return;
        }
    }
}
