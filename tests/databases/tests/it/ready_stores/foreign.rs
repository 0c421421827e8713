//! Tests rows of other programs, with values that the adapter itself would not write.

use std::time::Duration;

use chrono::{DateTime, Utc};
use deadpool_postgres::Pool;
use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable, Statement};
use mcp_aql::query::{CollectionQuery, CursorKey, QueryOptions};
use mcp_aql::resource::{MemoryRecords, PostgresDatabase, RusqliteDatabase, SqlStore, WaitLimits};
use mcp_aql_tests_databases::postgres;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ask;
use super::samples::{self, Kind, on_rows, walk};

async fn in_sqlite(rows: &str) -> Adapter {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(&samples::table_sql(Dialect::Sqlite, rows)).unwrap();
    let store = SqlStore::new(samples::table(Dialect::Sqlite), RusqliteDatabase::new(connection));
    Adapter::builder("samples").resource(store).without_config().build().unwrap()
}

async fn in_postgres(pool: &Pool, rows: &str) -> Adapter {
    let client = pool.get().await.unwrap();
    client.batch_execute(&samples::table_sql(Dialect::Postgres, rows)).await.unwrap();
    let store =
        SqlStore::new(samples::table(Dialect::Postgres), PostgresDatabase::new(pool.clone()));
    Adapter::builder("samples").resource(store).without_config().build().unwrap()
}

#[test]
fn every_row_is_shown_sorted_corrected_and_deleted() {
    // REQ-PAG-04, REQ-PAG-09, REQ-COL-06
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    on_rows(Dialect::Sqlite, samples::rows_of_sqlite(), in_sqlite, &runtime);
    if let Some(pool) = runtime.block_on(postgres::pool_with_schema()) {
        let in_pool = async |rows: &str| in_postgres(&pool, rows).await;
        on_rows(Dialect::Postgres, samples::rows_of_postgres(), in_pool, &runtime);
    }
}

/// A piece, none of whose fields may be missing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(operations(list))]
struct Piece {
    /// Number of the piece.
    #[resource(id)]
    id: i64,
    /// A label.
    #[resource(sort)]
    label: String,
    /// A whole number.
    #[resource(sort)]
    count: i64,
    /// A number.
    #[resource(sort)]
    double: f64,
    /// A time.
    #[resource(sort)]
    at: DateTime<Utc>,
    /// A kind.
    #[resource(sort)]
    kind: Kind,
}

#[tokio::test]
async fn rows_without_a_value_that_their_field_requires_are_on_pages() {
    // REQ-PAG-04
    let fields = ["label", "count", "double", "at", "kind"];
    let values = ["'a'", "1", "1.5", "'2031-05-06T07:00:00Z'", "'new'"];
    let rows: String = (0..9)
        .map(|row| {
            let value = |(place, value): (usize, &&str)| match ((row * 11) >> place) & 1 {
                0 => (*value).to_owned(),
                _ => "NULL".to_owned(),
            };
            let values: Vec<_> = values.iter().enumerate().map(value).collect();
            format!("INSERT INTO piece VALUES ({row}, {});", values.join(", "))
        })
        .collect();
    let columns = "id bigint PRIMARY KEY, label text, count bigint, double double precision, at {}, kind text";
    let sql = |of_instant: &str| {
        format!("CREATE TABLE piece ({}); {rows}", columns.replace("{}", of_instant))
    };
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(&sql("text")).unwrap();
    let builder = || Adapter::builder("pieces").without_config();
    let table = SqlTable::new(Dialect::Sqlite, "piece");
    let store = SqlStore::<Piece, _>::new(table, RusqliteDatabase::new(connection));
    let mut adapters = vec![builder().resource(store).build().unwrap()];
    if let Some(pool) = postgres::pool_with_schema().await {
        pool.get().await.unwrap().batch_execute(&sql("timestamptz")).await.unwrap();
        let table = SqlTable::new(Dialect::Postgres, "piece");
        let store = SqlStore::<Piece, _>::new(table, PostgresDatabase::new(pool));
        adapters.push(builder().resource(store).build().unwrap());
    }
    for adapter in adapters {
        for order in ["asc", "desc"] {
            let key = |field: &str| json!({ "field": field, "order": order });
            for field in fields {
                walk(&adapter, "list_pieces", key(field)).await.unwrap();
                for other in fields.iter().skip_while(|other| **other != field).skip(1) {
                    let sort = json!([key(field), key(other)]);
                    walk(&adapter, "list_pieces", sort).await.unwrap();
                }
            }
        }
    }
}

