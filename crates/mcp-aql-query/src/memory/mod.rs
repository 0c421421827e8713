//! The in-memory executor. It makes one pass over the rows in blocks, on typed fields.
//!
//! Its memory use grows with the size of the page and the number of groups, not with the number of rows.

mod conditions;
mod summary;
mod top_rows;

use std::borrow::Borrow;

use mcp_aql_core::OperationError;

use super::model::Model;
use super::plan::{Filter, Plan};
use super::resource::Resource;
use super::value::Scalar;
use conditions::Conditions;
use summary::Summary;
use top_rows::{RowOrder, TopRows};

/// A row of a collection: an owned value, or a reference that is cloned if the row is on the page.
///
/// You rarely need to implement this. It is implemented for `T`, `&T` and `Arc<T>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a row of `{T}`",
    label = "the rows must be `{T}`, `&{T}` or `Arc<{T}>`",
    note = "for a map, pass its values: `query.run(map.values())`",
    note = "for rows of another type, pass the values in them: `query.run(rows.iter().map(|row| &row.…))`"
)]
pub trait Row<T>: Borrow<T> {
    /// Returns the owned row.
    fn into_row(self) -> T;
}

impl<T> Row<T> for T {
    fn into_row(self) -> T {
        self
    }
}

impl<T: Clone> Row<T> for std::sync::Arc<T> {
    fn into_row(self) -> T {
        Self::unwrap_or_clone(self)
    }
}

impl<T: Clone> Row<T> for &T {
    fn into_row(self) -> T {
        self.clone()
    }
}

/// The number of rows per block: small enough for a processor's cache, large enough for prefetching.
const BLOCK_ROWS: usize = 1_024;

/// The result of a query.
pub(crate) struct Found<R> {
    /// In the form that [`Plan::build_page`](super::Plan::build_page) expects.
    pub(crate) rows: Vec<(R, Vec<Scalar>)>,
    pub(crate) total: u64,
    pub(crate) aggregations: Option<super::Aggregations>,
}

/// Executes a plan.
///
/// # Errors
///
/// Returns an error if `group_by` produces too many groups, or a sum is too large.
pub(crate) fn run<T: Resource, R: Borrow<T>>(
    plan: &Plan,
    model: &'static Model<T>,
    rows: impl IntoIterator<Item = R>,
) -> Result<Found<R>, OperationError> {
    run_by(plan, Conditions::of(plan, model), model, rows)
}

/// Returns `true` if a row satisfies a condition.
pub(crate) fn matches<T: Resource>(filter: &Filter, model: &'static Model<T>, row: &T) -> bool {
    conditions::matcher(filter, model).matches(row)
}

/// Executes a plan like [`run`], on rows already found for the plan's search string. The best row comes
/// first.
pub(crate) fn run_ranked<T: Resource, R: Borrow<T>>(
    plan: &Plan,
    model: &'static Model<T>,
    rows: impl IntoIterator<Item = R>,
) -> Result<Found<R>, OperationError> {
    run_by(plan, Conditions::found(plan, model), model, rows)
}

