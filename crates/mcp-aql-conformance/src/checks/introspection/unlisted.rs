//! Checks for operations that exist but are not listed.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::cases::{Cases, Finding};
use crate::category::Category;
use crate::forms::is_snake_case;
use crate::nouns::singular;
use crate::run::{Run, do_all};
use crate::verbs::{is_reading, starts_with_verb};

/// Maximum number of names to look up.
const MAX_CANDIDATES: usize = 600;
/// Verbs that usually come with the same noun: next to `create_bed`, expect `get_bed`.
const VERBS: [&str; 6] = ["create", "get", "list", "search", "update", "delete"];
/// Operations that usually accompany those with a `lifecycle`.
const EXECUTIONS: [&str; 4] =
    ["get_execution", "list_executions", "cancel_execution", "retry_execution"];

/// Returns the words of a string in the form of operation names, for example `create_bed`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| word.contains('_') && is_snake_case(word) && starts_with_verb(word))
}

/// Collects these words from all strings in a value.
///
/// ```json
/// { "note": "Follow `get_bed`, then call delete_bed(…)", "list": [{ "operation": "search_beds" }, "bed_id"] }
/// ```
///
/// In this value, it finds `delete_bed`, `get_bed` and `search_beds`.
fn words_in<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::String(text) => found.extend(words(text)),
        Value::Array(items) => items.iter().for_each(|item| words_in(item, found)),
        Value::Object(members) => members.values().for_each(|member| words_in(member, found)),
        _ => {}
    }
}

/// Returns the usual forms of a noun in names, for example `bed` and `beds`.
fn noun_forms(noun: &str) -> [String; 4] {
    let one = singular(noun);
    let plural = match one.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{one}s"),
    };
    [noun.to_owned(), format!("{one}es"), plural, one]
}

/// Returns names of possibly unlisted operations: names mentioned in tools, descriptions, examples and types, and names
/// that usually accompany the listed operations.
fn candidates(run: &Run, refusal: &Value) -> BTreeSet<String> {
    let adapter = &run.adapter;
    let mut mentioned = BTreeSet::new();
    words_in(&adapter.hello, &mut mentioned);
    words_in(refusal, &mut mentioned);
    adapter.endpoints.iter().for_each(|tool| words_in(&tool.raw, &mut mentioned));
    adapter.operations.iter().for_each(|operation| words_in(operation.details(), &mut mentioned));
    adapter.types.iter().for_each(|known| words_in(&known.reply, &mut mentioned));
    let mut names: BTreeSet<String> = mentioned.into_iter().map(str::to_owned).collect();
    for operation in &adapter.operations {
        let Some((verb, noun)) = operation.name.split_once('_') else { continue };
        if !VERBS.contains(&verb) {
            continue;
        }
        for form in noun_forms(noun) {
            names.extend(VERBS.map(|verb| format!("{verb}_{form}")));
        }
    }
    if adapter.operations.iter().any(|operation| operation.details().get("lifecycle").is_some()) {
        names.extend(EXECUTIONS.map(str::to_owned));
    }
    names.retain(|name| adapter.operation(name).is_none() && *name != run.absent_operation());
    names.into_iter().take(MAX_CANDIDATES).collect()
}

pub(super) async fn list_complete(run: &Run, cases: &Cases) {
    let absent = json!({ "operation": run.absent_operation(), "params": {} });
    let refusal = run.refused(&run.adapter.introspect, absent, cases).await;
    let refusal = refusal.map(|exchange| exchange.received()).unwrap_or_default();
    let names = candidates(run, &refusal);
    if names.is_empty() {
        cases.pass();
    }
    do_all(names.into_iter().map(|name| look_up(run, name, cases))).await;
}

/// Looks up a name in introspection and calls it as an operation of the READ tool.
///
/// ```json
/// { "operation": "introspect", "params": { "query": "operations", "name": "get_bed" } }
/// { "operation": "get_bed", "params": { "conformance_probe": true } }
/// ```
async fn look_up(run: &Run, name: String, cases: &Cases) {
    let query = json!({ "query": "operations", "name": name });
    let Some(exchange) = run.introspect(query, cases).await else { return };
    let details = exchange.data().and_then(|data| data.get("operation"));
    let is_described = details.is_some_and(|details| !details.is_null());
    let finding = |exchange| {
        Finding::of(exchange, &name).expected(format!(
            "`{name}` in the list of operations, or a failure, because an unlisted operation must \
             not exist"
        ))
    };
    if is_described {
        return cases.fail(finding(&exchange));
    }
    // The call has an invalid parameter and must fail. An adapter may run it nevertheless, so its name must read,
    // unless the run may change anything.
    let may_run = Category::ALL.into_iter().all(|category| run.may(category));
    if !is_reading(&name, &run.settings.file.reading_verbs) && !may_run {
        return cases.pass();
    }
    let call = json!({ "operation": name, "params": { "conformance_probe": true } });
    let Some(exchange) = run.refused(&run.adapter.introspect, call, cases).await else { return };
    if !cases.is_readable(&exchange) {
        return;
    }
    let is_known = exchange
        .code()
        .is_some_and(|code| code.starts_with("VALIDATION_") && exchange.body().is_some());
    cases.expect(!is_known, || finding(&exchange));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_names_in_texts() {
        let value = json!({
            "text": "Follow `get_bed`, then call delete_bed(…), not made_up or mcp_aql_read.",
            "list": [{ "operation": "search_beds" }, "bed_id", "created_at"],
        });
        let mut found = BTreeSet::new();
        words_in(&value, &mut found);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["delete_bed", "get_bed", "search_beds"]);
    }

    #[test]
    fn returns_plural_forms_of_nouns() {
        assert!(noun_forms("bed").contains(&"beds".to_owned()));
        assert!(noun_forms("entries").contains(&"entry".to_owned()));
        assert!(noun_forms("box").contains(&"boxes".to_owned()));
    }
}
