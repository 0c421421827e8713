//! Checks of `introspect`: the form, the content and the stability of its replies.

mod answers;
mod content;
mod forms;
mod signatures;
mod unlisted;

use super::{Check, checks, data};
use crate::forms::{
    AGGREGATION_SUPPORT, COMPUTED_FIELDS, LIFECYCLE, PARAMETER, PROTOCOL, RELATIONSHIP_CAPABILITIES,
};

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "introspection.list_form" => Learned(forms::list_form), ["REQ-INT-01", "REQ-INT-02", "REQ-INT-03"],
        "The list of operations has an entry with exactly four members for each operation",
        fix: "accept the parameter `query`, and list every operation that can be called";
    Must 1 "introspection.list_complete" => Reads(unlisted::list_complete),
        ["REQ-INT-02", "REQ-INT-24"],
        "The list of operations contains every operation of the adapter",
        fix: "generate the list from all registered operations";
    Must 1 "introspection.unique_names" => Learned(forms::unique_names),
        ["REQ-INT-02", "REQ-INT-16"],
        "No operation, type or parameter is listed twice",
        expected: "unique names",
        fix: "use unique names";
    Must 1 "introspection.success_form" => Learned { values: forms::replies, form: forms::SUCCESS }, ["REQ-INT-28"],
        "A success of `introspect` has `success` and `data` only",
        fix: "return {\"success\": true, \"data\": {…}} from `introspect`, without `warnings` and `_meta`";
    Must 1 "introspection.protocol_form" => Learned { values: forms::protocol, form: PROTOCOL },
        ["REQ-INT-04", "REQ-INT-05", "REQ-INT-07"],
        "The list of operations has `_protocol`, with a protocol version and members of the right types",
        fix: "put `_protocol` next to `operations`, with the implemented `version` of the protocol, such as \
         \"1.0.0-draft\"";
    Must 1 "introspection.protocol_values" => Learned(forms::protocol_words), ["REQ-INT-06"],
        "`_protocol` uses the protocol's values for conformance and mode",
        fix: "use the protocol's value; the mode with a tool per family is `semantic`";
    Should 1 "introspection.protocol_stated" => Learned(forms::protocol_stated), ["REQ-INT-06"],
        "`_protocol` states conformance and mode",
        fix: "state the claimed conformance level and the active endpoint mode";
    Must 1 "introspection.no_protocol_elsewhere" => Learned(forms::no_protocol_elsewhere),
        ["REQ-INT-08"],
        "Details and the list of types contain nothing else",
        fix: "include `_protocol` in the list of operations only";
    Must 1 "introspection.details_form" => Learned(forms::details_form),
        ["REQ-INT-09", "REQ-INT-10", "REQ-INT-12", "REQ-INT-14", "REQ-INT-15"],
        "The details of an operation have all required members and no unknown ones";
    Must 1 "introspection.list_agrees_with_details" => Learned(forms::list_agrees_with_details),
        ["REQ-INT-09", "REQ-INT-20"],
        "The list of operations agrees with the details",
        fix: "generate the list and the details from one definition of the operation";
    Must 1 "introspection.parameter_form" => Learned { values: forms::parameters, form: PARAMETER }, ["REQ-INT-13"],
        "A parameter has `name`, `type` and `required`, and no unknown members",
        fix: "describe a parameter with `name`, `type`, `required` and the optional members of the protocol; move \
         anything else into `description`";
    Must 1 "introspection.computed_fields_form" =>
        Learned { values: |run, cases| forms::members(run, cases, "computed_fields"), form: COMPUTED_FIELDS },
        ["REQ-INT-10", "REQ-CMP-02", "REQ-CMP-04"],
        "`computed_fields` of an operation has its form",
        fix: "use only the members that the protocol defines for `computed_fields`";
    Must 1 "introspection.aggregation_form" =>
        Learned { values: |run, cases| forms::members(run, cases, "aggregation_support"), form: AGGREGATION_SUPPORT },
        ["REQ-INT-10", "REQ-AGG-09"],
        "`aggregation_support` of an operation has its form",
        fix: "use only the members that the protocol defines for `aggregation_support`";
    Must 1 "introspection.relationship_form" =>
        Learned {
            values: |run, cases| forms::members(run, cases, "relationship_capabilities"),
            form: RELATIONSHIP_CAPABILITIES
        },
        ["REQ-INT-10", "REQ-REL-07"],
        "`relationship_capabilities` of an operation has its form",
        fix: "use only the members that the protocol defines for `relationship_capabilities`";
    Must 1 "introspection.lifecycle_form" =>
        Learned { values: |run, cases| forms::members(run, cases, "lifecycle"), form: LIFECYCLE },
        ["REQ-INT-10", "REQ-LIF-09"],
        "`lifecycle` of an operation has its form",
        fix: "use only the members that the protocol defines for `lifecycle`";
    Must 1 "introspection.types_form" => Learned(forms::types_form), ["REQ-INT-16", "REQ-INT-17"],
        "The list of types has name, kind and optional description of each type",
        fix: "return {\"success\": true, \"data\": {\"types\": […]}} from `introspect` with query=types";
    Must 1 "introspection.type_details_form" => Learned(forms::type_details_form), ["REQ-INT-18"],
        "The details of a type have exactly the members of its kind",
        fix: "return `name` and `kind` of a type as listed, with `values` for an enum, `fields` for an object, \
         `members` for a union and nothing else for a scalar";
    Must 1 "introspection.snake_case" => Learned(forms::snake_case),
        ["REQ-CLS-06", "REQ-RQ-04", "REQ-CNF-10"],
        "Operations and parameters have names in snake_case",
        expected: "a name that matches ^[a-z][a-z0-9_]*$",
        fix: "publish names in snake_case; other spellings may be aliases";
    Should 1 "introspection.introspect_listed" => Learned(content::introspect_listed),
        ["REQ-INT-24"],
        "The list of operations includes `introspect`",
        expected: "an entry for `introspect`",
        fix: "list `introspect` as a READ operation like any other";
    Must 1 "introspection.introspect_itself" => Reads(answers::introspect_itself), ["REQ-INT-01"],
        "`introspect` has a required `query` and an optional `name`",
        expected: "details of a READ operation with a required string `query`, one of operations and types, and an \
         optional string `name`",
        fix: "describe `introspect` like any other operation, with its real parameters";
    Must 1 "introspection.unknown_name" => Calls(data::calls), ["REQ-INT-19"],
        "An unknown name gives a success with null";
    Must 1 "introspection.bad_query" => Calls(data::calls), ["REQ-INT-28"],
        "An unknown `query` is a failure without details";
    Must 1 "introspection.missing_query" => Calls(data::calls),
        ["REQ-INT-01", "REQ-INT-28"],
        "A missing `query` is a failure without details";
    Should 1 "introspection.stable" => Alone(answers::stable), ["REQ-INT-27"],
        "`introspect` returns the same replies again, also in another session",
        fix: "build the replies once at startup, in a fixed order";
    Must 1 "introspection.types_resolve" => Learned(content::types_resolve), ["REQ-INT-22"],
        "All referenced types are listed",
        fix: "list the type, or use the name that the list has";
    Should 1 "introspection.type_names" => Learned(signatures::type_names),
        ["REQ-INT-21", "REQ-INT-22"],
        "Every named type is a type of JSON or in the list of types",
        fix: "list the type under the name that is used here, or use one of string, integer, number, boolean, array \
         and object";
    Should 1 "introspection.object_members" => Learned(signatures::object_members),
        ["REQ-INT-21", "REQ-INT-25"],
        "The members of a required object are in a listed type, a description or an example",
        fix: "give the parameter a type whose fields `introspect` returns with query=types, name the members in its \
         description or say that the caller chooses them, or show an example with them";
    Should 1 "introspection.standard_types" => Learned(content::standard_types), ["REQ-INT-23"],
        "The list of types includes those of the protocol itself",
        fix: "list the types of the protocol as well";
    Should 1 "introspection.examples" => Learned(content::examples), ["REQ-INT-25"],
        "Operations whose required parameters are not only plain values have an example",
        fix: "show at least one complete request";
    Must 1 "introspection.examples_fit" => Learned(content::examples_fit),
        ["REQ-INT-15", "REQ-INT-20"],
        "Examples have the name of their operation, and documented parameters with valid values",
        fix: "correct the example or the documented parameters: they contradict each other";
    Should 1 "introspection.descriptions" => Learned(content::descriptions), ["REQ-INT-25"],
        "Operations and parameters have descriptions",
        expected: "a description",
        fix: "describe the purpose in one sentence: models choose by it";
    Must 1 "introspection.defaults_fit" => Learned(content::defaults_fit), ["REQ-INT-20"],
        "Defaults are valid values of their parameters",
        expected: "a valid default of an optional parameter",
        fix: "correct the default, the type or the constraints; remove the default of a required parameter";
    Should 1 "introspection.limits_stated" => Learned(content::limits_stated), ["REQ-ENC-14"],
        "`_protocol` states the limits of size, length and depth",
        fix: "publish the five limits, so that clients do not find them by trial and error";
    Must 1 "introspection.limits_in_range" => Learned(content::limits_in_range),
        ["REQ-ENC-08", "REQ-ENC-09", "REQ-ENC-10", "REQ-ENC-11", "REQ-ENC-12"],
        "Stated limits are within the range of the protocol",
        fix: "configure a limit within the protocol's range";
    Should 1 "introspection.concurrency_stated" => Learned(content::concurrency_stated),
        ["REQ-CON-01", "REQ-CON-04"],
        "`_protocol` states the concurrency category",
        fix: "state the category, so that clients know which calls may overlap";
    Must 1 "introspection.concurrency_value" => Learned(content::concurrency_value), ["REQ-CON-01"],
        "The concurrency category is one of the protocol's four",
        fix: "use the protocol's name of the category";
    Must 1 "introspection.strict_mode_hidden" => Learned(content::strict_mode_hidden),
        ["REQ-UNK-07"],
        "`strict_mode` is not published",
        expected: "`strict_mode` neither as a member nor as the name of a parameter",
        fix: "hide the setting: clients must not learn that validation can be relaxed";
];
