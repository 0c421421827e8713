//! Tests values that databases reject. If the caller can correct the value, the error is not internal and names the
//! field.

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::sea_query::Expr;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{Database, PostgresDatabase, RusqliteDatabase, SqlStore};
use mcp_aql_tests_databases::postgres;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ask;

/// A specimen with values of unusual types.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Specimen {
    /// Number of the specimen.
    #[resource(id)]
    id: i64,
    /// A name.
    #[resource(filter, sort)]
    name: Option<String>,
    /// Pairs of texts.
    #[resource(filter)]
    pairs: Option<String>,
    /// A path of labels.
    #[resource(filter)]
    path: Option<String>,
    /// A pattern of JSON.
    #[resource(filter)]
    pattern: Option<String>,
    /// A table.
    #[resource(filter)]
    relation: Option<String>,
}

const POSTGRES: &str = "CREATE EXTENSION hstore; CREATE EXTENSION ltree;
    CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    CREATE TABLE specimen (id bigserial PRIMARY KEY, name text COLLATE caseless UNIQUE, pairs hstore, path ltree,
        pattern jsonpath, relation regclass)";

fn specimens<D: Database>(dialect: Dialect, database: D) -> Adapter {
    let mut table = SqlTable::<Specimen>::new(dialect, "specimen");
    if dialect == Dialect::Postgres {
        for (field, kind) in [
            ("pairs", "hstore"),
            ("path", "ltree"),
            ("pattern", "jsonpath"),
            ("relation", "regclass"),
        ] {
            table = table.column_type(field, kind);
        }
    }
    let store = SqlStore::new(table, database);
    Adapter::builder("museum").resource(store).without_config().build().unwrap()
}

/// Invalid strings for the type of their field.
const MALFORMED: [(&str, &str); 7] = [
    ("pairs", "=>"),
    ("pairs", "a=>\"b"),
    ("path", "a..b"),
    ("pattern", "$["),
    ("pattern", ""),
    ("relation", "nowhere"),
    ("relation", "no.where"),
];

#[tokio::test]
async fn what_the_caller_can_correct_is_no_internal_error() {
    // REQ-ERR-01, REQ-ERR-02
    let Some(address) = postgres::new_database(POSTGRES).await else { return };
    let database = PostgresDatabase::connect(&address).await.unwrap();
    let adapter = specimens(Dialect::Postgres, database);
    let whole = json!({ "name": "Ärmel", "pairs": "a=>b", "path": "a.b", "pattern": "$.a", "relation": "specimen" });
    let created = ask(&adapter, "create_specimen", &whole).await;
    let id = &created["specimen"]["id"];
    assert!(id.is_i64(), "{created}");
    for (field, text) in MALFORMED {
        let params = json!({ field: text });
        let change = json!({ "id": id, "input": params });
        for (operation, params, place) in
            [("create_specimen", &params, ""), ("update_specimen", &change, "input.")]
        {
            let reply = adapter.call(operation, params.clone()).await;
            let refused = reply.error().unwrap_or_else(|| panic!("{operation} {params}"));
            assert_eq!(refused.code, "VALIDATION_INVALID_VALUE", "{params}: {refused:?}");
            assert_eq!(refused.details["param_name"], format!("{place}{field}"), "{refused:?}");
        }
        let filter = json!({ "filter": { field: text } });
        let refused = ask(&adapter, "list_specimens", &filter).await;
        assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{filter}: {refused}");
        assert!(refused["message"].as_str().unwrap().contains(&format!("'{field}'")), "{refused}");
    }
    // The collation ignores case when it compares whole values, but not their parts.
    for (filter, count) in [
        (json!({ "eq": "ÄRMEL" }), 1),
        (json!({ "contains": "rme" }), 1),
        (json!({ "contains": "RME" }), 0),
        (json!({ "starts_with": "Är" }), 1),
    ] {
        let params = json!({ "filter": { "name": filter }, "sort": { "field": "name" } });
        let found = ask(&adapter, "list_specimens", &params).await;
        assert_eq!(found["pageInfo"]["totalCount"], count, "{filter}: {found}");
    }
    // PostgreSQL cannot index such a long string. It is random, because a compressed one would fit.
    let mut state = 1_u64;
    let letters = std::iter::repeat_with(|| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + (state >> 58) as u8)
    });
    let long = json!({ "name": letters.take(20_000).collect::<String>() });
    let refused = ask(&adapter, "create_specimen", &long).await;
    assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("too long"), "{refused}");
}

