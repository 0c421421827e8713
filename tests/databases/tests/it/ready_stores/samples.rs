//! A table with a column of each sortable type, rows that other programs may have stored in it, and checks of these
//! rows. The tests of `mcp-aql-sqlx` include this file.

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ask;

/// A kind with two values.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// One.
    New,
    /// Another.
    Old,
}

/// A sample with a field of each sortable type.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
pub(crate) struct Sample {
    /// Number of the sample.
    #[resource(id, filter)]
    id: i64,
    /// A label.
    #[resource(filter, sort)]
    label: Option<String>,
    /// A whole number.
    #[resource(filter, sort, numeric)]
    count: Option<i64>,
    /// A number.
    #[resource(filter, sort, numeric)]
    double: Option<f64>,
    /// A number with 32 bits.
    #[resource(filter, sort)]
    single: Option<f32>,
    /// A number with any number of digits.
    #[resource(filter, sort, numeric)]
    exact: Option<f64>,
    /// A day.
    #[resource(filter, sort)]
    day: Option<NaiveDate>,
    /// A time.
    #[resource(filter, sort)]
    at: Option<DateTime<Utc>>,
    /// A time without a zone.
    #[resource(filter, sort)]
    local: Option<DateTime<Utc>>,
    /// A kind.
    #[resource(filter, sort)]
    kind: Option<Kind>,
    /// A time of a day.
    #[resource(filter, sort)]
    clock: Option<String>,
    /// An address.
    #[resource(filter, sort)]
    address: Option<String>,
    /// An amount with all its digits.
    #[resource(filter, sort)]
    amount: Option<String>,
}

const FIELDS: [&str; 12] = [
    "label", "count", "double", "single", "exact", "day", "at", "local", "kind", "clock",
    "address", "amount",
];

/// SQL expressions of values in PostgreSQL, for each field.
const IN_POSTGRES: [&[&str]; 12] = [
    &["''", "'a'", "'B'", "'Z'", "'ä'"],
    &["-9223372036854775808", "0", "9223372036854775807"],
    &["'NaN'", "'Infinity'", "'-Infinity'", "0.1", "'-0'", "1e300", "0.1000000000000001"],
    &["'NaN'", "'Infinity'", "'-Infinity'", "0.1", "3.4e38", "1e-45"],
    &[
        "'NaN'",
        "1e400",
        "-1e400",
        "123456789012345678901234567890.123456789",
        "123456789012345678901234567890.123456788",
        "0.1000000000000000001",
        "0.1",
        "1e-400",
        "-1e-400",
        "'Infinity'",
    ],
    &[
        "'infinity'",
        "'-infinity'",
        "'2031-05-06'",
        "DATE '0044-03-15 BC'",
        "DATE '4714-11-24 BC'",
        "DATE '4713-01-01 BC'",
        "DATE '4702-06-01 BC'",
        "'12000-01-01'",
    ],
    &[
        "'infinity'",
        "'-infinity'",
        "TIMESTAMPTZ '2031-05-06 07:00:00.123456+00'",
        "TIMESTAMPTZ '0044-03-15 00:00:00+00 BC'",
        "TIMESTAMPTZ '4714-11-24 00:00:00+00 BC'",
        "TIMESTAMPTZ '4713-01-01 00:00:00.5+00 BC'",
        "TIMESTAMPTZ '4702-06-01 00:00:00+00 BC'",
        "TIMESTAMPTZ '294000-01-01 00:00:00+00'",
    ],
    &[
        "'infinity'",
        "'-infinity'",
        "TIMESTAMP '2031-05-06 07:00:00.5'",
        "TIMESTAMP '4714-11-24 00:00:00 BC'",
        "TIMESTAMP '4713-01-01 00:00:00 BC'",
        "TIMESTAMP '12000-01-01 00:00:00'",
    ],
    &["'new'", "'old'", "'lost'", "'missing'"],
    &["'10:00'", "'9:30'", "'10:00:00.5'", "'24:00'"],
    &["'10.0.0.9'", "'10.0.0.10'", "'10.0.0.0/8'", "'::1'"],
    &["9.5", "10.25", "100000000000000000000000000000.1", "100000000000000000000000000000.2"],
];

