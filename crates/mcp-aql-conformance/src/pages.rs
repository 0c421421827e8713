//! Collections in replies: items, page information, and walks through all pages.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::SemaphorePermit;

use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Skip};
use crate::json_size::weight;
use crate::run::{MAX_WALK_KIB, Run};

/// The maximum number of walked pages of a collection.
const MAX_PAGES: usize = 200;
/// The maximum number of walked items of a collection.
const MAX_ITEMS: usize = 20_000;

/// The maximum time to wait for memory of other walks.
const MEMORY_WAIT_TIMEOUT: Duration = Duration::from_secs(5);

/// The parameters of cursor paging.
pub(crate) const CURSORS: [&str; 4] = ["first", "after", "last", "before"];

/// The items of a page: `items`, or the nodes of `edges`.
pub(crate) fn items(data: &Value) -> Option<Vec<&Value>> {
    if let Some(items) = data.get("items") {
        return Some(items.as_array()?.iter().collect());
    }
    let edges = data.get("edges")?.as_array()?;
    edges.iter().map(|edge| edge.get("node")).collect()
}

/// A field of an item, by its path.
pub(crate) fn at<'a>(item: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(item, |inside, name| inside.get(name))
}

/// `pageInfo`.
pub(crate) fn info(data: &Value) -> Option<&Map<String, Value>> {
    data.get("pageInfo")?.as_object()
}

/// A boolean of `pageInfo`.
pub(crate) fn has(data: &Value, name: &str) -> bool {
    info(data).and_then(|info| info.get(name)) == Some(&Value::Bool(true))
}

/// A cursor of `pageInfo`.
pub(crate) fn cursor<'a>(data: &'a Value, name: &str) -> Option<&'a str> {
    info(data)?.get(name)?.as_str()
}

/// Whether an operation supports cursor paging.
pub(crate) fn is_paged(operation: &Operation) -> bool {
    operation.parameter("first").is_some() && operation.parameter("after").is_some()
}

/// The direction of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// The parameters for the size and the cursor, and the members for the next cursor and for more pages.
    pub(crate) const fn words(self) -> [&'static str; 4] {
        match self {
            Self::Forward => ["first", "after", "endCursor", "hasNextPage"],
            Self::Backward => ["last", "before", "startCursor", "hasPreviousPage"],
        }
    }
}

/// A walk through all pages.
#[derive(Debug)]
pub(crate) struct Walk<'r> {
    /// The pages in the order of the calls.
    pub(crate) pages: Vec<Exchange>,
    /// All items in the order of the collection.
    pub(crate) items: Vec<Value>,
    /// The reason why the walk stopped early, if it did.
    pub(crate) broken: Option<WalkError>,
    /// The reserved memory.
    room: Option<SemaphorePermit<'r>>,
}

/// All items of a collection.
#[derive(Debug, Default)]
pub(crate) struct Items<'r> {
    items: Vec<Value>,
    /// The reserved memory.
    _room: Option<SemaphorePermit<'r>>,
}

impl std::ops::Deref for Items<'_> {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

/// The reason why a walk stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkError {
    /// A call failed or did not return a page.
    NoPage,
    /// A page states that there are more, but has no cursor.
    NoCursor,
    /// The cursors form a cycle, or there are more pages or items than the limits.
    Endless,
    /// The walk exceeds the memory limit.
    TooMuch,
}

impl<'r> Walk<'r> {
    /// Puts the items into the order of the collection.
    fn ended(mut self, way: Direction) -> Self {
        if way == Direction::Backward {
            self.items.reverse();
        }
        self
    }

    /// Reserves memory for the walk. Returns false if there is not enough.
    async fn take(&mut self, run: &'r Run, bytes: usize) -> bool {
        let has = self.room.as_ref().map_or(0, SemaphorePermit::num_permits);
        let Some(more) = taken(run, bytes, has).await else { return false };
        match &mut self.room {
            Some(room) => room.merge(more),
            None => self.room = Some(more),
        }
        true
    }
}

/// Reserves memory for a walk that already holds `has` KiB, if available.
async fn taken(run: &Run, bytes: usize, has: usize) -> Option<SemaphorePermit<'_>> {
    let kib = bytes.div_ceil(1 << 10);
    if kib.saturating_add(has) > MAX_WALK_KIB {
        return None;
    }
    let acquired = run.room_for_walks.acquire_many(u32::try_from(kib).ok()?);
    tokio::time::timeout(MEMORY_WAIT_TIMEOUT, acquired).await.ok()?.ok()
}

