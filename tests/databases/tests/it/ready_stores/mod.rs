//! Makes the same calls of generated operations on stores in memory, in SQLite and in PostgreSQL.

mod documents;
mod foreign;
mod limits;
mod merged_documents;
mod missing_ids;
mod refusals;
mod samples;
mod servers;
mod shown_values;
mod silent_server;
mod tenants;
mod triggers;
mod unreadable_fields;
mod written_values;

use chrono::{DateTime, NaiveDate, Utc};
use deadpool_postgres::Pool;
use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable, SqlValue, Statement};
use mcp_aql::resource::{
    AccessMode, Database, MemoryRecords, PostgresDatabase, RecordChange, ResourceRules,
    ResourceStore, RowFilter, RusqliteDatabase, SqlStore, Transaction,
};
use mcp_aql_tests_databases::postgres;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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

/// A book.
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
    #[param(default = 1)]
    copies: u8,
    /// Weight in kilograms.
    #[resource(filter, sort, numeric)]
    weight: Option<f64>,
    /// Price.
    #[resource(filter, numeric)]
    #[param(default = 0.1)]
    price: f32,
    /// State of the book.
    #[resource(filter, sort, group)]
    #[param(default = State::Here)]
    state: State,
    /// Labels.
    #[resource(search, filter)]
    #[serde(default)]
    labels: Vec<String>,
    /// Day of the purchase.
    #[resource(filter, sort)]
    bought: Option<NaiveDate>,
    /// The shelf.
    shelf: Option<Shelf>,
    /// Book that the book continues.
    #[resource(references = "book")]
    earlier_id: Option<i64>,
    /// Books that the book mentions.
    #[resource(references = "book")]
    #[serde(default)]
    mentioned_ids: Vec<i64>,
    /// Whether only readers in the house see it.
    #[resource(filter)]
    #[param(default = false)]
    locked: bool,
    /// Time of the entry.
    #[resource(read_only, filter, sort)]
    #[create_input(value = DateTime::from_timestamp_nanos(1_930_000_000_123_456_000))]
    entered: DateTime<Utc>,
    /// Number of changes.
    #[resource(read_only)]
    #[create_input(value = 1)]
    #[serde(rename = "_version")]
    version: u64,
}

const SQLITE: &str = "CREATE TABLE book (
    book_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, title_words TEXT NOT NULL, author TEXT,
    copies INTEGER NOT NULL, weight REAL, price REAL NOT NULL, state TEXT NOT NULL,
    labels TEXT NOT NULL, labels_words TEXT NOT NULL, bought TEXT, shelf TEXT,
    earlier_id INTEGER, mentioned_ids TEXT NOT NULL,
    locked INTEGER NOT NULL, entered TEXT NOT NULL, version INTEGER NOT NULL)";

const POSTGRES: &str = "CREATE TABLE book (
    book_id bigserial PRIMARY KEY, title text NOT NULL, title_words text NOT NULL, author varchar,
    copies smallint NOT NULL, weight double precision, price real NOT NULL, state text NOT NULL,
    labels jsonb NOT NULL, labels_words text NOT NULL, bought date, shelf jsonb,
    earlier_id bigint, mentioned_ids jsonb NOT NULL,
    locked boolean NOT NULL, entered timestamptz NOT NULL, version bigint NOT NULL)";

fn table(dialect: Dialect) -> SqlTable<Book> {
    SqlTable::new(dialect, "book")
        .column("_version", "version")
        .search_column("title", "title_words")
        .search_column("labels", "labels_words")
}

/// Rules that hide locked books and keep lent books from being deleted.
struct Rules;

impl ResourceRules for Rules {
    type Resource = Book;

    fn visible(&self, _context: &Context) -> RowFilter<Book> {
        RowFilter::new(json!({ "locked": false }))
    }

    fn before_delete(&self, _context: &Context, book: &Book) -> Result<(), OperationError> {
        match book.state {
            State::Here => Ok(()),
            State::Lent => Err(OperationError::wrong_state("book", "lent", ["update_book"])),
        }
    }
}

fn adapter<S: ResourceStore<Resource = Book>>(store: S) -> Adapter {
    let builder = Adapter::builder("library").resource(store.with_rules(Rules)).without_config();
    builder.build().unwrap()
}

fn in_sqlite() -> Adapter {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(SQLITE).unwrap();
    adapter(SqlStore::new(table(Dialect::Sqlite), RusqliteDatabase::new(connection)))
}