/// SQL expressions of values in SQLite. Each column can contain all of them.
const IN_SQLITE: &[&str] = &[
    "''",
    "'a'",
    "'t'",
    "0",
    "1",
    "7",
    "-3",
    "1.5",
    "0.1",
    "9e999",
    "-9e999",
    "1e400",
    "9223372036854775807",
    "-9223372036854775808",
    "9007199254740993",
    "9007199254740992",
    "1772388900",
    "'2031-05-06'",
    "'2031-02-30'",
    "'-0043-03-15'",
    "'-0044-03-15'",
    "'+12000-01-01'",
    "'2031-02-30T07:00:00Z'",
    "'2016-12-31T23:59:60Z'",
    "'2031-05-06T07:00:00Z'",
    "'2031-05-06T07:00:00+02:00'",
    "'2031-05-06T07:00:00.5Z'",
    "'2031-05-06T07:00:00.500Z'",
    "'2031-05-06T07:00:00.000Z'",
    "'2031-05-06 07:00:00'",
    "'infinity'",
    "CAST(x'61ff62' AS TEXT)",
    "CAST(x'61fe' AS TEXT)",
    "'new'",
    "'lost'",
    "'10:00'",
    "x'00ff'",
    "'not a number'",
];

pub(crate) fn table(dialect: Dialect) -> SqlTable<Sample> {
    let table = SqlTable::new(dialect, "sample");
    if dialect == Dialect::Sqlite {
        return table.column_type("local", "datetime");
    }
    table
        .column_type("local", "timestamp")
        .column_type("clock", "time")
        .column_type("address", "inet")
        .column_type("amount", "numeric")
}

/// Returns the SQL that creates the table with these rows.
pub(crate) fn table_sql(dialect: Dialect, rows: &str) -> String {
    let columns = match dialect {
        // Columns without a type store every value as it is.
        Dialect::Sqlite => {
            let columns = FIELDS.map(|field| format!("\"{field}\"")).join(", ");
            format!("id INTEGER PRIMARY KEY, {columns}")
        }
        _ => "id bigserial PRIMARY KEY, label text, count bigint, double double precision, single real, exact numeric, day date,
            at timestamptz, local timestamp, kind text, clock time, address inet, amount numeric"
            .to_owned(),
    };
    format!("DROP TABLE IF EXISTS sample; CREATE TABLE sample ({columns}); {rows}")
}

/// Returns the statement that inserts rows. `None` leaves the field of a row out.
fn insert(rows: &[Vec<Option<&str>>]) -> String {
    let columns = FIELDS.map(|field| format!("\"{field}\"")).join(", ");
    let row = |row: &Vec<Option<&str>>| {
        let values: Vec<_> = row.iter().map(|value| value.unwrap_or("NULL")).collect();
        format!("INSERT INTO sample ({columns}) VALUES ({});", values.join(", "))
    };
    rows.iter().map(row).collect()
}

pub(crate) fn rows_of_postgres() -> impl Strategy<Value = String> {
    let row: Vec<_> = IN_POSTGRES
        .iter()
        .map(|values| proptest::option::weighted(0.9, select(values.to_vec())))
        .collect();
    proptest::collection::vec(row, 1..12).prop_map(|rows| insert(&rows))
}

pub(crate) fn rows_of_sqlite() -> impl Strategy<Value = String> {
    let value = proptest::option::weighted(0.9, select(IN_SQLITE.to_vec()));
    let row = proptest::collection::vec(value, FIELDS.len());
    proptest::collection::vec(row, 1..12).prop_map(|rows| insert(&rows))
}

fn ids(page: &Value) -> Vec<i64> {
    page["items"]
        .as_array()
        .unwrap_or_else(|| panic!("{page}"))
        .iter()
        .map(|row| row["id"].as_i64().unwrap())
        .collect()
}

