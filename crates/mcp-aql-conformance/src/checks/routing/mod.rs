//! Checks of operation names, categories, families and endpoints.

mod categories;
mod endpoints;

pub(super) use self::endpoints::{is_known, routed_right};
use super::{Check, checks, data};

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "routing.unknown_operation" => Calls(data::calls),
        ["REQ-ERR-10", "REQ-EPT-16"],
        "An unknown operation is rejected with NOT_FOUND_OPERATION";
    Must 1 "routing.missing_operation" => Calls(data::calls), ["REQ-RQ-01"],
        "A request without `operation` is rejected";
    Must 1 "routing.operation_not_string" => Calls(data::calls), ["REQ-RQ-01"],
        "An `operation` that is not a string is rejected";
    Must 1 "routing.malformed_names" => Calls(data::calls), ["REQ-RQ-02", "REQ-EPT-16"],
        "Malformed names of operations are rejected, even if they resemble an operation";
    Must 1 "routing.case_sensitive" => Reads { calls: endpoints::respelled, rule: endpoints::is_unknown },
        ["REQ-RQ-02"],
        "Names of operations are case-sensitive",
        expected: "NOT_FOUND_OPERATION, because `{name}` is not `{operation}`",
        fix: "compare names of operations case-sensitively";
    Must 1 "routing.families" => Learned(categories::families), ["REQ-EPT-02", "REQ-INT-11"],
        "Every operation has a category and belongs to one family",
        fix: "assign one category and its family to every operation";
    Must 1 "routing.permissions" => Learned(categories::permissions), ["REQ-EPT-06", "REQ-INT-12"],
        "The permissions of an operation follow from its category",
        fix: "derive the permissions from the category";
    Must 1 "routing.reserved" => Learned(categories::reserved), ["REQ-CLS-10", "REQ-CLS-11"],
        "Reserved names have the category that the protocol defines",
        fix: "rename your operation: the protocol reserves the name";
    Should 1 "routing.verbs" => Learned(categories::verbs),
        ["REQ-CLS-07", "REQ-CLS-08", "REQ-CLS-13"],
        "Operations have the category of their verb",
        fix: "choose the category by the operation's effect, and a matching verb";
    Must 1 "routing.wrong_endpoint" => Reads { calls: endpoints::misrouted, rule: endpoints::names_tool },
        ["REQ-EPT-03", "REQ-RQ-06"],
        "A call through another family's tool is rejected, and the failure names the right tool",
        expected: "a failure whose message names `{tool}`",
        fix: "check the tool before the parameters, and name the right tool in the failure";
    Should 1 "routing.wrong_endpoint_code" => Reads { calls: endpoints::misrouted_once, rule: endpoints::has_details },
        ["REQ-EPT-04"],
        "A call through another family's tool fails with VALIDATION_ENDPOINT_MISMATCH and its details",
        expected: "VALIDATION_ENDPOINT_MISMATCH with details {details}",
        fix: "use this code with the names of the families in its details";
];
