//! Checks that invalid messages are rejected and do not stop the adapter.

mod load;
mod messages;
mod probe;

use super::{Body, Check, later, of_level_2 as check, should};

pub(super) const CHECKS: &[Check] = &[
    should(check(
        "robustness.invalid_lines",
        "Lines that are not messages do not stop the adapter",
        &["REQ-RQ-08"],
        Body::Alone(later!(messages::garbage)),
    )),
    should(check(
        "robustness.unknown_method",
        "An unknown method is rejected and does not stop the adapter",
        &["REQ-MCP-12"],
        Body::Alone(later!(messages::unknown_method)),
    )),
    check(
        "robustness.unknown_tool",
        "An unknown tool is rejected and does not stop the adapter",
        &["REQ-MCP-12", "REQ-EPT-16"],
        Body::Alone(later!(messages::unknown_tool)),
    ),
    check(
        "robustness.arguments_not_object",
        "Arguments that are not an object are rejected and do not stop the adapter",
        &["REQ-RQ-01", "REQ-RQ-08"],
        Body::Alone(later!(messages::arguments_not_object)),
    ),
    should(check(
        "robustness.duplicate_keys",
        "Duplicate names in arguments are rejected and do not stop the adapter",
        &["REQ-RQ-01", "REQ-GATE-03"],
        Body::Alone(later!(messages::duplicate_keys)),
    )),
    should(check(
        "robustness.request_ids",
        "Every id that JSON-RPC allows is accepted",
        &["REQ-MCP-12"],
        Body::Alone(later!(messages::request_ids)),
    )),
    check(
        "robustness.pipelined",
        "Concurrent requests get their own replies",
        &["REQ-CON-05", "REQ-RSP-01"],
        Body::Alone(later!(load::pipelined)),
    ),
    check(
        "robustness.large_request",
        "A request below the minimum limit is accepted",
        &["REQ-ENC-08", "REQ-ENC-10"],
        Body::Alone(later!(load::large_request)),
    ),
    check(
        "robustness.deep_json",
        "JSON with deep nesting is rejected and does not stop the adapter",
        &["REQ-ENC-12", "REQ-RQ-08"],
        Body::Alone(later!(load::deep_json)),
    ),
    should(check(
        "robustness.cancelled_request",
        "A cancellation of a finished or unknown request has no effect",
        &["REQ-RQ-08"],
        Body::Alone(later!(messages::cancelled_request)),
    )),
];