/// Creates an empty table and an adapter for it.
async fn in_postgres(pool: &Pool) -> Adapter {
    let client = pool.get().await.unwrap();
    client.batch_execute("DROP TABLE IF EXISTS book").await.unwrap();
    client.batch_execute(POSTGRES).await.unwrap();
    adapter(SqlStore::new(table(Dialect::Postgres), PostgresDatabase::new(pool.clone())))
}

fn field() -> impl Strategy<Value = (String, Value)> {
    let text = || select(vec!["Emma", "emma red", "Straße", "", "\u{feff}x", "O'Hara \"q\""]);
    let pair = |name: &'static str| move |value: Value| (name.to_owned(), value);
    let null = || Just(Value::Null);
    prop_oneof![
        text().prop_map(|it| json!(it)).prop_map(pair("title")),
        prop_oneof![text().prop_map(|it| json!(it)), null()].prop_map(pair("author")),
        (0..4_u8).prop_map(|it| json!(it)).prop_map(pair("copies")),
        prop_oneof![(-8..8_i8).prop_map(|it| json!(f64::from(it) / 4.0)), null()]
            .prop_map(pair("weight")),
        (0..50_u8).prop_map(|it| json!(f64::from(it) / 10.0)).prop_map(pair("price")),
        select(vec!["here", "lent"]).prop_map(|it| json!(it)).prop_map(pair("state")),
        proptest::collection::vec(text(), 0..3).prop_map(|it| json!(it)).prop_map(pair("labels")),
        prop_oneof![select(vec!["2031-05-06", "1999-12-31"]).prop_map(|it| json!(it)), null()]
            .prop_map(pair("bought")),
        prop_oneof![
            (text(), proptest::option::of(0..3_i32))
                .prop_map(|(room, floor)| json!({ "room": room, "floor": floor })),
            null()
        ]
        .prop_map(pair("shelf")),
        proptest::option::of(1..8_u8).prop_map(|it| json!(it)).prop_map(pair("earlier_id")),
        proptest::collection::vec(1..8_u8, 0..4)
            .prop_map(|it| json!(it))
            .prop_map(pair("mentioned_ids")),
        proptest::bool::weighted(0.2).prop_map(|it| json!(it)).prop_map(pair("locked")),
    ]
}

