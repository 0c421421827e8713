//! Checks that an item is stored as it was submitted.

use serde_json::{Map, Value, json};

use super::creatable;
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::valid;
use crate::checks::stated_changes::{StatedChanges, is_same_set};
use crate::items::{self, CreatedItem, same};
use crate::nouns::is_identifier;
use crate::pages;
use crate::resources::{self, Role};
use crate::run::Run;
use crate::shape::Shape;

pub(super) async fn read_back(run: &Run, cases: &Cases) {
    for (kind, create) in creatable(run, cases) {
        let Some(thing) = run.make(kind, cases).await else { continue };
        compare(run, create, &thing, cases).await;
    }
}

/// Returns `true` if a result shows the stored value. Each reply may order a set differently.
fn is_stored(reported: &Value, stored: &Value) -> bool {
    match (reported, stored) {
        (Value::Array(reported), Value::Array(stored)) if is_same_set(reported, stored) => true,
        _ => same(reported, stored),
    }
}

/// Compares a stored item with the submitted values.
async fn compare(run: &Run, create: &Operation, thing: &CreatedItem<'_>, cases: &Cases) {
    let kind = thing.resource;
    let Some(looked) = run.look(thing, cases).await else { return };
    let Some(object) = looked.data().and_then(|data| kind.object(data)) else {
        cases.expect_success(&looked, false, || {
            Finding::of(&looked, &create.name)
                .expected(format!(
                    "a success with the {} that `{}` has just created",
                    kind.name, create.name
                ))
                .fix("store the item before the reply")
        });
        return;
    };
    let returned = item_type(run, &looked, create);
    for (name, sent) in &thing.sent {
        if name.starts_with('_') || sent.is_null() {
            continue;
        }
        let subject = format!("{}, parameter `{name}`", create.name);
        let finding = |expected: String| {
            let sent = Value::Array(vec![thing.made.sent(), looked.sent()]);
            Finding::of(&looked, subject).expected(expected).sent(sent)
        };
        let field = returned.iter().find(|field| field.name == name);
        let parameter = create.parameter(name);
        let Some(stored) = object.get(name) else {
            let is_field = match field {
                Some(_) => Some(true),
                // The type documents all fields of the item, so other parameters are not part of it.
                None if !returned.is_empty() || !is_data(parameter) => Some(false),
                None => has_field(run, thing, name, cases).await.then_some(true),
            };
            match is_field {
                Some(true) => {
                    cases.fail(finding(format!("`{name}`, which was submitted as {sent}")))
                }
                Some(false) => {}
                None => cases.skip_without(format!(
                    "the fields of a {}, because nothing shows whether `{name}` is one of them: \
                     document them in the type that `{}` returns",
                    kind.name,
                    looked.operation()
                )),
            }
            continue;
        };
        cases.expect(StatedChanges::of(parameter, field).allow(sent, stored), || {
            finding(format!("`{name}` as it was submitted: {sent}"))
        });
    }
}

/// Returns `true` if an item without a documented type has a field. Other replies or the documented changes show it.
async fn has_field(run: &Run, thing: &CreatedItem<'_>, name: &str, cases: &Cases) -> bool {
    let kind = thing.resource;
    let made = thing.made.data().and_then(|data| kind.object(data));
    if kind.documents_change(run, name) || made.is_some_and(|made| made.get(name).is_some()) {
        return true;
    }
    let Some(list) = kind.operation(&run.adapter, Role::List) else { return false };
    let items = pages::all(run, list, Map::new(), cases).await;
    items.is_some_and(|items| items.iter().any(|item| item.get(name).is_some()))
}

/// Returns `true` if a parameter holds data of the item. Other parameters, such as flags, control the call.
fn is_data(parameter: Option<&Parameter>) -> bool {
    parameter.is_some_and(|parameter| {
        parameter.kind != "boolean"
            && parameter.member("sensitive") != Some(&Value::Bool(true))
            && !resources::is_control(&parameter.name)
            && !is_identifier(&parameter.name)
    })
}

/// Returns a value that adapters often alter: a string with capitals, spaces and characters beyond ASCII, or an
/// unsorted list.
///
/// The list contains a duplicate that shows whether the adapter stores lists or sets.
fn hard(run: &Run, parameter: &Parameter) -> Option<Value> {
    let shape = Shape::of(&run.adapter, parameter);
    let is_plain = !resources::is_control(&parameter.name)
        && !is_identifier(&parameter.name)
        && parameter.member("sensitive").is_none();
    let is_unique = parameter.member("uniqueItems") == Some(&Value::Bool(true));
    let made = match parameter.kind.as_str() {
        "string" => {
            StatedChanges::of(Some(parameter), None).hard_text("Zeta", shape).into_iter().collect()
        }
        "array" if is_unique => vec![json!(["zeta", "alpha"])],
        "array" => vec![json!(["zeta", "Alpha", "beta", "zeta"]), json!(["zeta", "zeta", "Alpha"])],
        _ => return None,
    };
    made.into_iter().find(|made| is_plain && shape.accepts(made))
}

