//! Tests that a written value is found by a filter with the same string, in columns of all types.

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{PostgresDatabase, RusqliteDatabase, SqlStore};
use mcp_aql_tests_databases::postgres;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ask;

/// A token with a value of any type, and a list of such values.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Token {
    /// Number of the token.
    #[resource(id)]
    id: i64,
    /// A value.
    #[resource(filter)]
    value: Option<String>,
    /// Several values.
    #[resource(filter)]
    list: Option<Vec<String>>,
}

/// Types of PostgreSQL with two strings each. The first is a value in a form that the database does not return. The
/// second is another form of the same value, or empty.
const TYPES: [(&str, &str, &str); 42] = [
    ("point", "(1, 2)", "1,2"),
    ("box", "(0, 0),(1,1)", "0,0,1,1"),
    ("line", "{1, 2, 3}", "{1.0,2,3}"),
    ("lseg", "(0,0),(1, 1)", ""),
    ("path", "[(0, 0),(1,1)]", ""),
    ("polygon", "((0, 0),(1,1))", ""),
    ("circle", "<(0, 0),1>", "((0,0),1)"),
    ("int4range", "[1,3]", "[1,4)"),
    ("numrange", "[1.0,2)", "[1,2.0)"),
    ("int4multirange", "{[1,2], [3,3]}", "{[1,4)}"),
    ("nummultirange", "{[1.0, 2)}", "{[1,2)}"),
    ("time", "10:00", "10:00:00"),
    ("time(0)", "10:00:00.4", "10:00"),
    ("time(0) with time zone", "10:00:00.4+02", ""),
    ("interval", "90 minutes", "01:30"),
    ("interval(0)", "1.4 seconds", "1 second"),
    ("timestamp(0) with time zone", "2031-05-06 07:00:00.4Z", "2031-05-06 09:00:00+02"),
    ("numeric(6,2)", "1.005", "1.01"),
    ("numeric", "00012.50", "12.5"),
    ("money", "12.5", "$12.50"),
    ("oid", "007", "7"),
    ("bit(3)", "101", ""),
    ("bit varying(5)", "B101", "101"),
    ("character(3)", "a", "a "),
    ("character varying(3)", "a  ", ""),
    ("name", "a", ""),
    ("\"char\"", "a", ""),
    ("bytea", "\\x00FF", "\\000\\377"),
    ("macaddr", "08-00-2B-01-02-03", "08:00:2b:01:02:03"),
    ("inet", "10.0.0.9/32", "10.0.0.9"),
    ("cidr", "10.1/16", "10.1.0.0/16"),
    ("uuid", "{0B8A5F0C1D2E4F3A9B4C5D6E7F8091A2}", "0b8a5f0c-1d2e-4f3a-9b4c-5d6e7f8091a2"),
    ("xml", "<a b='1'/>", ""),
    ("tsvector", "b a", "a b"),
    ("tsquery", "a&b", "'a' & 'b'"),
    ("pg_lsn", "0/016B3748", "0/16B3748"),
    ("jsonpath", "$ . a", "$.a"),
    ("regclass", "pg_catalog.pg_class", "pg_class"),
    ("hstore", "b=>1,a=>2", "a=>2, b=>1"),
    ("ltree", "a.b", ""),
    ("mood", "calm", ""),
    ("pair", "( 1 ,2)", "(1,2)"),
];

/// Writes a value and a list with it. Finds both by each form of the value.
async fn is_found(adapter: &Adapter, field: &str, forms: &[&str], context: &str) {
    let of = |text: &str| if field == "list" { json!([text]) } else { json!(text) };
    // No filter may find the row without a value.
    let empty = ask(adapter, "create_token", &json!({})).await;
    let empty = &empty["token"]["id"];
    for written in forms {
        let created = ask(adapter, "create_token", &json!({ field: of(written) })).await;
        let id = created["token"]["id"].as_i64();
        let id = id.unwrap_or_else(|| panic!("{context} {written}: {created}"));
        let stored = match &created["token"][field] {
            Value::Array(entries) => entries[0].as_str().unwrap_or_default().to_owned(),
            value => value.as_str().unwrap_or_default().to_owned(),
        };
        for form in forms.iter().copied().chain([stored.as_str()]) {
            let filters = match field {
                "list" => [json!({ "contains": form }), json!({ "in": [form] })],
                _ => [json!(form), json!({ "in": [form] })],
            };
            for filter in filters {
                let params = json!({ "filter": { field: filter }, "first": 50 });
                let found = ask(adapter, "list_tokens", &params).await;
                let items = found["items"].as_array();
                let is_listed =
                    items.is_some_and(|items| items.iter().any(|item| item["id"] == id));
                assert!(is_listed, "{context} {field} {written} {filter}: {found}");
                let finds_all =
                    items.is_some_and(|items| items.iter().any(|item| item["id"] == *empty));
                assert!(!finds_all, "{context} {field} {written} {filter}: {found}");
            }
            let other = json!({ "filter": { field: { "exists": false } } });
            let found = ask(adapter, "list_tokens", &other).await;
            assert_eq!(found["items"][0]["id"], *empty, "{context}: {found}");
            assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{context}: {found}");
        }
    }
}