#[tokio::test]
async fn what_the_database_does_not_allow_is_denied() {
    // REQ-ERR-01
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    let table =
        "CREATE TABLE specimen (id INTEGER PRIMARY KEY, name, pairs, path, pattern, relation);
        INSERT INTO specimen (name) VALUES ('a'); PRAGMA query_only = 1";
    connection.execute_batch(table).unwrap();
    let mut adapters = vec![specimens(Dialect::Sqlite, RusqliteDatabase::new(connection))];
    if let Some(address) = postgres::new_database(POSTGRES).await {
        let role = format!("visitor_{}", std::process::id());
        let client = postgres::connect().await.unwrap();
        client.batch_execute(&format!("CREATE ROLE {role}")).await.unwrap();
        let (owner, connection) =
            tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let grant =
            format!("INSERT INTO specimen (name) VALUES ('a'); GRANT SELECT ON specimen TO {role}");
        owner.batch_execute(&grant).await.unwrap();
        for setting in [format!("role={role}"), "default_transaction_read_only=on".to_owned()] {
            let address = format!("{address} options='-c {setting}'");
            let database = PostgresDatabase::connect(&address).await.unwrap();
            adapters.push(specimens(Dialect::Postgres, database));
        }
    }
    for adapter in adapters {
        let listed = ask(&adapter, "list_specimens", &json!({})).await;
        assert_eq!(listed["items"][0]["name"], "a", "{listed}");
        for (operation, params) in [
            ("create_specimen", json!({ "name": "b" })),
            ("update_specimen", json!({ "id": 1, "input": { "name": "b" } })),
            ("delete_specimen", json!({ "id": 1 })),
        ] {
            let refused = ask(&adapter, operation, &params).await;
            assert_eq!(refused["code"], "PERMISSION_DENIED", "{operation}: {refused}");
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains("ask the administrators of the database"), "{message}");
        }
    }
}

#[tokio::test]
async fn a_letter_that_the_encoding_lacks_is_named() {
    // REQ-ERR-02
    let Some(client) = postgres::connect().await else { return };
    let name = format!("latin_{}", std::process::id());
    let create = format!("CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    client.batch_execute(&create).await.unwrap();
    let address = std::env::var("MCP_AQL_TEST_POSTGRES").unwrap();
    let address = format!("{address} dbname={name}");
    let (owner, connection) =
        tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let table = "CREATE TABLE country (code text PRIMARY KEY, name text NOT NULL)";
    owner.batch_execute(table).await.unwrap();
    let database = PostgresDatabase::connect(&address).await.unwrap();
    let table = SqlTable::new(Dialect::Postgres, "country");
    let store = SqlStore::<super::foreign::Country, _>::new(table, database);
    let adapter = Adapter::builder("world").resource(store).without_config().build().unwrap();
    let created = ask(&adapter, "create_country", &json!({ "code": "is", "name": "Ísland" })).await;
    assert_eq!(created["country"]["name"], "Ísland", "{created}");
    let told = |refused: &Value, code: &str| {
        assert_eq!(refused["code"], code, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("'Ż'"), "{refused}");
    };
    let new = json!({ "code": "pl", "name": "RZECZPOSPOLITA ŻÓŁTA" });
    told(&ask(&adapter, "create_country", &new).await, "VALIDATION_INVALID_VALUE");
    let change = json!({ "code": "is", "input": { "name": "Ż" } });
    told(&ask(&adapter, "update_country", &change).await, "VALIDATION_INVALID_VALUE");
    let filter = json!({ "filter": { "name": { "contains": "Ż" } } });
    told(&ask(&adapter, "list_countries", &filter).await, "VALIDATION_INVALID_VALUE");
    let found = ask(&adapter, "get_country", &json!({ "code": "Ż" })).await;
    assert_eq!(found["code"], "NOT_FOUND_RESOURCE", "{found}");
}

/// A ledger entry with the rules of a database.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "ledgers")]
struct Ledger {
    /// Number of the entry.
    #[resource(id)]
    id: i64,
    /// The tenant, which callers do not set.
    #[resource(read_only)]
    #[create_input(value = "acme".to_owned())]
    tenant: String,
    /// A code, which a tenant has once.
    code: Option<String>,
    /// An address, whose letters may be of any case.
    email: Option<String>,
    /// A number whose rule has the name of another field.
    rank: Option<i64>,
    /// A number of a domain with a rule.
    share: Option<f64>,
    /// An amount with two digits after the point.
    amount: Option<f64>,
    /// A range of numbers.
    span: Option<String>,
    /// A document.
    page: Option<String>,
    /// A pair of numbers.
    pair: Option<String>,
    /// A short text.
    short: Option<String>,
    /// The entry that comes before.
    #[resource(references = "ledger")]
    former_id: Option<i64>,
}

const LEDGER_IN_POSTGRES: &str = "CREATE DOMAIN share AS double precision CONSTRAINT rank_check CHECK (VALUE <= 1);
    CREATE TYPE pair AS (one integer, other integer);
    CREATE TABLE ledger (id bigserial PRIMARY KEY, tenant text NOT NULL, code text, email text,
        rank bigint CONSTRAINT ledger_code_check CHECK (rank > 0), share share, amount numeric(5, 2), span int4range,
        page xml, pair pair, short varchar(3), former_id bigint REFERENCES ledger DEFERRABLE INITIALLY DEFERRED,
        UNIQUE (tenant, code));
    CREATE UNIQUE INDEX emails ON ledger (lower(email))";

const LEDGER_IN_SQLITE: &str = "CREATE TABLE ledger (id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, code TEXT, email TEXT,
        rank INTEGER CONSTRAINT code CHECK (rank > 0), share REAL CHECK (share <= 1), amount REAL, span TEXT, page TEXT,
        pair TEXT, short TEXT CHECK (length(short) < 4),
        former_id INTEGER REFERENCES ledger DEFERRABLE INITIALLY DEFERRED, UNIQUE (tenant, code)) STRICT;
    CREATE UNIQUE INDEX emails ON ledger (lower(email));
    PRAGMA foreign_keys = ON";