fn run_by<T: Resource, R: Borrow<T>>(
    plan: &Plan,
    conditions: Conditions<'_, T>,
    model: &'static Model<T>,
    rows: impl IntoIterator<Item = R>,
) -> Result<Found<R>, OperationError> {
    let order = RowOrder::of(plan, model);
    let skipped = plan.window.offset();
    // Skipped rows are kept until the end, because only the sorted order determines which rows are skipped.
    let wanted = if plan.include_items { plan.fetch_count().saturating_add(skipped) } else { 0 };
    let mut top_rows = TopRows::new(&order, wanted);
    let mut summary = Summary::of(plan, model);
    let mut total = 0_u64;
    let mut begun = 0_u32;
    let mut rows = rows.into_iter();
    let mut block: Vec<R> = Vec::with_capacity(BLOCK_ROWS);
    let mut selected: Vec<u32> = Vec::with_capacity(BLOCK_ROWS);
    let mut scores: Vec<u32> = Vec::new();
    loop {
        block.extend(rows.by_ref().take(BLOCK_ROWS));
        if block.is_empty() {
            break;
        }
        let seen: Vec<&T> = block.iter().map(Borrow::borrow).collect();
        selected.clear();
        selected.extend(0..u32::try_from(seen.len()).unwrap_or_default());
        conditions.apply(&seen, begun, &mut selected, &mut scores);
        begun = begun.saturating_add(u32::try_from(seen.len()).unwrap_or(u32::MAX));
        total += selected.len() as u64;
        summary.add(&seen, &selected)?;
        // Discard rows only now: the total count and the aggregates cover all matching rows.
        if wanted > 0 {
            order.keep_behind(&seen, &mut selected, &mut scores, plan.window.place());
            let worst = top_rows.worst().map(|(row, _)| row);
            order.keep_up_to(worst, &seen, &mut selected, &mut scores);
            top_rows.offer(&mut block, &selected, &scores);
        }
        block.clear();
    }
    let rows = top_rows
        .into_sorted()
        .into_iter()
        .skip(skipped)
        .map(|(row, score)| {
            let values = order.values(row.borrow(), score);
            (row, values)
        })
        .collect();
    Ok(Found { rows, total, aggregations: summary.finish(model.schema())? })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde::Serialize;
    use serde_json::{Map, Value, json};

    use crate::prelude::*;
    use crate::{Capabilities, CursorKey, QueryOptions};

    /// A row.
    #[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
    struct Line {
        /// Its number.
        #[resource(id)]
        number: u32,
        /// How much.
        #[resource(filter, sort, numeric)]
        amount: i32,
    }

    fn query(params: Value) -> CollectionQuery<Line> {
        let Value::Object(params) = params else { panic!("params are an object") };
        CollectionQuery::parse(&QueryOptions::new(), params, &CursorKey::new([7; 16])).unwrap()
    }

    fn lines(count: u32) -> impl Iterator<Item = Line> {
        (0..count).map(|number| Line { number, amount: (number * 7 % 1_000) as i32 })
    }

    #[test]
    fn owned_rows_and_borrowed_ones_are_the_same() {
        // REQ-PAG-01
        let rows: Vec<_> = lines(2_000).collect();
        for params in [
            json!({}),
            json!({ "sort": { "field": "amount", "order": "desc" }, "last": 5 }),
            json!({ "filter": { "amount": { "gt": 990 } }, "aggregate": { "a": { "sum": "amount" } } }),
        ] {
            let query = query(params);
            let text = |page: Page<Line>| serde_json::to_string(&page).unwrap();
            let owned = text(query.run(lines(2_000)).unwrap());
            assert_eq!(owned, text(query.run(&rows).unwrap()));
            assert_eq!(owned, text(query.run(rows.iter().rev()).unwrap()));
        }
    }

    /// A search result.
    #[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
    struct Finding {
        /// Its address.
        #[resource(id)]
        address: &'static str,
        /// Its string.
        #[resource(search)]
        text: &'static str,
        /// How much.
        #[resource(filter, sort)]
        amount: u32,
    }

    #[test]
    fn found_rows_keep_their_order_unless_another_is_wanted() {
        // REQ-COL-05, REQ-COL-10, REQ-PAG-01
        fn free() -> Capabilities {
            Capabilities::all().with_free_text()
        }
        let options = QueryOptions::new().text(crate::TextSearch::Required).capabilities(free);
        let key = CursorKey::new([7; 16]);
        let read = |mut params: Value| {
            // No row contains these words.
            params["query"] = json!("what is \"meant\"?");
            let Value::Object(params) = params else { panic!() };
            CollectionQuery::<Finding>::parse(&options, params, &key).unwrap()
        };
        let found = [("d", 2), ("a", 1), ("c", 2), ("b", 3)].map(|(address, amount)| Finding {
            address,
            text: "x",
            amount,
        });
        let run = |params: Value| {
            let page = read(params).run_ranked(&found).unwrap();
            let addresses = page.items.iter().map(|row| row.address).collect::<String>();
            (addresses, serde_json::to_value(&page).unwrap())
        };
        for (params, wanted) in [
            (json!({}), "dacb"),
            (json!({ "sort": { "field": "relevance", "order": "desc" } }), "dacb"),
            (json!({ "sort": { "field": "relevance", "order": "asc" } }), "bcad"),
            (
                json!({ "sort": [{ "field": "amount" }, { "field": "relevance", "order": "desc" }] }),
                "adcb",
            ),
            (json!({ "sort": { "field": "amount", "order": "desc" } }), "bcda"),
            (json!({ "filter": { "amount": { "lt": 3 } }, "last": 2 }), "ac"),
        ] {
            assert_eq!(run(params.clone()).0, wanted, "{params}");
        }
        for order in ["desc", "asc"] {
            let sort = json!({ "field": "relevance", "order": order });
            let (all, reply) = run(json!({ "sort": sort }));
            assert_eq!(reply["applied"]["query"], json!(["what is \"meant\"?"]));
            let (mut paged, mut after) = (String::new(), Value::Null);
            while paged.len() < all.len() {
                let (part, reply) = run(json!({ "sort": sort, "first": 1, "after": after }));
                assert_eq!(part.len(), 1, "{reply}");
                paged.push_str(&part);
                after = reply["pageInfo"]["endCursor"].clone();
            }
            assert_eq!(paged, all);
        }
        // More than one block of rows.
        let many = (0..3_000_u32).map(|amount| Finding { address: "x", text: "x", amount });
        let worst = json!({ "sort": { "field": "relevance", "order": "asc" }, "first": 2 });
        let page = read(worst).run_ranked(many).unwrap();
        assert!(page.items.iter().map(|row| row.amount).eq([2_999, 2_998]));
    }

    #[test]
    fn a_free_text_may_be_anything_but_blank() {
        // REQ-COL-11
        let free = QueryOptions::new()
            .text(crate::TextSearch::Required)
            .capabilities(|| Capabilities::all().with_free_text());
        let words = QueryOptions::new().text(crate::TextSearch::Required);
        let takes = |options: &QueryOptions, query: &str| {
            let params = json!({ "query": query }).as_object().cloned().unwrap();
            CollectionQuery::<Finding>::parse(options, params, &CursorKey::random()).is_ok()
        };
        let many: String = (0..40).map(|word| format!("w{word} ")).collect();
        for (query, as_words, freely) in [
            ("cats".to_owned(), true, true),
            ("🎉".to_owned(), false, true),
            (many, false, true),
            ("é".repeat(501), false, true),
            ("é".repeat(10_000), false, true),
            ("é".repeat(10_001), false, false),
            (" \n".to_owned(), false, false),
            (String::new(), false, false),
        ] {
            let shows = query.chars().take(20).collect::<String>();
            assert_eq!(
                (takes(&words, &query), takes(&free, &query)),
                (as_words, freely),
                "{shows}"
            );
        }
    }

    #[test]
    fn memory_use_grows_with_the_page() {
        // REQ-PAG-08
        let (alive, most) = (Cell::new(0_i64), Cell::new(0_i64));
        struct Counted<'a>(Line, &'a Cell<i64>);
        impl std::borrow::Borrow<Line> for Counted<'_> {
            fn borrow(&self) -> &Line {
                &self.0
            }
        }
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.1.set(self.1.get() - 1);
            }
        }
        impl crate::Row<Line> for Counted<'_> {
            fn into_row(self) -> Line {
                self.0.clone()
            }
        }
        let rows = lines(50_000).map(|line| {
            alive.set(alive.get() + 1);
            most.set(most.get().max(alive.get()));
            Counted(line, &alive)
        });
        let page = query(json!({ "sort": { "field": "amount" }, "first": 3 })).run(rows).unwrap();
        assert_eq!(page.items.len(), 3);
        assert_eq!(alive.get(), 0);
        let bound = i64::try_from(super::BLOCK_ROWS).unwrap() + 50;
        assert!(most.get() < bound, "{} rows were kept", most.get());
    }

    #[test]
    fn a_query_can_be_read_without_an_operation() {
        // REQ-COL-04, REQ-RQ-07
        let options = QueryOptions::new().text(crate::TextSearch::Required);
        let read = |params: Value| {
            let params: Map<_, _> = params.as_object().cloned().unwrap();
            CollectionQuery::<Line>::parse(&options, params, &CursorKey::random()).map(|_| ())
        };
        assert!(read(json!({ "filter": { "amount": 3 }, "sort": null })).is_ok());
        for (params, code, part) in [
            (
                json!({ "filtre": {} }),
                ErrorCode::ValidationInvalidValue,
                "unknown parameter 'filtre'",
            ),
            (json!({ "filter": 7 }), ErrorCode::ValidationInvalidValue, "'filter'"),
            (json!({ "first": -1 }), ErrorCode::ValidationInvalidValue, "'first'"),
            (
                json!({ "filter": { "amuont": 3 } }),
                ErrorCode::ValidationInvalidValue,
                "Did you mean 'amount'?",
            ),
            // The resource has no searchable field, so this parameter does not exist.
            (
                json!({ "query": "x" }),
                ErrorCode::ValidationInvalidValue,
                "unknown parameter 'query'",
            ),
        ] {
            let error = read(params.clone()).unwrap_err();
            assert_eq!(error.code(), code, "{params}");
            assert!(error.message().contains(part), "{params}: {}", error.message());
        }
    }
}