#[tokio::test]
async fn a_warning_names_the_row_and_the_field() {
    // REQ-WRN-02
    let adapter = in_sqlite("INSERT INTO sample (count, at) VALUES ('many', 1772388900)").await;
    let page = adapter.call("list_samples", json!({ "fields": ["count", "at"] })).await;
    assert_eq!(page.data()["items"], json!([{ "at": "1772388900" }]));
    let warnings = serde_json::to_value(page.warnings()).unwrap();
    assert_eq!(warnings[0]["code"], "VALIDATION_STORED_VALUE_WARNING");
    assert_eq!(
        warnings[0]["message"],
        "The value of 'count' in row '1' does not have the type of the field, like 1 other value. It is left out. \
         Update the field to correct it"
    );
    assert_eq!(
        warnings[0]["details"],
        json!({ "count": 2, "values": [
            { "field": "count", "row": "1", "value": "left out" },
            { "field": "at", "row": "1", "value": "shown as it is" },
        ] })
    );
}

#[tokio::test]
async fn what_is_accepted_is_found() {
    // REQ-COL-03
    let Some(pool) = postgres::pool_with_schema().await else { return };
    let adapter = in_postgres(&pool, "").await;
    for (field, written, stored) in [
        ("clock", "10:00", "10:00:00"),
        ("clock", "9:30:00.50", "09:30:00.5"),
        ("address", "10.0.0.9", "10.0.0.9/32"),
        ("amount", "00012.50", "12.50"),
    ] {
        let created = ask(&adapter, "create_sample", &json!({ field: written })).await;
        let id = &created["sample"]["id"];
        assert_eq!(created["sample"][field], stored, "{created}");
        for filter in [json!(written), json!(stored), json!({ "in": [written] })] {
            let found =
                ask(&adapter, "list_samples", &json!({ "filter": { field: filter }, "first": 1 }))
                    .await;
            assert_eq!(found["items"][0]["id"], *id, "{field} {filter}: {found}");
        }
    }
    for (field, malformed, told) in
        [("clock", "25:99", "time"), ("address", "nowhere", "inet"), ("amount", "much", "numeric")]
    {
        let found = ask(&adapter, "list_samples", &json!({ "filter": { field: malformed } })).await;
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(field) && message.contains(told), "{message}");
        assert_eq!(found["code"], "VALIDATION_INVALID_VALUE");
        let found = ask(&adapter, "create_sample", &json!({ field: malformed })).await;
        assert_eq!(found["code"], "VALIDATION_INVALID_VALUE", "{found}");
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(field) && message.contains(told), "{message}");
    }
}

