//! Reads collections: the items of a page, page information, and walks through all pages.

mod complete;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::SemaphorePermit;

pub(crate) use self::complete::{all_stored, reads_all, shows_all};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Skip};
use crate::json_size::weight;
use crate::run::{MAX_WALK_KIB, MAX_WALKS_KIB, Run, arguments};

/// Maximum number of walked pages of a collection.
const MAX_PAGES: usize = 200;
/// Maximum number of walked items of a collection.
const MAX_ITEMS: usize = 20_000;

/// Maximum total number of items that a check reads anew for its choices.
const MAX_ITEMS_READ_ANEW: usize = 8_000;

/// Maximum wait for memory held by other walks.
const MEMORY_WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Parameters of cursor paging.
pub(crate) const CURSORS: [&str; 4] = ["first", "after", "last", "before"];

/// Returns the items of a page: the list `items`, or the nodes of `edges`.
///
/// ```json
/// { "edges": [{ "node": { "id": 1 }, "cursor": "a" }], "pageInfo": { "hasNextPage": true, "endCursor": "a" } }
/// ```
pub(crate) fn items(data: &Value) -> Option<Vec<&Value>> {
    if let Some(items) = data.get("items") {
        return Some(items.as_array()?.iter().collect());
    }
    let edges = data.get("edges")?.as_array()?;
    edges.iter().map(|edge| edge.get("node")).collect()
}

/// Returns a field of an item by its dotted path, for example `owner.name`.
pub(crate) fn at<'a>(item: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(item, |inside, name| inside.get(name))
}

/// Returns the `pageInfo` object of a page.
pub(crate) fn info(data: &Value) -> Option<&Map<String, Value>> {
    data.get("pageInfo")?.as_object()
}

/// Returns `true` if this member of `pageInfo` is `true`.
pub(crate) fn has(data: &Value, name: &str) -> bool {
    info(data).and_then(|info| info.get(name)) == Some(&Value::Bool(true))
}

/// Returns a cursor of `pageInfo` by its name.
pub(crate) fn cursor<'a>(data: &'a Value, name: &str) -> Option<&'a str> {
    info(data)?.get(name)?.as_str()
}

/// Returns `true` if an operation supports cursor paging.
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
    /// Returns the parameters for the page size and the cursor, and the `pageInfo` members for the next cursor and for
    /// further pages.
    pub(crate) const fn words(self) -> [&'static str; 4] {
        match self {
            Self::Forward => ["first", "after", "endCursor", "hasNextPage"],
            Self::Backward => ["last", "before", "startCursor", "hasPreviousPage"],
        }
    }
}

/// A walk through the pages of a collection.
#[derive(Debug)]
pub(crate) struct Walk<'r> {
    /// Pages in the order of the calls.
    pub(crate) pages: Vec<Exchange>,
    /// All items in the order of the collection.
    pub(crate) items: Vec<Value>,
    /// Reason why the walk stopped early, or `None` if it is complete.
    pub(crate) broken: Option<WalkError>,
    /// Memory reserved for the walk, in KiB.
    room: Option<SemaphorePermit<'r>>,
}

/// All items of a collection, with the memory reserved for them.
#[derive(Debug, Default)]
pub(crate) struct Items<'r> {
    items: Arc<Vec<Value>>,
    /// Releases the reserved memory on drop.
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
    /// The cursors form a cycle, or the collection exceeds the limit of pages or items.
    Endless,
    /// The walk exceeds the memory limit.
    TooMuch,
    /// Other walks held the memory longer than this walk could wait.
    NoMemory,
}

impl<'r> Walk<'r> {
    /// Restores the order of the collection after the last page.
    fn ended(mut self, way: Direction) -> Self {
        if way == Direction::Backward {
            self.items.reverse();
        }
        self
    }

    /// Reserves more memory for the walk.
    async fn take(&mut self, run: &'r Run, bytes: usize) -> Result<(), WalkError> {
        let has = self.room.as_ref().map_or(0, SemaphorePermit::num_permits);
        let more = taken(run, bytes, has).await?;
        match &mut self.room {
            Some(room) => room.merge(more),
            None => self.room = Some(more),
        }
        Ok(())
    }
}

/// Reserves memory for a walk that already holds `has` KiB.
async fn taken(run: &Run, bytes: usize, has: usize) -> Result<SemaphorePermit<'_>, WalkError> {
    let kib = bytes.div_ceil(1 << 10);
    if kib.saturating_add(has) > MAX_WALK_KIB {
        return Err(WalkError::TooMuch);
    }
    let permits = u32::try_from(kib).map_err(|_| WalkError::TooMuch)?;
    let acquired = run.room_for_walks.acquire_many(permits);
    let acquired = tokio::time::timeout(MEMORY_WAIT_TIMEOUT, acquired).await;
    acquired.ok().and_then(Result::ok).ok_or(WalkError::NoMemory)
}

