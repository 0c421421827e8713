//! The parts of an adapter that could not be read. A check that depends on such a part is blocked by the check
//! that reports the cause; it is not "not applicable".

use serde_json::Value;

use crate::adapter::{Adapter, Operation};
use crate::cases::{Cases, Skip};
use crate::category::Category;

const DETAILS_FORM: &str = "introspection.details_form";

/// A part of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The endpoint tools. Without them, the server is not an adapter.
    Tools,
    /// The list of operations.
    Operations,
    /// An entry of the list, the details of an operation, or a parameter.
    Details,
    /// The list of types, or the details of a type.
    Types,
}

/// A part that could not be read.
#[derive(Debug, Clone)]
pub(crate) struct Gap {
    pub(crate) part: Part,
    /// The check that reports the cause.
    pub(crate) by: &'static str,
    /// The part that could not be read.
    pub(crate) why: String,
}

impl Gap {
    pub(crate) fn new(part: Part, by: &'static str, why: impl Into<String>) -> Self {
        Self { part, by, why: why.into() }
    }

    /// The reason to skip a case because of this gap.
    pub(crate) fn skip(&self) -> Skip {
        Skip::Blocked { by: self.by, why: self.why.clone() }
    }
}

/// Checks of tools and of their calls that need no list of operations.
const OF_TOOLS: [&str; 15] = [
    "robustness.arguments_not_object",
    "robustness.cancelled_request",
    "robustness.invalid_lines",
    "robustness.request_ids",
    "robustness.unknown_method",
    "robustness.unknown_tool",
    "routing.missing_operation",
    "routing.operation_not_string",
    "routing.unknown_operation",
    "tools.unique",
    "tools.crude_complete",
    "tools.introspect_named",
    "tools.description_parts",
    "tools.description_labels",
    "tools.input_schema",
];

/// Checks that need nothing but the connection and the list of tools.
const OF_NOTHING: [&str; 3] = ["tools.endpoint", "tools.names", "tools.prefix"];

/// Checks, or areas with a dot, that are not applicable because of something else than introspection of
/// operations shows.
const APART: [&str; 8] = [
    "batch.",
    "introspection.concurrency",
    "introspection.limits",
    "introspection.protocol",
    "sessions.",
    "shapes.",
    "tools.",
    "wire.",
];

/// Checks, or areas with a dot, that are not applicable if no call fails with a certain code.
const OF_CODES: [&str; 3] = ["confirmation.", "danger.as_stated", "quotas.exceeded_form"];

/// Checks that compare something with the list of types.
const OF_TYPES: [&str; 5] = [
    "introspection.object_members",
    "introspection.standard_types",
    "introspection.type_details_form",
    "introspection.type_names",
    "introspection.types_resolve",
];

/// The part without which a check cannot judge anything.
fn needed(check: &str) -> Option<Part> {
    if check.starts_with("wire.") || OF_NOTHING.contains(&check) {
        None
    } else if OF_TOOLS.contains(&check) || check == "introspection.list_form" {
        Some(Part::Tools)
    } else {
        Some(Part::Operations)
    }
}

/// Whether the check is one of these, or belongs to one of these areas.
fn is_among(check: &str, ids: &[&str]) -> bool {
    ids.iter().any(|id| check.starts_with(id))
}

/// Whether introspection of operations decides whether a check is applicable.
pub(crate) fn depends_on_operations(check: &str) -> bool {
    !is_among(check, &APART)
}

impl Adapter {
    /// The reason why no operation of the adapter is known.
    pub(crate) fn unread(&self) -> Option<&Gap> {
        self.gaps.iter().find(|gap| gap.part <= Part::Operations)
    }

    /// The gap that makes this check impossible.
    pub(crate) fn obstacle(&self, check: &str) -> Option<&Gap> {
        let needed = needed(check)?;
        let types = OF_TYPES.contains(&check).then_some(Part::Types);
        self.gaps
            .iter()
            .find(|gap| gap.part <= needed || (Some(gap.part) == types && gap.by != check))
    }

