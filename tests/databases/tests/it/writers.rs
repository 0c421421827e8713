//! Reads all pages of a collection. Between pages, another connection inserts and deletes rows (REQ-PAG-09,
//! REQ-PAG-10).

use std::collections::BTreeSet;

use mcp_aql::Page;
use mcp_aql::query::sql::{Dialect, SqlRecord, SqlTable};
use mcp_aql_tests_databases::{Item, items, now, parse, postgres, sqlite, table};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::json;

/// The rows of the collection, by what happens to them.
struct Rows {
    stay: Vec<Item>,
    /// Rows to delete. Some are deleted between each two pages.
    go: Vec<Item>,
    /// Rows to insert between pages.
    come: Vec<Item>,
}

fn rows() -> Rows {
    let mut runner = TestRunner::deterministic();
    let mut all = |prefix: &str| {
        let items = prop::collection::vec(items(1), 300).new_tree(&mut runner).unwrap().current();
        let mut items: Vec<_> = items.into_iter().flatten().collect();
        items.truncate(60);
        for (place, item) in items.iter_mut().enumerate() {
            item.id = format!("{}{prefix}", (place * 37) % 60);
        }
        items
    };
    let rows = Rows { stay: all("s"), go: all("g"), come: all("c") };
    assert!(rows.stay.len() == 60 && rows.go.len() == 60 && rows.come.len() == 60);
    rows
}

/// Reads all pages and calls `meddle` between them.
fn walk(
    rows: &Rows,
    forwards: bool,
    mut run: impl FnMut(&serde_json::Value) -> Page<SqlRecord<Item>>,
    mut meddle: impl FnMut(&Item, &Item),
) {
    let mut request = json!({
        "sort": [{ "field": "rank", "order": "desc" }, { "field": "title", "order": "asc" }],
        "fields": ["item_id"],
    });
    request[if forwards { "first" } else { "last" }] = json!(7);
    let mut changes = rows.go.iter().zip(&rows.come);
    let mut visited = Vec::new();
    loop {
        let page = run(&request);
        let mut ids: Vec<_> = page
            .items
            .iter()
            .map(|item| item.get("item_id").unwrap().as_str().unwrap().to_owned())
            .collect();
        if !forwards {
            ids.reverse();
        }
        visited.extend(ids);
        let info = page.page_info;
        if !(if forwards { info.has_next_page } else { info.has_previous_page }) {
            break;
        }
        if forwards {
            request["after"] = json!(info.end_cursor.unwrap());
        } else {
            request["before"] = json!(info.start_cursor.unwrap());
        }
        for (go, come) in changes.by_ref().take(5) {
            meddle(go, come);
        }
    }
    let once: BTreeSet<_> = visited.iter().cloned().collect();
    assert_eq!(once.len(), visited.len(), "a row came twice: {visited:?}");
    for item in &rows.stay {
        assert!(once.contains(&item.id), "{} was passed over", item.id);
    }
    // Some rows were inserted and others deleted before they were reached. Otherwise the test proves nothing.
    assert!(rows.come.iter().any(|item| once.contains(&item.id)));
    assert!(!rows.go.iter().all(|item| once.contains(&item.id)));
}

#[test]
fn every_row_of_sqlite_is_visited_once() {
    let table: SqlTable<Item> = table(Dialect::Sqlite);
    let rows = rows();
    for forwards in [true, false] {
        // Open two connections to the same database in memory.
        let address = format!("file:writers{forwards}?mode=memory&cache=shared");
        let open = || rusqlite::Connection::open(&address).unwrap();
        let (reader, writer) = (open(), open());
        writer.execute_batch(sqlite::SCHEMA).unwrap();
        sqlite::insert(&writer, &rows.stay);
        sqlite::insert(&writer, &rows.go);
        let run = |request: &serde_json::Value| {
            let query = parse(request);
            table.query(&query).at(now()).run(|it| sqlite::execute(&reader, it)).unwrap()
        };
        walk(&rows, forwards, run, |go, come| {
            writer.execute(r#"DELETE FROM "it""ems" WHERE id = ?"#, [&go.id]).unwrap();
            sqlite::insert(&writer, std::slice::from_ref(come));
        });
    }
}

#[test]
fn every_row_of_postgres_is_visited_once() {
    let table: SqlTable<Item> = table(Dialect::Postgres);
    let rows = rows();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for forwards in [true, false] {
        let Some((reader, writer)) = runtime.block_on(async {
            let (reader, writer) = (postgres::connect().await?, postgres::connect().await?);
            let schema = format!("writers_{}_{forwards}", std::process::id());
            for client in [&writer, &reader] {
                let batch =
                    format!("CREATE SCHEMA IF NOT EXISTS {schema}; SET search_path = {schema}");
                client.batch_execute(&batch).await.unwrap();
            }
            writer.batch_execute(&postgres::SCHEMA.replace("TEMPORARY ", "")).await.unwrap();
            postgres::insert(&writer, &rows.stay).await;
            postgres::insert(&writer, &rows.go).await;
            Some((reader, writer))
        }) else {
            return;
        };
        let run = |request: &serde_json::Value| {
            let query = parse(request);
            let run = table.query(&query).at(now());
            let run = run.run_async(|statement| postgres::execute(&reader, statement));
            runtime.block_on(run).unwrap()
        };
        walk(&rows, forwards, run, |go, come| {
            runtime.block_on(async {
                writer.execute(r#"DELETE FROM "it""ems" WHERE id = $1"#, &[&go.id]).await.unwrap();
                postgres::insert(&writer, std::slice::from_ref(come)).await;
            });
        });
    }
}
