//! Tests queries that the SQL executor rejects, and the capabilities that it reports.

use mcp_aql::prelude::*;
use mcp_aql::query::sql::sea_query::{Expr, ExprTrait as _};
use mcp_aql::query::sql::{Dialect, SqlError, SqlTable, SqlValue, Statement, Storage};
use mcp_aql::{ErrorCode, OperationError};
use mcp_aql_tests_databases::{Item, items, now, parse, postgres, rest_in_memory, sqlite, table};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

/// Returns the statements for a request.
fn statements(table: &SqlTable<Item>, request: &Value) -> Result<Vec<Statement>, SqlError> {
    let query = parse(request);
    let mut steps = table.query(&query).at(now()).steps()?;
    Ok(std::iter::from_fn(|| steps.next_statement()).collect())
}

fn some_items(count: usize) -> Vec<Item> {
    let items = prop::collection::vec(items(1), 2 * count + 50);
    let items = items.new_tree(&mut TestRunner::deterministic()).unwrap().current();
    let mut items: Vec<_> = items.into_iter().flatten().take(count).collect();
    for (place, item) in items.iter_mut().enumerate() {
        item.id = format!("{place:06}");
    }
    items
}

#[test]
fn only_what_is_shown_is_loaded() {
    let table = table(Dialect::Sqlite);
    let all = statements(
        &table,
        &json!({ "fields": ["title"], "sort": [{ "field": "size", "order": "asc" }] }),
    );
    let all = all.unwrap();
    let selected = all[0].sql.split(" FROM ").next().unwrap();
    assert_eq!(
        selected, r#"SELECT "it""ems"."title", "it""ems"."size", "it""ems"."id""#,
        "the rest is for the cursors"
    );
    assert_eq!(all.len(), 2, "rows and their count");
    let summary = json!({ "aggregate": { "n": { "count": true }, "s": { "sum": "size" } } });
    assert_eq!(statements(&table, &summary).unwrap().len(), 1, "summaries share a statement");
}

#[test]
fn values_never_become_text_of_a_statement() {
    let hostile = "x'; DROP TABLE t; -- \" ? $1 %_\\";
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let table = table(dialect);
        let all = statements(
            &table,
            &json!({
                "query": hostile,
                "filter": {
                    "title": { "eq": hostile, "contains": hostile, "starts_with": hostile },
                    "tags": hostile,
                    "body": [hostile, "b"],
                    "place.city": hostile,
                },
                "aggregate": { hostile: { "count": true, "group_by": "title" } },
                "include_items": true,
            }),
        );
        for Statement { sql, values } in all.unwrap() {
            assert!(!sql.contains("DROP"), "{sql}");
            assert!(values.iter().any(|it| matches!(it, SqlValue::Text(text) if text == hostile)));
            let places =
                sql.matches(if dialect == Dialect::Sqlite { "?" } else { "CAST($" }).count();
            assert_eq!(places, values.len(), "{sql}");
        }
    }
}

#[test]
fn too_many_values_are_refused() {
    let list: Vec<_> = (0..1_000).collect();
    let one = json!({ "size": list });
    let request = json!({ "filter": { "or": vec![one; 70] } });
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        let error = statements(&table(dialect), &request).unwrap_err();
        assert!(matches!(error, SqlError::TooManyValues { .. }), "{error}");
        let error = OperationError::from(error);
        assert_eq!(error.code(), ErrorCode::ValidationInvalidValue);
        assert_eq!(error.details()["param_name"], "filter");
    }
}

