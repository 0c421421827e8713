//! Reads all pages of results with a limited size in bytes, in memory and in SQLite.

use std::sync::{LazyLock, Mutex};

use mcp_aql::SizeLimits;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlRecord, SqlTable};
use mcp_aql::transport::{CallScope, Endpoint};
use mcp_aql_tests_databases::{Item, items, now, queries, sqlite, table};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

static SQLITE: LazyLock<SqlTable<Item>> = LazyLock::new(|| table(Dialect::Sqlite));

/// The same rows in memory and in a database.
struct StateStore {
    items: Vec<Item>,
    connection: Mutex<rusqlite::Connection>,
}

#[operations]
impl StateStore {
    /// List the items in memory.
    #[operation(category = "READ")]
    fn list_rows(
        &self,
        #[query(text = "optional", max_page_size = 1_000)] query: CollectionQuery<Item>,
    ) -> Result<Page<Item>, OperationError> {
        query.run(&self.items)
    }

    /// List the items in the database.
    #[operation(category = "READ")]
    fn list_stored(
        &self,
        #[query(text = "optional", max_page_size = 1_000)] query: CollectionQuery<Item>,
    ) -> Result<Page<SqlRecord<Item>>, OperationError> {
        let connection = self.connection.lock().unwrap();
        SQLITE
            .query(&query)
            .at(now())
            .run(|statement| sqlite::execute(&connection, statement))
            .or_internal()
    }
}

/// Returns an adapter for these rows. A page ends before its size exceeds `budget` bytes.
fn adapter(items: &[Item], budget: usize) -> Adapter {
    let connection = sqlite::database();
    sqlite::insert(&connection, items);
    let store = StateStore { items: items.to_vec(), connection: Mutex::new(connection) };
    let limits = SizeLimits { result_budget: budget, ..SizeLimits::default() };
    let builder = Adapter::builder("budget").operations(store).limits(limits);
    builder.without_config().build().unwrap()
}

/// Calls an operation. Returns the size of the reply and the reply.
async fn ask(adapter: &Adapter, operation: &str, params: &Value) -> (usize, Value) {
    let text = json!({ "operation": operation, "params": params }).to_string();
    let scope = CallScope::default();
    let reply = adapter.handle(Endpoint::Unified, text.as_bytes(), scope).await;
    (reply.text.len(), serde_json::from_str(&reply.text).unwrap())
}

/// Returns the request for pages of `count` rows in one direction, without other pagination and aggregates.
fn stripped(request: &Value, size: &str, count: usize) -> Value {
    let mut request = request.clone();
    let members = request.as_object_mut().unwrap();
    for name in
        ["first", "last", "limit", "offset", "page", "page_size", "aggregate", "include_items"]
    {
        members.remove(name);
    }
    members.insert(size.to_owned(), json!(count));
    request
}

/// Reads all pages. Returns the rows in their order, and the number of cut pages.
async fn walk(
    adapter: &Adapter,
    operation: &str,
    (request, size, budget): (&Value, usize, usize),
    forwards: bool,
) -> Result<(Vec<Value>, usize), TestCaseError> {
    let (count, place, more, cursor) = match forwards {
        true => ("first", "after", "hasNextPage", "endCursor"),
        false => ("last", "before", "hasPreviousPage", "startCursor"),
    };
    let mut params = stripped(request, count, size);
    let (mut rows, mut cut) = (Vec::new(), 0);
    loop {
        let (bytes, reply) = ask(adapter, operation, &params).await;
        let page = &reply["data"];
        let items = page["items"].as_array().unwrap().clone();
        let context = format!("{operation} {params}: {bytes} of {budget}: {reply}");
        prop_assert!(items.len() <= size && (items.len() == 1 || bytes <= budget), "{context}");
        let warnings = reply["warnings"].as_array().cloned().unwrap_or_default();
        let is_cut = warnings.iter().any(|it| it["code"] == "VALIDATION_TRUNCATED_WARNING");
        prop_assert!(!is_cut || page["pageInfo"][more] == true, "{context}");
        prop_assert!(page["pageInfo"][more] == false || is_cut || items.len() == size, "{context}");
        cut += usize::from(is_cut);
        match forwards {
            true => rows.extend(items),
            false => drop(rows.splice(0..0, items)),
        }
        if page["pageInfo"][more] == false {
            return Ok((rows, cut));
        }
        params[place] = page["pageInfo"][cursor].clone();
    }
}

#[test]
fn all_pages_together_have_each_row_once_and_in_order() {
    // REQ-INT-30, REQ-PAG-01, REQ-PAG-04, REQ-PAG-05, REQ-PAG-09, REQ-WRN-08
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(64);
    let config = ProptestConfig { cases, failure_persistence: None, ..Default::default() };
    let total = std::cell::Cell::new(0);
    let strategy = (items(24), prop::collection::vec(queries(), 6), 1024..4_000_usize, 1..30_usize);
    let check = |(items, requests, budget, size): (Vec<Item>, Vec<Value>, usize, usize)| {
        let (whole, small) = (adapter(&items, 100 << 20), adapter(&items, budget));
        runtime.block_on(async {
            for (place, mut request) in requests.into_iter().enumerate() {
                // Let half of the requests find all rows.
                if place % 2 == 0 {
                    request.as_object_mut().unwrap().remove("filter");
                    request.as_object_mut().unwrap().remove("query");
                }
                let all = stripped(&request, "first", 1_000);
                let reply = ask(&whole, "list_rows", &all).await.1;
                if reply["error"]["code"] == "VALIDATION_INVALID_ENCODING" {
                    // Requests with U+0000 are rejected.
                    continue;
                }
                let expected = reply["data"]["items"].clone();
                for operation in ["list_rows", "list_stored"] {
                    for forwards in [true, false] {
                        let pages = (&request, size, budget);
                        let (rows, cut) = walk(&small, operation, pages, forwards).await?;
                        prop_assert_eq!(&json!(rows), &expected, "{} {}", operation, request);
                        total.set(total.get() + cut);
                    }
                }
            }
            Ok(())
        })
    };
    proptest::test_runner::TestRunner::new(config).run(&strategy, check).unwrap();
    assert!(total.get() > 20, "only {} pages were cut", total.get());
}