/// Walks through all pages with this direction and page size. Returns `None` if the first call could not be made.
pub(crate) async fn walk<'r>(
    run: &'r Run,
    operation: &Operation,
    params: &Map<String, Value>,
    pages: (Direction, usize),
    cases: &Cases,
) -> Option<Walk<'r>> {
    walk_up_to(usize::MAX, run, operation, params, pages, cases).await
}

/// Like [`walk`], but reads at most this number of pages.
pub(crate) async fn walk_up_to<'r>(
    max_pages: usize,
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
        // Reserve twice, because the page and its items are both kept.
        if let Err(why) = walk.take(run, 2 * weight(data)).await {
            walk.broken = Some(why);
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
            // `ended` reverses all items at the end of a backward walk.
            Direction::Backward => walk.items.extend(found.rev()),
        }
        let is_much = walk.items.len() > MAX_ITEMS;
        let goes_on = has(data, more);
        let next = cursor(data, cursor_name).map(str::to_owned);
        exchange.drop_text();
        walk.pages.push(exchange);
        if !goes_on || walk.pages.len() >= max_pages {
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

/// Returns the number of choices that a check may try if it reads a list of this length several times for each.
///
/// A long list costs many calls, so a check tries fewer choices of it.
pub(crate) fn affordable_choices(items: usize, reads: usize, max_choices: usize) -> usize {
    (MAX_ITEMS_READ_ANEW / items.saturating_mul(reads).max(1)).clamp(1, max_choices)
}

/// Reads all items of a collection, with all their fields if possible. Skips the case if that fails.
pub(crate) async fn all<'r>(
    run: &'r Run,
    operation: &Operation,
    params: Map<String, Value>,
    cases: &Cases,
) -> Option<Items<'r>> {
    let params = with_all_fields(operation, params);
    let (items, room) = read_all(run, operation, params, cases).await?;
    Some(Items { items: Arc::new(items), _room: room })
}

/// Like [`all`], but shares one read among all checks while the data stay unchanged.
///
/// Use [`all`] in a check that looks for changes.
pub(crate) async fn all_shared<'r>(
    run: &'r Run,
    operation: &Operation,
    params: Map<String, Value>,
    cases: &Cases,
) -> Option<Items<'r>> {
    let params = with_all_fields(operation, params);
    let Some(entry) = run.lists.entry(&arguments(&operation.name, params.clone())) else {
        return all(run, operation, params, cases).await;
    };
    let read = async { read_all(run, operation, params, cases).await.ok_or(()) };
    let (items, room) = run.lists.get_or_read(entry, read).await.ok()?;
    Some(Items { items, _room: room.flatten() })
}

/// Adds the selection of all fields to parameters, if the operation accepts a selection.
fn with_all_fields(operation: &Operation, mut params: Map<String, Value>) -> Map<String, Value> {
    if operation.parameter("fields").is_some() {
        params.entry("fields").or_insert_with(|| "full".into());
    }
    params
}

/// Reads all items of a collection with these parameters. Returns them with their reserved memory.
async fn read_all<'r>(
    run: &'r Run,
    operation: &Operation,
    params: Map<String, Value>,
    cases: &Cases,
) -> Option<(Vec<Value>, Option<SemaphorePermit<'r>>)> {
    if is_paged(operation) {
        let walk = walk(run, operation, &params, (Direction::Forward, 100), cases).await?;
        match walk.broken {
            None => return Some((walk.items, walk.room)),
            Some(why) => skip_broken(operation, why, cases),
        }
        return None;
    }
    let exchange = run.call(operation, params, cases).await?;
    let Some((data, found)) = exchange.data().and_then(|data| Some((data, items(data)?))) else {
        cases.skip_without(format!("`{}` returns no items", operation.name));
        return None;
    };
    match taken(run, weight(data), 0).await {
        Ok(room) => Some((found.into_iter().cloned().collect(), Some(room))),
        Err(why) => {
            skip_broken(operation, why, cases);
            None
        }
    }
}

/// Skips a case because a collection could not be read.
pub(crate) fn skip_broken(operation: &Operation, why: WalkError, cases: &Cases) {
    let name = &operation.name;
    cases.skip(match why {
        WalkError::TooMuch => Skip::NoFixture(format!(
            "the items of `{name}` take more than {} MiB: store fewer for the run",
            MAX_WALK_KIB >> 10
        )),
        WalkError::NoMemory => Skip::CutShort(format!(
            "other lists used up the {} MiB for items while `{name}` was read: run the check again on its \
             own, or store fewer items for the run",
            MAX_WALKS_KIB >> 10
        )),
        WalkError::NoPage | WalkError::NoCursor | WalkError::Endless => {
            Skip::NoFixture(format!("the pages of `{name}` do not end"))
        }
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_lists_are_read_anew_for_fewer_choices() {
        let choices = |items| affordable_choices(items, 2, 8);
        assert_eq!([0, 80, 500, 2_000, 20_000].map(choices), [8, 8, 8, 2, 1]);
    }

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
