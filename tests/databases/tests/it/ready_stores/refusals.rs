//! Refusals of databases: an error that the caller can correct is not internal, and names the field.

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
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

/// Texts that are not a value of the type of their field.
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
        for (operation, params) in [("create_specimen", &params), ("update_specimen", &change)] {
            let refused = ask(&adapter, operation, params).await;
            assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{params}: {refused}");
        }
    }
    // The collation ignores case where values are equal, and not in their parts.
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
    // An index cannot have so long a text, which is random so that it cannot be compressed.
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
            assert!(message.contains("ask those who maintain the database"), "{message}");
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
