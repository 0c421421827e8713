//! Tests unusual values of the fields' types. The databases must return the same results as the executor in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcp_aql::prelude::*;
use mcp_aql::query::sql::sea_query::{Expr, ExprTrait as _};
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::query::{CollectionQuery, CursorKey, QueryOptions, TextSearch, fold_text};
use mcp_aql_tests_databases::{postgres, same, sqlite};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A string whose schema does not list all possible values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
struct Loose(String);

impl JsonSchema for Loose {
    fn schema_name() -> Cow<'static, str> {
        "Loose".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": ["new", "done"] })
    }
}

/// A number with a type of its own.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
struct Measure(f32);

/// A kind with two values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Kind {
    /// One.
    A,
    /// Another.
    B,
}

/// The members of an object.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
struct Inner {
    /// A part.
    #[resource(filter, sort)]
    part: f32,
    /// Marks.
    #[resource(filter)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<String>,
    /// Something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<i64>,
}

/// A resource with unusual fields.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
struct Odd {
    /// Identifier.
    #[resource(id, filter, sort)]
    id: i64,
    /// Has the name of a column in search results.
    #[resource(filter, sort, numeric)]
    score: i64,
    /// Text.
    #[resource(search, filter, sort)]
    title: String,
    /// Its status.
    #[resource(filter, sort, group)]
    state: Loose,
    /// 64 bits.
    #[resource(filter, sort, numeric)]
    weight: f64,
    /// 32 bits.
    #[resource(filter, sort, numeric)]
    ratio: f32,
    /// 32 bits, in a type of their own.
    #[resource(filter)]
    length: Option<Measure>,
    /// Several of 32 bits.
    #[resource(filter)]
    parts: Vec<f32>,
    /// Kinds, some unknown.
    #[resource(filter)]
    kinds: Vec<Option<Kind>>,
    /// Omitted if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Omitted if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<String>>,
    /// Omitted if empty.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, i64>,
    /// One document.
    #[resource(nested)]
    inner: Inner,
    /// A column for each member.
    #[resource(nested)]
    spread: Inner,
}

#[computed_fields]
impl Odd {
    /// Half of the ratio.
    #[computed(filter, sort)]
    fn half(&self) -> f32 {
        self.ratio / 2.0
    }

    /// The parts, as a computed field.
    #[computed]
    fn shares(&self) -> Vec<f32> {
        self.parts.clone()
    }
}

fn odd(id: i64, state: &str, weight: f64, ratio: f32) -> Odd {
    let inner = |marks: &[&str], other| Inner {
        part: ratio,
        marks: marks.iter().map(|&mark| mark.to_owned()).collect(),
        other,
    };
    Odd {
        id,
        score: 10 - id,
        title: if id % 2 == 0 { "x y" } else { "x" }.to_owned(),
        state: Loose(state.to_owned()),
        weight,
        ratio,
        length: (id != 3).then_some(Measure(ratio)),
        parts: vec![ratio],
        kinds: match id % 3 {
            0 => vec![],
            1 => vec![None],
            _ => vec![Some(Kind::A), None],
        },
        notes: if id % 2 == 0 { vec![] } else { vec!["n".to_owned()] },
        labels: match id % 3 {
            0 => None,
            1 => Some(vec![]),
            _ => Some(vec!["l".to_owned()]),
        },
        attributes: (0..id % 2).map(|number| ("a".to_owned(), number)).collect(),
        inner: inner(&[], None),
        spread: inner(if id % 2 == 0 { &[] } else { &["m"] }, (id % 2 == 0).then_some(id)),
    }
}

fn rows() -> Vec<Odd> {
    vec![
        odd(1, "done", f64::NAN, 0.1),
        odd(2, "legacy", 2.5, 0.7),
        odd(3, "new", f64::NAN, 0.1),
        odd(4, "old", 1.0, 1e30),
        odd(5, "done", -1.0, -0.3),
        odd(6, "archive", 2.5, 16_777_216.0),
    ]
}

fn table(dialect: Dialect) -> SqlTable<Odd> {
    SqlTable::new(dialect, "odd")
        .search_column("title", "words")
        .column("spread.part", "part")
        .column("spread.marks", "marks")
        .column("spread.other", "other")
        .expression("_computed.half", |_| Expr::col("ratio").div(2))
        .expression("_computed.shares", |_| Expr::col("parts"))
}

const COLUMNS: &str = "score, title, words, state, weight, ratio, length, parts, kinds, notes, labels, \
                       attributes, \"inner\", part, marks, other";

