//! Compares the results of the same queries on the same rows in memory, in SQLite and in PostgreSQL.
//!
//! If a query differs, the failure shows its request and both replies. To be sure after you changed the SQL, run more
//! cases:
//!
//! ```console
//! $ PROPTEST_CASES=2000 scripts/postgres.sh cargo test -p mcp-aql-tests-databases differential
//! ```

use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql_tests_databases::{
    Item, items, now, parse, postgres, queries, rest_in_memory, same, sqlite, table, try_parse,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{TestCaseError, TestRunner};
use serde_json::{Value, json};
use std::sync::LazyLock;

static SQLITE: LazyLock<SqlTable<Item>> = LazyLock::new(|| table(Dialect::Sqlite));
static POSTGRES: LazyLock<SqlTable<Item>> = LazyLock::new(|| table(Dialect::Postgres));
static MIXED: LazyLock<SqlTable<Item>> =
    LazyLock::new(|| rest_in_memory(Dialect::Sqlite).in_memory_fallback());

/// Returns the result as the JSON that a client reads, or the error.
fn as_json<T: serde::Serialize, E: std::fmt::Debug>(page: Result<T, E>) -> Result<Value, String> {
    let page = page.map_err(|error| format!("{error:?}"))?;
    let text = serde_json::to_string(&page).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn in_memory(items: &[Item], request: &Value) -> Result<Value, String> {
    as_json(parse(request).run(items))
}

fn in_sqlite(
    table: &SqlTable<Item>,
    connection: &rusqlite::Connection,
    request: &Value,
) -> Result<Value, String> {
    let query = parse(request);
    as_json(table.query(&query).at(now()).run(|statement| sqlite::execute(connection, statement)))
}

async fn in_postgres(client: &tokio_postgres::Client, request: &Value) -> Result<Value, String> {
    let query = parse(request);
    let run = POSTGRES.query(&query).at(now());
    as_json(run.run_async(|statement| postgres::execute(client, statement)).await)
}

fn compare(
    what: &str,
    request: &Value,
    expected: &Result<Value, String>,
    found: &Result<Value, String>,
) -> Result<(), TestCaseError> {
    let fine = match (expected, found) {
        (Ok(expected), Ok(found)) => same(expected, found),
        (Err(expected), Err(found)) => expected == found,
        _ => false,
    };
    let text = |reply: &Result<Value, String>| match reply {
        Ok(reply) => reply.to_string(),
        Err(error) => error.clone(),
    };
    let (expected, found) = (text(expected), text(found));
    prop_assert!(fine, "{what}: {request}\nin memory: {expected}\n    found: {found}");
    Ok(())
}

/// Returns the requests that read all pages of a query, forwards or backwards, with their replies.
fn walk(items: &[Item], request: &Value, size: usize, forwards: bool) -> Vec<(Value, Value)> {
    let mut request = request.clone();
    let members = request.as_object_mut().unwrap();
    for name in
        ["first", "last", "limit", "offset", "page", "page_size", "aggregate", "include_items"]
    {
        members.remove(name);
    }
    let (count, place, more, cursor) = if forwards {
        ("first", "after", "hasNextPage", "endCursor")
    } else {
        ("last", "before", "hasPreviousPage", "startCursor")
    };
    members.insert(count.to_owned(), json!(size));
    let mut all = Vec::new();
    loop {
        let reply = in_memory(items, &request).unwrap();
        let go_on = reply["pageInfo"][more] == json!(true);
        let next = reply["pageInfo"][cursor].clone();
        all.push((request.clone(), reply));
        if !go_on {
            return all;
        }
        assert!(all.len() <= items.len(), "{request}");
        request[place] = next;
    }
}

/// Generates rows, several queries for them, and a page size.
fn cases() -> impl Strategy<Value = (Vec<Item>, Vec<Value>, usize)> {
    (items(24), prop::collection::vec(queries(), 12), 1..5_usize)
}

fn runner() -> TestRunner {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(64);
    TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..Default::default() })
}

#[test]
fn both_databases_answer_like_the_in_memory_executor() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(postgres::database());
    let check = |(items, requests, size): (Vec<Item>, Vec<Value>, usize)| {
        let connection = sqlite::database();
        sqlite::insert(&connection, &items);
        if let Some(client) = &client {
            runtime.block_on(async {
                client.batch_execute(r#"TRUNCATE "it""ems""#).await.unwrap();
                postgres::insert(client, &items).await;
            });
        }
        for request in &requests {
            let answer = |request: &Value, expected: &Result<Value, String>| {
                compare("SQLite", request, expected, &in_sqlite(&SQLITE, &connection, request))?;
                compare("mixed", request, expected, &in_sqlite(&MIXED, &connection, request))?;
                if let Some(client) = &client {
                    let found = runtime.block_on(in_postgres(client, request));
                    compare("PostgreSQL", request, expected, &found)?;
                }
                Ok::<(), TestCaseError>(())
            };
            answer(request, &in_memory(&items, request))?;
            for forwards in [true, false] {
                let pages = walk(&items, request, size, forwards);
                let visited: usize =
                    pages.iter().map(|(_, reply)| reply["items"].as_array().unwrap().len()).sum();
                for (request, reply) in pages {
                    prop_assert_eq!(
                        visited as u64,
                        reply["pageInfo"]["totalCount"].as_u64().unwrap()
                    );
                    answer(&request, &Ok(reply))?;
                }
            }
        }
        Ok(())
    };
    if let Err(error) = runner().run(&cases(), check) {
        panic!("{error}");
    }
}

#[test]
fn the_queries_are_as_many_kinds_as_there_are() {
    let mut runner = runner();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..400 {
        let request = queries().new_tree(&mut runner).unwrap().current();
        assert!(try_parse(&request).is_ok(), "{request}: {:?}", try_parse(&request).err());
        seen.extend(request.as_object().unwrap().keys().cloned());
    }
    let all = [
        "aggregate",
        "fields",
        "filter",
        "first",
        "include_items",
        "last",
        "limit",
        "offset",
        "page",
        "page_size",
        "query",
        "sort",
    ];
    assert!(seen.iter().eq(all.iter()), "{seen:?}");
}