fn ledgers<D: Database>(dialect: Dialect, database: D) -> Adapter {
    let mut table = SqlTable::<Ledger>::new(dialect, "ledger");
    if dialect == Dialect::Postgres {
        for (field, kind) in [("span", "int4range"), ("page", "xml"), ("pair", "pair")] {
            table = table.column_type(field, kind);
        }
    }
    let store = SqlStore::new(table, database);
    Adapter::builder("books").resource(store).without_config().build().unwrap()
}

#[tokio::test]
async fn each_refusal_names_the_field() {
    // REQ-ERR-02
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(LEDGER_IN_SQLITE).unwrap();
    let mut adapters =
        vec![(Dialect::Sqlite, ledgers(Dialect::Sqlite, RusqliteDatabase::new(connection)))];
    let pool = postgres::pool_with_schema().await;
    if let Some(pool) = &pool {
        pool.get().await.unwrap().batch_execute(LEDGER_IN_POSTGRES).await.unwrap();
        let database = PostgresDatabase::new(pool.clone());
        adapters.push((Dialect::Postgres, ledgers(Dialect::Postgres, database)));
    }
    let everywhere = [
        (json!({ "code": "a" }), "code", "must be unique"),
        (json!({ "email": "ADA@example.org" }), "email", "must be unique"),
        (json!({ "rank": 0 }), "rank", "violates a rule"),
        (json!({ "share": 2.0 }), "share", ""),
        (json!({ "short": "long" }), "short", ""),
        (json!({ "former_id": 99 }), "former_id", "must identify an existing ledger"),
    ];
    let in_postgres = [
        (json!({ "amount": 1234.5 }), "amount", "numeric(5,2)"),
        (json!({ "span": "[3,1)" }), "span", "int4range"),
        (json!({ "span": "x" }), "span", "int4range"),
        (json!({ "page": "<a>" }), "page", "xml"),
        (json!({ "pair": "(1,x)" }), "pair", "pair"),
        (json!({ "pair": "1" }), "pair", "pair"),
    ];
    for (dialect, adapter) in adapters {
        let first = json!({ "code": "a", "email": "ada@example.org", "rank": 1 });
        let first = ask(&adapter, "create_ledger", &first).await;
        assert_eq!(first["ledger"]["tenant"], "acme", "{first}");
        let second = ask(&adapter, "create_ledger", &json!({ "code": "b" })).await;
        let second = &second["ledger"]["id"];
        let mut cases = everywhere.to_vec();
        cases.extend(
            (dialect == Dialect::Postgres).then_some(in_postgres.clone()).into_iter().flatten(),
        );
        for (input, field, told) in cases {
            let change = json!({ "id": second, "input": input });
            for (operation, params, place) in
                [("create_ledger", &input, ""), ("update_ledger", &change, "input.")]
            {
                let reply = adapter.call(operation, params.clone()).await;
                let refused = reply.error().unwrap_or_else(|| panic!("{dialect:?} {input}"));
                let context = format!("{dialect:?} {operation} {input}: {refused:?}");
                assert!(
                    refused.code.starts_with("VALIDATION_")
                        || refused.code.starts_with("CONFLICT_"),
                    "{context}"
                );
                assert!(refused.message.contains(told), "{context}");
                assert!(refused.message.contains(&format!("'{place}{field}'")), "{context}");
                assert_eq!(refused.details["param_name"], format!("{place}{field}"), "{context}");
                assert!(!refused.message.contains("tenant"), "{context}");
            }
        }
        let listed = ask(&adapter, "list_ledgers", &json!({})).await;
        assert_eq!(listed["pageInfo"]["totalCount"], 2, "{listed}");
    }
    let Some(pool) = pool else { return };
    // Another program has used numbers after the current one of the sequence.
    let import = "INSERT INTO ledger (id, tenant) SELECT number, 'other' FROM generate_series(100, 300) AS number;
        SELECT setval('ledger_id_seq', 200)";
    pool.get().await.unwrap().batch_execute(import).await.unwrap();
    let adapter = ledgers(Dialect::Postgres, PostgresDatabase::new(pool));
    let refused = ask(&adapter, "create_ledger", &json!({})).await;
    assert_eq!(refused["code"], "CONFLICT_ALREADY_EXISTS", "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("sequence") && !message.contains("'id'"), "{message}");
}

/// A parcel with a document in several columns, and a number that the table computes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Parcel {
    /// Number of the parcel.
    #[resource(id)]
    id: i64,
    /// The sender.
    #[resource(nested)]
    sender: Sender,
    /// Number of the latest event.
    #[resource(read_only)]
    #[create_input(value = 0)]
    latest: i64,
}

