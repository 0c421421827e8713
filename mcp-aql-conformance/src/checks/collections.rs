//! Checks of filters, sorting and search.
mod operators;
use super::calls::{having, is_refused, params_with, refused_with};
use super::encoding::is_free;
use super::{Body, Check, later, of_level_2, should_of_level_2 as check};
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::nouns::{is_identifier, thing_of};
use crate::pages;
use crate::resources::Role;
use crate::run::{Run, do_all};
use crate::shape::Shape;
use serde_json::{Map, Value, json};
use std::cmp::Ordering;

/// The maximum number of fields that are tried as sort fields.
const MAX_SORT_FIELDS: usize = 8;

pub(super) const CHECKS: &[Check] = &[
    check(
        "collections.filter_unknown",
        "A filter with an unknown key is rejected",
        &["REQ-COL-04"],
        Body::Reads(later!(filter_unknown)),
    ),
    check(
        "collections.filter_applied",
        "A filter selects the matching items and no others",
        &["REQ-COL-04", "REQ-COL-10"],
        Body::Reads(later!(filter_applied)),
    ),
    check(
        "collections.filter_operators",
        "The operators of a filter that its type names select the items that their names promise",
        &["REQ-COL-10", "REQ-COL-11"],
        Body::Reads(later!(operators::filter_operators)),
    ),
    check(
        "collections.applied_controls",
        "A page states the field and the order by which its items were sorted",
        &["REQ-COL-10"],
        Body::Reads(later!(applied_controls)),
    ),
    check(
        "collections.sort_unknown",
        "Sorting by an unknown field, or in an unknown order, is rejected",
        &["REQ-COL-05"],
        Body::Reads(later!(sort_unknown)),
    ),
    check(
        "collections.sort_applied",
        "Sorting orders items in both directions",
        &["REQ-COL-05", "REQ-COL-10"],
        Body::Reads(later!(sort_applied)),
    ),
    check(
        "collections.filter_keys",
        "The keys that the type of `filter` lists are accepted, and other fields are rejected",
        &["REQ-COL-11", "REQ-COL-04"],
        Body::Reads(later!(filter_keys)),
    ),
    check(
        "collections.sort_fields",
        "The fields that the description of `sort` lists are accepted, and other fields are rejected",
        &["REQ-COL-11", "REQ-COL-05"],
        Body::Reads(later!(sort_fields)),
    ),
    check(
        "collections.search_words",
        "A search for several words finds the items of each word, unless the description documents another rule",
        &["REQ-COL-09"],
        Body::Changes(later!(search_words)),
    ),
    check(
        "collections.search_query",
        "Search operations have a parameter `query`, and list operations do not require it",
        &["REQ-COL-02"],
        Body::Learned(search_query),
    ),
    of_level_2(
        "collections.query_shape",
        "A structured `query` has a type that introspection shows, and a description",
        &["REQ-COL-03"],
        Body::Learned(query_shape),
    ),
    check(
        "collections.styles_mixed",
        "Paging by cursor and by number in one request is rejected",
        &["REQ-COL-07"],
        Body::Reads(later!(styles_mixed)),
    ),
];

async fn refused_each(
    run: &Run,
    cases: &Cases,
    parameter: &'static str,
    values: &[Value],
    (expected, mend): (&'static str, &'static str),
) {
    let operations = having(run, parameter, cases);
    let jobs = operations.into_iter().flat_map(|operation| {
        values.iter().map(move |value| async move {
            let more = [(parameter, value.clone())];
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            cases.expect(is_refused(&exchange), || {
                Finding::of(&exchange, format!("{}: {parameter}", operation.name), expected, mend)
            });
        })
    });
    do_all(jobs).await;
}

async fn filter_unknown(run: &Run, cases: &Cases) {
    let reported = (
        "a VALIDATION failure that names the key `conformance_probe`",
        "reject unknown keys of a filter: ignoring them returns wrong items",
    );
    refused_each(run, cases, "filter", &[json!({ "conformance_probe": 1 })], reported).await;
}

