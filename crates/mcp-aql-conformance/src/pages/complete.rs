//! Finds operations that return all items of a collection, and reads these items.

use serde_json::{Map, Value};

use super::{Items, MAX_ITEMS, MAX_PAGES, all, is_paged, items};
use crate::adapter::{Operation, Parameter};
use crate::cases::Cases;
use crate::run::Run;

/// Parameters that change the presentation of items but not their selection.
const SHOWING: [&str; 15] = [
    "fields",
    "preset",
    "sort",
    "sort_by",
    "order",
    "order_by",
    "direction",
    "aggregate",
    "include_items",
    "first",
    "after",
    "last",
    "before",
    "limit",
    "offset",
];
/// Names of page parameters that the runner does not follow. An operation with one of them may return only one page.
const PAGES: [&str; 12] = [
    "cursor",
    "page",
    "page_number",
    "page_size",
    "page_token",
    "per_page",
    "max",
    "max_results",
    "count",
    "size",
    "skip",
    "top",
];

/// Returns `true` if an operation selects a subset of the items by default.
fn is_choosy(operation: &Operation) -> bool {
    operation.parameters.iter().any(|parameter| {
        let name = parameter.name.as_str();
        let is_open = match parameter.member("default") {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.is_empty() || text == "all",
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Object(members)) => members.is_empty(),
            Some(_) => false,
        };
        let is_of_more = ["include_", "with_", "show_"].iter().any(|verb| name.starts_with(verb));
        !SHOWING.contains(&name) && !PAGES.contains(&name) && (!is_open || is_of_more)
    })
}

/// Returns `true` if a page states in any known format that there are more items.
///
/// ```json
/// { "items": [], "meta": { "has_more": true } }
/// ```
fn says_more(data: &Value, shown: usize) -> bool {
    let Some(members) = data.as_object() else { return false };
    members.iter().any(|(name, value)| match name.as_str() {
        "has_more" | "hasMore" | "hasNextPage" | "has_next" | "truncated" => value == true,
        "next" | "next_cursor" | "nextCursor" | "next_page" | "next_page_token" | "cursor" => {
            value.is_number() || value.as_str().is_some_and(|next| !next.is_empty())
        }
        "total" | "total_count" | "totalCount" | "total_items" => {
            value.as_u64().is_some_and(|total| total > shown as u64)
        }
        "items" | "edges" => false,
        _ => says_more(value, shown),
    })
}

/// Returns `true` if an operation returns all items when called without parameters. With cursors, the call returns them
/// page by page.
pub(crate) fn reads_all(operation: &Operation) -> bool {
    let is_page = |parameter: &Parameter| {
        let name = parameter.name.as_str();
        PAGES.contains(&name) || ["limit", "offset"].contains(&name)
    };
    operation.required().next().is_none()
        && !is_choosy(operation)
        && (is_paged(operation) || !operation.parameters.iter().any(is_page))
}

/// Reads all items of an operation accepted by [`reads_all`]. Skips the case if the result states that there are more.
pub(crate) async fn all_stored<'r>(
    run: &'r Run,
    operation: &Operation,
    cases: &Cases,
) -> Option<Items<'r>> {
    if !is_paged(operation) {
        let exchange = run.call(operation, Map::new(), cases).await?;
        let shown = exchange.data().and_then(items).map_or(0, |items| items.len());
        if exchange.data().is_some_and(|data| says_more(data, shown)) {
            cases.skip_without(format!(
                "`{}` returns one of several pages: document `first` and `after`",
                operation.name
            ));
            return None;
        }
    }
    all(run, operation, Map::new(), cases).await
}

/// Reads all items. Returns `true` if the result certainly contains every item of the collection.
pub(crate) async fn shows_all(run: &Run, operation: &Operation, cases: &Cases) -> bool {
    let is_choosy = is_choosy(operation);
    if operation.parameter("offset").is_some() && !is_paged(operation) {
        return all_by_offset(run, operation, cases).await && !is_choosy;
    }
    if is_paged(operation) {
        return all(run, operation, Map::new(), cases).await.is_some() && !is_choosy;
    }
    let Some(exchange) = run.call(operation, Map::new(), cases).await else { return false };
    let Some(data) = exchange.data() else { return false };
    let is_all = items(data).is_some_and(|items| !says_more(data, items.len()));
    let is_page = |parameter: &Parameter| PAGES.contains(&parameter.name.as_str());
    is_all
        && !is_choosy
        && operation.parameter("limit").is_none()
        && !operation.parameters.iter().any(is_page)
}

/// Reads pages by offset until one is empty. Returns `true` if that succeeded.
async fn all_by_offset(run: &Run, operation: &Operation, cases: &Cases) -> bool {
    const DEFAULT_LIMIT: u64 = 100;
    let mut params = Map::new();
    if let Some(limit) = operation.parameter("limit") {
        let most = limit.member("maximum").and_then(Value::as_u64).unwrap_or(DEFAULT_LIMIT);
        params.insert("limit".to_owned(), most.min(DEFAULT_LIMIT).into());
    }
    let (mut seen, mut last) = (0, Value::Null);
    for _ in 0..MAX_PAGES {
        params.insert("offset".to_owned(), seen.into());
        let Some(exchange) = run.call(operation, params.clone(), cases).await else { return false };
        let Some(data) = exchange.data() else { return false };
        let Some(found) = items(data) else { return false };
        if found.is_empty() {
            return !says_more(data, seen);
        }
        let page: Value = found.iter().map(|item| (*item).clone()).collect();
        seen += found.len();
        if page == last || seen > MAX_ITEMS {
            return false;
        }
        last = page;
    }
    false
}