fn in_sqlite(rows: &[Odd]) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            r#"CREATE TABLE odd (
                id INTEGER PRIMARY KEY, score INTEGER, title TEXT, words TEXT, state TEXT,
                weight REAL, ratio REAL, length REAL, parts TEXT, kinds TEXT, notes TEXT, labels TEXT,
                attributes TEXT, "inner" TEXT, part REAL, marks TEXT, other INTEGER)"#,
        )
        .unwrap();
    let insert = format!(
        "INSERT INTO odd (id, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    );
    fn text(value: &impl Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }
    for row in rows {
        let values = rusqlite::params![
            row.id,
            row.score,
            row.title,
            fold_text(&row.title),
            row.state.0,
            row.weight,
            row.ratio,
            row.length.map(|it| it.0),
            text(&row.parts),
            text(&row.kinds),
            text(&row.notes),
            row.labels.as_ref().map(text),
            text(&row.attributes),
            text(&row.inner),
            row.spread.part,
            text(&row.spread.marks),
            row.spread.other,
        ];
        connection.execute(&insert, values).unwrap();
    }
    connection
}

async fn in_postgres(rows: &[Odd]) -> Option<tokio_postgres::Client> {
    let client = postgres::connect().await?;
    client
        .batch_execute(
            r#"CREATE TEMPORARY TABLE odd (
                id bigint, score bigint, title text, words text, state text, weight double precision,
                ratio real, length real, parts jsonb, kinds jsonb, notes jsonb, labels jsonb,
                attributes jsonb, "inner" jsonb, part real, marks jsonb, other bigint)"#,
        )
        .await
        .unwrap();
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            // Serialize to a string first, because a `Value` would limit numbers to 64 bits.
            let mut all = as_json(row);
            all["words"] = fold_text(&row.title).into();
            // These fields are not part of the JSON, but have columns.
            all["notes"] = json!(row.notes);
            all["attributes"] = json!(row.attributes);
            all["marks"] = json!(row.spread.marks);
            all["part"] = all["spread"]["part"].clone();
            all["other"] = json!(row.spread.other);
            all
        })
        .collect();
    let insert = format!(
        "INSERT INTO odd (id, {COLUMNS}) SELECT id, {COLUMNS}
         FROM jsonb_populate_recordset(NULL::odd, CAST(CAST($1 AS text) AS jsonb))"
    );
    client.execute(&insert, &[&serde_json::to_string(&rows).unwrap()]).await.unwrap();
    Some(client)
}

fn parse(request: &Value) -> CollectionQuery<Odd> {
    let Value::Object(params) = request.clone() else { panic!("an object") };
    let options = QueryOptions::new().text(TextSearch::Optional);
    CollectionQuery::parse(&options, params, &CursorKey::new([7; 16]))
        .unwrap_or_else(|error| panic!("{request}: {error:?}"))
}

/// Returns the JSON that a client reads.
fn as_json(page: &impl Serialize) -> Value {
    serde_json::from_str(&serde_json::to_string(page).unwrap()).unwrap()
}

fn in_memory(request: &Value) -> Value {
    as_json(&parse(request).run(rows()).unwrap())
}

/// Checks that both databases reply like the executor in memory. Returns these replies.
fn alike(requests: &[Value]) -> Vec<Value> {
    let connection = in_sqlite(&rows());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(in_postgres(&rows()));
    let answer = |request: &Value| {
        let expected = in_memory(request);
        let query = parse(request);
        let table_of = table(Dialect::Sqlite);
        let found = table_of.run(&query, |it| sqlite::execute(&connection, it));
        let found = as_json(&found.unwrap_or_else(|error| panic!("SQLite: {request}: {error}")));
        assert!(
            same(&expected, &found),
            "SQLite: {request}\nin memory: {expected}\n    found: {found}"
        );
        if let Some(client) = &client {
            let table_of = table(Dialect::Postgres);
            let found = table_of.run_async(&query, |it| postgres::execute(client, it));
            let found = runtime.block_on(found);
            let found =
                as_json(&found.unwrap_or_else(|error| panic!("PostgreSQL: {request}: {error:?}")));
            assert!(
                same(&expected, &found),
                "PostgreSQL: {request}\nin memory: {expected}\n    found: {found}"
            );
        }
        expected
    };
    requests.iter().map(answer).collect()
}