async fn sort_unknown(run: &Run, cases: &Cases) {
    let reported = (
        "a VALIDATION failure that names the unknown field or order",
        "reject unknown fields, and orders other than asc and desc",
    );
    refused_each(run, cases, "sort", &[json!({ "field": "conformance_probe" })], reported).await;
    // The second case has an unknown order and a known field.
    let jobs = having(run, "sort", cases).into_iter().map(|operation| async move {
        let field = operation.examples_of("sort").find_map(|sort| sort.get("field").cloned());
        let Some(field) = field else { return };
        let more = [("sort", json!({ "field": field, "order": "sideways" }))];
        let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
        cases.expect(is_refused(&exchange), || {
            Finding::of(&exchange, format!("{}: sort", operation.name), reported.0, reported.1)
        });
    });
    do_all(jobs).await;
}

/// The keys of a filter that introspection shows.
fn filter_fields<'a>(run: &'a Run, operation: &'a Operation) -> Vec<Shape<'a>> {
    let filter = operation.parameter("filter");
    filter.map(|filter| Shape::of(&run.adapter, filter).fields()).unwrap_or_default()
}

/// The keys of a filter that introspection shows and that take plain values.
fn keys<'a>(run: &'a Run, operation: &'a Operation) -> Vec<Shape<'a>> {
    let fields = filter_fields(run, operation);
    let is_plain = |word: &str| ["string", "integer", "number", "boolean"].contains(&word);
    fields.into_iter().filter(|key| is_plain(key.word()) || key.words().is_some()).collect()
}

async fn filter_applied(run: &Run, cases: &Cases) {
    let jobs = having(run, "filter", cases).into_iter().map(|operation| async move {
        let Some(params) = params_with(run, operation, [], cases) else { return };
        let Some(items) = pages::all(run, operation, params.clone(), cases).await else { return };
        if items.is_empty() {
            return cases.skip(Skip::NoFixture(format!("`{}` returns no items", operation.name)));
        }
        let keys = keys(run, operation);
        if keys.is_empty() && filter_fields(run, operation).is_empty() {
            // A filter without a named type describes its keys in prose only. They usually are fields of
            // the items.
            let names = items.first().and_then(Value::as_object).into_iter().flatten();
            for (name, _) in names.filter(|(_, value)| !value.is_array() && !value.is_object()) {
                filter_by(run, operation, &params, &items, name, cases).await;
            }
        }
        for name in keys.into_iter().filter_map(Shape::name) {
            filter_by(run, operation, &params, &items, name, cases).await;
        }
    });
    do_all(jobs).await;
}

/// Filters by a field of items that has the name of the key.
async fn filter_by(
    run: &Run,
    operation: &Operation,
    params: &Map<String, Value>,
    items: &[Value],
    name: &str,
    cases: &Cases,
) {
    let value_of = |item: &Value| -> Option<Value> {
        pages::at(item, name).filter(|value| !value.is_null()).cloned()
    };
    let values: Vec<_> = items.iter().filter_map(value_of).collect();
    // A value that only some items have tests the filter better.
    let wanted = values.iter().find(|value| values.iter().any(|other| other != *value));
    let Some(wanted) = wanted.or(values.first()) else { return };
    let mut params = params.clone();
    params.insert("filter".to_owned(), json!({ name: wanted }));
    if is_refused_by_nature(operation, name) {
        return;
    }
    let Some(found) = filtered(run, operation, params, cases).await else { return };
    let (found, exchange) = found;
    let matching = items.iter().filter(|item| value_of(item).as_ref() == Some(wanted)).count();
    let hits = found.iter().filter(|item| value_of(item).as_ref() == Some(wanted)).count();
    let strays = found.iter().filter(|item| !may_match(value_of(item).as_ref(), wanted)).count();
    cases.expect(hits == matching && strays == 0, || {
        Finding::of(
            &exchange,
            format!("{}: filter.{name}", operation.name),
            format!(
                "the {matching} items whose `{name}` is {wanted}; there are {hits} of them, and \
                 {strays} that do not match"
            ),
            "apply the filter to every item",
        )
    });
}

