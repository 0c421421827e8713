//! Ready operations on stores in SQLite and PostgreSQL through sqlx, compared with those on a store in
//! memory.
//!
//! PostgreSQL is included if a server is given: `../../scripts/postgres.sh cargo test --all-features`.

mod databases;
#[path = "../../../../../tests/databases/tests/it/ready_stores/missing_ids.rs"]
mod missing_ids;
#[path = "../../../../../tests/databases/tests/it/ready_stores/samples.rs"]
mod samples;
mod servers;
#[path = "../../../../../tests/databases/tests/it/ready_stores/silent_server.rs"]
mod silent_server;
mod transactions;

use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use databases::{Databases, ask};
use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{MemoryRecords, SqlStore};
use mcp_aql_sqlx::{SqlxPostgres, SqlxSqlite};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

/// A shelf.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Shelf {
    /// Name of the room.
    room: String,
    /// Number of the floor.
    floor: Option<i32>,
}

/// The state of a book.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
enum State {
    /// In the house.
    Here,
    /// With a reader.
    Lent,
}

/// A book, with an optional field of each kind.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Book {
    /// Number of the book.
    #[resource(id)]
    book_id: i64,
    /// Title of the book.
    #[resource(search, filter, sort)]
    title: String,
    /// The author.
    #[resource(filter, sort)]
    author: Option<String>,
    /// Number of copies.
    #[resource(filter, sort, numeric)]
    copies: Option<u8>,
    /// Weight in kilograms.
    #[resource(filter, sort, numeric)]
    weight: Option<f64>,
    /// Price.
    #[resource(filter, numeric)]
    #[param(default = 0.1)]
    price: f32,
    /// State of the book.
    #[resource(filter, sort, group)]
    state: Option<State>,
    /// Labels.
    #[resource(search, filter)]
    #[serde(default)]
    labels: Vec<String>,
    /// Day of the purchase.
    #[resource(filter, sort)]
    bought: Option<NaiveDate>,
    /// Time of the last return.
    #[resource(filter, sort)]
    returned: Option<DateTime<Utc>>,
    /// The shelf.
    shelf: Option<Shelf>,
    /// Whether only readers in the house see it.
    #[resource(filter)]
    locked: Option<bool>,
    /// Number of changes.
    #[resource(read_only)]
    #[create_input(value = 1)]
    #[serde(rename = "_version")]
    version: u64,
}

const BOOKS: Databases<Book> = Databases {
    name: "book",
    sqlite: "book_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, title_words TEXT NOT NULL, author TEXT,
        copies INTEGER, weight REAL, price REAL NOT NULL, state TEXT, labels TEXT NOT NULL, labels_words TEXT NOT NULL,
        bought DATE, returned DATETIME, shelf TEXT, locked BOOLEAN, version INTEGER NOT NULL",
    postgres: "book_id bigserial PRIMARY KEY, title text NOT NULL, title_words text NOT NULL, author varchar,
        copies smallint, weight double precision, price real NOT NULL, state text, labels jsonb NOT NULL,
        labels_words text NOT NULL, bought date, returned timestamptz, shelf jsonb, locked boolean,
        version bigint NOT NULL",
    table: |dialect| {
        SqlTable::new(dialect, "book")
            .column("_version", "version")
            .search_column("title", "title_words")
            .search_column("labels", "labels_words")
    },
};

fn field() -> impl Strategy<Value = (String, Value)> {
    let text = || select(vec!["Emma", "emma red", "Straße", "", "\u{feff}x", "O'Hara \"q\""]);
    let one_of = |name: &'static str, values: Vec<Value>| {
        select(values).prop_map(move |value| (name.to_owned(), value))
    };
    prop_oneof![
        text().prop_map(|it| ("title".to_owned(), json!(it))),
        proptest::option::of(text()).prop_map(|it| ("author".to_owned(), json!(it))),
        one_of("copies", vec![json!(0), json!(3), json!(null)]),
        one_of("weight", vec![json!(-0.25), json!(1.5), json!(2), json!(null)]),
        (0..50_u8).prop_map(|it| ("price".to_owned(), json!(f64::from(it) / 10.0))),
        one_of("state", vec![json!("here"), json!("lent"), json!(null)]),
        proptest::collection::vec(text(), 0..3).prop_map(|it| ("labels".to_owned(), json!(it))),
        one_of("bought", vec![json!("2031-05-06"), json!("1999-12-31"), json!(null)]),
        one_of("returned", vec![json!("2031-05-06T07:00:00.123456Z"), json!(null)]),
        one_of(
            "shelf",
            vec![json!({ "room": "a" }), json!({ "room": "", "floor": 2 }), json!(null)]
        ),
        one_of("locked", vec![json!(true), json!(false), json!(null)]),
    ]
}

