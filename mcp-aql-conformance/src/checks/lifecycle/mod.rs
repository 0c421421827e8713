//! Checks of executions: operations that continue after their call returns.

mod execution;
mod progress;
mod states;
mod steering;

mod forms;
use self::execution::starters;
use super::{Body, Check, later, of_level_2 as check, should};
use crate::cases::Cases;
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[
    should(check(
        "lifecycle.stated",
        "An EXECUTE operation that returns an execution documents its lifecycle",
        &["REQ-LIF-09"],
        Body::Every(forms::stated),
    )),
    should(check(
        "lifecycle.state_form",
        "The state of an execution has `execution_id` and `status`, and its times are instants",
        &["REQ-LIF-04"],
        Body::Every(forms::state_form),
    )),
    should(check(
        "lifecycle.progress_form",
        "`progress` of a state has a percentage, a number of a total, or a message",
        &["REQ-LIF-06"],
        Body::Every(forms::progress_form),
    )),
    should(check(
        "lifecycle.error_form",
        "A failed execution has an `error` in the form of other failures",
        &["REQ-LIF-05"],
        Body::Every(forms::error_form),
    )),
    should(check(
        "lifecycle.core_states",
        "Documented states include those of the protocol",
        &["REQ-LIF-01"],
        Body::Learned(forms::core_states),
    )),
    check(
        "lifecycle.states",
        "Executions are only in documented states",
        &["REQ-LIF-07"],
        Body::Changes(later!(states::states)),
    ),
    should(check(
        "lifecycle.readable",
        "A READ operation returns the state of an execution",
        &["REQ-CLS-01"],
        Body::Changes(later!(states::readable)),
    )),
    should(check(
        "lifecycle.listed",
        "A list of executions contains the executions of the session",
        &["REQ-CLS-01", "REQ-LIF-04"],
        Body::Changes(later!(states::listed)),
    )),
    check(
        "lifecycle.transitions",
        "State transitions follow the protocol",
        &["REQ-LIF-02"],
        Body::Changes(later!(states::transitions)),
    ),
    check(
        "lifecycle.terminal",
        "Final states do not change",
        &["REQ-LIF-03"],
        Body::Changes(later!(states::terminal)),
    ),
    check(
        "lifecycle.cancel",
        "A cancelled execution reaches the state cancelled",
        &["REQ-LIF-02", "REQ-LIF-08"],
        Body::Changes(later!(steering::cancel)),
    ),
    should(check(
        "lifecycle.claims",
        "`lifecycle` correctly states support for cancelling, retrying and progress",
        &["REQ-LIF-09", "REQ-LIF-11"],
        Body::Changes(later!(steering::claims)),
    )),
    check(
        "lifecycle.retry",
        "Only failed executions can be retried",
        &["REQ-LIF-02", "REQ-LIF-03"],
        Body::Changes(later!(steering::retry)),
    ),
    should(check(
        "lifecycle.progress",
        "Progress notifications have the token of the call and MCP's form, and never decrease",
        &["REQ-MCP-13", "REQ-MCP-14"],
        Body::Alone(later!(progress::progress)),
    )),
];

/// Starts an execution if possible, so that there is one to list.
pub(super) async fn begin_any(run: &Run) {
    let unheard = Cases::default();
    for starter in starters(run, &unheard) {
        if starter.begin(run, &unheard).await.is_some() {
            return;
        }
    }
}
