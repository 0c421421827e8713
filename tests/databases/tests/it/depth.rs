//! Checks that a page deep in a large table costs as much as the first one, because databases use indexes (REQ-PAG-10).

use chrono::{DateTime, Utc};
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable, SqlValue, Statement};
use mcp_aql::query::{CollectionQuery, CursorKey, QueryOptions};
use mcp_aql_tests_databases::{postgres, sqlite};
use serde::Serialize;
use serde_json::{Value, json};

/// A line of a log.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
struct Line {
    /// Identifier.
    #[resource(id, sort)]
    line_id: String,
    /// Severity.
    #[resource(filter, sort)]
    level: i64,
    /// Time of the entry.
    #[resource(filter, sort)]
    written: DateTime<Utc>,
    /// Duration, which may be NaN, so that the order in SQL must place it.
    #[resource(sort)]
    took: f64,
}

/// Number of rows. The deep page begins after half of them.
const ROWS: i64 = 20_000;

/// Sort orders with a suitable index.
fn orders() -> [(&'static str, Value); 7] {
    let key = |field: &str, order: &str| json!({ "field": field, "order": order });
    [
        ("the identifier", json!([key("line_id", "asc")])),
        ("one key and the identifier", json!([key("level", "asc")])),
        ("in both directions", json!([key("level", "desc")])),
        ("time", json!([key("written", "asc"), key("level", "asc")])),
        ("the latest first", json!([key("written", "desc")])),
        ("a measure", json!([key("took", "asc")])),
        ("the longest first", json!([key("took", "desc")])),
    ]
}

fn parse(request: Value) -> CollectionQuery<Line> {
    let Value::Object(params) = request else { panic!("an object") };
    let options = QueryOptions::new().without_count();
    CollectionQuery::parse(&options, params, &CursorKey::new([7; 16])).unwrap()
}

/// Returns the statements for the first page, for a deep page, and for the page before the deep one.
fn statements(
    table: &SqlTable<Line>,
    sort: &Value,
    mut execute: impl FnMut(&Statement) -> Vec<Vec<SqlValue>>,
) -> Vec<Statement> {
    // Take a cursor from the middle. Without an index, a database must count up to it.
    let middle = json!({ "sort": sort, "filter": { "level": { "gte": 0 } }, "first": 1 });
    let query = parse(middle);
    let page = table
        .run(&query, |statement| {
            let mut statement = statement.clone();
            statement.sql.push_str(&format!(" OFFSET {}", ROWS / 2));
            Ok::<_, sqlite::Failure>(execute(&statement))
        })
        .unwrap();
    let cursor = page.page_info.end_cursor.unwrap();
    let requests = [
        json!({ "sort": sort, "first": 20, "fields": ["level"] }),
        json!({ "sort": sort, "first": 20, "fields": ["level"], "after": cursor }),
        json!({ "sort": sort, "last": 20, "fields": ["level"], "before": cursor }),
    ];
    let mut all = Vec::new();
    for request in requests {
        let query = parse(request);
        let mut steps = table.query(&query).steps().unwrap();
        let mut found = 0;
        while let Some(statement) = steps.next_statement() {
            let rows = execute(&statement);
            found += rows.len();
            steps.push_rows(rows).unwrap();
            all.push(statement);
        }
        // One more row than the page is read, to find out if there is a next page.
        assert_eq!(found, 21);
        assert_eq!(steps.finish().unwrap().items.len(), 20);
    }
    all
}

#[test]
fn sqlite_reads_a_deep_page_from_an_index() {
    let table = SqlTable::<Line>::new(Dialect::Sqlite, "line");
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection
        .execute_batch(&format!(
            "CREATE TABLE line (line_id TEXT PRIMARY KEY, level INTEGER NOT NULL, written TEXT NOT NULL,
                 took REAL);
             CREATE INDEX by_level ON line (level, line_id);
             CREATE INDEX by_level_down ON line (level DESC, line_id);
             CREATE INDEX by_time ON line (rtrim(written, 'Z0.'), level, line_id);
             CREATE INDEX latest ON line (rtrim(written, 'Z0.') DESC, line_id);
             CREATE INDEX by_took ON line (took, line_id);
             CREATE INDEX longest ON line (took DESC, line_id);
             WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < {ROWS} - 1)
             INSERT INTO line SELECT printf('%06d', n), n % 50,
                 strftime('%Y-%m-%dT%H:%M:%SZ', 1900000000 + n / 3, 'unixepoch'), n / 3 / 8.0 FROM n;
             ANALYZE"
        ))
        .unwrap();
    for (shows, sort) in orders() {
        let run = |statement: &Statement| sqlite::execute(&connection, statement).unwrap();
        for statement in statements(&table, &sort, run) {
            let explain = Statement {
                sql: format!("EXPLAIN QUERY PLAN {}", statement.sql),
                values: statement.values.clone(),
            };
            let plan: Vec<_> = run(&explain).iter().map(|row| format!("{:?}", row[3])).collect();
            let plan = plan.join("\n");
            assert!(!plan.contains("TEMP B-TREE"), "{shows}: {}\n{plan}", statement.sql);
            // The index must find the row of the cursor.
            let sought = !statement.sql.contains("WHERE") || plan.contains("SEARCH");
            assert!(sought, "{shows}: {}\n{plan}", statement.sql);
            let status = |statement: &Statement| {
                let mut prepared = connection.prepare(&statement.sql).unwrap();
                for (place, value) in (1..).zip(&statement.values) {
                    match value {
                        SqlValue::Int(value) => prepared.raw_bind_parameter(place, value).unwrap(),
                        SqlValue::Float(value) => {
                            prepared.raw_bind_parameter(place, value).unwrap()
                        }
                        SqlValue::Text(text) => prepared.raw_bind_parameter(place, text).unwrap(),
                        other => panic!("{other:?}"),
                    }
                }
                let mut rows = prepared.raw_query();
                while rows.next().unwrap().is_some() {}
                drop(rows);
                prepared.get_status(rusqlite::StatementStatus::VmStep)
            };
            // Skipping each row instead would take thousands of steps.
            let steps = status(&statement);
            assert!(steps < 2_000, "{shows}: {steps} steps for {}", statement.sql);
        }
    }
}

