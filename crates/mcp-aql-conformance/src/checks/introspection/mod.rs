//! Checks of `introspect`: the form, the content and the stability of its replies.

mod answers;
mod content;
mod forms;
mod signatures;
mod unlisted;

use super::{Check, checks, data};

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "introspection.list_form" => Learned(forms::list_form), ["REQ-INT-01", "REQ-INT-02", "REQ-INT-03"],
        "The list of operations has an entry with exactly four members for each operation";
    Must 1 "introspection.list_complete" => Reads(unlisted::list_complete),
        ["REQ-INT-02", "REQ-INT-24"],
        "The list of operations contains every operation of the adapter";
    Must 1 "introspection.unique_names" => Learned(forms::unique_names),
        ["REQ-INT-02", "REQ-INT-16"],
        "No operation, type or parameter is listed twice";
    Must 1 "introspection.success_form" => Learned(forms::success_form), ["REQ-INT-28"],
        "A success of `introspect` has `success` and `data` only";
    Must 1 "introspection.protocol_form" => Learned(forms::protocol_form),
        ["REQ-INT-04", "REQ-INT-05", "REQ-INT-07"],
        "The list of operations has `_protocol`, with a protocol version and members of the right types";
    Must 1 "introspection.protocol_values" => Learned(forms::protocol_words), ["REQ-INT-06"],
        "`_protocol` uses the protocol's values for conformance and mode";
    Should 1 "introspection.protocol_stated" => Learned(forms::protocol_stated), ["REQ-INT-06"],
        "`_protocol` states conformance and mode";
    Must 1 "introspection.no_protocol_elsewhere" => Learned(forms::no_protocol_elsewhere),
        ["REQ-INT-08"],
        "Details and the list of types contain nothing else";
    Must 1 "introspection.details_form" => Learned(forms::details_form),
        ["REQ-INT-09", "REQ-INT-10", "REQ-INT-12", "REQ-INT-14", "REQ-INT-15"],
        "The details of an operation have all required members and no unknown ones";
    Must 1 "introspection.list_agrees_with_details" => Learned(forms::list_agrees_with_details),
        ["REQ-INT-09", "REQ-INT-20"],
        "The list of operations agrees with the details";
    Must 1 "introspection.parameter_form" => Learned(forms::parameter_form), ["REQ-INT-13"],
        "A parameter has `name`, `type` and `required`, and no unknown members";
    Must 1 "introspection.computed_fields_form" => Learned(forms::computed_fields_form),
        ["REQ-INT-10", "REQ-CMP-02", "REQ-CMP-04"],
        "`computed_fields` of an operation has its form";
    Must 1 "introspection.aggregation_form" => Learned(forms::aggregation_form),
        ["REQ-INT-10", "REQ-AGG-09"],
        "`aggregation_support` of an operation has its form";
    Must 1 "introspection.relationship_form" => Learned(forms::relationship_form),
        ["REQ-INT-10", "REQ-REL-07"],
        "`relationship_capabilities` of an operation has its form";
    Must 1 "introspection.lifecycle_form" => Learned(forms::lifecycle_form),
        ["REQ-INT-10", "REQ-LIF-09"],
        "`lifecycle` of an operation has its form";
    Must 1 "introspection.types_form" => Learned(forms::types_form), ["REQ-INT-16", "REQ-INT-17"],
        "The list of types has name, kind and optional description of each type";
    Must 1 "introspection.type_details_form" => Learned(forms::type_details_form), ["REQ-INT-18"],
        "The details of a type have exactly the members of its kind";
    Must 1 "introspection.snake_case" => Learned(forms::snake_case),
        ["REQ-CLS-06", "REQ-RQ-04", "REQ-CNF-10"],
        "Operations and parameters have names in snake_case";
    Should 1 "introspection.introspect_listed" => Learned(content::introspect_listed),
        ["REQ-INT-24"],
        "The list of operations includes `introspect`";
    Must 1 "introspection.introspect_itself" => Reads(answers::introspect_itself), ["REQ-INT-01"],
        "`introspect` has a required `query` and an optional `name`";
    Must 1 "introspection.unknown_name" => Calls(data::calls), ["REQ-INT-19"],
        "An unknown name gives a success with null";
    Must 1 "introspection.bad_query" => Calls(data::calls), ["REQ-INT-28"],
        "An unknown `query` is a failure without details";
    Must 1 "introspection.missing_query" => Calls(data::calls),
        ["REQ-INT-01", "REQ-INT-28"],
        "A missing `query` is a failure without details";
    Should 1 "introspection.stable" => Alone(answers::stable), ["REQ-INT-27"],
        "`introspect` returns the same replies again, also in another session";
    Must 1 "introspection.types_resolve" => Learned(content::types_resolve), ["REQ-INT-22"],
        "All referenced types are listed";
    Should 1 "introspection.type_names" => Learned(signatures::type_names),
        ["REQ-INT-21", "REQ-INT-22"],
        "Every named type is a type of JSON or in the list of types";
    Should 1 "introspection.object_members" => Learned(signatures::object_members),
        ["REQ-INT-21", "REQ-INT-25"],
        "The members of a required object are in a listed type, a description or an example";
    Should 1 "introspection.standard_types" => Learned(content::standard_types), ["REQ-INT-23"],
        "The list of types includes those of the protocol itself";
    Should 1 "introspection.examples" => Learned(content::examples), ["REQ-INT-25"],
        "Operations whose required parameters are not only plain values have an example";
    Must 1 "introspection.examples_fit" => Learned(content::examples_fit),
        ["REQ-INT-15", "REQ-INT-20"],
        "Examples have the name of their operation, and documented parameters with valid values";
    Should 1 "introspection.descriptions" => Learned(content::descriptions), ["REQ-INT-25"],
        "Operations and parameters have descriptions";
    Must 1 "introspection.defaults_fit" => Learned(content::defaults_fit), ["REQ-INT-20"],
        "Defaults are valid values of their parameters";
    Should 1 "introspection.limits_stated" => Learned(content::limits_stated), ["REQ-ENC-14"],
        "`_protocol` states the limits of size, length and depth";
    Must 1 "introspection.limits_in_range" => Learned(content::limits_in_range),
        ["REQ-ENC-08", "REQ-ENC-09", "REQ-ENC-10", "REQ-ENC-11", "REQ-ENC-12"],
        "Stated limits are within the range of the protocol";
    Should 1 "introspection.concurrency_stated" => Learned(content::concurrency_stated),
        ["REQ-CON-01", "REQ-CON-04"],
        "`_protocol` states the concurrency category";
    Must 1 "introspection.concurrency_value" => Learned(content::concurrency_value), ["REQ-CON-01"],
        "The concurrency category is one of the protocol's four";
    Must 1 "introspection.strict_mode_hidden" => Learned(content::strict_mode_hidden),
        ["REQ-UNK-07"],
        "`strict_mode` is not published";
];