#[test]
fn the_largest_filters_are_answered() {
    let connection = sqlite::database();
    sqlite::insert(&connection, &some_items(5));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(postgres::database());
    if let Some(client) = &client {
        runtime.block_on(postgres::insert(client, &some_items(5)));
    }
    let list: Vec<_> = (0..1_000).map(|number| format!("{number:06}")).collect();
    let many = json!({ "or": vec![json!({ "title": { "ne": "x" } }); 99] });
    let mut deep = json!({ "size": { "ne": 1 } });
    for _ in 0..8 {
        deep = json!({ "not": deep });
    }
    for filter in [json!({ "item_id": list }), many, deep] {
        let query = parse(&json!({ "filter": filter }));
        let expected = query.run(some_items(5)).unwrap().items.len();
        let run = table(Dialect::Sqlite);
        let page = run.query(&query).run(|it| sqlite::execute(&connection, it)).unwrap();
        assert_eq!(page.items.len(), expected);
        if let Some(client) = &client {
            let run = table(Dialect::Postgres);
            let run = run.query(&query).run_async(|it| postgres::execute(client, it));
            assert_eq!(runtime.block_on(run).unwrap().items.len(), expected);
        }
    }
}

#[test]
fn too_many_groups_are_refused() {
    let connection = sqlite::database();
    let mut items = some_items(10_001);
    for item in &mut items {
        item.title = item.id.clone();
    }
    connection.execute_batch("BEGIN").unwrap();
    sqlite::insert(&connection, &items);
    connection.execute_batch("COMMIT").unwrap();
    let query = parse(&json!({ "aggregate": { "each": { "count": true, "group_by": "title" } } }));
    let run = || table(Dialect::Sqlite).query(&query).run(|it| sqlite::execute(&connection, it));
    let in_memory = query.run(&items).unwrap_err();
    let error = run().unwrap_err().downcast::<SqlError>().unwrap();
    let error = OperationError::from(*error);
    assert_eq!((error.code(), error.message()), (in_memory.code(), in_memory.message()));
    assert_eq!(error.details(), in_memory.details());
    connection.execute(r#"DELETE FROM "it""ems" WHERE id = '000007'"#, []).unwrap();
    run().unwrap();
}

#[test]
fn the_authors_settings_apply_everywhere() {
    // REQ-AGG-06
    let connection = sqlite::database();
    sqlite::insert(&connection, &some_items(9));
    connection.execute(r#"UPDATE "it""ems" SET deleted = 1 WHERE id < '000004'"#, []).unwrap();
    let request = json!({ "aggregate": { "n": { "count": true } }, "include_items": true, "fields": ["item_id"] });
    let query = parse(&request);
    for table in [table(Dialect::Sqlite), rest_in_memory(Dialect::Sqlite).in_memory_fallback()] {
        let run = table.query(&query).scope(Expr::col("id").ne("000008"));
        let page = run.run(|it| sqlite::execute(&connection, it)).unwrap();
        let page = serde_json::to_value(page).unwrap();
        assert_eq!(page["aggregations"]["n"], 4);
        assert_eq!(page["pageInfo"]["totalCount"], 4);
        assert_eq!(page["items"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn a_table_reports_missing_capabilities() {
    let plain = rest_in_memory(Dialect::Sqlite);
    let capabilities = plain.capabilities();
    assert!(!capabilities.can_search());
    for path in ["_computed.cents", "_computed.turned"] {
        assert!(!capabilities.can_filter(path) && !capabilities.can_sort(path));
        assert!(!capabilities.can_select(path));
    }
    assert!(capabilities.can_filter("title") && capabilities.can_sort("place.city"));
    assert_eq!(table(Dialect::Sqlite).capabilities(), mcp_aql::query::Capabilities::all());
    let finished = rest_in_memory(Dialect::Sqlite).in_memory_fallback();
    assert_eq!(finished.capabilities(), mcp_aql::query::Capabilities::all());
    for (request, path) in [
        (json!({ "fields": ["_computed.cents"] }), "_computed.cents"),
        (json!({ "query": "a", "fields": ["title"] }), "query"),
    ] {
        match statements(&plain, &request) {
            Err(SqlError::Unmapped { path: found }) => assert_eq!(found, path),
            other => panic!("{other:?}"),
        }
        assert!(statements(&finished, &request).is_ok());
    }
}

#[test]
fn completion_in_memory_loads_only_necessary_columns() {
    let table = rest_in_memory(Dialect::Sqlite).in_memory_fallback();
    let sql = |request: Value| statements(&table, &request).unwrap().remove(0).sql;
    let shown = sql(json!({ "fields": ["_computed.cents"], "filter": { "size": 1 }, "first": 3 }));
    assert!(shown.contains("LIMIT ?") && shown.contains(r#""size" = ?"#), "{shown}");
    let filtered = sql(json!({ "filter": { "_computed.cents": 1, "size": 1 }, "first": 3 }));
    assert!(!filtered.contains("LIMIT") && filtered.contains(r#""size" = ?"#), "{filtered}");
    let either = sql(json!({ "filter": { "or": [{ "_computed.cents": 1 }, { "size": 1 }] } }));
    assert!(!either.contains(r#""size" = ?"#), "{either}");
}

#[test]
fn a_wrong_description_is_reported() {
    let table = SqlTable::<Item>::new(Dialect::Sqlite, "items")
        .column("tilte", "title")
        .column("team.name", "team_name")
        .search_column("state", "state words")
        .stored_as("created", Storage::Native)
        .stored_as("due", Storage::UnixMillis)
        .stored_as("size", Storage::UnixMillis);
    let Err(SqlError::Table(problems)) = table.check() else { panic!("it is wrong") };
    assert_eq!(
        problems,
        [
            "`Item` has no field `tilte`",
            "`created` cannot be stored as Native",
            "`due` cannot be stored as UnixMillis",
            "`size` cannot be stored as UnixMillis",
            "`state` has a search column: mark it `search`",
            "`team` is stored in several columns, but `team.lead` has none: set a column for it, or one for \
             all of `team`",
        ]
    );
    let query = parse(&json!({}));
    assert!(matches!(table.query(&query).steps(), Err(SqlError::Table(_))));
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        mcp_aql_tests_databases::table(dialect).check().unwrap();
    }
}

#[test]
fn a_value_of_another_type_hides_no_row() {
    let connection = sqlite::database();
    sqlite::insert(&connection, &some_items(1));
    let query = parse(&json!({ "fields": "full" }));
    let table = table(Dialect::Sqlite);
    let run = || table.query(&query).run(|it| sqlite::execute(&connection, it)).unwrap();
    let usual = run().items[0].to_json();
    for (column, value, shown) in [
        ("size", "'many'", None),
        ("tags", "'[1,'", None),
        ("created", "'yesterday'", Some(json!("yesterday"))),
        ("weight", "'heavy'", None),
        ("title", "x'00ff'", None),
    ] {
        connection.execute_batch("SAVEPOINT before").unwrap();
        connection.execute(&format!(r#"UPDATE "it""ems" SET {column} = {value}"#), []).unwrap();
        let mut found = run().items[0].to_json();
        assert_eq!(found.get(column), shown.as_ref(), "{column}");
        if let Some(value) = usual.get(column) {
            found[column] = value.clone();
        }
        assert_eq!(found, usual, "{column}");
        connection.execute_batch("ROLLBACK TO before; RELEASE before").unwrap();
    }
}

#[test]
fn a_record_is_described_as_its_resource() {
    use mcp_aql::query::sql::SqlRecord;
    type Shown = Page<SqlRecord<Item>>;
    assert_eq!(<Shown as JsonSchema>::schema_name(), <Page<Item> as JsonSchema>::schema_name());
    assert_eq!(
        schemars::schema_for!(Shown).to_value(),
        schemars::schema_for!(Page<Item>).to_value()
    );
}

#[test]
fn a_query_can_be_sent_to_another_thread() {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    let (query, table) = (parse(&json!({})), table(Dialect::Postgres));
    let run = table.query(&query).scope(Expr::col("id").ne("x"));
    drop(sent(run.run_async(|_| async { Ok::<_, sqlite::Failure>(Vec::new()) })));
}