/// Generates a call of a ready operation.
fn a_call() -> impl Strategy<Value = (&'static str, Value)> {
    let id = || 1..8_i64;
    let fields = || {
        proptest::collection::vec(field(), 1..6)
            .prop_map(|fields| Value::Object(fields.into_iter().collect()))
    };
    prop_oneof![
        4 => fields().prop_map(|mut fields| {
            if fields.get("title").is_none() {
                fields["title"] = json!("Dune");
            }
            ("create_book", fields)
        }),
        3 => (id(), proptest::option::of(1..3_u64), fields()).prop_map(|(id, version, input)| {
            let mut params = json!({ "book_id": id, "input": input });
            if let Some(version) = version {
                params["if_match"] = json!(version);
            }
            ("update_book", params)
        }),
        1 => id().prop_map(|id| ("delete_book", json!({ "book_id": id }))),
        2 => id().prop_map(|id| ("get_book", json!({ "book_id": id }))),
        3 => select(vec![
            json!({}),
            json!({ "filter": { "copies": { "gt": 1 } }, "sort": { "field": "title" } }),
            json!({ "filter": { "author": { "exists": false } }, "fields": ["title", "price"] }),
            json!({ "filter": { "locked": true, "weight": { "lte": 1.5 } } }),
            json!({ "filter": { "returned": { "gt": "2031-05-06T07:00:00Z" }, "state": ["here"] } }),
            json!({ "aggregate": { "n": { "group_by": "state", "count": true, "sum": "copies" } } }),
            json!({ "sort": [{ "field": "bought", "order": "desc" }], "first": 2 }),
        ])
        .prop_map(|params| ("list_books", params)),
        1 => select(vec!["emma", "strasse", "red"])
            .prop_map(|text| ("search_books", json!({ "query": text, "fields": "full" }))),
    ]
}

