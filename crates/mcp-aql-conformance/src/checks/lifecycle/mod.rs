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
        "An EXECUTE operation that returns an execution documents its lifecycle";
    Should 2 "lifecycle.state_form" => Every(forms::state_form), ["REQ-LIF-04"],
        "The state of an execution has `execution_id` and `status`, and its times are instants";
    Should 2 "lifecycle.progress_form" => Every(forms::progress_form), ["REQ-LIF-06"],
        "`progress` of a state has a percentage, a number of a total, or a message";
    Should 2 "lifecycle.error_form" => Every(forms::error_form), ["REQ-LIF-05"],
        "A failed execution has an `error` in the form of other failures";
    Should 2 "lifecycle.core_states" => Learned(forms::core_states), ["REQ-LIF-01"],
        "Documented states include those of the protocol";
    Must 2 "lifecycle.states" => Changes(states::states), ["REQ-LIF-07"],
        "Executions are only in documented states";
    Should 2 "lifecycle.readable" => Changes(states::readable), ["REQ-CLS-01"],
        "A READ operation returns the state of an execution";
    Should 2 "lifecycle.listed" => Changes(states::listed), ["REQ-CLS-01", "REQ-LIF-04"],
        "A list of executions contains the executions of the session";
    Must 2 "lifecycle.transitions" => Changes(states::transitions), ["REQ-LIF-02"],
        "State transitions follow the protocol";
    Must 2 "lifecycle.terminal" => Changes(states::terminal), ["REQ-LIF-03"],
        "Final states do not change";
    Must 2 "lifecycle.cancel" => Changes(steering::cancel), ["REQ-LIF-02", "REQ-LIF-08"],
        "A cancelled execution reaches the state cancelled";
    Should 2 "lifecycle.claims" => Changes(steering::claims), ["REQ-LIF-09", "REQ-LIF-11"],
        "`lifecycle` correctly states support for cancelling, retrying and progress";
    Must 2 "lifecycle.retry" => Changes(steering::retry), ["REQ-LIF-02", "REQ-LIF-03"],
        "Only failed executions can be retried";
    Should 2 "lifecycle.progress" => Alone(progress::progress), ["REQ-MCP-13", "REQ-MCP-14"],
        "Progress notifications have the token of the call and MCP's form, and never decrease";
];

/// Starts an execution if possible, so there is one to list.
pub(super) async fn begin_any(run: &Run) {
    let unheard = Cases::default();
    for starter in starters(run, &unheard) {
        if starter.begin(run, &unheard).await.is_some() {
            return;
        }
    }
}