/// A sender.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
struct Sender {
    /// A short name.
    name: Option<String>,
    /// A code, which is unique.
    code: Option<String>,
}

#[tokio::test]
async fn a_refusal_names_the_member_of_a_document_in_several_columns() {
    // REQ-ERR-02
    let tables = |key: &str| {
        format!(
            "CREATE TABLE event (number bigint); CREATE TABLE parcel (id {key} PRIMARY KEY,
                sender_name text CHECK (length(sender_name) < 4), sender_code text UNIQUE)"
        )
    };
    fn parcels<D: Database>(dialect: Dialect, database: D) -> Adapter {
        let table = SqlTable::<Parcel>::new(dialect, "parcel")
            .column("sender.name", "sender_name")
            .column("sender.code", "sender_code")
            .expression("latest", |_| Expr::cust("(SELECT max(number) FROM event)"));
        let store = SqlStore::new(table, database);
        Adapter::builder("post").resource(store).without_config().build().unwrap()
    }
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(&tables("INTEGER")).unwrap();
    let mut adapters = vec![parcels(Dialect::Sqlite, RusqliteDatabase::new(connection))];
    if let Some(pool) = postgres::pool_with_schema().await {
        pool.get().await.unwrap().batch_execute(&tables("bigserial")).await.unwrap();
        adapters.push(parcels(Dialect::Postgres, PostgresDatabase::new(pool)));
    }
    for adapter in adapters {
        // There is no latest event, so the computed number has no value.
        for code in ["a", "b"] {
            let new = json!({ "sender": { "name": "Ada", "code": code } });
            let created = ask(&adapter, "create_parcel", &new).await;
            assert_eq!(created["parcel"]["sender"]["code"], code, "{created}");
        }
        for (sender, member) in [
            (json!({ "name": "long" }), "sender.name"),
            (json!({ "name": "Bob", "code": "a" }), "sender.code"),
        ] {
            let new = json!({ "sender": sender });
            let change = json!({ "id": 2, "input": { "sender": sender } });
            for (operation, params, place) in
                [("create_parcel", new, ""), ("update_parcel", change, "input.")]
            {
                let reply = adapter.call(operation, params).await;
                let refused = reply.error().unwrap_or_else(|| panic!("{operation} {sender}"));
                let expected = format!("{place}{member}");
                assert_eq!(
                    refused.details.get("param_name"),
                    Some(&expected.into()),
                    "{refused:?}"
                );
                assert_ne!(refused.code, "INTERNAL_ERROR", "{refused:?}");
            }
        }
    }
}