    /// The gap that may hide what makes this check applicable.
    pub(crate) fn doubt(&self, check: &str) -> Option<&Gap> {
        // Without operations, the replies of the adapter are not known either.
        let unread = self.unread().filter(|_| !check.starts_with("wire."));
        unread.or_else(|| {
            let mut gaps = self.gaps.iter();
            gaps.find(|gap| {
                depends_on_operations(check) && gap.part <= Part::Details && gap.by != check
            })
        })
    }
}

/// Checks, or areas with a dot, that judge the form of errors, which other checks only need to read.
const OF_ERROR_FORMS: [&str; 4] = ["errors.form", "shapes.failure", "shapes.union", "wire."];

/// Whether the check judges the form of errors.
pub(crate) fn judges_errors(check: &str) -> bool {
    is_among(check, &OF_ERROR_FORMS)
}

/// Whether the check judges only failures with a readable code.
pub(crate) fn judges_codes(check: &str) -> bool {
    is_among(check, &["errors.", "limits.details"])
}

/// Whether the check is not applicable only if no call failed with a certain code.
pub(crate) fn needs_codes(check: &str) -> bool {
    is_among(check, &OF_CODES)
}

/// The reason why members of `_protocol` cannot be judged: the adapter does not state `_protocol` at all.
const NO_PROTOCOL: (&str, &str) =
    ("introspection.protocol_form", "the list of operations has no `_protocol`");

/// Checks, or areas with a dot, that are not applicable if `_protocol` has no such member.
const OF_PROTOCOL: [&str; 9] = [
    "batch.claimed",
    "batch.max_operations",
    "danger.gated",
    "danger.stated",
    "introspection.concurrency_value",
    "introspection.limits_in_range",
    "introspection.protocol_values",
    "safety_loop.approval",
    "sessions.fresh",
];

/// The reason why a check of members of `_protocol` is blocked instead of not applicable.
pub(crate) fn doubt_of_protocol(
    adapter: &Adapter,
    check: &str,
) -> Option<(&'static str, &'static str)> {
    let is_missing = !adapter.protocol().is_object() && OF_PROTOCOL.contains(&check);
    is_missing.then_some(NO_PROTOCOL)
}

/// Whether the adapter states `_protocol`. Otherwise the case is blocked: a missing `_protocol` is one finding.
pub(crate) fn states_protocol(adapter: &Adapter, cases: &Cases) -> bool {
    let is_stated = adapter.protocol().is_object();
    if !is_stated {
        cases.block(NO_PROTOCOL.0, NO_PROTOCOL.1);
    }
    is_stated
}

/// The part of an operation that could not be read and without which it is never called.
pub(crate) fn of_calls(operation: &Operation) -> Option<Gap> {
    let parameters = operation.details().get("parameters").and_then(Value::as_array);
    let (by, what) = match parameters {
        None if operation.details().is_object() => (DETAILS_FORM, "the parameters"),
        None => (DETAILS_FORM, "the details"),
        Some(list) if list.len() != operation.parameters.len() => {
            ("introspection.parameter_form", "a parameter")
        }
        Some(_) if operation.tool.is_empty() => (DETAILS_FORM, "the tool"),
        Some(_) => return None,
    };
    Some(of_operation(operation, by, what))
}

/// The part of an operation that could not be read and without which it may change data.
pub(crate) fn of_safety(operation: &Operation) -> Option<Gap> {
    if operation.category.is_none() {
        return Some(of_operation(operation, "introspection.list_form", "the category"));
    }
    let is_unknown = operation.category == Some(Category::Read) && operation.permissions.is_none();
    is_unknown.then(|| of_operation(operation, DETAILS_FORM, "the permissions"))
}

fn of_operation(operation: &Operation, by: &'static str, what: &str) -> Gap {
    Gap::new(Part::Details, by, format!("{what} of `{}` could not be read", operation.name))
}