/// Whether a rejection is acceptable: the keys of a filter without a named type are unknown.
fn is_refused_by_nature(operation: &Operation, name: &str) -> bool {
    name.contains('/') || operation.parameter("filter").is_none_or(|filter| filter.kind == "any")
}

async fn filtered<'r>(
    run: &'r Run,
    operation: &Operation,
    mut params: Map<String, Value>,
    cases: &Cases,
) -> Option<(pages::Items<'r>, Exchange)> {
    let has_type = operation.parameter("filter").is_some_and(|filter| filter.kind != "object");
    let first = run.call(operation, params.clone(), cases).await?;
    if is_refused(&first) && !has_type {
        return None;
    }
    if first.failure().is_some() {
        return Some((pages::Items::default(), first));
    }
    if !params.contains_key("fields") && operation.parameter("fields").is_some() {
        params.insert("fields".to_owned(), json!("full"));
    }
    let items = pages::all(run, operation, params, cases).await?;
    Some((items, first))
}

/// Whether a filter may select an item with this value. Adapters may compare texts in other ways than for
/// equality.
fn may_match(value: Option<&Value>, wanted: &Value) -> bool {
    match (value, wanted) {
        (Some(Value::String(text)), Value::String(wanted)) => {
            text.to_lowercase().contains(&wanted.to_lowercase())
        }
        (value, wanted) => value == Some(wanted),
    }
}

async fn sort_applied(run: &Run, cases: &Cases) {
    let jobs = having(run, "sort", cases).into_iter().map(|operation| async move {
        let Some(params) = params_with(run, operation, [], cases) else { return };
        let Some(items) = pages::all(run, operation, params.clone(), cases).await else { return };
        let mut tested = 0;
        for field in fields_to_sort_by(operation, &items) {
            let sorted = |order: &str| {
                let mut params = params.clone();
                params.insert("sort".to_owned(), json!({ "field": field, "order": order }));
                params
            };
            let Some(first) = run.call(operation, sorted("asc"), cases).await else { return };
            if first.failure().is_some() {
                // Some fields cannot be sorted by.
                continue;
            }
            let Some(up) = pages::all(run, operation, sorted("asc"), cases).await else { return };
            let Some(down) = pages::all(run, operation, sorted("desc"), cases).await else {
                return;
            };
            tested += 1;
            let (up, mut down) = (runs(&up, &field), runs(&down, &field));
            down.reverse();
            // The order of texts depends on the language, so any consistent order passes.
            let is_ordered = is_ordered(&up) && up == down;
            cases.expect(is_ordered, || {
                Finding::of(
                    &first,
                    format!("{}: sort by {field}", operation.name),
                    format!(
                        "equal values of `{field}` next to each other, in order, and in reverse order \
                         round with `desc`"
                    ),
                    "sort before paging, in both orders",
                )
            });
        }
        if tested == 0 {
            cases.skip(Skip::NoFixture(format!(
                "a field by which `{}` sorts, and at least two items",
                operation.name
            )));
        }
    });
    do_all(jobs).await;
}

/// Whether a value names a field and an order together in one object or text.
fn names_order(value: &Value, field: &str, order: &str) -> bool {
    match value {
        Value::Object(members) => {
            let has = |wanted: &str| members.values().any(|member| member == wanted);
            (has(field) && has(order))
                || members.get(field).is_some_and(|reported| reported == order)
                || members.values().any(|member| names_order(member, field, order))
        }
        Value::Array(items) => items.iter().any(|item| names_order(item, field, order)),
        Value::String(text) => text.contains(field) && text.contains(order),
        _ => false,
    }
}