#[test]
fn postgres_reads_a_deep_page_from_an_index() {
    let table = SqlTable::<Line>::new(Dialect::Postgres, "line");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let Some(client) = runtime.block_on(postgres::connect()) else { return };
    let batch = format!(
        r#"CREATE TEMPORARY TABLE line (
               line_id text COLLATE "C" PRIMARY KEY, level integer NOT NULL, written timestamptz NOT NULL,
               took double precision);
           CREATE INDEX by_level ON line (level, line_id);
           CREATE INDEX by_level_down ON line (level DESC, line_id);
           CREATE INDEX by_time ON line (written, level, line_id);
           CREATE INDEX latest ON line (written DESC, line_id);
           CREATE INDEX by_took ON line (took, line_id);
           CREATE INDEX longest ON line (took DESC NULLS LAST, line_id);
           INSERT INTO line SELECT lpad(n::text, 6, '0'), n % 50, to_timestamp(1900000000 + n / 3), n / 3 / 8.0
               FROM generate_series(0, {ROWS} - 1) AS s (n);
           ANALYZE line"#
    );
    runtime.block_on(client.batch_execute(&batch)).unwrap();
    for (shows, sort) in orders() {
        let run = |statement: &Statement| {
            runtime.block_on(postgres::execute(&client, statement.clone())).unwrap()
        };
        for statement in statements(&table, &sort, run) {
            let explain = Statement {
                sql: format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {}", statement.sql),
                values: statement.values.clone(),
            };
            let plan: Vec<_> = run(&explain).iter().map(|row| format!("{:?}", row[0])).collect();
            let plan = plan.join("\n");
            let indexed = plan.contains("Index Scan") || plan.contains("Index Only Scan");
            assert!(indexed, "{shows}: {}\n{plan}", statement.sql);
            assert!(!plan.contains("Seq Scan"), "{shows}: {}\n{plan}", statement.sql);
            // Only the three rows of the same second may be read and discarded.
            let removed = plan.lines().filter_map(|line| line.split("Removed by Filter: ").nth(1));
            let removed =
                removed.map(|line| line.trim_end_matches(['"', ')']).parse::<u32>().unwrap());
            assert!(removed.sum::<u32>() <= 3, "{shows}: {}\n{plan}", statement.sql);
            assert!(!plan.contains("Sort"), "{shows}: {}\n{plan}", statement.sql);
        }
    }
}