#[test]
fn the_stores_answer_as_the_store_in_memory() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let pools = runtime.block_on(databases::pools());
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() };
    let calls = proptest::collection::vec(a_call(), 1..40);
    let outcome = TestRunner::new(config).run(&calls, |calls| {
        runtime.block_on(async {
            let memory = databases::adapter(MemoryRecords::<Book>::new());
            let others = BOOKS.adapters(&pools).await;
            for (operation, params) in &calls {
                let expected = ask(&memory, operation, params).await;
                for (name, adapter) in &others {
                    let found = ask(adapter, operation, params).await;
                    prop_assert_eq!(&found, &expected, "{}: {} {}", name, operation, params);
                }
            }
            Ok(())
        })
    });
    outcome.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_continue_where_they_end() {
    for (name, adapter) in BOOKS.adapters(&databases::pools().await).await {
        for title in ["Emma", "Dune", "Momo", "Ulysses", "Ivanhoe"] {
            let book = ask(&adapter, "create_book", &json!({ "title": title, "copies": 2 })).await;
            assert_eq!(book["book"]["title"], title, "{name}: {book}");
        }
        let mut params =
            json!({ "sort": { "field": "title" }, "first": 2, "filter": { "copies": 2 } });
        let mut titles = Vec::new();
        loop {
            let page = adapter.call("list_books", params.clone()).await.data().clone();
            assert_eq!(page["pageInfo"]["totalCount"], 5, "{name}");
            let items = page["items"].as_array().unwrap();
            titles.extend(items.iter().map(|book| book["title"].as_str().unwrap().to_owned()));
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
            params["after"] = page["pageInfo"]["endCursor"].clone();
        }
        assert_eq!(titles, ["Dune", "Emma", "Ivanhoe", "Momo", "Ulysses"], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_columns_become_null_and_get_values_again() {
    let names = ["author", "copies", "weight", "state", "bought", "returned", "shelf", "locked"];
    let full = json!({
        "author": "Jane",
        "copies": 3,
        "weight": 0.5,
        "state": "lent",
        "bought": "2031-05-06",
        "returned": "2031-05-06T07:00:00Z",
        "shelf": { "room": "a", "floor": null },
        "locked": false,
    });
    let empty: Value = names.map(|name| (name.to_owned(), Value::Null)).into_iter().collect();
    for (name, adapter) in BOOKS.adapters(&databases::pools().await).await {
        ask(&adapter, "create_book", &json!({ "title": "Emma" })).await;
        for input in [&full, &empty, &full] {
            let params = json!({ "book_id": 1, "input": input });
            let changed = ask(&adapter, "update_book", &params).await;
            let read = ask(&adapter, "get_book", &json!({ "book_id": 1 })).await;
            for field in names {
                assert_eq!(changed["book"][field], input[field], "{name}: {field}, {changed}");
                assert_eq!(read["book"][field], input[field], "{name}: {field}, {read}");
            }
        }
    }
}

/// A reader, whose address no other reader has.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Reader {
    /// Identifier of the reader.
    #[resource(id)]
    reader_id: String,
    /// Address of the reader.
    #[resource(filter)]
    address: Option<String>,
    /// Name of the reader.
    name: Option<String>,
    /// The reader who has invited the reader.
    #[resource(references = "reader")]
    host_id: Option<String>,
}

const READERS: Databases<Reader> = Databases {
    name: "reader",
    sqlite: "reader_id TEXT PRIMARY KEY, address TEXT UNIQUE, name TEXT NOT NULL CHECK (length(name) < 5),
        host_id TEXT REFERENCES reader",
    postgres: "reader_id uuid PRIMARY KEY, address text UNIQUE, name varchar(4) NOT NULL,
        host_id uuid REFERENCES reader",
    table: |dialect| {
        let table = SqlTable::new(dialect, "reader");
        match dialect {
            Dialect::Sqlite => table,
            Dialect::Postgres => {
                table.column_type("reader_id", "uuid").column_type("host_id", "uuid")
            }
        }
    },
};

#[tokio::test(flavor = "multi_thread")]
async fn what_the_database_refuses_is_refused_with_a_reason() {
    // SQLite only limits strings by a rule.
    let in_postgres = "The value of 'name' (character varying(4)) is too long for the database: use a shorter one";
    let in_sqlite = "The value of 'name' violates a rule of the database: use a value which satisfies 'rule' in \
                     the details";
    let missing = "The field 'name' needs a value: send one, not null";
    let unique = "Another 'reader' has this value of 'address', which must be unique: use another value, or change the other \
                  'reader'";
    let reference = "Parameter 'host_id' must identify an existing reader";
    let referred =
        "Other records refer to the 'reader': change or delete them before you delete it";
    for (name, adapter) in READERS.adapters(&databases::pools().await).await {
        let create = async |params| ask(&adapter, "create_reader", &params).await;
        let id = |created: Value| created["reader"]["reader_id"].clone();
        let first = id(create(json!({ "name": "Emma", "address": "a" })).await);
        let second = id(create(json!({ "name": "Jane", "host_id": first })).await);
        let nobody = "00000000-0000-4000-8000-000000000000";
        for (fault, message) in [
            (json!({ "address": "a" }), unique),
            (
                json!({ "name": "Ulysses" }),
                if name.starts_with("SQLite") { in_sqlite } else { in_postgres },
            ),
            (json!({ "name": null }), missing),
            (json!({ "host_id": nobody }), reference),
        ] {
            let change = json!({ "reader_id": second, "input": fault });
            let refused = ask(&adapter, "update_reader", &change).await;
            let in_input =
                ["host_id", "address", "name"].iter().fold(message.to_owned(), |text, field| {
                    text.replace(&format!("'{field}'"), &format!("'input.{field}'"))
                });
            assert_eq!(refused["message"], in_input, "{name}: {change}");
            let mut params = json!({ "name": "Momo" });
            params.as_object_mut().unwrap().extend(fault.as_object().unwrap().clone());
            let refused = create(params).await;
            assert_eq!(refused["message"], message, "{name}: {fault}");
        }
        let refused = ask(&adapter, "delete_reader", &json!({ "reader_id": first })).await;
        assert_eq!(refused["message"], referred, "{name}");
        // The changes were rolled back, and the connections can be used.
        let listed = ask(&adapter, "list_readers", &json!({})).await;
        assert_eq!(listed["pageInfo"]["totalCount"], 2, "{name}: {listed}");
        for id in [second, first] {
            let deleted = ask(&adapter, "delete_reader", &json!({ "reader_id": id })).await;
            assert_eq!(deleted["reader"]["reader_id"], id, "{name}: {deleted}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_lost_among_others() {
    const WRITERS: u64 = 20;
    for (name, adapter) in BOOKS.adapters(&databases::pools().await).await {
        ask(&adapter, "create_book", &json!({ "title": "Emma" })).await;
        let writers = (0..WRITERS).map(|number| {
            let adapter = adapter.clone();
            let params = json!({ "book_id": 1, "input": { "author": format!("a{number}") } });
            tokio::spawn(async move { ask(&adapter, "update_book", &params).await })
        });
        for written in futures_util::future::join_all(writers).await {
            let written = written.unwrap();
            assert!(written["book"].is_object(), "{name}: {written}");
        }
        let book = ask(&adapter, "get_book", &json!({ "book_id": 1 })).await;
        assert_eq!(book["book"]["_version"], WRITERS + 1, "{name}");
        // If several callers know the same version, one of them succeeds.
        let known = json!({ "book_id": 1, "if_match": WRITERS + 1, "input": { "copies": 3 } });
        let calls = (0..5).map(|_| ask(&adapter, "update_book", &known));
        let changed = futures_util::future::join_all(calls).await;
        let refused = changed.iter().filter(|it| it["code"] == "CONFLICT_VERSION_MISMATCH");
        assert_eq!(refused.count(), 4, "{name}: {changed:?}");
    }
}

/// Starts a call and drops it after this many microseconds.
async fn cancel(adapter: &Adapter, operation: &str, params: &Value, microseconds: u64) {
    let call = adapter.call(operation, params.clone());
    let _ = tokio::time::timeout(Duration::from_micros(microseconds), call).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_changes_nothing_and_blocks_nobody() {
    for (name, adapter) in BOOKS.adapters(&databases::pools().await).await {
        ask(&adapter, "create_book", &json!({ "title": "Emma" })).await;
        for microseconds in (0..3_000).step_by(50) {
            let change = json!({ "book_id": 1, "input": { "author": "x", "copies": 9 } });
            cancel(&adapter, "update_book", &change, microseconds).await;
            cancel(&adapter, "get_book", &json!({ "book_id": 1 }), microseconds).await;
            cancel(&adapter, "list_books", &json!({}), microseconds).await;
            let read = ask(&adapter, "get_book", &json!({ "book_id": 1 })).await;
            let fields = [&read["book"]["author"], &read["book"]["copies"]].map(Value::is_null);
            assert_eq!(fields[0], fields[1], "{name}: a part is written: {read}");
            let change = json!({ "book_id": 1, "input": { "author": null, "copies": null } });
            let changed = ask(&adapter, "update_book", &change).await;
            assert_eq!(changed["book"]["copies"], Value::Null, "{name}: {changed}");
        }
    }
}

#[test]
fn every_row_is_shown_sorted_corrected_and_deleted() {
    // REQ-PAG-04, REQ-PAG-09, REQ-COL-06
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let pool = runtime.block_on(databases::in_memory());
    let in_sqlite = async |rows: &str| {
        let sql = samples::table_sql(Dialect::Sqlite, rows);
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.unwrap();
        let table = samples::table(Dialect::Sqlite);
        databases::adapter(SqlStore::new(table, SqlxSqlite::new(pool.clone())))
    };
    samples::on_rows(Dialect::Sqlite, samples::rows_of_sqlite(), in_sqlite, &runtime);
    let Some(pool) = runtime.block_on(databases::in_postgres()) else { return };
    let in_postgres = async |rows: &str| {
        let sql = samples::table_sql(Dialect::Postgres, rows);
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.unwrap();
        let table = samples::table(Dialect::Postgres);
        databases::adapter(SqlStore::new(table, SqlxPostgres::new(pool.clone())))
    };
    samples::on_rows(Dialect::Postgres, samples::rows_of_postgres(), in_postgres, &runtime);
}

#[tokio::test]
async fn rows_without_an_identifier_are_on_pages() {
    // REQ-PAG-04, REQ-PAG-09
    let pool = databases::in_memory().await;
    for (tables, count) in missing_ids::tables() {
        sqlx::raw_sql(AssertSqlSafe(tables.clone())).execute(&pool).await.unwrap();
        let table = SqlTable::<missing_ids::Tag>::new(Dialect::Sqlite, "tag");
        let store = SqlStore::new(table, SqlxSqlite::new(pool.clone()));
        missing_ids::every_row_is_on_a_page(&databases::adapter(store), &tables, count).await;
    }
}