async fn applied_controls(run: &Run, cases: &Cases) {
    let jobs = having(run, "sort", cases).into_iter().map(|operation| async move {
        let Some(params) = params_with(run, operation, [], cases) else { return };
        let Some(items) = pages::all(run, operation, params.clone(), cases).await else { return };
        for field in fields_to_sort_by(operation, &items).into_iter().take(1) {
            for order in ["asc", "desc"] {
                let mut params = params.clone();
                params.insert("sort".to_owned(), json!({ "field": field, "order": order }));
                let Some(exchange) = run.call(operation, params, cases).await else { return };
                let Some(Value::Object(data)) = exchange.data() else { return };
                let mut reported =
                    data.iter().filter(|(name, _)| !matches!(name.as_str(), "items" | "edges"));
                let meta = exchange.body().and_then(|body| body.get("_meta"));
                let is_reported = reported.any(|(_, value)| names_order(value, &field, order))
                    || meta.is_some_and(|meta| names_order(meta, &field, order));
                cases.expect(is_reported, || {
                    Finding::of(
                        &exchange,
                        format!("{}: sort by {field}, {order}", operation.name),
                        format!("the field `{field}` and the order `{order}` beside the items"),
                        "state the applied controls in `data.applied`",
                    )
                });
            }
        }
    });
    do_all(jobs).await;
}

/// The fields that can be sorted by, those of examples first.
fn fields_to_sort_by(operation: &Operation, items: &[Value]) -> Vec<String> {
    let in_examples = operation
        .examples_of("sort")
        .filter_map(|sort| sort.get("field")?.as_str().map(str::to_owned));
    let mut fields: Vec<String> = in_examples.collect();
    for name in items.iter().filter_map(Value::as_object).flat_map(Map::keys) {
        if !fields.contains(name) {
            fields.push(name.clone());
        }
    }
    fields.retain(|field| runs(items, field).len() > 1);
    fields.truncate(MAX_SORT_FIELDS);
    fields
}

/// The values of a field in the order of the items. Adjacent equal values are merged.
fn runs(items: &[Value], field: &str) -> Vec<Value> {
    let mut runs: Vec<Value> = items
        .iter()
        .filter_map(|item| item.get(field))
        .filter(|value| !value.is_null() && !value.is_array() && !value.is_object())
        .cloned()
        .collect();
    runs.dedup();
    runs
}

/// Whether no value occurs in two places and numbers increase.
fn is_ordered(runs: &[Value]) -> bool {
    let grow = runs.windows(2).all(|pair| match pair {
        [Value::Number(one), Value::Number(other)] => {
            one.as_f64().partial_cmp(&other.as_f64()) == Some(Ordering::Less)
        }
        _ => true,
    });
    let different: std::collections::BTreeSet<_> = runs.iter().map(Value::to_string).collect();
    grow && different.len() == runs.len()
}

/// The first value of a field in the items; for a list, its first entry.
fn value_in<'v>(items: &'v [Value], path: &str) -> Option<&'v Value> {
    let plain = |value: &'v Value| match value {
        Value::Array(entries) => entries.first(),
        other => Some(other),
    };
    items
        .iter()
        .filter_map(|item| plain(pages::at(item, path)?))
        .find(|value| value.is_string() || value.is_number() || value.is_boolean())
}

/// Reads all items of a list with all their fields, including the documented computed fields.
async fn whole_items<'r>(
    run: &'r Run,
    operation: &Operation,
    cases: &Cases,
) -> Option<Vec<pages::Items<'r>>> {
    let params = params_with(run, operation, [], cases)?;
    let mut found = vec![pages::all(run, operation, params.clone(), cases).await?];
    let computed = operation.details().get("computed_fields").and_then(Value::as_array);
    let names: Vec<_> = computed
        .into_iter()
        .flatten()
        .filter_map(|field| Some(format!("_computed.{}", field.get("name")?.as_str()?)))
        .collect();
    if !names.is_empty() && operation.parameter("fields").is_some() {
        let mut params = params;
        params.insert("fields".to_owned(), json!(names));
        found.push(pages::all(run, operation, params, cases).await?);
    }
    Some(found)
}

/// Whether a name is one of a plain field that could be filtered or sorted by.
fn is_field(name: &str) -> bool {
    crate::forms::is_snake_case(name)
}

