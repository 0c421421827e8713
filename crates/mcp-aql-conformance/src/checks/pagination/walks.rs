//! Checks of the items of all pages together.

use serde_json::Value;

use super::{SMALL_PAGE_SIZE, paged};
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::checks::calls::valid;
use crate::nouns::thing_of;
use crate::pages::{self, Direction, Walk, WalkError};
use crate::resources::Role;
use crate::run::{Run, do_all};

/// Maximum number of items to read from a list. Longer lists are only compared at their beginning, as seen in the
/// direction of reading.
const MAX_ITEMS: usize = 200;
/// Size of large pages.
const LARGE_PAGE_SIZE: usize = 100;
/// Number of small pages read from a longer list.
const PAGES_OF_LONG_LIST: usize = 10;

/// Reads a list in this direction twice: in pages of the maximum size and in small pages.
async fn both_walks<'r>(
    run: &'r Run,
    operation: &Operation,
    way: Direction,
    cases: &Cases,
) -> Option<(Walk<'r>, Walk<'r>)> {
    let params = valid(run, operation, cases)?;
    let large_pages = (Direction::Forward, LARGE_PAGE_SIZE);
    let most = MAX_ITEMS / LARGE_PAGE_SIZE + 1;
    let mut big = pages::walk_up_to(most, run, operation, &params, large_pages, cases).await?;
    if big.broken.is_some() && big.pages.len() < 2 {
        cases.skip_without(format!("`{}` returns no page", operation.name));
        return None;
    }
    if big.items.len() <= SMALL_PAGE_SIZE {
        cases.skip_scarce(format!(
            "`{}` returns {} items; the check needs at least {}",
            operation.name,
            big.items.len(),
            SMALL_PAGE_SIZE + 1
        ));
        return None;
    }
    let is_long = big.items.len() > MAX_ITEMS;
    if is_long && way == Direction::Backward {
        big = pages::walk_up_to(1, run, operation, &params, (way, LARGE_PAGE_SIZE), cases).await?;
    }
    let max_pages = if is_long { PAGES_OF_LONG_LIST } else { usize::MAX };
    let small_pages = (way, SMALL_PAGE_SIZE);
    let small = pages::walk_up_to(max_pages, run, operation, &params, small_pages, cases).await?;
    if is_long {
        let others = big.items.len().saturating_sub(small.items.len());
        match way {
            Direction::Forward => big.items.truncate(small.items.len()),
            Direction::Backward => drop(big.items.drain(..others)),
        }
    }
    let is_unread = |why: &WalkError| matches!(why, WalkError::TooMuch | WalkError::NoMemory);
    if let Some(why) = [&big, &small].iter().find_map(|walk| walk.broken.filter(is_unread)) {
        pages::skip_broken(operation, why, cases);
        return None;
    }
    Some((big, small))
}

/// Returns `true` if these are the same items in the same order.
///
/// Only identifiers are compared if the items have some, because other fields may change.
fn same_items(run: &Run, operation: &Operation, one: &[Value], other: &[Value]) -> bool {
    let kind = run.resources().kinds().iter().find(|kind| {
        kind.operation(&run.adapter, Role::List).is_some_and(|list| list.name == operation.name)
    });
    let own = thing_of(&operation.name).map(|thing| format!("{thing}_id"));
    let identity = |item: &Value| match kind {
        Some(kind) => kind.identity(item),
        None => [own.as_deref().unwrap_or("id"), "id"]
            .into_iter()
            .find_map(|name| item.get(name))
            .filter(|id| id.is_string() || id.is_number())
            .cloned(),
    };
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| match (identity(one), identity(other)) {
            (Some(one), Some(other)) => one == other,
            _ => one == other,
        })
}

async fn walks(run: &Run, cases: &Cases, way: Direction) {
    let [how_many, _, cursor, more] = way.words();
    let operations = paged(run, cases).into_iter();
    let operations = cases.some_or_not_applicable(
        operations.filter(|operation| operation.parameter(how_many).is_some()),
        format!("no READ operation documents `{how_many}`"),
    );
    let jobs = operations.into_iter().map(|operation| async move {
        let walks = both_walks(run, operation, way, cases).await;
        let Some((mut big, mut small)) = walks else { return };
        if small.broken.is_none() && !same_items(run, operation, &small.items, &big.items) {
            // Read again after a difference, because items may have been created or deleted in between.
            let walks = both_walks(run, operation, way, cases).await;
            let Some(again) = walks else { return };
            (big, small) = again;
        }
        let Some(last) = small.pages.last() else { return };
        let why = match small.broken {
            Some(WalkError::NoPage) => "a valid page".to_owned(),
            Some(WalkError::NoCursor) => format!("`{cursor}` whenever `{more}` is true"),
            Some(WalkError::Endless | WalkError::TooMuch | WalkError::NoMemory) => {
                "a last page: the cursors never end".to_owned()
            }
            None => format!("the same {} items in the same order, each once", big.items.len()),
        };
        let too_long = small.pages.iter().find(|page| {
            page.data().and_then(pages::items).is_some_and(|items| items.len() > SMALL_PAGE_SIZE)
        });
        let is_whole = small.broken.is_none()
            && same_items(run, operation, &small.items, &big.items)
            && too_long.is_none();
        cases.expect(is_whole, || {
            Finding::of(
                too_long.unwrap_or(last),
                format!("{}: all pages by `{how_many}`", operation.name),
            )
            .expected(match too_long {
                Some(_) => format!("at most {SMALL_PAGE_SIZE} items on a page"),
                None => {
                    format!("{why}; the received pages have {} items together", small.items.len())
                }
            })
        });
    });
    do_all(jobs).await;
}

pub(super) async fn forward(run: &Run, cases: &Cases) {
    walks(run, cases, Direction::Forward).await;
}

pub(super) async fn backward(run: &Run, cases: &Cases) {
    walks(run, cases, Direction::Backward).await;
}

pub(super) async fn total(run: &Run, cases: &Cases) {
    let counted = std::sync::atomic::AtomicBool::new(false);
    let jobs = paged(run, cases).into_iter().map(|operation| {
        let counted = &counted;
        async move {
            let Some(params) = valid(run, operation, cases) else { return };
            let walk = pages::walk(run, operation, &params, (Direction::Forward, 100), cases).await;
            let Some(walk) = walk.filter(|walk| walk.broken.is_none()) else { return };
            let mut short = params;
            short.insert("first".to_owned(), 1.into());
            let short = run.call(operation, short, cases).await;
            for page in walk.pages.iter().chain(&short) {
                let info = page.data().and_then(pages::info);
                let Some(total) = info.and_then(|info| info.get("totalCount")) else { continue };
                counted.store(true, std::sync::atomic::Ordering::Relaxed);
                cases.expect(total.as_u64() == Some(walk.items.len() as u64), || {
                    Finding::of(page, format!("{}: totalCount", operation.name))
                        .expected(format!("{}: the number of items on all pages", walk.items.len()))
                });
            }
        }
    });
    do_all(jobs).await;
    if !counted.load(std::sync::atomic::Ordering::Relaxed) {
        cases.not_applicable("no page has `totalCount`");
    }
}