#[tokio::test]
async fn a_number_is_stored_exactly_and_found() {
    // REQ-COL-03
    let Some(pool) = postgres::pool_with_schema().await else { return };
    let doubles = [0.1, 0.1000000000000001, 0.30000000000000004, -1e300, f64::MAX, 5e-324, 0.0];
    let singles = [0.1, 16_777_216.0, 3.402_823_5e38, 1e-45, -0.3];
    for kind in ["real", "double precision", "numeric"] {
        let adapter = in_postgres(&pool, "").await;
        let client = pool.get().await.unwrap();
        let alter = |field: &str| format!("ALTER TABLE sample ALTER {field} TYPE {kind};");
        let fields = if kind == "real" { &["single"][..] } else { &["single", "double", "exact"] };
        let sql: String = fields.iter().map(|field| alter(field)).collect();
        client.batch_execute(&sql).await.unwrap();
        for &field in fields {
            let numbers: Vec<_> = match field {
                "single" => singles.iter().map(|number| json!(number)).collect(),
                _ => doubles.iter().map(|number| json!(number)).collect(),
            };
            for number in numbers {
                let created = ask(&adapter, "create_sample", &json!({ field: number })).await;
                assert_eq!(created["sample"][field], number, "{kind}: {created}");
                let id = &created["sample"]["id"];
                let filter = json!({ "filter": { field: number, "id": id } });
                let found = ask(&adapter, "list_samples", &filter).await;
                assert_eq!(found["items"][0]["id"], *id, "{kind} {field} {number}: {found}");
                let change = json!({ "id": id, "input": { field: 1 } });
                ask(&adapter, "update_sample", &change).await;
                let change = json!({ "id": id, "input": { field: number } });
                let changed = ask(&adapter, "update_sample", &change).await;
                assert_eq!(changed["sample"][field], number, "{kind}: {changed}");
            }
        }
        if kind == "numeric" {
            let created = ask(&adapter, "create_sample", &json!({ "exact": doubles[1] })).await;
            let id = created["sample"]["id"].as_i64().unwrap();
            let sql = "SELECT exact::text FROM sample WHERE id = $1";
            let row = client.query_one(sql, &[&id]).await.unwrap();
            assert_eq!(row.get::<_, String>(0), "0.1000000000000001");
        }
    }
}

#[tokio::test]
async fn a_number_beyond_the_range_of_the_field_is_missing_in_aggregates() {
    // REQ-AGG-02
    let Some(pool) = postgres::pool_with_schema().await else { return };
    let rows = "INSERT INTO sample (exact) VALUES (1e400), (-1e400), (5), (-2)";
    let adapter = in_postgres(&pool, rows).await;
    let functions = json!({ "sum": "exact", "avg": "exact", "min": "exact", "max": "exact" });
    let found = ask(&adapter, "list_samples", &json!({ "aggregate": { "n": functions } })).await;
    let expected = json!({ "sum": 3.0, "avg": 1.5, "min": -2.0, "max": 5.0 });
    assert_eq!(found["aggregations"]["n"], expected, "{found}");
}

/// A ticket with the rules of a database.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Stub {
    /// Number of the stub.
    #[resource(id)]
    id: i64,
    /// A code of two letters.
    code: String,
    /// Codes of two letters.
    codes: Vec<String>,
    /// Three bits.
    bits: Option<String>,
    /// A number above 0.
    size: Option<i64>,
    /// The stub that comes before.
    #[resource(references = "stub")]
    former_id: Option<i64>,
    /// The code of another stub.
    like: Option<String>,
}

async fn stubs(pool: Option<&Pool>) -> Adapter {
    let columns = "code {code} NOT NULL UNIQUE, codes {codes} NOT NULL, bits {bits}, size bigint CHECK (size > 0),
        former_id bigint REFERENCES stub, \"like\" {code} REFERENCES stub (code)";
    let fill = |kinds: [&str; 3]| {
        columns.replace("{code}", kinds[0]).replace("{codes}", kinds[1]).replace("{bits}", kinds[2])
    };
    let builder = Adapter::builder("stubs").without_config();
    let Some(pool) = pool else {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let columns = fill(["TEXT", "TEXT", "TEXT"]);
        let sql = format!(
            "PRAGMA foreign_keys = ON; CREATE TABLE stub (id INTEGER PRIMARY KEY, {columns})"
        );
        connection.execute_batch(&sql).unwrap();
        let database = RusqliteDatabase::new(connection);
        let store = SqlStore::<Stub, _>::new(SqlTable::new(Dialect::Sqlite, "stub"), database);
        return builder.resource(store).build().unwrap();
    };
    let columns = fill(["char(2)", "char(2)[]", "bit(3)"]);
    let sql = format!("CREATE TABLE stub (id bigserial PRIMARY KEY, {columns})");
    pool.get().await.unwrap().batch_execute(&sql).await.unwrap();
    let table = SqlTable::new(Dialect::Postgres, "stub")
        .column_type("code", "char(2)")
        .column_type("codes", "char(2)[]")
        .column_type("bits", "bit(3)")
        .column_type("like", "char(2)");
    let store = SqlStore::<Stub, _>::new(table, PostgresDatabase::new(pool.clone()));
    builder.resource(store).build().unwrap()
}