/// Compares pages of one row with one page of all rows, in both directions.
pub(crate) async fn walk(
    adapter: &Adapter,
    operation: &str,
    sort: Value,
) -> Result<(), TestCaseError> {
    let list = async |window: Value| {
        let mut params = json!({ "sort": sort, "fields": ["id"] });
        params.as_object_mut().unwrap().extend(window.as_object().unwrap().clone());
        let page = adapter.call(operation, params).await;
        let Some(error) = page.error() else { return Ok(page.data().clone()) };
        Err(TestCaseError::fail(format!("{sort}: {}", error.message)))
    };
    let all = ids(&list(json!({ "first": 100 })).await?);
    let (mut forwards, mut after) = (Vec::new(), json!({ "first": 1 }));
    while forwards.len() <= all.len() {
        let page = list(after).await?;
        forwards.extend(ids(&page));
        if page["pageInfo"]["hasNextPage"] != true {
            break;
        }
        after = json!({ "first": 1, "after": page["pageInfo"]["endCursor"] });
    }
    prop_assert_eq!(&forwards, &all, "{}", sort);
    let (mut backwards, mut before) = (Vec::new(), json!({ "last": 2 }));
    while backwards.len() <= all.len() {
        let page = list(before).await?;
        backwards.splice(..0, ids(&page));
        if page["pageInfo"]["hasPreviousPage"] != true {
            break;
        }
        before = json!({ "last": 2, "before": page["pageInfo"]["startCursor"] });
    }
    prop_assert_eq!(&backwards, &all, "{}", sort);
    Ok(())
}

/// Compares filters and aggregates of a field with the values on a page. `order` converts a value to a number for the
/// comparison. It returns `None` for values that are invalid for the field.
async fn compare(
    adapter: &Adapter,
    field: &str,
    operands: &[Value],
    order: impl Fn(&Value) -> Option<f64>,
) -> Result<(), TestCaseError> {
    let params = json!({ "first": 100, "fields": ["id", field] });
    let all = adapter.call("list_samples", params).await.data().clone();
    let rows = all["items"].as_array().unwrap();
    let values: Vec<_> =
        rows.iter().filter_map(|row| Some((&row["id"], order(&row[field])?))).collect();
    for operand in operands {
        let bound = order(operand).unwrap();
        for operator in ["eq", "gt", "gte", "lt", "lte"] {
            let holds = |value: f64| match operator {
                // Adding 0 makes 0 and -0 equal.
                "eq" => (value + 0.0).total_cmp(&(bound + 0.0)).is_eq(),
                "gt" => value > bound,
                "gte" => value >= bound,
                "lt" => value < bound,
                _ => value <= bound,
            };
            let expected: Vec<_> =
                values.iter().filter(|(_, value)| holds(*value)).map(|(id, _)| *id).collect();
            let filter = json!({ field: { operator: operand } });
            let params = json!({ "first": 100, "filter": filter, "fields": ["id"] });
            let found = ask(adapter, "list_samples", &params).await;
            let items = found["items"].as_array();
            let found: Vec<_> = items.into_iter().flatten().map(|row| &row["id"]).collect();
            prop_assert_eq!(&found, &expected, "{} in {}", filter, all);
        }
    }
    let aggregate = json!({ "n": { "max": field, "min": field } });
    let found = ask(adapter, "list_samples", &json!({ "aggregate": aggregate })).await;
    let found = &found["aggregations"]["n"];
    let places = || values.iter().map(|(_, value)| *value);
    prop_assert_eq!(order(&found["max"]), places().reduce(f64::max), "{} in {}", found, all);
    prop_assert_eq!(order(&found["min"]), places().reduce(f64::min), "{} in {}", found, all);
    Ok(())
}