#[tokio::test]
async fn what_is_written_is_found_in_a_column_of_any_type() {
    // REQ-COL-03
    let extensions = "CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE EXTENSION citext;
        CREATE TYPE mood AS ENUM ('calm', 'glad'); CREATE TYPE pair AS (one integer, other integer)";
    let Some(address) = postgres::new_database(extensions).await else { return };
    let database = PostgresDatabase::connect(&address).await.unwrap();
    let (client, connection) =
        tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let mut cases: Vec<_> =
        TYPES.into_iter().flat_map(|case| [(case, "value"), (case, "list")]).collect();
    cases.extend([
        (("citext", "Straße", "STRAße"), "value"),
        (("citext", "Straße", "STRAße"), "list"),
    ]);
    for (number, ((kind, written, other), field)) in cases.into_iter().enumerate() {
        // The entries of these lists are JSON objects or numbers, not strings.
        if field == "list" && ["hstore", "pair", "numeric", "numeric(6,2)"].contains(&kind) {
            continue;
        }
        let of = |name: &str, kind: &str| {
            if name == field { kind.to_owned() } else { "text".to_owned() }
        };
        let array = format!("{kind}[]");
        let (value, list) =
            (of("value", kind), if field == "list" { array.as_str() } else { "jsonb" });
        let create = format!(
            "CREATE TABLE token_{number} (id bigserial PRIMARY KEY, value {value}, list {list})"
        );
        client.batch_execute(&create).await.unwrap_or_else(|error| panic!("{create}: {error:?}"));
        let column_type = if field == "list" { list } else { kind };
        let table = SqlTable::<Token>::new(Dialect::Postgres, format!("token_{number}"))
            .column_type(field, column_type);
        let store = SqlStore::new(table, database.clone());
        let adapter = Adapter::builder("tokens").resource(store).without_config().build().unwrap();
        let forms: Vec<_> = [written, other].into_iter().filter(|form| !form.is_empty()).collect();
        is_found(&adapter, field, &forms, kind).await;
        if ["point", "mood", "time(0)"].contains(&kind) && field == "value" {
            let malformed = json!({ "filter": { "value": "(" } });
            let refused = ask(&adapter, "list_tokens", &malformed).await;
            assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{kind}: {refused}");
            assert!(refused["message"].as_str().unwrap().contains("'value'"), "{refused}");
        }
    }
}

/// A label, by its name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Label {
    /// Name of the label.
    #[resource(id, filter, sort)]
    #[create_input(chosen)]
    name: String,
    /// A note.
    #[resource(filter)]
    note: Option<String>,
    /// The label above.
    #[resource(references = "label", filter)]
    above: Option<String>,
}