/// Walks through all pages of this size. Returns `None` if the first call could not be made.
pub(crate) async fn walk<'r>(
    run: &'r Run,
    operation: &Operation,
    params: &Map<String, Value>,
    (way, size): (Direction, usize),
    cases: &Cases,
) -> Option<Walk<'r>> {
    let [how_many, from, cursor_name, more] = way.words();
    let mut walk = Walk { pages: Vec::new(), items: Vec::new(), broken: None, room: None };
    let mut at: Option<String> = None;
    loop {
        let mut params = params.clone();
        params.insert(how_many.to_owned(), size.into());
        if let Some(at) = &at {
            params.insert(from.to_owned(), at.clone().into());
        }
        let mut exchange = run.call(operation, params, cases).await?;
        let Some(data) = exchange.data() else {
            walk.broken = Some(WalkError::NoPage);
            walk.pages.push(exchange);
            return Some(walk.ended(way));
        };
        // The page and its items.
        if !walk.take(run, 2 * weight(data)).await {
            walk.broken = Some(WalkError::TooMuch);
            return Some(walk.ended(way));
        }
        let Some(found) = items(data) else {
            walk.broken = Some(WalkError::NoPage);
            walk.pages.push(exchange);
            return Some(walk.ended(way));
        };
        let found = found.into_iter().cloned();
        match way {
            Direction::Forward => walk.items.extend(found),
            // Pages are reversed until the end of the walk.
            Direction::Backward => walk.items.extend(found.rev()),
        }
        let is_much = walk.items.len() > MAX_ITEMS;
        let goes_on = has(data, more);
        let next = cursor(data, cursor_name).map(str::to_owned);
        exchange.drop_text();
        walk.pages.push(exchange);
        if !goes_on {
            return Some(walk.ended(way));
        }
        walk.broken = match &next {
            None => Some(WalkError::NoCursor),
            Some(_) if next == at => Some(WalkError::Endless),
            Some(_) if walk.pages.len() >= MAX_PAGES || is_much => Some(WalkError::Endless),
            Some(_) => None,
        };
        if walk.broken.is_some() {
            return Some(walk.ended(way));
        }
        at = next;
    }
}

/// Reads all items of a collection, with all their fields if possible. Skips the case if that fails.
pub(crate) async fn all<'r>(
    run: &'r Run,
    operation: &Operation,
    mut params: Map<String, Value>,
    cases: &Cases,
) -> Option<Items<'r>> {
    if operation.parameter("fields").is_some() {
        params.entry("fields").or_insert_with(|| "full".into());
    }
    if is_paged(operation) {
        let walk = walk(run, operation, &params, (Direction::Forward, 100), cases).await?;
        match walk.broken {
            None => return Some(Items { items: walk.items, _room: walk.room }),
            Some(WalkError::TooMuch) => cases.skip(too_much(operation)),
            Some(_) => cases.skip_without(format!("the pages of `{}` do not end", operation.name)),
        }
        return None;
    }
    let exchange = run.call(operation, params, cases).await?;
    let Some((data, found)) = exchange.data().and_then(|data| Some((data, items(data)?))) else {
        cases.skip_without(format!("`{}` returns no items", operation.name));
        return None;
    };
    let Some(room) = taken(run, weight(data), 0).await else {
        cases.skip(too_much(operation));
        return None;
    };
    Some(Items { items: found.into_iter().cloned().collect(), _room: Some(room) })
}

/// The reason to skip a collection that exceeds the memory limit.
pub(crate) fn too_much(operation: &Operation) -> Skip {
    Skip::NoFixture(format!(
        "the items of `{}` take more than {} MiB: store fewer for the run",
        operation.name,
        MAX_WALK_KIB >> 10
    ))
}

/// Parameters that affect the presentation of items but not their selection.
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
/// Parameters of paging styles that are not walked. Without another parameter, such operations may return
/// one of many pages.
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

/// Whether an operation returns a subset of the items by default.
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

/// Whether a page states in any form that there are more.
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

/// Whether an operation returns all items if it is called without parameters, page by page if it has cursors.
pub(crate) fn reads_all(operation: &Operation) -> bool {
    let is_page = |parameter: &Parameter| {
        let name = parameter.name.as_str();
        PAGES.contains(&name) || ["limit", "offset"].contains(&name)
    };
    operation.required().next().is_none()
        && !is_choosy(operation)
        && (is_paged(operation) || !operation.parameters.iter().any(is_page))
}

/// Reads all items of such an operation. Skips the case if the result states that there are more.
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

/// Reads all items, and returns whether they were all.
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

/// Reads pages by offset until one is empty.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_items_and_edges() {
        assert_eq!(items(&json!({ "items": [1, 2] })), Some(vec![&json!(1), &json!(2)]));
        assert_eq!(
            items(&json!({ "edges": [{ "node": 1, "cursor": "x" }] })),
            Some(vec![&json!(1)])
        );
        for odd in [json!({}), json!({ "items": 1 }), json!({ "edges": [1] }), json!(null)] {
            assert_eq!(items(&odd), None, "{odd}");
        }
    }
}