pub(super) async fn values_kept(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for (kind, create) in creatable(run, cases) {
        let configured = run.settings.file.params.get(&create.name);
        if configured.is_some_and(|configured| !configured.is_empty()) {
            continue;
        }
        let hard = create
            .parameters
            .iter()
            .filter_map(|parameter| Some((parameter.name.clone(), hard(run, parameter)?)));
        let hard: Map<String, Value> = hard.collect();
        if hard.is_empty() {
            continue;
        }
        is_any = true;
        let Some(mut params) = valid(run, create, cases) else { continue };
        params.extend(hard);
        let Some(thing) = run.make_with(kind, params, cases).await else { continue };
        compare(run, create, &thing, cases).await;
    }
    if !is_any {
        cases.not_applicable(
            "no CREATE operation has a free-form string parameter or a list parameter",
        );
    }
}

pub(super) async fn result_matches(run: &Run, cases: &Cases) {
    for (kind, create) in creatable(run, cases) {
        let Some(params) = valid(run, create, cases) else { continue };
        let Some(thing) = run.make_with(kind, params, cases).await else { continue };
        let Some(looked) = run.look(&thing, cases).await else { continue };
        let Some(stored) = run.shown(&thing, &looked, cases) else { continue };
        agrees(run, &thing, &thing.made, &stored, cases);
    }
}

/// Compares the fields that a caller can set with the stored item.
pub(in crate::checks) fn agrees(
    run: &Run,
    thing: &CreatedItem<'_>,
    answer: &Exchange,
    stored: &Value,
    cases: &Cases,
) {
    let kind = thing.resource;
    let Some(reported) = answer.data().and_then(|data| kind.object(data)) else { return };
    let settable = kind.settable(run);
    let differs = |name: &&String| {
        let both = reported.get(name.as_str()).zip(stored.get(name.as_str()));
        both.is_some_and(|(reported, stored)| !is_stored(reported, stored))
    };
    let differing = settable.iter().find(differs);
    cases.expect(differing.is_none(), || {
        let name = differing.map(String::as_str).unwrap_or_default();
        Finding::of(answer, format!("{}: `{name}`", answer.operation())).expected(format!(
            "`{name}` as it is read afterwards: {}",
            stored.get(name).unwrap_or(&Value::Null)
        ))
    });
}

/// Returns the fields of the item's type: the type of the operation that read it, else of the one that created it.
fn item_type<'r>(run: &'r Run, looked: &Exchange, create: &Operation) -> Vec<items::Field<'r>> {
    let fields = looked_type(run, looked.operation());
    if fields.is_empty() { looked_type(run, &create.name) } else { fields }
}

/// Returns the fields of the type that an operation returns.
fn looked_type<'r>(run: &'r Run, operation: &str) -> Vec<items::Field<'r>> {
    let operation = run.adapter.operation(operation);
    let name =
        operation.and_then(|operation| operation.details().pointer("/returns/name")?.as_str());
    name.map(|name| items::fields_of(&run.adapter, name)).unwrap_or_default()
}

pub(super) async fn defaults_shown(run: &Run, cases: &Cases) {
    let mut has_defaults = false;
    for (kind, create) in creatable(run, cases) {
        let configured = run.settings.file.params.get(&create.name);
        let defaults: Vec<_> = create
            .parameters
            .iter()
            .filter(|parameter| !parameter.required && !resources::is_control(&parameter.name))
            .filter(|parameter| configured.is_none_or(|given| !given.contains_key(&parameter.name)))
            .filter_map(|parameter| Some((parameter.name.as_str(), parameter.member("default")?)))
            .filter(|(_, default)| !default.is_null())
            .collect();
        if defaults.is_empty() {
            continue;
        }
        has_defaults = true;
        let Some(params) = valid(run, create, cases) else { continue };
        let Some(thing) = run.make_with(kind, params, cases).await else { continue };
        let Some(looked) = run.look(&thing, cases).await else { continue };
        let Some(object) = run.shown(&thing, &looked, cases) else { continue };
        for (name, default) in defaults {
            let Some(there) = object.get(name) else {
                let returned = looked_type(run, looked.operation());
                if !returned.iter().any(|field| field.name == name) {
                    // The parameter may control the creation without being stored.
                    cases.not_applicable(format!(
                        "no result shows the default of `{name}` in `{}`",
                        create.name
                    ));
                }
                continue;
            };
            cases.expect(same(default, there), || {
                Finding::shown(format!("{}, parameter `{name}`", create.name), object.clone())
                    .expected(format!("`{name}` with its documented default: {default}"))
                    .sent(thing.made.sent())
            });
        }
    }
    if !has_defaults {
        cases.not_applicable("no CREATE operation documents a default");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_reordered_sets_in_results() {
        assert!(is_stored(&json!(["a", "b"]), &json!(["b", "a"])));
        assert!(!is_stored(&json!(["a", "b"]), &json!(["b"])));
        assert!(!is_stored(&json!(["a", "b", "b"]), &json!(["b", "b", "a"])));
        assert!(!is_stored(&json!(" a"), &json!("a")), "a result shows a text as it is stored");
    }
}