#[tokio::test]
async fn a_key_that_ignores_case_is_one_key() {
    // REQ-COL-03, REQ-UPD-01
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let table = |kind: &str, reference: &str| {
        format!("CREATE TABLE label (name {kind} PRIMARY KEY, note {kind}, above {reference})")
    };
    let sqlite = table("TEXT COLLATE NOCASE", "TEXT COLLATE NOCASE REFERENCES label");
    connection.execute_batch(&format!("PRAGMA foreign_keys = ON; {sqlite}")).unwrap();
    let in_sqlite = SqlTable::<Label>::new(Dialect::Sqlite, "label");
    let in_sqlite = SqlStore::new(in_sqlite, RusqliteDatabase::new(connection));
    let mut adapters =
        vec![Adapter::builder("labels").resource(in_sqlite).without_config().build().unwrap()];
    let extension =
        format!("CREATE EXTENSION citext; {}", table("citext", "citext REFERENCES label"));
    if let Some(address) = postgres::new_database(&extension).await {
        let mut table = SqlTable::<Label>::new(Dialect::Postgres, "label");
        for field in ["name", "note", "above"] {
            table = table.column_type(field, "citext");
        }
        let store = SqlStore::new(table, PostgresDatabase::connect(&address).await.unwrap());
        adapters.push(Adapter::builder("labels").resource(store).without_config().build().unwrap());
    }
    for adapter in adapters {
        let new = json!({ "name": "Red", "note": "Warm" });
        let created = ask(&adapter, "create_label", &new).await;
        assert_eq!(created["label"]["name"], "Red", "{created}");
        let again = ask(&adapter, "create_label", &json!({ "name": "RED" })).await;
        assert_eq!(again["code"], "CONFLICT_ALREADY_EXISTS", "{again}");
        let below = ask(&adapter, "create_label", &json!({ "name": "Pink", "above": "red" })).await;
        assert_eq!(below["label"]["above"], "red", "{below}");
        for filter in [json!({ "name": "rED" }), json!({ "name": { "in": ["RED"] } })] {
            let found = ask(&adapter, "list_labels", &json!({ "filter": filter })).await;
            assert_eq!(found["items"][0]["name"], "Red", "{filter}: {found}");
        }
        let found = ask(&adapter, "get_label", &json!({ "name": "red" })).await;
        assert_eq!(found["label"]["name"], "Red", "{found}");
        let change = json!({ "name": "RED", "input": { "note": "Hot" } });
        let changed = ask(&adapter, "update_label", &change).await;
        assert_eq!(changed["label"]["note"], "Hot", "{changed}");
        let found = ask(&adapter, "list_labels", &json!({ "filter": { "above": "RED" } })).await;
        assert_eq!(found["items"][0]["name"], "Pink", "{found}");
        let rose = ask(&adapter, "create_label", &json!({ "name": "Rose", "above": "rED" })).await;
        assert_eq!(rose["label"]["above"], "rED", "{rose}");
        for (root, direction, others) in [
            ("RED", "incoming", &["Pink", "Rose"][..]),
            ("pink", "outgoing", &["Red"]),
            ("pink", "both", &["Red", "Rose"]),
        ] {
            let root = json!({ "element_type": "label", "element_name": root });
            let walk = json!({ "root": root, "direction": direction, "depth": 2 });
            let found = ask(&adapter, "query_relationships", &walk).await;
            let steps = found["relationships"].as_array().unwrap().iter();
            let names: Vec<_> = steps.map(|step| &step["target"]["element_name"]).collect();
            assert_eq!(names, others, "{walk}: {found}");
        }
        let deleted = ask(&adapter, "delete_label", &json!({ "name": "pINK" })).await;
        assert_eq!(deleted["label"]["name"], "Pink", "{deleted}");
    }
}

/// A tick of a clock.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
#[resource(operations(create, list))]
struct Tick {
    /// Number of the tick.
    #[resource(id)]
    id: i64,
    /// Time in seconds.
    #[resource(filter)]
    second: chrono::DateTime<chrono::Utc>,
}

#[tokio::test]
async fn a_filter_that_no_row_can_satisfy_has_a_warning() {
    // REQ-WRN-02
    let table = |dialect| {
        SqlTable::<Tick>::new(dialect, "tick")
            .stored_as("second", mcp_aql::query::sql::Storage::UnixSeconds)
    };
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE tick (id INTEGER PRIMARY KEY, second)").unwrap();
    let store = SqlStore::new(table(Dialect::Sqlite), RusqliteDatabase::new(connection));
    let builder = || Adapter::builder("clock").without_config();
    let mut adapters = vec![builder().resource(store).build().unwrap()];
    if let Some(pool) = postgres::pool_with_schema().await {
        let sql = "CREATE TABLE tick (id bigserial PRIMARY KEY, second bigint)";
        pool.get().await.unwrap().batch_execute(sql).await.unwrap();
        let store = SqlStore::new(table(Dialect::Postgres), PostgresDatabase::new(pool));
        adapters.push(builder().resource(store).build().unwrap());
    }
    for adapter in adapters {
        let (whole, parts) = ("2031-05-06T07:00:00Z", "2031-05-06T07:00:00.5Z");
        ask(&adapter, "create_tick", &json!({ "second": parts })).await;
        for (filter, count, is_unmatched) in [
            (json!({ "second": whole }), 1, false),
            (json!({ "second": parts }), 0, true),
            (json!({ "second": { "in": [parts] } }), 0, true),
            (json!({ "second": { "in": [parts, whole] } }), 1, false),
            (json!({ "second": { "ne": parts } }), 1, false),
            (json!({ "second": { "lt": parts } }), 1, false),
        ] {
            let found = adapter.call("list_ticks", json!({ "filter": filter })).await;
            assert_eq!(found.data()["pageInfo"]["totalCount"], count, "{filter}");
            let warnings = serde_json::to_value(found.warnings()).unwrap();
            let named = &warnings[0]["details"]["param_name"];
            let expected = if is_unmatched { json!("filter.second") } else { Value::Null };
            assert_eq!(*named, expected, "{filter}: {warnings}");
        }
    }
}

