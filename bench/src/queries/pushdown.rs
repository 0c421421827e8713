//! Measures a deep page in a database, compared with the first page. Keyset pagination along an index should make both
//! equally fast.

use std::cmp::Reverse;

use mcp_aql::query::sql::{Dialect, SqlRecord, SqlTable, Storage};
use mcp_aql::{CollectionQuery, Page};
use mcp_aql_tests_databases::{postgres as postgres_glue, sqlite as sqlite_glue};
use serde_json::{Value, json};

use super::loops::PAGE;
use super::sales::{Sale, uncounted};
use super::{Setup, compared, databases, same};
use crate::Result;
use crate::table::Outcome;

/// Number of pages per turn.
const PAGES: usize = 50;

/// Measures one database. `answer` runs a query in it.
fn run(
    setup: &Setup,
    (name, what): (&str, &str),
    answer: impl Fn(&CollectionQuery<Sale>) -> Result<Page<SqlRecord<Sale>>>,
) -> Result<Outcome> {
    let mut params = json!({ "sort": { "field": "sold_at", "order": "desc" }, "first": PAGE });
    let first = uncounted(&params, &setup.key)?;
    let mut deep = first.clone();
    for _ in 1..setup.deep_page {
        let cursor = answer(&deep)?.page_info.end_cursor.ok_or("the pages end too soon")?;
        params.as_object_mut().ok_or("no object")?.insert("after".to_owned(), cursor.into());
        deep = uncounted(&params, &setup.key)?;
    }
    for (query, page) in [(&first, 1), (&deep, setup.deep_page)] {
        same(&numbers(&answer(query)?)?, &expected(&setup.sales, page))?;
    }
    let pages = |query: &CollectionQuery<Sale>| {
        (0..PAGES).map(|_| answer(query)).collect::<Result<Vec<_>>>()
    };
    let what = format!("page {}, {what}; the first page", setup.deep_page);
    let mut row = compared(setup, name, &what, 1.5, || pages(&deep), || pages(&first))?;
    for turn in row.turns.ours.iter_mut().chain(&mut row.turns.peer) {
        *turn /= PAGES as f64;
    }
    Ok(Outcome::Rows(vec![row]))
}

/// Returns the ids of the sales on a page.
fn numbers(page: &Page<SqlRecord<Sale>>) -> Result<Vec<u64>> {
    let reply = serde_json::to_value(page)?;
    let items = reply.get("items").and_then(Value::as_array).ok_or("no items")?;
    Ok(items.iter().filter_map(|item| item.get("sale_id")?.as_u64()).collect())
}

/// Returns the ids that a page must contain.
fn expected(sales: &[Sale], page: usize) -> Vec<u64> {
    let mut sorted: Vec<_> =
        sales.iter().map(|sale| (Reverse(sale.sold_at), sale.sale_id)).collect();
    sorted.sort_unstable();
    sorted.into_iter().skip((page - 1) * PAGE).take(PAGE).map(|(_, number)| number).collect()
}

pub(super) fn sqlite(setup: &Setup) -> Result<Outcome> {
    let database = databases::sqlite(&setup.sales)?;
    database.execute_batch("CREATE INDEX newest ON sales (sold_at DESC, sale_id); ANALYZE")?;
    let table =
        SqlTable::<Sale>::new(Dialect::Sqlite, "sales").stored_as("sold_at", Storage::UnixMillis);
    run(setup, ("push-down-sqlite", "SQLite"), |query| {
        table.run(query, |statement| sqlite_glue::execute(&database, statement))
    })
}

pub(super) fn postgres(setup: &Setup) -> Result<Outcome> {
    let Ok(address) = std::env::var("MCP_AQL_TEST_POSTGRES") else {
        return Ok(Outcome::Skipped("run it by scripts/postgres.sh"));
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let client = databases::postgres(&runtime, &address, &setup.sales)?;
    let table = SqlTable::<Sale>::new(Dialect::Postgres, "sales");
    run(setup, ("push-down-postgres", "PostgreSQL"), |query| {
        let execute = |statement| postgres_glue::execute(&client, statement);
        runtime.block_on(table.run_async(query, execute))
    })
}