async fn filter_keys(run: &Run, cases: &Cases) {
    let mut operations = having(run, "filter", cases);
    operations.retain(|operation| !filter_fields(run, operation).is_empty());
    if operations.is_empty() {
        cases.not_applicable("no type of a `filter` lists its keys");
    }
    let jobs = operations.into_iter().map(|operation| async move {
        let Some(found) = whole_items(run, operation, cases).await else { return };
        let fields = filter_fields(run, operation);
        let listed: Vec<_> = fields.into_iter().filter_map(Shape::name).collect();
        let value_of = |name: &str| found.iter().find_map(|items| value_in(items, name));
        let others: Vec<_> = found
            .iter()
            .flat_map(|items| items.iter().filter_map(Value::as_object).flat_map(Map::keys))
            .map(String::as_str)
            .filter(|name| is_field(name) && !listed.contains(name))
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        let tried: Vec<_> = [(listed, true), (others, false)]
            .into_iter()
            .flat_map(|(names, is_listed)| names.into_iter().map(move |name| (name, is_listed)))
            .filter_map(|(name, is_listed)| Some((name, is_listed, value_of(name)?)))
            .collect();
        if tried.is_empty() {
            return cases.skip(Skip::Scarce(format!("`{}` returns no items", operation.name)));
        }
        for (name, is_listed, value) in tried {
            let more = [("filter", json!({ name: value }))];
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            cases.expect(is_refused(&exchange) != is_listed, || {
                Finding::of(
                    &exchange,
                    format!("{}: filter.{name}", operation.name),
                    match is_listed {
                        true => "a success, because introspection lists the key",
                        false => {
                            "a VALIDATION failure, because introspection does not list the key"
                        }
                    },
                    "generate the filter's type from the keys that the filter supports",
                )
            });
        }
    });
    do_all(jobs).await;
}

/// Words that descriptions of `sort` use beside the names of fields.
const SORT_WORDS: [&str; 5] = ["field", "order", "sort", "list", "default"];

/// The fields that the description of `sort` lists: the text after `Fields:`, or the whole text.
fn sortable(operation: &Operation) -> Vec<&str> {
    let sort = operation.parameter("sort");
    let description = sort.and_then(|sort| sort.member("description")?.as_str());
    let description = description.unwrap_or_default();
    let list = description.split_once("Fields:").map(|(_, list)| list);
    let text = list.map_or(description, |list| list.split(". ").next().unwrap_or(list));
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')))
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty() && (list.is_some() || !SORT_WORDS.contains(word)))
        .collect()
}

async fn sort_fields(run: &Run, cases: &Cases) {
    let jobs = having(run, "sort", cases).into_iter().map(|operation| async move {
        let Some(params) = params_with(run, operation, [], cases) else { return };
        let Some(items) = pages::all(run, operation, params, cases).await else { return };
        let listed = sortable(operation);
        let names: std::collections::BTreeSet<_> =
            items.iter().filter_map(Value::as_object).flat_map(Map::keys).collect();
        let is_listed = |name: &str| listed.contains(&name);
        if !names.iter().any(|name| is_listed(name)) {
            return cases.skip(Skip::Scarce(format!(
                "the description of `sort` of `{}` names no field of its items",
                operation.name
            )));
        }
        for name in names.into_iter().filter(|name| is_field(name)) {
            let more = [("sort", json!({ "field": name }))];
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            cases.expect(is_refused(&exchange) != is_listed(name), || {
                Finding::of(
                    &exchange,
                    format!("{}: sort by {name}", operation.name),
                    match is_listed(name) {
                        true => "a success, because the description lists the field",
                        false => {
                            "a VALIDATION failure, because the description does not list the field"
                        }
                    },
                    "generate the description of `sort` from the sortable fields",
                )
            });
        }
    });
    do_all(jobs).await;
}