fn fields() -> impl Strategy<Value = Value> {
    proptest::collection::vec(field(), 1..5)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// Generates a call of an operation.
fn a_call() -> impl Strategy<Value = (&'static str, Value)> {
    let id = || 1..8_i64;
    let version = || proptest::option::of(1..3_u64);
    prop_oneof![
        4 => fields().prop_map(|mut fields| {
            if fields.get("title").is_none() {
                fields["title"] = json!("Dune");
            }
            // A rejected INSERT takes a number of PostgreSQL's sequence. To keep numbers equal, nothing here violates
            // the rules, neither a locked book nor a reference to one.
            fields["locked"] = json!(false);
            fields["earlier_id"] = json!(null);
            fields["mentioned_ids"] = json!([]);
            ("create_book", fields)
        }),
        3 => (id(), version(), fields()).prop_map(|(id, version, input)| {
            let mut params = json!({ "book_id": id, "input": input });
            if let Some(version) = version {
                params["if_match"] = json!(version);
            }
            ("update_book", params)
        }),
        1 => id().prop_map(|id| ("delete_book", json!({ "book_id": id }))),
        2 => (id(), select(vec!["full", "minimal"]))
            .prop_map(|(id, fields)| ("get_book", json!({ "book_id": id, "fields": fields }))),
        2 => select(vec![
            json!({}),
            json!({ "filter": { "copies": { "gt": 1 } }, "sort": { "field": "title" } }),
            json!({ "filter": { "author": { "exists": false } }, "fields": ["title", "price"] }),
            json!({ "filter": { "entered": "2031-02-27", "weight": { "lte": 0.5 } } }),
            json!({ "aggregate": { "n": { "group_by": "state", "count": true, "sum": "copies" } } }),
            json!({ "sort": [{ "field": "bought", "order": "desc" }], "first": 2 }),
        ])
        .prop_map(|params| ("list_books", params)),
        2 => (id(), select(vec!["incoming", "outgoing", "both"]), 1..4_u8, 1..6_u8).prop_map(
            |(id, direction, depth, first)| {
                let root = json!({ "element_type": "book", "element_name": id.to_string() });
                let params =
                    json!({ "root": root, "direction": direction, "depth": depth, "first": first });
                ("query_relationships", params)
            }
        ),
        1 => select(vec!["emma", "strasse", "red"])
            .prop_map(|text| ("search_books", json!({ "query": text, "fields": "full" }))),
    ]
}

/// Calls an operation. Confirms the call if the adapter requires it.
async fn ask(adapter: &Adapter, operation: &str, params: &Value) -> Value {
    let mut params = params.clone();
    let mut reply = adapter.call(operation, params.clone()).await;
    let token = reply.error().and_then(|error| error.details.get("confirmation_token").cloned());
    if let Some(token) = token {
        params["confirmation_token"] = token;
        reply = adapter.call(operation, params).await;
    }
    match reply.error() {
        Some(error) => json!({ "code": error.code, "message": error.message }),
        None => comparable(reply.data().clone()),
    }
}

/// Removes the cursors from a reply. They differ, because each adapter has another key.
fn comparable(mut data: Value) -> Value {
    if let Some(info) = data.get_mut("pageInfo").and_then(Value::as_object_mut) {
        info.remove("startCursor");
        info.remove("endCursor");
    }
    data
}

#[test]
fn the_stores_answer_alike() {
    // REQ-COL-04, REQ-CON-02, REQ-UPD-07, REQ-AGG-06
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let pool = runtime.block_on(postgres::pool_with_schema());
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() };
    let calls = proptest::collection::vec(a_call(), 1..40);
    let outcome = TestRunner::new(config).run(&calls, |calls| {
        runtime.block_on(async {
            let memory = adapter(MemoryRecords::<Book>::new());
            let mut others = vec![("SQLite", in_sqlite())];
            if let Some(pool) = &pool {
                others.push(("PostgreSQL", in_postgres(pool).await));
            }
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

/// Returns the adapters for all available databases.
async fn adapters(pool: Option<&Pool>) -> Vec<(&'static str, Adapter)> {
    let mut all = vec![("memory", adapter(MemoryRecords::<Book>::new())), ("SQLite", in_sqlite())];
    if let Some(pool) = pool {
        all.push(("PostgreSQL", in_postgres(pool).await));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_is_lost_among_others() {
    // REQ-CON-02, REQ-CON-03
    const WRITERS: u64 = 20;
    let pool = postgres::pool_with_schema().await;
    for (name, adapter) in adapters(pool.as_ref()).await {
        adapter.call("create_book", json!({ "title": "Emma" })).await;
        let write = |number: u64| {
            let adapter = adapter.clone();
            async move {
                let input = json!({ "author": format!("a{number}") });
                let params = json!({ "book_id": 1, "input": input });
                let result = adapter.call("update_book", params).await;
                assert!(result.error().is_none(), "{name}: {:?}", result.error());
            }
        };
        let writers: Vec<_> = (0..WRITERS).map(|number| tokio::spawn(write(number))).collect();
        for writer in writers {
            writer.await.unwrap();
        }
        let book = adapter.call("get_book", json!({ "book_id": 1 })).await;
        assert_eq!(book.data()["book"]["_version"], WRITERS + 1, "{name}");
        // Several callers know the same version. Exactly one of them succeeds.
        let known = json!({ "book_id": 1, "if_match": WRITERS + 1, "input": { "copies": 3 } });
        let changes = futures_util::future::join_all(
            (0..5).map(|_| adapter.call("update_book", known.clone())),
        );
        let refused = changes.await.into_iter().filter_map(|it| it.error().cloned());
        let codes: Vec<_> = refused.map(|error| error.code).collect();
        assert_eq!(codes, ["CONFLICT_VERSION_MISMATCH"; 4], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_changes_nothing_and_blocks_nobody() {
    // REQ-CON-02
    let pool = postgres::pool_with_schema().await;
    for (name, adapter) in adapters(pool.as_ref()).await {
        adapter.call("create_book", json!({ "title": "Emma" })).await;
        for microseconds in (0..2_000).step_by(100) {
            let params = json!({ "book_id": 1, "input": { "author": "x", "copies": 9 } });
            let call = adapter.call("update_book", params);
            let time = std::time::Duration::from_micros(microseconds);
            let _ = tokio::time::timeout(time, call).await;
            let read = adapter.call("get_book", json!({ "book_id": 1 })).await;
            let book = &read.data()["book"];
            let (author, copies) = (&book["author"], &book["copies"]);
            let whole = [(Value::Null, 1), (json!("x"), 9)];
            assert!(whole.iter().any(|(a, c)| author == a && copies == c), "{name}: {book}");
            let change = json!({ "book_id": 1, "input": { "author": null, "copies": 1 } });
            let result = adapter.call("update_book", change).await;
            let book = &result.data()["book"];
            assert_eq!(book["copies"], 1, "{name}: {:?}", result.error());
        }
    }
}

/// A parcel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Parcel {
    /// Number of the parcel.
    #[resource(id)]
    parcel_id: i64,
    /// Name of the town.
    town: String,
}

/// Records each change of a parcel in another table. This table rejects the town `nowhere`.
fn with_history<D: Database>(dialect: Dialect, database: D) -> Adapter {
    let (first, second) = match dialect {
        Dialect::Sqlite => ("?", "?"),
        Dialect::Postgres => ("$1", "$2"),
    };
    let sql = format!("INSERT INTO history (event, town) VALUES ({first}, {second})");
    let table = SqlTable::new(dialect, "parcel");
    let store = SqlStore::<Parcel, _>::new(table, database).with_statements(move |_, change| {
        let (event, town) = match change {
            RecordChange::Created(parcel) => ("created", &parcel.town),
            RecordChange::Updated { old, .. } => ("updated", &old.town),
            RecordChange::Deleted(parcel) => ("deleted", &parcel.town),
            _ => return Ok(Vec::new()),
        };
        let values = [event, town].map(|text| SqlValue::Text(text.to_owned())).to_vec();
        Ok(vec![Statement { sql: sql.clone(), values }])
    });
    Adapter::builder("post").resource(store).without_config().build().unwrap()
}

#[tokio::test]
async fn further_statements_are_part_of_the_change() {
    // REQ-CON-02
    const HISTORY: &str =
        "CREATE TABLE history (event text NOT NULL, town text CHECK (town <> 'nowhere'))";
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(HISTORY).unwrap();
    connection
        .execute_batch("CREATE TABLE parcel (parcel_id INTEGER PRIMARY KEY, town TEXT NOT NULL)")
        .unwrap();
    let database = RusqliteDatabase::new(connection);
    changes_with_history(&with_history(Dialect::Sqlite, database.clone()), &database).await;
    if let Some(pool) = postgres::pool_with_schema().await {
        let client = pool.get().await.unwrap();
        client.batch_execute(HISTORY).await.unwrap();
        let parcel = "CREATE TABLE parcel (
            parcel_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, town text NOT NULL)";
        client.batch_execute(parcel).await.unwrap();
        let database = PostgresDatabase::new(pool.clone());
        changes_with_history(&with_history(Dialect::Postgres, database.clone()), &database).await;
    }
}

async fn changes_with_history(adapter: &Adapter, database: &impl Database) {
    ask(adapter, "create_parcel", &json!({ "town": "Rome" })).await;
    let refused = ask(adapter, "create_parcel", &json!({ "town": "nowhere" })).await;
    assert_eq!(refused["code"], "INTERNAL_ERROR");
    ask(adapter, "update_parcel", &json!({ "parcel_id": 1, "input": { "town": "Oslo" } })).await;
    ask(adapter, "delete_parcel", &json!({ "parcel_id": 1 })).await;
    let listed = ask(adapter, "list_parcels", &json!({})).await;
    assert_eq!(listed["pageInfo"]["totalCount"], 0, "{listed}");
    let statement = Statement { sql: "SELECT event, town FROM history".to_owned(), values: vec![] };
    let mut transaction = database.begin(AccessMode::Read).await.unwrap();
    let rows = transaction.run(statement).await.unwrap();
    transaction.commit().await.unwrap();
    let expected = [["created", "Rome"], ["updated", "Rome"], ["deleted", "Oslo"]];
    assert_eq!(rows, expected.map(|row| row.map(|it| SqlValue::Text(it.to_owned())).to_vec()));
}

/// The state of a visit.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
enum Visit {
    /// Not yet.
    Planned,
    /// Over.
    Done,
}

/// A trip, whose columns have types of PostgreSQL that no field's type suggests.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Trip {
    /// Identifier of the trip.
    #[resource(id)]
    trip_id: String,
    /// State of the visit.
    #[resource(filter, sort, group)]
    #[param(default = Visit::Planned)]
    visit: Visit,
    /// Names of the towns.
    #[resource(filter)]
    #[serde(default)]
    towns: Vec<String>,
    /// Numbers of the days.
    #[resource(filter)]
    #[serde(default)]
    days: Vec<i32>,
    /// Start of the trip.
    #[resource(filter, sort)]
    start: DateTime<Utc>,
    /// Price of the trip.
    #[resource(filter, sort, numeric)]
    price: Option<f64>,
    /// Address of the traveller.
    #[resource(filter)]
    address: Option<String>,
    /// Trip before.
    #[resource(references = "trip")]
    earlier_id: Option<String>,
}

#[tokio::test]
async fn columns_of_other_types_are_read_compared_and_written() {
    // REQ-COL-04, REQ-UPD-07
    let Some(pool) = postgres::pool_with_schema().await else { return };
    let client = pool.get().await.unwrap();
    let schema = "CREATE TYPE visit AS ENUM ('planned', 'done');
        CREATE TABLE trip (trip_id uuid PRIMARY KEY, visit visit NOT NULL, towns text[] NOT NULL,
            days int[] NOT NULL, start timestamp NOT NULL, price numeric(9, 2), address inet,
            earlier_id uuid);
        SET TIME ZONE 'Asia/Tokyo'";
    client.batch_execute(schema).await.unwrap();
    let types = [
        ("trip_id", "uuid"),
        ("visit", "visit"),
        ("towns", "text[]"),
        ("days", "int[]"),
        ("start", "timestamp"),
        ("address", "inet"),
        ("earlier_id", "uuid"),
    ];
    let table = SqlTable::new(Dialect::Postgres, "trip");
    let table = types.into_iter().fold(table, |table, (path, name)| table.column_type(path, name));
    let store = SqlStore::<Trip, _>::new(table, PostgresDatabase::new(pool.clone()));
    let adapter = Adapter::builder("trips").resource(store).without_config().build().unwrap();
    let params = json!({
        "towns": ["Rome", "Oslo"],
        "days": [3],
        "start": "2031-05-06T07:00:00Z",
        "price": 19.991,
        "address": "10.0.0.1",
    });
    let trip = ask(&adapter, "create_trip", &params).await["trip"].clone();
    assert_eq!(trip["visit"], "planned", "{trip}");
    assert_eq!(trip["price"], 19.99, "a reply shows what is stored");
    let id = trip["trip_id"].as_str().unwrap();
    let params = json!({ "start": "2031-05-07T07:00:00Z", "earlier_id": id });
    ask(&adapter, "create_trip", &params).await;
    let stored = "SELECT start::text, towns::text, price::text FROM trip WHERE price IS NOT NULL";
    let row = client.query_one(stored, &[]).await.unwrap();
    let texts: Vec<String> = (0..3).map(|column| row.get(column)).collect();
    assert_eq!(texts, ["2031-05-06 07:00:00", "{Rome,Oslo}", "19.99"]);
    for (filter, count) in [
        (json!({ "visit": "planned" }), 2),
        (json!({ "visit": ["done", "planned"] }), 2),
        (json!({ "visit": { "nin": ["done"] } }), 2),
        (json!({ "towns": "Oslo" }), 1),
        (json!({ "days": { "in": [3, 4] } }), 1),
        (json!({ "start": "2031-05-06T07:00:00Z" }), 1),
        (json!({ "start": { "gt": "2031-05-06T07:00:00Z" } }), 1),
        (json!({ "price": { "lt": 20 } }), 1),
        (json!({ "address": "10.0.0.1/32" }), 1),
    ] {
        let listed = ask(&adapter, "list_trips", &json!({ "filter": filter })).await;
        assert_eq!(listed["pageInfo"]["totalCount"], count, "{filter}: {listed}");
    }
    let sort = json!([{ "field": "visit" }, { "field": "start", "order": "desc" }]);
    let first = ask(&adapter, "list_trips", &json!({ "sort": sort, "first": 1 })).await;
    assert_eq!(first["items"][0]["earlier_id"], id, "{first}");
    let unknown = ask(&adapter, "get_trip", &json!({ "trip_id": "no uuid" })).await;
    assert_eq!(unknown["code"], "NOT_FOUND_RESOURCE");
    let input = json!({ "visit": "done", "address": null, "days": [] });
    let changed = ask(&adapter, "update_trip", &json!({ "trip_id": id, "input": input })).await;
    assert_eq!(changed["trip"]["visit"], "done", "{changed}");
    let root = json!({ "element_type": "trip", "element_name": id });
    let walk = json!({ "root": root, "direction": "incoming" });
    let related = ask(&adapter, "query_relationships", &walk).await;
    assert_eq!(related["relationships"][0]["type"], "earlier", "{related}");
    let deleted = ask(&adapter, "delete_trip", &json!({ "trip_id": id })).await;
    assert_eq!(deleted["trip"]["towns"], json!(["Rome", "Oslo"]), "{deleted}");
}

/// A label of a parcel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Label {
    /// Number of the label.
    #[resource(id)]
    label_id: i64,
    /// Parcel with the label.
    #[resource(references = "parcel")]
    parcel_id: i64,
    /// Text of the label.
    text: Option<String>,
}

/// Builds an adapter with parcels and labels.
fn with_labels<D: Database + Clone>(dialect: Dialect, database: &D) -> Adapter {
    let parcels = SqlStore::<Parcel, _>::new(SqlTable::new(dialect, "parcel"), database.clone());
    let labels = SqlStore::<Label, _>::new(SqlTable::new(dialect, "label"), database.clone());
    Adapter::builder("post").resources((parcels, labels)).without_config().build().unwrap()
}

#[tokio::test]
async fn what_the_database_refuses_is_refused_with_a_reason() {
    // REQ-ERR-05, REQ-ERR-01
    const LABEL: &str = "parcel_id bigint NOT NULL REFERENCES parcel,
        text text NOT NULL UNIQUE CHECK (text <> 'nothing'))";
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let tables = format!(
        "CREATE TABLE parcel (parcel_id INTEGER PRIMARY KEY, town TEXT NOT NULL);
         CREATE TABLE label (label_id INTEGER PRIMARY KEY, {LABEL}"
    );
    connection.execute_batch(&tables).unwrap();
    let mut adapters = vec![with_labels(Dialect::Sqlite, &RusqliteDatabase::new(connection))];
    if let Some(pool) = postgres::pool_with_schema().await {
        let client = pool.get().await.unwrap();
        let tables = format!(
            "CREATE TABLE parcel (parcel_id bigserial PRIMARY KEY, town text NOT NULL);
             CREATE TABLE label (label_id bigserial PRIMARY KEY, {LABEL}"
        );
        client.batch_execute(&tables).await.unwrap();
        adapters.push(with_labels(Dialect::Postgres, &PostgresDatabase::new(pool)));
    }
    for adapter in &adapters {
        ask(adapter, "create_parcel", &json!({ "town": "Rome" })).await;
        ask(adapter, "create_label", &json!({ "parcel_id": 1, "text": "fragile" })).await;
        let update = |input: Value| json!({ "label_id": 1, "input": input });
        for (operation, params, message) in [
            (
                "create_label",
                json!({ "parcel_id": 7, "text": "x" }),
                "Parameter 'parcel_id' must identify an existing parcel",
            ),
            (
                "update_label",
                update(json!({ "parcel_id": 7 })),
                "Parameter 'input.parcel_id' must identify an existing parcel",
            ),
            (
                "create_label",
                json!({ "parcel_id": 1 }),
                "The field 'text' needs a value: send one, not null",
            ),
            (
                "update_label",
                update(json!({ "text": "nothing" })),
                "The value of 'input.text' violates a rule of the database: use a value which satisfies 'rule' in \
                 the details",
            ),
            (
                "delete_parcel",
                json!({ "parcel_id": 1 }),
                "Other records refer to the 'parcel': change or delete them before you delete it",
            ),
        ] {
            let refused = ask(adapter, operation, &params).await;
            assert_eq!(refused["message"], message, "{operation} {params}");
        }
        let twice = json!({ "parcel_id": 1, "text": "fragile" });
        let refused = ask(adapter, "create_label", &twice).await;
        assert_eq!(refused["code"], "CONFLICT_ALREADY_EXISTS");
        assert_eq!(
            refused["message"],
            "Another 'label' has this value of 'text', which must be unique: use another value, or change the other \
             'label'"
        );
    }
}

#[tokio::test]
async fn a_sum_beyond_all_numbers_is_refused_alike() {
    // REQ-AGG-06
    let pool = postgres::pool_with_schema().await;
    for (name, adapter) in adapters(pool.as_ref()).await {
        for _ in 0..2 {
            ask(&adapter, "create_book", &json!({ "title": "Emma", "weight": 1e308 })).await;
        }
        for function in ["sum", "avg"] {
            for group in [json!({}), json!({ "group_by": "state" })] {
                let mut aggregate = group;
                aggregate[function] = json!("weight");
                let params = json!({ "aggregate": { "n": aggregate } });
                let refused = ask(&adapter, "list_books", &params).await;
                let message =
                    "A result of 'aggregate' is too large: aggregate fewer rows, or another field";
                assert_eq!(refused["message"], message, "{name}: {refused}");
                assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{name}");
            }
        }
    }
}