/// A column of a catalog.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Entry {
    /// Number of the entry.
    #[resource(id)]
    id: i64,
    /// A name.
    #[resource(filter)]
    name: Option<String>,
    /// A letter.
    #[resource(filter)]
    letter: Option<String>,
    /// Names.
    #[serde(default)]
    names: Vec<String>,
}

#[tokio::test]
async fn a_value_that_postgresql_would_shorten_is_refused() {
    // REQ-COL-03, REQ-ERR-02
    let Some(pool) = postgres::pool_with_schema().await else { return };
    let sql =
        "CREATE TABLE entry (id bigserial PRIMARY KEY, name name, letter \"char\", names name[])";
    pool.get().await.unwrap().batch_execute(sql).await.unwrap();
    let table = SqlTable::<Entry>::new(Dialect::Postgres, "entry")
        .column_type("name", "name")
        .column_type("letter", "\"char\"")
        .column_type("names", "name[]");
    let store = SqlStore::new(table, PostgresDatabase::new(pool));
    let adapter = Adapter::builder("catalog").resource(store).without_config().build().unwrap();
    let (longest, longer) = ("é".repeat(31) + "x", "é".repeat(32));
    for (field, fits, exceeds, bytes) in [
        ("name", json!(longest), json!(longer), 63),
        ("letter", json!("a"), json!("ab"), 1),
        ("letter", json!("b"), json!("é"), 1),
        ("names", json!([longest]), json!(["a", longer]), 63),
    ] {
        let created = ask(&adapter, "create_entry", &json!({ field: fits })).await;
        let id = &created["entry"]["id"];
        assert_eq!(created["entry"][field], fits, "{created}");
        let change = json!({ "id": id, "input": { field: exceeds } });
        for (operation, params, place) in
            [("create_entry", json!({ field: exceeds }), ""), ("update_entry", change, "input.")]
        {
            let refused = ask(&adapter, operation, &params).await;
            let told = format!("Parameter '{place}{field}' must have up to {bytes} bytes in UTF-8");
            assert_eq!(refused["message"], told, "{operation}");
        }
        if field != "names" {
            for (value, count) in [(fits, 1), (exceeds, 0)] {
                let filter = json!({ "filter": { field: value } });
                let found = ask(&adapter, "list_entries", &filter).await;
                assert_eq!(found["pageInfo"]["totalCount"], count, "{filter}: {found}");
            }
        }
    }
}

/// A count.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
#[resource(operations(create, list))]
struct Tally {
    /// Number of the tally.
    #[resource(id)]
    id: i64,
    /// The count.
    #[resource(filter, numeric)]
    count: i64,
}

#[tokio::test]
async fn sums_of_integers_are_exact() {
    // REQ-AGG-02, REQ-ENC-05
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE tally (id INTEGER PRIMARY KEY, count)").unwrap();
    let builder = || Adapter::builder("tallies").without_config();
    let table = SqlTable::<Tally>::new(Dialect::Sqlite, "tally");
    let store = SqlStore::new(table, RusqliteDatabase::new(connection));
    let memory = mcp_aql::resource::MemoryRecords::<Tally>::new();
    let mut adapters = vec![
        builder().resource(memory).build().unwrap(),
        builder().resource(store).build().unwrap(),
    ];
    if let Some(pool) = postgres::pool_with_schema().await {
        let sql = "CREATE TABLE tally (id bigserial PRIMARY KEY, count bigint)";
        pool.get().await.unwrap().batch_execute(sql).await.unwrap();
        let table = SqlTable::<Tally>::new(Dialect::Postgres, "tally");
        let store = SqlStore::new(table, PostgresDatabase::new(pool));
        adapters.push(builder().resource(store).build().unwrap());
    }
    for adapter in adapters {
        let functions = json!({ "sum": "count", "min": "count", "max": "count" });
        for (count, sum) in [
            (9_007_199_254_740_993, json!(9_007_199_254_740_993_u64)),
            (i64::MAX, json!(9_232_379_236_109_516_800_u64)),
            (i64::MAX, json!("18455751272964292607")),
        ] {
            ask(&adapter, "create_tally", &json!({ "count": count })).await;
            let params = json!({ "aggregate": { "all": functions } });
            let found = ask(&adapter, "list_tallies", &params).await;
            let all = &found["aggregations"]["all"];
            assert_eq!(all["sum"], sum, "{found}");
            assert_eq!(all["max"], count, "{found}");
            assert_eq!(all["min"], 9_007_199_254_740_993_i64, "{found}");
        }
    }
}
