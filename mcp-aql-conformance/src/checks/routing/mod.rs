//! Checks of operation names, categories, families and endpoints.

mod categories;
mod endpoints;
mod names;

use super::{Body, Check, later, of_level_1 as check, should};

pub(super) use self::endpoints::recognised;

pub(super) const CHECKS: &[Check] = &[
    check(
        "routing.unknown_operation",
        "An unknown operation is rejected with NOT_FOUND_OPERATION",
        &["REQ-ERR-10", "REQ-EPT-16"],
        Body::Reads(later!(names::unknown_operation)),
    ),
    check(
        "routing.missing_operation",
        "A request without `operation` is rejected",
        &["REQ-RQ-01"],
        Body::Reads(later!(names::missing_operation)),
    ),
    check(
        "routing.operation_not_string",
        "An `operation` that is not a string is rejected",
        &["REQ-RQ-01"],
        Body::Reads(later!(names::operation_not_string)),
    ),
    check(
        "routing.malformed_names",
        "Malformed names of operations are rejected, even if they resemble an operation",
        &["REQ-RQ-02", "REQ-EPT-16"],
        Body::Reads(later!(names::malformed_names)),
    ),
    check(
        "routing.case_sensitive",
        "Names of operations are case-sensitive",
        &["REQ-RQ-02"],
        Body::Reads(later!(names::case_sensitive)),
    ),
    check(
        "routing.families",
        "Every operation has a category and belongs to one family",
        &["REQ-EPT-02", "REQ-INT-11"],
        Body::Learned(categories::families),
    ),
    check(
        "routing.permissions",
        "The permissions of an operation follow from its category",
        &["REQ-EPT-06", "REQ-INT-12"],
        Body::Learned(categories::permissions),
    ),
    check(
        "routing.reserved",
        "Reserved names have the category that the protocol defines",
        &["REQ-CLS-10", "REQ-CLS-11"],
        Body::Learned(categories::reserved),
    ),
    should(check(
        "routing.verbs",
        "Operations have the category of their verb",
        &["REQ-CLS-07", "REQ-CLS-08", "REQ-CLS-13"],
        Body::Learned(categories::verbs),
    )),
    check(
        "routing.wrong_endpoint",
        "A call through another family's tool is rejected, and the failure names the right tool",
        &["REQ-EPT-03", "REQ-RQ-06"],
        Body::Reads(later!(endpoints::wrong_endpoint)),
    ),
    should(check(
        "routing.wrong_endpoint_code",
        "A call through another family's tool fails with VALIDATION_ENDPOINT_MISMATCH and its details",
        &["REQ-EPT-04"],
        Body::Reads(later!(endpoints::wrong_endpoint_code)),
    )),
];