#[tokio::test]
async fn refusals_name_the_field_the_rule_and_the_next_step() {
    // REQ-ERR-02
    let pool = postgres::pool_with_schema().await;
    let mut databases = vec![None];
    databases.extend(pool.as_ref().map(Some));
    for pool in databases {
        let adapter = stubs(pool).await;
        let created = ask(&adapter, "create_stub", &json!({ "code": "ab", "codes": ["cd"] })).await;
        assert_eq!(created["stub"]["codes"], json!(["cd"]), "{created}");
        let other = ask(&adapter, "create_stub", &json!({ "code": "ef", "codes": [] })).await;
        let other = &other["stub"]["id"];
        for (input, code, told) in [
            (json!({ "code": "ab" }), "CONFLICT_ALREADY_EXISTS", "'{}code', which must be unique"),
            (
                json!({ "size": 0 }),
                "VALIDATION_INVALID_VALUE",
                "The value of '{}size' violates a rule",
            ),
            (
                json!({ "former_id": 99 }),
                "VALIDATION_INVALID_VALUE",
                "'{}former_id' must identify an existing stub",
            ),
            (
                json!({ "like": "zz" }),
                "VALIDATION_INVALID_VALUE",
                "'{}like' must identify an existing record",
            ),
        ] {
            let mut new = json!({ "code": "xy", "codes": [] });
            new.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
            let refused = ask(&adapter, "create_stub", &new).await;
            assert_eq!(refused["code"], code, "{refused}");
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains(&told.replace("{}", "")), "{message}");
            let change = json!({ "id": other, "input": input });
            let refused = ask(&adapter, "update_stub", &change).await;
            assert_eq!(refused["code"], code, "{refused}");
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains(&told.replace("{}", "input.")), "{message}");
        }
        if pool.is_none() {
            continue;
        }
        // The adapter must reject everything that a plain INSERT rejects.
        for input in
            [json!({ "code": "abc" }), json!({ "codes": ["abc"] }), json!({ "bits": "1010" })]
        {
            let mut new = json!({ "code": "gh", "codes": [] });
            new.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
            let refused = ask(&adapter, "create_stub", &new).await;
            assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{input}: {refused}");
            let field = input.as_object().unwrap().keys().next().unwrap();
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains(field), "{message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_goes_on_while_changes_wait() {
    let Some(pool) = postgres::pool_with_schema().await else { return };
    in_postgres(&pool, "INSERT INTO sample DEFAULT VALUES").await;
    let limits = WaitLimits::default()
        .connection(Duration::from_millis(600))
        .lock(Duration::from_millis(500));
    let database = PostgresDatabase::new(pool.clone()).wait_limits(limits);
    let store = SqlStore::new(samples::table(Dialect::Postgres), database);
    let adapter = Adapter::builder("samples").resource(store).without_config().build().unwrap();
    let holder = pool.get().await.unwrap();
    holder.batch_execute("BEGIN; SELECT * FROM sample FOR UPDATE").await.unwrap();
    let changes: Vec<_> = (0..8)
        .map(|number| {
            let adapter = adapter.clone();
            tokio::spawn(async move {
                let params = json!({ "id": 1, "input": { "count": number } });
                adapter.call("update_sample", params).await
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let read =
        tokio::time::timeout(Duration::from_millis(300), adapter.call("list_samples", json!({})));
    assert!(read.await.expect("reading goes on").error().is_none());
    for change in changes {
        let result = change.await.unwrap();
        let error = result.error().expect("the row is locked").clone();
        assert!(error.message.contains("The database is busy"), "{}", error.message);
        assert_eq!(error.details["operation_ran"], false);
    }
    holder.batch_execute("ROLLBACK").await.unwrap();
    let params = json!({ "id": 1, "input": { "count": 1 } });
    assert!(adapter.call("update_sample", params).await.error().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_goes_on_while_a_file_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.pragma_update(None, "journal_mode", "wal").unwrap();
    let row = "INSERT INTO sample (label) VALUES ('a'); BEGIN IMMEDIATE";
    other.execute_batch(&samples::table_sql(Dialect::Sqlite, row)).unwrap();
    let limits = WaitLimits::default().lock(Duration::from_millis(300));
    let database = RusqliteDatabase::open(&path).unwrap().wait_limits(limits);
    let store = SqlStore::new(samples::table(Dialect::Sqlite), database);
    let adapter = Adapter::builder("samples").resource(store).without_config().build().unwrap();
    let params = json!({ "id": 1, "input": { "count": 1 } });
    let change = tokio::spawn({
        let (adapter, params) = (adapter.clone(), params.clone());
        async move { adapter.call("update_sample", params).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let read =
        tokio::time::timeout(Duration::from_millis(200), adapter.call("list_samples", json!({})));
    assert!(read.await.expect("reading goes on").error().is_none());
    let error = change.await.unwrap().error().expect("the file is locked").clone();
    assert!(error.message.contains("The database is busy"), "{}", error.message);
    other.execute_batch("ROLLBACK").unwrap();
    assert!(adapter.call("update_sample", params).await.error().is_none());
}

/// A part of a thing, by the code of the thing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Part {
    /// Number of the part.
    #[resource(id)]
    id: i64,
    /// The code of the thing.
    thing: Option<String>,
    /// The code of another thing.
    other: Option<String>,
}

#[tokio::test]
async fn a_foreign_key_without_a_column_refers_to_the_primary_key() {
    // REQ-ERR-02
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let sql = "PRAGMA foreign_keys = ON; CREATE TABLE thing (number INTEGER, code TEXT PRIMARY KEY);
        INSERT INTO thing VALUES (1, 'a');
        CREATE TABLE part (id INTEGER PRIMARY KEY, thing TEXT REFERENCES thing, other TEXT REFERENCES thing (code))";
    connection.execute_batch(sql).unwrap();
    let table = SqlTable::new(Dialect::Sqlite, "part");
    let store = SqlStore::<Part, _>::new(table, RusqliteDatabase::new(connection));
    let adapter = Adapter::builder("parts").resource(store).without_config().build().unwrap();
    for field in ["thing", "other"] {
        let other = if field == "thing" { "other" } else { "thing" };
        let new = json!({ field: "missing", other: "a" });
        let refused = ask(&adapter, "create_part", &new).await;
        let message = refused["message"].as_str().unwrap();
        let expected = format!("'{field}' must identify an existing record");
        assert!(message.contains(&expected), "{refused}");
    }
}

/// A page of a log whose numbers and times are texts.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(operations(list))]
struct Entry {
    /// Number of the entry.
    #[resource(id)]
    id: i64,
    /// A number.
    #[resource(sort)]
    number: Option<f64>,
    /// A whole number.
    #[resource(sort)]
    count: Option<i64>,
}

#[tokio::test]
async fn a_cursor_with_a_foreign_text_is_no_sql() {
    // REQ-PAG-09
    let Some(pool) = postgres::pool_with_schema().await else { return };
    let client = pool.get().await.unwrap();
    let table = "CREATE TABLE entry (id bigserial PRIMARY KEY, number text, count text)";
    client.batch_execute(table).await.unwrap();
    let texts = [
        "'; DROP TABLE entry; --",
        "\\'; DROP TABLE entry; --",
        "\\",
        "$1",
        "?",
        "1.5",
        "NaN",
        "a\nb",
    ];
    for text in texts {
        client
            .execute("INSERT INTO entry (number, count) VALUES ($1, $1)", &[&text])
            .await
            .unwrap();
    }
    let database = PostgresDatabase::new(pool.clone());
    let table = SqlTable::new(Dialect::Postgres, "entry");
    let store = SqlStore::<Entry, _>::new(table, database);
    let adapter = Adapter::builder("log").resource(store).without_config().build().unwrap();
    for field in ["number", "count"] {
        for order in ["asc", "desc"] {
            let sort = json!({ "field": field, "order": order });
            walk(&adapter, "list_entries", sort).await.unwrap();
        }
    }
    let count = client.query_one("SELECT count(*) FROM entry", &[]).await.unwrap();
    assert_eq!(count.get::<_, i64>(0), texts.len() as i64);
}

#[tokio::test]
async fn text_that_is_not_utf_8_keeps_its_bytes() {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let row =
        "INSERT INTO sample (label, kind, count) VALUES (CAST(x'61ff62' AS TEXT), x'00ff', 1)";
    connection.execute_batch(&samples::table_sql(Dialect::Sqlite, row)).unwrap();
    let database = RusqliteDatabase::new(connection);
    let store = SqlStore::new(samples::table(Dialect::Sqlite), database.clone());
    let adapter = Adapter::builder("samples").resource(store).without_config().build().unwrap();
    let change = json!({ "id": 1, "input": { "count": 2 } });
    let changed = ask(&adapter, "update_sample", &change).await;
    assert_eq!(changed["sample"]["count"], 2, "{changed}");
    let sql = "SELECT hex(label) || typeof(label) || hex(kind) || typeof(kind) FROM sample";
    let kept: String = database
        .with(|connection| Ok(connection.query_row(sql, [], |row| row.get(0))?))
        .await
        .unwrap();
    assert_eq!(kept, "61FF62text00FFblob");
}

/// A country, whose code callers choose.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "countries")]
pub(super) struct Country {
    /// The code of the country.
    #[resource(id)]
    #[create_input(chosen)]
    #[param(max_length = 2)]
    code: String,
    /// Name of the country.
    #[resource(filter)]
    name: String,
}

#[tokio::test]
async fn callers_choose_an_identifier() {
    // REQ-ERR-02
    const TABLE: &str = "CREATE TABLE country (code varchar(2) PRIMARY KEY, name text NOT NULL)";
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(TABLE).unwrap();
    let builder = || Adapter::builder("world").without_config();
    let in_sqlite = SqlTable::new(Dialect::Sqlite, "country");
    let in_sqlite = SqlStore::<Country, _>::new(in_sqlite, RusqliteDatabase::new(connection));
    let mut adapters = vec![
        builder().resource(MemoryRecords::<Country>::new()).build().unwrap(),
        builder().resource(in_sqlite).build().unwrap(),
    ];
    if let Some(pool) = postgres::pool_with_schema().await {
        pool.get().await.unwrap().batch_execute(TABLE).await.unwrap();
        let table = SqlTable::new(Dialect::Postgres, "country");
        let store = SqlStore::<Country, _>::new(table, PostgresDatabase::new(pool));
        adapters.push(builder().resource(store).build().unwrap());
    }
    for adapter in adapters {
        let country = json!({ "code": "is", "name": "Iceland" });
        let created = ask(&adapter, "create_country", &country).await;
        assert_eq!(created["country"], country);
        let again = ask(&adapter, "create_country", &country).await;
        assert_eq!(again["code"], "CONFLICT_ALREADY_EXISTS", "{again}");
        let missing = ask(&adapter, "create_country", &json!({ "name": "Norway" })).await;
        assert_eq!(missing["code"], "VALIDATION_MISSING_PARAM", "{missing}");
        let long = ask(&adapter, "create_country", &json!({ "code": "nor", "name": "" })).await;
        assert_eq!(long["code"], "VALIDATION_INVALID_VALUE", "{long}");
        let change = json!({ "code": "is", "input": { "code": "no" } });
        let refused = ask(&adapter, "update_country", &change).await;
        assert_eq!(refused["code"], "VALIDATION_UNKNOWN_FIELD", "{refused}");
    }
}

/// A parcel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
#[resource(operations(get, list, update, delete))]
struct Parcel {
    /// Number of the parcel.
    #[resource(id, filter)]
    parcel_id: i64,
    /// Labels.
    #[resource(filter)]
    tags: Option<Vec<String>>,
    /// Where it is.
    #[resource(nested)]
    #[update_input(replace)]
    place: Option<Place>,
}

/// A place.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
struct Place {
    /// The floor.
    #[resource(filter, sort, group, numeric)]
    floor: i64,
}

#[tokio::test]
async fn a_text_that_is_not_json_hides_no_row() {
    // REQ-COL-03, REQ-COL-06
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let tables = "CREATE TABLE parcel (parcel_id INTEGER PRIMARY KEY, tags, place);
        CREATE INDEX floors ON parcel (json_extract(CASE WHEN json_valid(place) THEN place END, '$.floor'))";
    connection.execute_batch(tables).unwrap();
    let values = ["[\"a\"]", "{\"floor\": 3}", "", "{", "[1", "a", "7", "null", "{\"floor\": [1]}"];
    for value in values {
        let row = "INSERT INTO parcel (tags, place) VALUES (?1, ?1)";
        connection.execute(row, [value]).unwrap();
    }
    let table = SqlTable::new(Dialect::Sqlite, "parcel");
    let params = json!({ "filter": { "place.floor": 3 } });
    let serde_json::Value::Object(params) = params else { unreachable!() };
    let query = CollectionQuery::parse(&QueryOptions::new(), params, &CursorKey::random()).unwrap();
    let statement = table.query(&query).steps().unwrap().next_statement().unwrap();
    let sql = format!("EXPLAIN QUERY PLAN {}", statement.sql);
    let plan = Statement { sql, ..statement }.run_on(&connection).unwrap();
    assert!(format!("{plan:?}").contains("USING INDEX floors"), "{plan:?}");
    let store = SqlStore::<Parcel, _>::new(table, RusqliteDatabase::new(connection));
    let adapter = Adapter::builder("parcels").resource(store).without_config().build().unwrap();
    for (query, found) in [
        (json!({ "filter": { "tags": "a" } }), 1),
        (json!({ "filter": { "tags": { "in": ["a", "b"] } } }), 1),
        (json!({ "filter": { "place.floor": 3 } }), 1),
        (json!({ "filter": { "place.floor": { "gte": 3 } } }), 1),
        (json!({ "sort": { "field": "place.floor" } }), values.len()),
        (json!({ "sort": { "field": "place.floor", "order": "desc" } }), values.len()),
    ] {
        let page = ask(&adapter, "list_parcels", &query).await;
        let count = page["items"].as_array().map(Vec::len);
        assert_eq!(count, Some(found), "{query}: {page}");
    }
    for id in 1..=values.len() {
        let input = json!({ "tags": ["b"], "place": { "floor": 1 } });
        let change = json!({ "parcel_id": id, "input": input });
        let changed = ask(&adapter, "update_parcel", &change).await;
        assert_eq!(changed["parcel"]["tags"], json!(["b"]), "{changed}");
        assert_eq!(changed["parcel"]["place"], json!({ "floor": 1 }), "{changed}");
    }
}
