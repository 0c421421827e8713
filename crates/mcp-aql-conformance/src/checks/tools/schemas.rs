//! Checks of the annotations and input schemas of tools.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::names::{category, family};
use super::operations_of;
use crate::cases::{Cases, Finding};
use crate::category::{Category, Mode};
use crate::finding;
use crate::run::Run;

pub(super) fn annotations(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let of_family = family(tool).and_then(category).map(Category::permissions);
        let riskiest = || {
            let own = operations_of(&run.adapter, tool).filter_map(|operation| operation.category);
            own.map(Category::permissions)
                .fold((true, false), |(reads, destroys), it| (reads && it.0, destroys || it.1))
        };
        let (reads, destroys) = match (run.adapter.mode, of_family) {
            (Mode::Single, _) => (false, true),
            (_, Some(permissions)) => permissions,
            (_, None) => riskiest(),
        };
        let hint = |name: &str| tool.raw.pointer("/annotations")?.get(name)?.as_bool();
        let holds =
            hint("readOnlyHint") == Some(reads) && hint("destructiveHint") == Some(destroys);
        cases.expect(holds, || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                tool.raw.get("annotations").cloned().unwrap_or_default(),
            )
            .expected(format!("readOnlyHint {reads}, destructiveHint {destroys}"))
        });
    }
}

/// Returns `true` if a schema accepts values of this JSON type, directly or in `anyOf` or `oneOf`.
fn takes(schema: &Value, kind: &str) -> bool {
    let is_named = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|it| it == kind),
        Some(named) => named == kind,
        None => false,
    };
    let mut choices = ["anyOf", "oneOf"].iter().filter_map(|name| schema.get(*name)?.as_array());
    is_named || choices.any(|choices| choices.iter().any(|choice| takes(choice, kind)))
}

pub(super) fn input_schema(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let schema = tool.raw.get("inputSchema").unwrap_or(&Value::Null);
        let takes = |path: &str, kind: &str| schema.pointer(path).is_some_and(|it| takes(it, kind));
        let required: Vec<_> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        // A batch has `operations` instead of `operation`, so a schema for batches need not require `operation`.
        let takes_batches = takes("/properties/operations", "array");
        let mut faults = Vec::new();
        if !takes("", "object") {
            faults.push("`type` object");
        }
        if !takes("/properties/operation", "string") {
            faults.push("`operation` of type string");
        }
        if !takes("/properties/params", "object") {
            faults.push("`params` of type object");
        }
        if schema.pointer("/properties/params/additionalProperties") == Some(&json!(false)) {
            faults.push("`params` with `additionalProperties` true");
        }
        let is_required_right = match takes_batches {
            true => required.iter().all(|name| *name == "operation"),
            false => required == ["operation"],
        };
        if !is_required_right {
            faults.push("`required` with `operation` alone");
        }
        cases.expect(faults.is_empty(), || {
            Finding::shown(format!("tool `{}`", tool.name), schema.clone())
                .expected(faults.join(", "))
        });
    }
}

pub(super) fn operation_enum(run: &Run, cases: &Cases) {
    let enums = run.adapter.endpoints.iter().filter_map(|tool| {
        Some((tool, tool.raw.pointer("/inputSchema/properties/operation/enum")?.as_array()?))
    });
    for (tool, listed) in cases.some_or_not_applicable(enums, "no schema enumerates operations") {
        let listed: BTreeSet<_> = listed.iter().filter_map(Value::as_str).collect();
        let own: BTreeSet<_> =
            operations_of(&run.adapter, tool).map(|operation| operation.name.as_str()).collect();
        // Every tool may offer `introspect`.
        let beside: BTreeSet<_> =
            listed.difference(&own).filter(|name| **name != "introspect").collect();
        cases.expect(beside.is_empty() && own.is_subset(&listed), || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                listed.iter().copied().collect::<Vec<_>>(),
            )
            .expected(format!(
                "the operations that introspection lists for this tool: {}",
                finding::listed(&own)
            ))
        });
    }
}
