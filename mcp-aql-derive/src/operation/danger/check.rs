//! The rules of `danger(…)`, one function per rule.

use darling::error::Accumulator;
use mcp_aql_protocol::{DangerLevel, SemanticCategory};

use super::super::OperationModel;
use crate::support::{fault, names, slots};

/// Checks every rule of a declared danger.
pub(in crate::operation) fn run(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    reads_destroy_nothing(operation, errors);
    only_reads_are_safe(operation, errors);
    slots_name_parameters(operation, errors);
}

/// Rejects the level `destructive` and higher levels on a READ (MCP-AQL §8.1).
fn reads_destroy_nothing(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    if let Some(level) = operation.danger_level()
        && **level >= DangerLevel::Destructive
        && operation.is(SemanticCategory::Read)
    {
        errors.push(fault(
            level.span(),
            format_args!(
                "READ operation `{}` is declared `{}`: write `level = \"safe\"`, or another `category` (danger levels §3.3)",
                operation.name.text,
                level.as_str()
            ),
        ));
    }
}

/// Rejects the level `safe` on operations other than READ (REQ-DNG-02).
fn only_reads_are_safe(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let (Some(level), Some(category)) = (operation.danger_level(), operation.category.as_deref())
    else {
        return;
    };
    if **level > DangerLevel::Safe || *category == SemanticCategory::Read {
        return;
    }
    let remedy = match category {
        SemanticCategory::Delete => {
            "`level = \"destructive\"`, or `\"reversible\"` if it can be undone"
        }
        _ => "`level = \"reversible\"`, or a higher one",
    };
    errors.push(fault(
        level.span(),
        format_args!(
            "only a READ is `safe`, and `{}` is {}: write {remedy} (danger levels §7.1)",
            operation.name.text,
            category.as_str()
        ),
    ));
}

/// Requires that each slot of the confirmation message is a parameter, or a part of one, and not a secret.
///
/// Assertions check names inside of groups and of `input`. The build of the adapter checks names inside of other
/// parameters.
fn slots_name_parameters(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(message) = operation.danger.as_ref().and_then(|danger| danger.message.as_ref()) else {
        return;
    };
    let slots = match slots::names(&message.0) {
        Ok(slots) => slots,
        Err(unbalanced) => {
            errors.push(fault(message.span(), unbalanced));
            return;
        }
    };
    let secrets: Vec<_> = operation
        .parameters()
        .filter(|parameter| parameter.sensitive)
        .map(|parameter| parameter.name.text.as_str())
        .collect();
    let mut known = operation.known_parameters();
    // Fields of `input` may be secrets. Only the expansion of their own macro knows which ones.
    let changes = operation.inputs().next().is_some();
    known.retain(|name| !(secrets.contains(name) || changes && *name == "input"));
    let mut seen = Vec::new();
    for slot in slots {
        let parameter = slots::parameter(slot);
        let is_inside_input = changes && parameter == "input" && slot != "input";
        if known.contains(&parameter) || is_inside_input || seen.contains(&slot) {
            continue;
        }
        seen.push(slot);
        if secrets.contains(&parameter) {
            errors.push(fault(
                message.span(),
                format_args!(
                    "`{{{slot}}}` would show a `sensitive` parameter in the confirmation message: leave it out"
                ),
            ));
        } else if changes && slot == "input" {
            errors.push(fault(
                message.span(),
                "`{input}` would show all changes in the confirmation message, including secrets: leave it out",
            ));
        } else if !operation.has_groups() || slot.trim().is_empty() {
            errors.push(fault(message.span(), no_parameter(parameter, &known)));
        }
    }
}

/// Returns the error message for a slot that does not name a parameter.
fn no_parameter(slot: &str, known: &[&str]) -> String {
    if slot.trim().is_empty() {
        return "`{}` is an empty slot: write the name of a parameter inside, or `{{}}` for the braces"
            .to_owned();
    }
    let hint = if known.is_empty() {
        "leave it out, because the operation has no parameter that may be shown".to_owned()
    } else {
        names::suggestion(slot, known.iter().copied())
    };
    format!("`{{{slot}}}` is not a parameter: {hint}")
}
