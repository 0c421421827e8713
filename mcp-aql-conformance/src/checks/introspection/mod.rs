//! Checks of `introspect`: form, content and stability of its replies.

mod answers;
mod content;
mod forms;
mod unlisted;

use super::{Body, Check, later, of_level_1 as check, should};

pub(super) const CHECKS: &[Check] = &[
    check(
        "introspection.list_form",
        "The list of operations has an entry with exactly four members for each operation",
        &["REQ-INT-02", "REQ-INT-03"],
        Body::Learned(forms::list_form),
    ),
    check(
        "introspection.list_complete",
        "The list of operations contains every operation of the adapter",
        &["REQ-INT-02", "REQ-INT-24"],
        Body::Reads(later!(unlisted::list_complete)),
    ),
    check(
        "introspection.unique_names",
        "No operation, type or parameter is listed twice",
        &["REQ-INT-02", "REQ-INT-16"],
        Body::Learned(forms::unique_names),
    ),
    check(
        "introspection.success_form",
        "A success of `introspect` has `success` and `data` only",
        &["REQ-INT-28"],
        Body::Learned(forms::success_form),
    ),
    check(
        "introspection.protocol_form",
        "The list of operations has `_protocol`, with a protocol version and members of the right types",
        &["REQ-INT-04", "REQ-INT-05", "REQ-INT-07"],
        Body::Learned(forms::protocol_form),
    ),
    check(
        "introspection.protocol_values",
        "`_protocol` uses the protocol's values for conformance and mode",
        &["REQ-INT-06"],
        Body::Learned(forms::protocol_words),
    ),
    should(check(
        "introspection.protocol_stated",
        "`_protocol` states conformance and mode",
        &["REQ-INT-06"],
        Body::Learned(forms::protocol_stated),
    )),
    check(
        "introspection.no_protocol_elsewhere",
        "Details and the list of types contain nothing else",
        &["REQ-INT-08"],
        Body::Learned(forms::no_protocol_elsewhere),
    ),
    check(
        "introspection.details_form",
        "The details of an operation have all required members and no unknown ones",
        &["REQ-INT-09", "REQ-INT-10", "REQ-INT-12", "REQ-INT-14", "REQ-INT-15"],
        Body::Learned(forms::details_form),
    ),
    check(
        "introspection.list_agrees_with_details",
        "The list of operations agrees with the details",
        &["REQ-INT-09", "REQ-INT-20"],
        Body::Learned(forms::list_agrees_with_details),
    ),
    check(
        "introspection.parameter_form",
        "A parameter has `name`, `type` and `required`, and no unknown members",
        &["REQ-INT-13"],
        Body::Learned(forms::parameter_form),
    ),
    check(
        "introspection.computed_fields_form",
        "`computed_fields` of an operation has its form",
        &["REQ-INT-10", "REQ-CMP-02", "REQ-CMP-04"],
        Body::Learned(forms::computed_fields_form),
    ),
    check(
        "introspection.aggregation_form",
        "`aggregation_support` of an operation has its form",
        &["REQ-INT-10", "REQ-AGG-09"],
        Body::Learned(forms::aggregation_form),
    ),
    check(
        "introspection.relationship_form",
        "`relationship_capabilities` of an operation has its form",
        &["REQ-INT-10", "REQ-REL-07"],
        Body::Learned(forms::relationship_form),
    ),
    check(
        "introspection.lifecycle_form",
        "`lifecycle` of an operation has its form",
        &["REQ-INT-10", "REQ-LIF-09"],
        Body::Learned(forms::lifecycle_form),
    ),
    check(
        "introspection.types_form",
        "The list of types has name, kind and optional description of each type",
        &["REQ-INT-16", "REQ-INT-17"],
        Body::Learned(forms::types_form),
    ),
    check(
        "introspection.type_details_form",
        "The details of a type have exactly the members of its kind",
        &["REQ-INT-18"],
        Body::Learned(forms::type_details_form),
    ),
    check(
        "introspection.snake_case",
        "Operations and parameters have names in snake_case",
        &["REQ-CLS-06", "REQ-RQ-04", "REQ-CNF-10"],
        Body::Learned(forms::snake_case),
    ),
    should(check(
        "introspection.introspect_listed",
        "The list of operations includes `introspect`",
        &["REQ-INT-24"],
        Body::Learned(content::introspect_listed),
    )),
    check(
        "introspection.introspect_itself",
        "`introspect` has a required `query` and an optional `name`",
        &["REQ-INT-01"],
        Body::Reads(later!(answers::introspect_itself)),
    ),
    check(
        "introspection.unknown_name",
        "An unknown name gives a success with null",
        &["REQ-INT-19"],
        Body::Reads(later!(answers::unknown_name)),
    ),
    check(
        "introspection.bad_query",
        "An unknown `query` is a failure without details",
        &["REQ-INT-28"],
        Body::Reads(later!(answers::bad_query)),
    ),
    check(
        "introspection.missing_query",
        "A missing `query` is a failure without details",
        &["REQ-INT-01", "REQ-INT-28"],
        Body::Reads(later!(answers::missing_query)),
    ),
    should(check(
        "introspection.stable",
        "`introspect` returns the same replies again, also in another session",
        &["REQ-INT-27"],
        Body::Alone(later!(answers::stable)),
    )),
    check(
        "introspection.types_resolve",
        "All referenced types are listed",
        &["REQ-INT-22"],
        Body::Learned(content::types_resolve),
    ),
    should(check(
        "introspection.standard_types",
        "The list of types includes those of the protocol itself",
        &["REQ-INT-23"],
        Body::Learned(content::standard_types),
    )),
    should(check(
        "introspection.examples",
        "Operations with required parameters have an example",
        &["REQ-INT-25"],
        Body::Learned(content::examples),
    )),
    check(
        "introspection.examples_fit",
        "Examples have the name of their operation, and documented parameters with valid values",
        &["REQ-INT-15", "REQ-INT-20"],
        Body::Learned(content::examples_fit),
    ),
    should(check(
        "introspection.descriptions",
        "Operations and parameters have descriptions",
        &["REQ-INT-25"],
        Body::Learned(content::descriptions),
    )),
    check(
        "introspection.defaults_fit",
        "Defaults are valid values of their parameters",
        &["REQ-INT-20"],
        Body::Learned(content::defaults_fit),
    ),
    should(check(
        "introspection.limits_stated",
        "`_protocol` states the limits of size, length and depth",
        &["REQ-ENC-14"],
        Body::Learned(content::limits_stated),
    )),
    check(
        "introspection.limits_in_range",
        "Stated limits are within the range of the protocol",
        &["REQ-ENC-08", "REQ-ENC-09", "REQ-ENC-10", "REQ-ENC-11", "REQ-ENC-12"],
        Body::Learned(content::limits_in_range),
    ),
    should(check(
        "introspection.concurrency_stated",
        "`_protocol` states the concurrency category",
        &["REQ-CON-01", "REQ-CON-04"],
        Body::Learned(content::concurrency_stated),
    )),
    check(
        "introspection.concurrency_value",
        "The concurrency category is one of the protocol's four",
        &["REQ-CON-01"],
        Body::Learned(content::concurrency_value),
    ),
    check(
        "introspection.strict_mode_hidden",
        "`strict_mode` is not published",
        &["REQ-UNK-07"],
        Body::Learned(content::strict_mode_hidden),
    ),
];
