//! Tests of the generated SQL.

use serde::Serialize;
use serde_json::{Value, json};

use super::*;
use crate::{CursorKey, QueryOptions, Resource, TextSearch, prelude::JsonSchema};

/// A task on the board.
#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Short title.
    #[resource(search, filter, sort)]
    title: String,
    /// Labels.
    #[resource(filter)]
    tags: Vec<String>,
    /// 1 is most urgent.
    #[resource(filter, sort, group, numeric)]
    priority: Option<i64>,
}

fn table(dialect: Dialect) -> SqlTable<Task> {
    SqlTable::new(dialect, "task").column("task_id", "id").search_column("title", "words")
}

/// Returns the statements of a request for a page in the middle of a table.
fn statements(dialect: Dialect, request: Value) -> Vec<String> {
    let options = QueryOptions::new().text(TextSearch::Optional);
    let Value::Object(params) = request else { panic!("an object") };
    let query = CollectionQuery::parse(&options, params, &CursorKey::new([7; 16])).unwrap();
    let table = table(dialect);
    let mut steps = table.query(&query).steps().unwrap();
    let mut all = Vec::new();
    while let Some(statement) = steps.next_statement() {
        all.push(statement.sql);
    }
    all
}

#[test]
fn a_missing_value_is_no_reason_for_not() {
    let filter = json!({ "filter": { "priority": { "ne": 1 } }, "fields": ["title"] });
    assert_eq!(
        statements(Dialect::Sqlite, filter.clone()),
        [
            r#"SELECT "task"."title", "task"."id" FROM "task" WHERE ("task"."priority" = ?) IS NOT TRUE ORDER BY "task"."id" COLLATE "BINARY" ASC LIMIT ?"#,
            r#"SELECT COUNT(*) FROM "task" WHERE ("task"."priority" = ?) IS NOT TRUE"#,
        ]
    );
    assert_eq!(
        statements(Dialect::Postgres, filter),
        [
            r#"SELECT CAST("task"."title" AS text), CAST("task"."id" AS text) FROM "task" WHERE ("task"."priority" = CAST($1 AS bigint)) IS NOT TRUE ORDER BY "task"."id" COLLATE "C" ASC LIMIT CAST($2 AS bigint)"#,
            r#"SELECT COUNT(*) FROM "task" WHERE ("task"."priority" = CAST($1 AS bigint)) IS NOT TRUE"#,
        ]
    );
}

#[test]
fn only_optional_keys_say_where_missing_values_go() {
    let order = |dialect, sort: Value, window: &str| {
        let all = statements(dialect, json!({ "sort": sort, window: 1 }));
        all[0].split_once("ORDER BY ").unwrap().1.to_owned()
    };
    let by = |field: &str, order: &str| json!([{ "field": field, "order": order }]);
    assert_eq!(
        order(Dialect::Sqlite, by("priority", "asc"), "first"),
        r#""task"."priority" ASC NULLS LAST, "task"."id" COLLATE "BINARY" ASC LIMIT ?"#
    );
    assert_eq!(
        order(Dialect::Sqlite, by("priority", "desc"), "first"),
        r#""task"."priority" DESC, "task"."id" COLLATE "BINARY" ASC LIMIT ?"#
    );
    assert_eq!(
        order(Dialect::Sqlite, by("priority", "asc"), "last"),
        r#""task"."priority" DESC NULLS FIRST, "task"."id" COLLATE "BINARY" DESC LIMIT ?"#
    );
    assert_eq!(
        order(Dialect::Postgres, by("priority", "desc"), "first"),
        r#""task"."priority" DESC NULLS LAST, "task"."id" COLLATE "C" ASC LIMIT CAST($1 AS bigint)"#
    );
    assert_eq!(
        order(Dialect::Postgres, by("title", "desc"), "last"),
        r#""task"."title" COLLATE "C" ASC, "task"."id" COLLATE "C" DESC LIMIT CAST($1 AS bigint)"#
    );
}

#[test]
fn summaries_are_computed_by_the_database() {
    let request = json!({ "aggregate": {
        "all": { "count": true, "sum": "priority", "avg": "priority" },
        "by_priority": { "count": true, "group_by": "priority" },
    } });
    // Other programs may have stored strings or fractions in the column. They count as missing, like whole numbers that
    // are stored as floats and may have lost digits.
    let whole = r#"(CASE WHEN ((typeof("task"."priority") = 'integer' OR (typeof("task"."priority") = 'real' AND "task"."priority" = CAST("task"."priority" AS INTEGER) AND "task"."priority" BETWEEN -9007199254740991 AND 9007199254740991))) THEN "task"."priority" END)"#;
    assert_eq!(
        statements(Dialect::Sqlite, request.clone()),
        [
            format!(
                r#"SELECT COUNT(*), SUM({whole} >> 32), SUM({whole} & 4294967295), COUNT({whole}) FROM "task""#
            ),
            r#"SELECT "task"."priority", COUNT(*) FROM "task" GROUP BY 1 LIMIT ?"#.to_owned(),
        ]
    );
    assert_eq!(
        statements(Dialect::Postgres, request)[0],
        r#"SELECT COUNT(*), CAST(SUM(CAST("task"."priority" AS bigint)) AS text), COUNT("task"."priority") FROM "task""#
    );
}

#[test]
fn one_entry_of_a_list_must_pass() {
    let condition = |dialect| {
        let all = statements(dialect, json!({ "filter": { "tags": "urgent" } }));
        all[1].split_once("WHERE ").unwrap().1.to_owned()
    };
    assert_eq!(
        condition(Dialect::Sqlite),
        r#"EXISTS(SELECT 1 FROM json_each((CASE WHEN (json_valid("task"."tags")) THEN "task"."tags" END)) AS "entry" WHERE ("entry"."value" COLLATE "BINARY") = ?)"#
    );
    assert_eq!(condition(Dialect::Postgres), r#""task"."tags" @> CAST(CAST($1 AS text) AS jsonb)"#);
}

#[test]
fn words_are_looked_for_and_counted() {
    let all = statements(Dialect::Sqlite, json!({ "query": "a", "fields": ["title"] }));
    assert_eq!(
        all[0],
        r#"SELECT "task"."title", "task"."id", (CASE WHEN (instr("task"."words", ?) > 0) THEN 2 WHEN (instr("task"."words", ?) > 0) THEN 1 ELSE 0 END) FROM "task" WHERE instr("task"."words", ?) > 0 ORDER BY 3 DESC, "task"."id" COLLATE "BINARY" ASC LIMIT ?"#
    );
}