/// Whether the description of a search documents that several words are not alternatives.
fn says_otherwise(operation: &Operation) -> bool {
    let query =
        operation.parameter("query").and_then(|query| query.member("description")?.as_str());
    let text = format!("{} {}", operation.description, query.unwrap_or_default()).to_lowercase();
    ["all words", "all of the words", "every word", "each word", "exact phrase", "as a phrase"]
        .iter()
        .any(|said| text.contains(said))
        || text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "substring")
}

/// Words from the items' texts that are long enough to be distinctive.
fn search_candidates(items: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for text in items.iter().filter_map(Value::as_object).flat_map(Map::values) {
        let Some(text) = text.as_str() else { continue };
        for word in text.split(|letter: char| !letter.is_alphabetic()) {
            let word = word.to_lowercase();
            if (4..=20).contains(&word.len()) && !found.contains(&word) {
                found.push(word);
            }
        }
    }
    found
}

/// Creates two items of the searched type, each with a distinctive word in every free text, and returns the
/// words. Returns an empty list if the run may not create such items.
async fn plant_words(run: &Run, operation: &Operation) -> Vec<String> {
    const WORDS: [&str; 2] = ["obsidian", "quicklime"];
    let unheard = Cases::default();
    let thing = thing_of(&operation.name);
    let kind = thing.and_then(|thing| run.resources().named(&thing));
    let create = kind.and_then(|kind| kind.operation(&run.adapter, Role::Create));
    let Some((kind, create)) = kind.zip(create).filter(|(_, it)| run.forbids(it).is_none()) else {
        return Vec::new();
    };
    let mut planted = Vec::new();
    for word in WORDS {
        let Ok(mut params) = run.valid(create) else { return planted };
        for parameter in &create.parameters {
            let is_text = is_free(run, parameter) && !is_identifier(&parameter.name);
            if is_text && Shape::of(&run.adapter, parameter).accepts(&word.into()) {
                params.insert(parameter.name.clone(), word.into());
            }
        }
        if run.make_with(kind, params, &unheard).await.is_some() {
            planted.push(word.to_owned());
        }
    }
    planted
}

async fn search_words(run: &Run, cases: &Cases) {
    /// The maximum number of words to try.
    const MAX_WORDS: usize = 12;
    let mut operations = having(run, "query", cases);
    operations.retain(|operation| {
        let query = operation.parameter("query");
        query.is_some_and(|query| query.kind == "string") && !says_otherwise(operation)
    });
    if operations.is_empty() {
        cases.not_applicable(
            "no READ operation searches plain text with several words as alternatives",
        );
    }
    let jobs = operations.into_iter().map(|operation| async move {
        let Some(params) = params_with(run, operation, [], cases) else { return };
        let find = |text: String| {
            let mut params = params.clone();
            params.insert("query".to_owned(), text.into());
            pages::all(run, operation, params, cases)
        };
        // Results of other operations may contain words that this search finds.
        let mut words = run.harvested_words();
        if let Some(items) = pages::all(run, operation, params.clone(), cases).await {
            words.splice(0..0, search_candidates(&items));
        }
        words.splice(0..0, plant_words(run, operation).await);
        words.truncate(MAX_WORDS);
        let mut hits: Vec<(String, Vec<String>)> = Vec::new();
        for word in words {
            let Some(items) = find(word.clone()).await else { return };
            let items: Vec<_> = items.iter().map(Value::to_string).collect();
            let other = hits.iter().find(|(_, other)| {
                let both = |one: &[String], other: &[String]| {
                    one.iter().any(|item| !other.contains(item))
                };
                both(other, &items) && both(&items, other)
            });
            let Some((before, others)) = other else {
                if !items.is_empty() {
                    hits.push((word, items));
                }
                continue;
            };
            let text = format!("{before} {word}");
            let Some(together) = find(text.clone()).await else { return };
            let together: Vec<_> = together.iter().map(Value::to_string).collect();
            let lost = others.iter().chain(&items).filter(|item| !together.contains(item)).count();
            cases.expect(lost == 0, || {
                Finding::shown(
                    format!("{}: query \"{text}\"", operation.name),
                    json!(together),
                    format!(
                        "all items that \"{before}\" or \"{word}\" finds; {lost} are missing"
                    ),
                    "treat several words as alternatives, or document in the description of `query` how \
                     they are combined",
                )
            });
            return;
        }
        cases.skip(Skip::Scarce(format!(
            "two words for which `{}` finds different items",
            operation.name
        )));
    });
    do_all(jobs).await;
}

