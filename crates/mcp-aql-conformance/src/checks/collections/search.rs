//! Checks of search operations.

use serde_json::{Map, Value, json};

use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{having, valid};
use crate::checks::encoding::is_free;
use crate::nouns::{is_identifier, thing_of};
use crate::pages;
use crate::resources::Role;
use crate::run::{Run, do_all};
use crate::shape::Shape;

/// Returns `true` if the description of a search says that several words are not alternatives.
fn says_otherwise(operation: &Operation) -> bool {
    let query =
        operation.parameter("query").and_then(|query| query.member("description")?.as_str());
    let text = format!("{} {}", operation.description, query.unwrap_or_default()).to_lowercase();
    ["all words", "all of the words", "every word", "each word", "exact phrase", "as a phrase"]
        .iter()
        .any(|said| text.contains(said))
        || text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "substring")
}

/// Returns words from the string fields of the items, long enough to be distinctive.
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

/// Creates two items of the searched type, each with a distinctive word in every free-form string parameter.
///
/// Returns the words, or an empty list if the run may not create such items.
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

pub(super) async fn search_words(run: &Run, cases: &Cases) {
    let operations = having(run, "query", cases).into_iter().filter(|operation| {
        let query = operation.parameter("query");
        query.is_some_and(|query| query.kind == "string") && !says_otherwise(operation)
    });
    let operations = cases.some_or_not_applicable(
        operations,
        "no READ operation searches plain text with several words as alternatives",
    );
    let jobs = operations.into_iter().map(|operation| async move {
        let Some(params) = valid(run, operation, cases) else { return };
        let found = differing_words(run, operation, &params, cases).await;
        let Some([(before, others), (word, items)]) = found else { return };
        let text = format!("{before} {word}");
        let together = search(run, operation, &params, &text, cases).await;
        let Some(together) = together else { return };
        let lost = others.iter().chain(&items).filter(|item| !together.contains(item)).count();
        cases.expect(lost == 0, || {
            Finding::shown(format!("{}: query \"{text}\"", operation.name), json!(together))
                .expected(format!(
                    "all items that \"{before}\" or \"{word}\" finds; {lost} are missing"
                ))
        });
    });
    do_all(jobs).await;
}

/// A word with the identities of the items that a search for it finds.
type Hits = (String, Vec<String>);

/// Returns two words, each of which finds an item that the other does not find. Skips the case if it finds none.
async fn differing_words(
    run: &Run,
    operation: &Operation,
    params: &Map<String, Value>,
    cases: &Cases,
) -> Option<[Hits; 2]> {
    /// Maximum number of words to try.
    const MAX_WORDS: usize = 12;
    // Results of other operations may contain words that this search finds.
    let mut words = run.harvested_words();
    if let Some(items) = pages::all(run, operation, params.clone(), cases).await {
        words.splice(0..0, search_candidates(&items));
    }
    words.splice(0..0, plant_words(run, operation).await);
    words.truncate(MAX_WORDS);
    let finds_more =
        |one: &[String], other: &[String]| one.iter().any(|item| !other.contains(item));
    let mut hits: Vec<Hits> = Vec::new();
    for word in words {
        let items = search(run, operation, params, &word, cases).await?;
        let other =
            hits.iter().find(|(_, other)| finds_more(other, &items) && finds_more(&items, other));
        if let Some(other) = other.cloned() {
            return Some([other, (word, items)]);
        }
        if !items.is_empty() {
            hits.push((word, items));
        }
    }
    cases.skip_scarce(format!("two words for which `{}` finds different items", operation.name));
    None
}

/// Returns the identities of the items that a search finds.
async fn search(
    run: &Run,
    operation: &Operation,
    params: &Map<String, Value>,
    text: &str,
    cases: &Cases,
) -> Option<Vec<String>> {
    let mut params = params.clone();
    params.insert("query".to_owned(), text.into());
    let items = pages::all(run, operation, params, cases).await?;
    Some(items.iter().map(identity).collect())
}

/// Returns a string that identifies an item: its identifiers and its name, or the whole item if it has none.
///
/// Other members may depend on the search, for example the positions of the matches.
fn identity(item: &Value) -> String {
    let of_item = |name: &str| is_identifier(name) || ["name", "type"].contains(&name);
    let members = item.as_object().into_iter().flatten();
    let own: Map<_, _> = members
        .filter(|(name, value)| of_item(name) && !value.is_object() && !value.is_array())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let is_identified = own.keys().any(|name| name != "type");
    if is_identified { Value::Object(own).to_string() } else { item.to_string() }
}

pub(super) fn search_query(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for operation in run.adapter.reads() {
        let query = operation.parameter("query");
        let finding = |expected: &str| {
            let names: Vec<_> =
                operation.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            Finding::shown(&operation.name, names).expected(expected)
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

pub(super) fn query_shape(run: &Run, cases: &Cases) {
    let queries =
        run.adapter.reads().filter(|operation| operation.name.starts_with("query_")).filter_map(
            |operation| {
                let query = operation.parameter("query")?;
                (query.kind != "string").then_some((operation, query))
            },
        );
    let queries =
        cases.some_or_not_applicable(queries, "no operation `query_…` has a structured `query`");
    for (operation, query) in queries {
        let is_shown = run.adapter.types.iter().any(|known| known.name == query.kind);
        let is_reported =
            query.member("description").and_then(Value::as_str).is_some_and(|text| text.len() > 10);
        cases.expect(is_shown && is_reported, || {
            Finding::shown(format!("{}: query", operation.name), Value::Object(query.raw.clone()))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_identified_without_the_places_of_matches() {
        let found =
            |places: Value| json!({ "bed_name": "north", "type": "bed", "found_in": places });
        assert_eq!(identity(&found(json!(["name"]))), identity(&found(json!(["note", "name"]))));
        assert_ne!(identity(&found(json!([]))), identity(&json!({ "bed_name": "south" })));
        // Without an identifier, items are compared as a whole.
        assert_ne!(identity(&json!({ "note": "a" })), identity(&json!({ "note": "b" })));
        assert_ne!(
            identity(&json!({ "type": "a", "n": 1 })),
            identity(&json!({ "type": "a", "n": 2 }))
        );
    }
}
