//! Checks of read-only fields, append-only lists and versions.

use serde_json::{Value, json};

use super::{Subject, only, subjects};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::items::{fields_of, other, same};
use crate::run::Run;

/// Returns the version of an object with the name of its member.
fn version(object: &Value) -> Option<(&'static str, &Value)> {
    ["_version", "_etag"].into_iter().find_map(|name| Some((name, object.get(name)?)))
}

/// Tries to change each read-only field.
///
/// Returns the subject of a finding, the exchange, the submitted value, and the value after the call.
async fn trespass(run: &Run, cases: &Cases) -> Vec<(String, Exchange, Value, Value)> {
    let mut tried = Vec::new();
    let subjects = subjects(run, cases).await;
    let had_subjects = !subjects.is_empty();
    let mut has_any = false;
    for subject in subjects {
        let kind = subject.thing.resource;
        let Some(now) = subject.stored().await else { continue };
        let returned = subject.update.details().pointer("/returns/name").and_then(Value::as_str);
        let shapes = returned.map(|name| fields_of(&run.adapter, name)).unwrap_or_default();
        for name in kind.unchangeable(run) {
            let Some(current) = now.get(&name) else { continue };
            has_any = true;
            let shape = shapes.iter().find(|field| field.name == name).map(|field| field.shape);
            let fitting = shape.and_then(|shape| other(shape, current));
            let value = match current {
                // Use a distant number, because counters may reach the next one by themselves.
                Value::Number(_) => json!(987_654_321),
                Value::Bool(flag) => json!(!flag),
                _ => fitting.unwrap_or_else(|| json!("conformance")),
            };
            let input = only(&name, value.clone());
            let Some(exchange) = subject.send(input).await else {
                continue;
            };
            let Some(after) = subject.stored().await else { continue };
            tried.push((
                subject.field(&name),
                exchange,
                value,
                after.get(&name).cloned().unwrap_or_default(),
            ));
        }
    }
    if had_subjects && !has_any {
        cases.not_applicable("no read-only field is known");
    }
    tried
}

pub(super) async fn read_only(run: &Run, cases: &Cases) {
    for (subject, exchange, sent, there) in trespass(run, cases).await {
        cases.expect(!same(&sent, &there), || {
            Finding::of(&exchange, subject).received(there.clone())
        });
    }
}

pub(super) async fn read_only_refused(run: &Run, cases: &Cases) {
    for (subject, exchange, _, _) in trespass(run, cases).await {
        let code = exchange.code().unwrap_or_default();
        cases.expect(code.starts_with("VALIDATION_"), || Finding::of(&exchange, subject));
    }
}

pub(super) async fn append_only(run: &Run, cases: &Cases) {
    let subjects = subjects(run, cases).await;
    let had_subjects = !subjects.is_empty();
    let mut has_any = false;
    for subject in subjects {
        for name in subject.thing.resource.growing(run) {
            has_any = true;
            let fields = subject.thing.resource.changeable(run);
            let item = fields
                .iter()
                .find(|field| field.name == name)
                .and_then(|field| field.shape.items());
            let made = |turn| item.map_or(Some(json!("conformance")), |item| item.made(turn));
            let Some((first, second)) = made(1).zip(made(2)) else {
                cases.skip_without(format!("an entry to add to `{name}`"));
                continue;
            };
            let Some(now) = subject.stored().await else { continue };
            let mut list = now.get(&name).and_then(Value::as_array).cloned().unwrap_or_default();
            list.push(first);
            if subject.changed(only(&name, list.into())).await.is_none() {
                continue;
            }
            let Some(before) = subject.stored().await else { continue };
            let input = only(&name, json!([second]));
            let Some(exchange) = subject.send(input).await else {
                continue;
            };
            let Some(after) = subject.stored().await else { continue };
            let there = |object: &Value| object.get(&name).cloned().unwrap_or_default();
            cases.expect(exchange.failure().is_some() && there(&before) == there(&after), || {
                Finding::of(&exchange, subject.field(&name))
            });
        }
    }
    if had_subjects && !has_any {
        cases.not_applicable("no append-only list is configured");
    }
}

/// Creates items of the resources whose UPDATE operation supports `if_match`.
async fn conditional<'r>(run: &'r Run, cases: &'r Cases) -> Vec<Subject<'r>> {
    let mut subjects = subjects(run, cases).await;
    let had_subjects = !subjects.is_empty();
    subjects.retain(|subject| subject.update.parameter("if_match").is_some());
    if had_subjects && subjects.is_empty() {
        cases.not_applicable("no UPDATE operation supports `if_match`");
    }
    subjects
}