fn search_query(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for operation in run.adapter.reads() {
        let query = operation.parameter("query");
        let finding = |expected: &str| {
            let names: Vec<_> =
                operation.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            Finding::shown(
                &operation.name,
                names,
                expected,
                "name the parameter for the searched text `query`",
            )
        };
        if operation.name.starts_with("search_") {
            is_any = true;
            let is_text = query.is_some_and(|query| query.kind == "string");
            cases.expect(is_text, || finding("a parameter `query` of type string"));
        } else if operation.name.starts_with("list_") {
            is_any = true;
            let is_required = query.is_some_and(|query| query.required);
            cases.expect(!is_required, || {
                finding("an optional `query`, because the operation lists everything")
            });
        }
    }
    if !is_any {
        cases.not_applicable("no operation is named `search_…` or `list_…`");
    }
}

fn query_shape(run: &Run, cases: &Cases) {
    let is_structured = |query: &&Parameter| query.kind != "string";
    let mut is_any = false;
    for operation in run.adapter.reads().filter(|operation| operation.name.starts_with("query_")) {
        let Some(query) = operation.parameter("query").filter(is_structured) else { continue };
        is_any = true;
        let is_shown = run.adapter.types.iter().any(|known| known.name == query.kind);
        let is_reported =
            query.member("description").and_then(Value::as_str).is_some_and(|text| text.len() > 10);
        cases.expect(is_shown && is_reported, || {
            Finding::shown(
                format!("{}: query", operation.name),
                Value::Object(query.raw.clone()),
                "the name of a type that `introspect types` shows, and a description of its grammar",
                "declare a type for the query, and describe what it can express",
            )
        });
    }
    if !is_any {
        cases.not_applicable("no operation `query_…` has a structured `query`");
    }
}

async fn styles_mixed(run: &Run, cases: &Cases) {
    const NUMBERED: [&str; 4] = ["limit", "offset", "page", "page_size"];
    let mut is_any = false;
    let paged: Vec<_> = run
        .adapter
        .reads()
        .filter(|operation| {
            let has = |name: &&str| operation.parameter(name).is_some();
            operation.parameter("first").is_some() || NUMBERED.iter().any(has)
        })
        .inspect(|_| is_any = true)
        .collect();
    if !is_any {
        cases.not_applicable("no operation documents pages");
    }
    let jobs = paged.into_iter().map(|operation| async move {
        let documented = NUMBERED.iter().find(|name| operation.parameter(name).is_some());
        let numbered = documented.copied().unwrap_or("page");
        let more = [("first", json!(1)), (numbered, json!(1))];
        let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
        cases.expect(is_refused(&exchange), || {
            Finding::of(
                &exchange,
                &operation.name,
                format!("a VALIDATION failure: `first` and `{numbered}` exclude each other"),
                "accept one way of paging per request, and reject both together",
            )
        });
    });
    do_all(jobs).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_ordered_values() {
        let items = |values: &[i64]| values.iter().map(|at| json!({ "n": at })).collect::<Vec<_>>();
        assert!(is_ordered(&runs(&items(&[1, 1, 2, 3]), "n")));
        assert!(!is_ordered(&runs(&items(&[1, 2, 1]), "n")));
        assert!(!is_ordered(&runs(&items(&[3, 2, 1]), "n")));
        let words = [json!({ "n": "todo" }), json!({ "n": "done" }), json!({ "n": null })];
        assert!(is_ordered(&runs(&words, "n")));
        assert!(!is_ordered(&runs(&[words[0].clone(), words[1].clone(), words[0].clone()], "n")));
    }
}