fn ids(reply: &Value) -> Vec<i64> {
    reply["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

/// Returns requests for pages of one row, in both directions.
fn walks(sort: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for (count, place, more, cursor) in [
        ("first", "after", "hasNextPage", "endCursor"),
        ("last", "before", "hasPreviousPage", "startCursor"),
    ] {
        let mut request = json!({ "sort": sort, "fields": ["id"], count: 1 });
        for visited in 1.. {
            let reply = in_memory(&request);
            all.push(request.clone());
            if reply["pageInfo"][more] != json!(true) {
                assert_eq!(visited, rows().len(), "{sort}");
                break;
            }
            request[place] = reply["pageInfo"][cursor].clone();
        }
    }
    all
}

#[test]
fn a_field_may_be_called_score() {
    let replies = alike(&[
        json!({ "query": "x y", "fields": ["id", "score"] }),
        json!({ "query": "x y", "fields": ["score"], "sort": [{ "field": "score" }] }),
        json!({ "query": "y x", "fields": ["id"], "first": 2 }),
    ]);
    assert_eq!(ids(&replies[0]), [2, 4, 6, 1, 3, 5]);
}

#[test]
fn names_that_a_type_does_not_know_come_last() {
    let key = |order| json!([{ "field": "state", "order": order }]);
    let request = |order| json!({ "sort": key(order), "fields": ["id", "state"] });
    let replies = alike(&[request("asc"), request("desc")]);
    assert_eq!(ids(&replies[0]), [3, 1, 5, 2, 4, 6]);
    assert_eq!(ids(&replies[1]), [2, 4, 6, 1, 5, 3]);
    alike(&walks(&key("asc")));
    alike(&walks(&key("desc")));
    alike(&[json!({ "aggregate": { "n": { "group_by": "state", "count": true } } })]);
}

#[test]
fn nan_is_missing() {
    for order in ["asc", "desc"] {
        let alone = json!([{ "field": "weight", "order": order }]);
        let reply = alike(&[json!({ "sort": alone, "fields": ["id", "weight"] })]);
        assert_eq!(ids(&reply[0])[4..], [1, 3]);
        alike(&walks(&alone));
        alike(&walks(&json!([{ "field": "weight", "order": order }, { "field": "score" }])));
        alike(&walks(&json!([{ "field": "score" }, { "field": "weight", "order": order }])));
        alike(&walks(&json!([{ "field": "title" }, { "field": "weight", "order": order }])));
    }
    let all = ["exists", "gt", "gte", "lt", "lte", "ne", "eq"];
    let tests = all.map(|operator| {
        let operand = if operator == "exists" { json!(false) } else { json!(1.0) };
        json!({ "filter": { "weight": { operator: operand } }, "fields": ["id"] })
    });
    alike(&tests);
    alike(&[json!({ "aggregate": {
        "s": { "sum": "weight", "avg": "weight", "min": "weight", "max": "weight" }
    } })]);
}

#[test]
fn numbers_of_32_bits_are_what_replies_show() {
    let mut requests = Vec::new();
    for path in ["ratio", "length", "inner.part", "spread.part"] {
        for number in
            [json!(0.1), json!(0.7), json!(-0.3), json!(1e30), json!(1e300), json!(1e-300)]
        {
            requests.push(json!({ "filter": { path: number }, "fields": ["id", path] }));
            for operator in ["gt", "gte", "lt", "lte", "ne"] {
                let filter = json!({ path: { operator: number } });
                requests.push(json!({ "filter": filter, "fields": ["id", path] }));
            }
        }
        requests.push(json!({ "filter": { path: [0.1, 0.7] }, "fields": ["id"] }));
    }
    let computed = ["id", "_computed.half", "_computed.shares"];
    requests.push(json!({ "filter": { "_computed.half": 0.05 }, "fields": computed }));
    for number in [json!(0.1), json!(1e300)] {
        requests
            .push(json!({ "filter": { "parts": { "contains": number } }, "fields": ["parts"] }));
        requests
            .push(json!({ "filter": { "parts": { "in": [number, 0.7] } }, "fields": ["parts"] }));
    }
    requests.push(json!({ "fields": "full" }));
    requests.push(json!({ "aggregate": {
        "s": { "sum": "ratio", "avg": "ratio", "min": "ratio", "max": "ratio" }
    } }));
    let replies = alike(&requests);
    assert_eq!(ids(&replies[0]), [1, 3]);
    for path in ["ratio", "inner.part", "spread.part", "_computed.half"] {
        for order in ["asc", "desc"] {
            alike(&walks(&json!([{ "field": path, "order": order }])));
        }
    }
}

#[test]
fn omitted_fields_are_omitted_from_records() {
    let replies = alike(&[
        json!({ "fields": ["id", "notes", "labels", "attributes"] }),
        json!({ "fields": ["id", "inner", "spread"] }),
        json!({ "fields": ["id", "spread.marks", "attributes.a"] }),
    ]);
    let items = replies[0]["items"].as_array().unwrap();
    let item = |id: i64| items.iter().find(|item| item["id"] == id).unwrap();
    assert_eq!(item(4), &json!({ "id": 4, "labels": [] }));
    assert_eq!(item(3), &json!({ "id": 3, "notes": ["n"], "attributes": { "a": 0 } }));
}

#[test]
fn an_entry_that_is_null_is_an_entry() {
    let replies = alike(&[
        json!({ "filter": { "kinds": { "exists": true } }, "fields": ["id"], "sort": [{ "field": "id" }] }),
        json!({ "filter": { "kinds": { "exists": false } }, "fields": ["id"] }),
        json!({ "filter": { "kinds": { "contains": "A" } }, "fields": ["id"] }),
        json!({ "filter": { "not": { "kinds": { "contains": "B" } } }, "fields": ["id"] }),
    ]);
    assert_eq!(ids(&replies[0]), [1, 2, 4, 5]);
}
