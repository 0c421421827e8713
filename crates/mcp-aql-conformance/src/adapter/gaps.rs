//! Parts of an adapter that the runner could not read.
//!
//! A check that depends on such a part is blocked by the check that reports the cause. It must not become "not
//! applicable", because the feature may well exist in the unread part.

use serde_json::Value;

use crate::adapter::{Adapter, Operation};
use crate::cases::{Cases, Skip};
use crate::category::Category;

const DETAILS_FORM: &str = "introspection.details_form";

/// A part of an adapter. The order matters: a check that needs one part also needs those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The endpoint tools. Without them, the server is not an adapter.
    Tools,
    /// The list of operations.
    Operations,
    /// An entry in the list of operations, the details of an operation, or a parameter.
    Details,
    /// The list of types or the details of a type.
    Types,
}

/// A part that could not be read, and the check that reports it.
#[derive(Debug, Clone)]
pub(crate) struct Gap {
    pub(crate) part: Part,
    /// Id of the check that reports the cause.
    pub(crate) by: &'static str,
    /// Description of the unread part, for example "the details of `get_bed`".
    pub(crate) why: String,
}

impl Gap {
    pub(crate) fn new(part: Part, by: &'static str, why: impl Into<String>) -> Self {
        Self { part, by, why: why.into() }
    }

    /// Returns the reason to skip a case because of this gap.
    pub(crate) fn skip(&self) -> Skip {
        Skip::Blocked { by: self.by, why: self.why.clone() }
    }
}

/// Checks of tools and their calls. They need no list of operations.
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

/// Checks that need only the connection and the list of tools.
const OF_NOTHING: [&str; 3] = ["tools.endpoint", "tools.names", "tools.prefix"];

/// Checks (or areas, ending in a dot) whose applicability does not depend on introspection of operations.
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

/// Checks (or areas, ending in a dot) whose applicability depends on a call that fails with a certain code.
const OF_CODES: [&str; 3] = ["confirmation.", "danger.as_stated", "quotas.exceeded_form"];

/// Checks that compare something with the list of types.
const OF_TYPES: [&str; 5] = [
    "introspection.object_members",
    "introspection.standard_types",
    "introspection.type_details_form",
    "introspection.type_names",
    "introspection.types_resolve",
];

/// Returns the part that a check needs to judge anything.
fn needed(check: &str) -> Option<Part> {
    if check.starts_with("wire.") || OF_NOTHING.contains(&check) {
        None
    } else if OF_TOOLS.contains(&check) || check == "introspection.list_form" {
        Some(Part::Tools)
    } else {
        Some(Part::Operations)
    }
}

/// Returns `true` if `check` is one of `ids` or belongs to one of the areas in `ids`.
fn is_among(check: &str, ids: &[&str]) -> bool {
    ids.iter().any(|id| check.starts_with(id))
}

/// Returns `true` if introspection of operations decides whether the check is applicable.
pub(crate) fn depends_on_operations(check: &str) -> bool {
    !is_among(check, &APART)
}

impl Adapter {
    /// Returns the gap that hides all operations of the adapter, if there is one.
    pub(crate) fn unread(&self) -> Option<&Gap> {
        self.gaps.iter().find(|gap| gap.part <= Part::Operations)
    }

    /// Returns the gap that makes this check impossible.
    pub(crate) fn obstacle(&self, check: &str) -> Option<&Gap> {
        let needed = needed(check)?;
        let types = OF_TYPES.contains(&check).then_some(Part::Types);
        self.gaps
            .iter()
            .find(|gap| gap.part <= needed || (Some(gap.part) == types && gap.by != check))
    }

    /// Returns the gap that may hide a feature tested by this check. A check with such a doubt must not be "not
    /// applicable".
    pub(crate) fn doubt(&self, check: &str) -> Option<&Gap> {
        // Without operations, the run sees no replies of the adapter either.
        let unread = self.unread().filter(|_| !check.starts_with("wire."));
        unread.or_else(|| {
            let mut gaps = self.gaps.iter();
            gaps.find(|gap| {
                depends_on_operations(check) && gap.part <= Part::Details && gap.by != check
            })
        })
    }
}

/// Checks (or areas, ending in a dot) that judge the form of errors. Other checks only read errors.
const OF_ERROR_FORMS: [&str; 4] = ["errors.form", "shapes.failure", "shapes.union", "wire."];

/// Returns `true` if the check judges the form of errors.
pub(crate) fn judges_errors(check: &str) -> bool {
    is_among(check, &OF_ERROR_FORMS)
}

/// Returns `true` if the check only judges failures with a readable code.
pub(crate) fn judges_codes(check: &str) -> bool {
    is_among(check, &["errors.", "limits.details"])
}

/// Returns `true` if the check is only applicable after a call failed with a certain code.
pub(crate) fn needs_codes(check: &str) -> bool {
    is_among(check, &OF_CODES)
}

/// The blocking check and its reason for an adapter that does not state `_protocol` at all.
const NO_PROTOCOL: (&str, &str) =
    ("introspection.protocol_form", "the list of operations has no `_protocol`");

/// Checks (or areas, ending in a dot) that need a certain member of `_protocol` to be applicable.
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

/// Returns the check and the reason that block a check of `_protocol` members, instead of "not applicable".
pub(crate) fn doubt_of_protocol(
    adapter: &Adapter,
    check: &str,
) -> Option<(&'static str, &'static str)> {
    let is_missing = !adapter.protocol().is_object() && OF_PROTOCOL.contains(&check);
    is_missing.then_some(NO_PROTOCOL)
}

/// Returns `true` if the adapter states `_protocol`. Otherwise blocks the case, so a missing `_protocol` is one
/// finding.
pub(crate) fn states_protocol(adapter: &Adapter, cases: &Cases) -> bool {
    let is_stated = adapter.protocol().is_object();
    if !is_stated {
        cases.block(NO_PROTOCOL.0, NO_PROTOCOL.1);
    }
    is_stated
}

/// Returns the unread part without which the runner never calls the operation.
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

/// Returns the unread part without which the operation may change data.
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
