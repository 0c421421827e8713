//! Checks of categories, families and permissions.

use crate::adapter::tool_parts;
use crate::cases::{Cases, Finding};
use crate::category::{Category, Mode};
use crate::forms::is_snake_case;
use crate::run::Run;

/// The reserved operation names with their categories.
const RESERVED: [(&str, Category); 7] = [
    ("introspect", Category::Read),
    ("execute_agent", Category::Execute),
    ("record_execution_step", Category::Create),
    ("complete_execution", Category::Execute),
    ("abort_execution", Category::Execute),
    ("confirm_operation", Category::Execute),
    ("verify_challenge", Category::Create),
];

/// The standard verbs with the categories of their operations.
const VERBS: [(&str, Category); 7] = [
    ("create", Category::Create),
    ("get", Category::Read),
    ("list", Category::Read),
    ("update", Category::Update),
    ("delete", Category::Delete),
    ("execute", Category::Execute),
    ("cancel", Category::Execute),
];

pub(super) fn families(run: &Run, cases: &Cases) {
    let is_crude = run.adapter.is_crude();
    for operation in &run.adapter.operations {
        let family = tool_parts(&operation.tool).and_then(|(_, family)| family);
        let wanted = match (operation.category, is_crude) {
            (None, _) => "one of the five categories in `semantic_category`".to_owned(),
            _ if !is_snake_case(&operation.endpoint) => {
                "`endpoint` with the name of a family, in lower case".to_owned()
            }
            (Some(category), true) if operation.endpoint != category.family() => {
                format!("`endpoint` {}, for {category}", category.family())
            }
            _ if run.adapter.mode != Mode::Single && family != Some(&operation.endpoint) => {
                "`endpoint` with the family at the end of the tool name in `mcpTool`".to_owned()
            }
            _ => {
                cases.pass();
                continue;
            }
        };
        cases.fail(Finding::shown(&operation.name, operation.listed.clone()).expected(wanted));
    }
}

pub(super) fn permissions(run: &Run, cases: &Cases) {
    for operation in &run.adapter.operations {
        // The check `routing.families` reports missing categories.
        let Some(category) = operation.category else { continue };
        if operation.permissions.is_none() {
            let why = format!("the permissions of `{}` could not be read", operation.name);
            cases.block("introspection.details_form", why);
            continue;
        }
        let (reads, destroys) = category.permissions();
        cases.expect(operation.permissions == Some((reads, destroys)), || {
            Finding::shown(
                &operation.name,
                operation.details().get("permissions").cloned().unwrap_or_default(),
            )
            .expected(format!("readOnly {reads} and destructive {destroys}, for {category}"))
        });
    }
}

pub(super) fn reserved(run: &Run, cases: &Cases) {
    let operations = RESERVED
        .into_iter()
        .filter_map(|(name, category)| Some((name, category, run.adapter.operation(name)?)));
    let operations = cases.some_or_not_applicable(operations, "no operation has a reserved name");
    for (name, category, operation) in operations {
        cases.expect(operation.category == Some(category), || {
            Finding::shown(name, operation.listed.clone())
                .expected(format!("{category}, as in the protocol"))
        });
    }
}

pub(super) fn verbs(run: &Run, cases: &Cases) {
    let operations = run.adapter.operations.iter().filter_map(|operation| {
        let is_reserved = RESERVED.iter().any(|(name, _)| *name == operation.name);
        let verb = operation.name.split('_').next()?;
        let known = VERBS.iter().find(|(known, _)| *known == verb);
        known.filter(|_| !is_reserved).map(|(verb, category)| (operation, verb, category))
    });
    let operations = cases.some_or_not_applicable(operations, "no operation has a standard verb");
    for (operation, verb, category) in operations {
        cases.expect(operation.category == Some(*category), || {
            Finding::shown(&operation.name, operation.listed.clone())
                .expected(format!("{category}, because the name starts with `{verb}_`"))
        });
    }
}
