//! Checks that invalid messages are rejected and do not stop the adapter.

mod load;
mod messages;
mod probe;

use super::{Check, checks};

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "robustness.invalid_lines" => Alone(messages::garbage), ["REQ-RQ-08"],
        "Lines that are not messages do not stop the adapter";
    Should 2 "robustness.unknown_method" => Alone(messages::unknown_method), ["REQ-MCP-12"],
        "An unknown method is rejected and does not stop the adapter";
    Must 2 "robustness.unknown_tool" => Alone(messages::unknown_tool), ["REQ-MCP-12", "REQ-EPT-16"],
        "An unknown tool is rejected and does not stop the adapter";
    Must 2 "robustness.arguments_not_object" => Alone(messages::arguments_not_object),
        ["REQ-RQ-01", "REQ-RQ-08"],
        "Arguments that are not an object are rejected and do not stop the adapter";
    Should 2 "robustness.duplicate_keys" => Alone(messages::duplicate_keys),
        ["REQ-RQ-01", "REQ-GATE-03"],
        "Duplicate names in arguments are rejected and do not stop the adapter";
    Should 2 "robustness.request_ids" => Alone(messages::request_ids), ["REQ-MCP-12"],
        "Every id that JSON-RPC allows is accepted";
    Must 2 "robustness.pipelined" => Alone(load::pipelined), ["REQ-CON-05", "REQ-RSP-01"],
        "Concurrent requests get their own replies";
    Must 2 "robustness.large_request" => Alone(load::large_request), ["REQ-ENC-08", "REQ-ENC-10"],
        "A request below the minimum limit is accepted";
    Must 2 "robustness.deep_json" => Alone(load::deep_json), ["REQ-ENC-12", "REQ-RQ-08"],
        "JSON with deep nesting is rejected and does not stop the adapter";
    Should 2 "robustness.cancelled_request" => Alone(messages::cancelled_request), ["REQ-RQ-08"],
        "A cancellation of a finished or unknown request has no effect";
];