pub(super) async fn if_match(run: &Run, cases: &Cases) {
    for subject in conditional(run, cases).await {
        let Some((name, value, now)) = subject.change().await else { continue };
        let Some((_, right)) = version(&now) else {
            cases.skip_without(format!(
                "a `_version` or `_etag` of the items that `{}` changes",
                subject.update.name
            ));
            continue;
        };
        let with = |version: Value| [("input", only(name, value.clone())), ("if_match", version)];
        let Some(refused) = subject.call(with(another(right))).await else { continue };
        let Some(between) = subject.stored().await else { continue };
        let there = |object: &Value| object.get(name).cloned().unwrap_or_default();
        let holds = refused.code() == Some("CONFLICT_VERSION_MISMATCH")
            && same(&there(&now), &there(&between));
        cases.expect(holds, || {
            Finding::of(&refused, &subject.update.name).expected(format!(
                "a failure CONFLICT_VERSION_MISMATCH and no change, because the version is {right}"
            ))
        });
        let Some(taken) = subject.call(with(right.clone())).await else { continue };
        cases.expect_success(&taken, true, || {
            Finding::of(&taken, &subject.update.name)
                .expected("a success, because `if_match` is the version that was read")
                .fix("accept the version as returned in `_version` or `_etag`")
        });
    }
}

pub(super) async fn if_match_null(run: &Run, cases: &Cases) {
    for subject in conditional(run, cases).await {
        let Some((name, value, now)) = subject.change().await else { continue };
        let more = [("input", only(name, value)), ("if_match", Value::Null)];
        let Some(exchange) = subject.call(more).await else { continue };
        let Some(after) = subject.stored().await else { continue };
        let there = |object: &Value| object.get(name).cloned().unwrap_or_default();
        let holds = exchange.failure().is_some() && same(&there(&now), &there(&after));
        cases.expect(holds, || Finding::of(&exchange, &subject.update.name));
    }
}

/// Returns a different version of the same form.
///
/// ```text
/// 3        →  1003
/// W/"ab7"  →  W/"ab3"
/// ```
fn another(version: &Value) -> Value {
    match version {
        Value::Number(number) => json!(number.as_i64().unwrap_or_default().wrapping_add(1000)),
        Value::String(text) => {
            let turned = |last: char| if last == '7' { '3' } else { '7' };
            let place = text.rfind(|each: char| each.is_ascii_alphanumeric());
            let split = place.and_then(|at| {
                Some((text.get(..at)?, text.get(at + 1..)?, text.get(at..)?.chars().next()?))
            });
            match split {
                Some((before, after, last)) => json!(format!("{before}{}{after}", turned(last))),
                None => json!(format!("{text}7")),
            }
        }
        other => other.clone(),
    }
}

pub(super) async fn version_shown(run: &Run, cases: &Cases) {
    let claims = run.adapter.protocol().get("supports_etag") == Some(&Value::Bool(true));
    let takes =
        run.adapter.operations.iter().any(|operation| operation.parameter("if_match").is_some());
    if !claims && !takes {
        return cases.not_applicable("no version is documented");
    }
    for subject in conditional(run, cases).await {
        let Some((name, value, now)) = subject.change().await else { continue };
        let before = version(&now).map(|(_, version)| version.clone());
        if before.is_none() {
            cases.fail(
                Finding::shown(&subject.update.name, now)
                    .expected("`_version` or `_etag` in the item"),
            );
            continue;
        }
        let Some((exchange, after)) = subject.changed(only(name, value)).await else {
            continue;
        };
        let is_another = version(&after).map(|(_, version)| version.clone()) != before;
        cases.expect(is_another, || {
            Finding::of(&exchange, &subject.update.name)
                .expected(format!(
                    "a version other than {} after the update",
                    before.clone().unwrap_or_default()
                ))
                .fix("change the version with every update")
                .received(after.clone())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_has_the_same_form() {
        for (version, other) in [
            (json!(3), json!(1003)),
            (json!(i64::MAX), json!(i64::MIN + 999)),
            (json!("1"), json!("7")),
            (json!("W/\"ab7\""), json!("W/\"ab3\"")),
            (json!(""), json!("7")),
        ] {
            assert_eq!(another(&version), other);
        }
    }
}
