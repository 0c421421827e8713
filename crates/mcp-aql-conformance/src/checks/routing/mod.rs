//! Checks of operation names, categories, families and endpoints.

mod categories;
mod endpoints;
mod names;

use super::{Check, checks};

pub(super) use self::endpoints::recognised;

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "routing.unknown_operation" => Reads(names::unknown_operation),
        ["REQ-ERR-10", "REQ-EPT-16"],
        "An unknown operation is rejected with NOT_FOUND_OPERATION";
    Must 1 "routing.missing_operation" => Reads(names::missing_operation), ["REQ-RQ-01"],
        "A request without `operation` is rejected";
    Must 1 "routing.operation_not_string" => Reads(names::operation_not_string), ["REQ-RQ-01"],
        "An `operation` that is not a string is rejected";
    Must 1 "routing.malformed_names" => Reads(names::malformed_names), ["REQ-RQ-02", "REQ-EPT-16"],
        "Malformed names of operations are rejected, even if they resemble an operation";
    Must 1 "routing.case_sensitive" => Reads(names::case_sensitive), ["REQ-RQ-02"],
        "Names of operations are case-sensitive";
    Must 1 "routing.families" => Learned(categories::families), ["REQ-EPT-02", "REQ-INT-11"],
        "Every operation has a category and belongs to one family";
    Must 1 "routing.permissions" => Learned(categories::permissions), ["REQ-EPT-06", "REQ-INT-12"],
        "The permissions of an operation follow from its category";
    Must 1 "routing.reserved" => Learned(categories::reserved), ["REQ-CLS-10", "REQ-CLS-11"],
        "Reserved names have the category that the protocol defines";
    Should 1 "routing.verbs" => Learned(categories::verbs),
        ["REQ-CLS-07", "REQ-CLS-08", "REQ-CLS-13"],
        "Operations have the category of their verb";
    Must 1 "routing.wrong_endpoint" => Reads(endpoints::wrong_endpoint),
        ["REQ-EPT-03", "REQ-RQ-06"],
        "A call through another family's tool is rejected, and the failure names the right tool";
    Should 1 "routing.wrong_endpoint_code" => Reads(endpoints::wrong_endpoint_code), ["REQ-EPT-04"],
        "A call through another family's tool fails with VALIDATION_ENDPOINT_MISMATCH and its details";
];