/// Compares the fields whose order can be computed with floating-point numbers.
async fn compare_fields(adapter: &Adapter, dialect: Dialect) -> Result<(), TestCaseError> {
    let numbers = [json!(-1), json!(0), json!(5), json!(1e15)];
    for field in ["count", "double", "exact"] {
        compare(adapter, field, &numbers, Value::as_f64).await?;
        let aggregate = json!({ "n": { "sum": field, "avg": field } });
        let found = ask(adapter, "list_samples", &json!({ "aggregate": aggregate })).await;
        let listed = json!({ "first": 100, "fields": [field] });
        let listed = ask(adapter, "list_samples", &listed).await;
        let values: Vec<_> = listed["items"].as_array().unwrap().iter().collect();
        let values: Vec<_> = values.iter().filter_map(|row| row[field].as_f64()).collect();
        let sum: f64 = values.iter().sum();
        for (name, expected) in [("sum", sum), ("avg", sum / values.len() as f64)] {
            // A whole number beyond 64 bits is shown as a string.
            let found = &found["aggregations"]["n"][name];
            let found = found.as_f64().or_else(|| found.as_str()?.parse().ok()).unwrap_or_default();
            let expected = if values.is_empty() { 0.0 } else { expected };
            let size: f64 = values.iter().copied().map(f64::abs).sum();
            let is_close = (found - expected).abs() <= size * 1e-9;
            prop_assert!(is_close, "{} of {}: {} {}", name, field, found, listed);
        }
    }
    // PostgreSQL's infinite dates come before or after all others.
    let infinite = |text: &str| match (text, dialect) {
        ("infinity", Dialect::Postgres) => Some(f64::INFINITY),
        ("-infinity", Dialect::Postgres) => Some(f64::NEG_INFINITY),
        // The field's calendar ends before this date.
        (text, Dialect::Postgres) if text.starts_with("294000-") => Some(f64::MAX),
        _ => None,
    };
    let day = |value: &Value| {
        let text = value.as_str()?;
        // In SQLite, the strings of other years do not sort by time.
        let is_sorted =
            |day: &NaiveDate| dialect != Dialect::Sqlite || (0..10_000).contains(&day.year());
        let day = text.parse().ok().filter(|day: &NaiveDate| day.to_string() == text);
        let day = day.filter(is_sorted);
        day.map(|day| f64::from(day.to_epoch_days())).or_else(|| infinite(text))
    };
    compare(adapter, "day", &[json!("2031-05-06"), json!("1999-01-01")], day).await?;
    let instant = |value: &Value| {
        let text = value.as_str().filter(|text| text.ends_with('Z') || infinite(text).is_some())?;
        // A leap second is not a value of the field.
        let instant = text.parse::<DateTime<Utc>>().ok().filter(|_| !text.contains(":60"));
        instant.map(|instant| instant.timestamp_millis() as f64).or_else(|| infinite(text))
    };
    let instants = ["2031-05-06T07:00:00Z", "2031-05-06T07:00:00.5Z", "1999-01-01T00:00:00Z"];
    for field in ["at", "local"] {
        compare(adapter, field, &instants.map(Value::from), instant).await?;
    }
    Ok(())
}

/// Reads, corrects and deletes each row.
async fn repair(adapter: &Adapter) -> Result<(), TestCaseError> {
    let listed = adapter.call("list_samples", json!({ "first": 100 })).await;
    let listed = listed.data().clone();
    for row in listed["items"].as_array().unwrap() {
        let id = &row["id"];
        let found = ask(adapter, "get_sample", &json!({ "id": id })).await;
        prop_assert_eq!(&found["sample"], row, "get and list differ");
        let input = json!({
            "label": "x", "count": 0, "double": 0.5, "single": 0.5, "exact": 0.5, "day": "1970-01-01",
            "at": "1970-01-01T00:00:00Z", "local": "1970-01-01T00:00:00Z", "kind": "new", "clock": "10:00:00",
            "address": "10.0.0.0/8", "amount": "1.5",
        });
        for (field, value) in input.as_object().unwrap() {
            let change = json!({ "id": id, "input": { field: value } });
            let changed = ask(adapter, "update_sample", &change).await;
            prop_assert_eq!(&changed["sample"][field], value, "{}: {}", field, &changed);
        }
        let whole = adapter.call("get_sample", json!({ "id": id })).await;
        prop_assert!(whole.warnings().is_empty(), "{:?}", whole.warnings());
        let deleted = ask(adapter, "delete_sample", &json!({ "id": id })).await;
        prop_assert_eq!(&deleted["sample"]["id"], id, "{}", &deleted);
    }
    Ok(())
}

/// Runs all checks on random rows.
pub(crate) fn on_rows(
    dialect: Dialect,
    rows: impl Strategy<Value = String>,
    adapter: impl AsyncFn(&str) -> Adapter,
    runtime: &tokio::runtime::Runtime,
) {
    let config = ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() };
    let outcome = TestRunner::new(config).run(&rows, |rows| {
        runtime.block_on(async {
            let adapter = adapter(&rows).await;
            for field in FIELDS {
                for order in ["asc", "desc"] {
                    let sort = json!({ "field": field, "order": order });
                    walk(&adapter, "list_samples", sort).await?;
                }
            }
            let aggregate = json!({ "n": { "max": "exact", "min": "exact" } });
            let found = ask(&adapter, "list_samples", &json!({ "aggregate": aggregate })).await;
            prop_assert!(found.get("aggregations").is_some(), "{}", found);
            compare_fields(&adapter, dialect).await?;
            repair(&adapter).await
        })
    });
    outcome.unwrap();
}
