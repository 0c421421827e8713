//! The executor for rows in memory: one pass over them, in blocks, on typed fields. What it keeps
//! grows with the page and with the groups, not with the rows.

mod best;
mod conditions;
mod summary;

use std::borrow::Borrow;

pub(crate) use summary::{Groups, Sum};
#[cfg(feature = "sql")]
pub(crate) use summary::{MOST_GROUPS, too_many_groups};

use super::model::Model;
use super::plan::{Plan, Window};
use super::resource::Resource;
use super::value::Scalar;
use crate::error::OperationError;
use best::{Best, Order};
use conditions::Conditions;
use summary::Summary;

/// A row as it comes out of a collection: borrowed, and cloned once it is on the page, or owned.
pub trait Row<T>: Borrow<T> {
    /// The row itself.
    fn into_row(self) -> T;
}

impl<T> Row<T> for T {
    fn into_row(self) -> T {
        self
    }
}

impl<T: Clone> Row<T> for &T {
    fn into_row(self) -> T {
        self.clone()
    }
}

/// Rows are looked at in blocks of this size: few enough to stay in a processor's cache.
const BLOCK: usize = 512;

/// What was found.
pub(crate) struct Found<R> {
    /// As [`Plan::answer`](super::Plan::answer) takes them.
    pub(crate) rows: Vec<(R, Vec<Scalar>)>,
    pub(crate) total: u64,
    pub(crate) aggregations: Option<super::Aggregations>,
}

/// Finds what a plan asks for.
///
/// # Errors
/// When the rows fall into too many groups.
pub(crate) fn run<T: Resource, R: Borrow<T>>(
    plan: &Plan,
    model: &'static Model<T>,
    rows: impl IntoIterator<Item = R>,
) -> Result<Found<R>, OperationError> {
    let conditions = Conditions::of(plan, model);
    let order = Order::of(plan, model);
    let (skipped, place) = match &plan.window {
        Window::Offset { offset, .. } => (*offset, None),
        Window::First { after: place, .. } | Window::Last { before: place, .. } => {
            (0, place.as_deref())
        }
    };
    let wanted = if plan.items { plan.wanted().saturating_add(skipped) } else { 0 };
    let mut best = Best::new(&order, wanted);
    let mut summary = Summary::of(plan, model);
    let mut total = 0_u64;
    let mut rows = rows.into_iter();
    let mut block: Vec<Option<R>> = Vec::with_capacity(BLOCK);
    let mut selected: Vec<u32> = Vec::with_capacity(BLOCK);
    let mut scores: Vec<u32> = Vec::new();
    loop {
        block.clear();
        block.extend(rows.by_ref().take(BLOCK).map(Some));
        if block.is_empty() {
            break;
        }
        let seen: Vec<&T> = block.iter().flatten().map(Borrow::borrow).collect();
        selected.clear();
        selected.extend(0..u32::try_from(seen.len()).unwrap_or_default());
        conditions.apply(&seen, &mut selected, &mut scores);
        total += selected.len() as u64;
        summary.add(&seen, &selected)?;
        if wanted == 0 {
            continue;
        }
        order.keep_behind(&seen, &mut selected, &mut scores, place);
        order.keep_up_to(best.worst(), &seen, &mut selected, &mut scores);
        for (index, chosen) in selected.iter().enumerate() {
            let score = scores.get(index).copied().unwrap_or_default();
            if let Some(slot) = block.get_mut(*chosen as usize)
                && slot.as_ref().is_some_and(|row| best.takes(row.borrow(), score))
                && let Some(row) = slot.take()
            {
                best.push(row, score);
            }
        }
    }
    let rows = best
        .into_sorted()
        .into_iter()
        .skip(skipped)
        .map(|(row, score)| {
            let values = order.values(row.borrow(), score);
            (row, values)
        })
        .collect();
    Ok(Found { rows, total, aggregations: summary.finish(model.table()) })
}
