//! Tests unusual settings of a PostgreSQL server, and a server that stops responding.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use deadpool_postgres::{Manager, Pool};
use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::sea_query::Expr;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{PostgresDatabase, SqlStore, WaitLimits};
use mcp_aql_tests_databases::postgres;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_postgres::NoTls;
use tokio_postgres::config::Host;

use super::samples::{self, walk};
use super::silent_server::{FROZEN, RUNNING, UNTIL_COMMIT, stand_between};
use super::{Parcel, ask};

fn samples_in(database: PostgresDatabase) -> Adapter {
    let store = SqlStore::new(samples::table(Dialect::Postgres), database);
    Adapter::builder("samples").resource(store).without_config().build().unwrap()
}

#[tokio::test]
async fn values_do_not_depend_on_the_settings_of_the_database() {
    // REQ-PAG-04
    let settings = ["extra_float_digits = -3", "DateStyle = 'German'", "TimeZone = 'Asia/Tokyo'"];
    let settings = settings.map(|setting| {
        format!(
            "EXECUTE format('ALTER DATABASE %I SET {}', current_database());",
            setting.replace('\'', "''")
        )
    });
    let rows = "INSERT INTO sample (double, single, at, day) VALUES
        (0.30000000000000004, 0.1, '2031-05-06T07:00:00Z', '2031-05-06'),
        (0.3, 0.10000001, '294000-01-01T00:00:00Z', '4000-01-01'),
        (0.30000000000000010, 0.10000002, 'infinity', 'infinity')";
    let tables = format!(
        "DO $do$ BEGIN {} END $do$; {}",
        settings.concat(),
        samples::table_sql(Dialect::Postgres, rows)
    );
    let Some(address) = postgres::new_database(&tables).await else { return };
    let adapter = samples_in(PostgresDatabase::connect(&address).await.unwrap());
    for field in ["double", "single", "at", "day"] {
        for order in ["asc", "desc"] {
            let sort = json!({ "field": field, "order": order });
            walk(&adapter, "list_samples", sort).await.unwrap();
        }
    }
    let page = ask(&adapter, "list_samples", &json!({})).await;
    assert_eq!(page["items"][0]["double"], 0.30000000000000004, "{page}");
    assert_eq!(page["items"][1]["single"], 0.10000001, "{page}");
    assert_eq!(page["items"][1]["at"], "294000-01-01 00:00:00+00", "{page}");
}

#[tokio::test]
async fn a_database_without_an_encoding_is_refused() {
    // REQ-ERR-02
    let Some(client) = postgres::connect().await else { return };
    let name = format!("ascii_{}", std::process::id());
    let create =
        format!("CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    client.batch_execute(&format!("DROP DATABASE IF EXISTS {name}")).await.unwrap();
    client.batch_execute(&create).await.unwrap();
    let address = std::env::var("MCP_AQL_TEST_POSTGRES").unwrap();
    let address = format!("{address} dbname={name}");
    let error = PostgresDatabase::connect(&address).await.unwrap_err();
    assert!(error.to_string().contains("the database has the encoding SQL_ASCII"), "{error}");
    let manager = Manager::new(address.parse().unwrap(), NoTls);
    let pool = Pool::builder(manager).max_size(2).build().unwrap();
    let client = pool.get().await.unwrap();
    client.batch_execute(&samples::table_sql(Dialect::Postgres, "")).await.unwrap();
    let adapter = samples_in(PostgresDatabase::new(pool.clone()));
    let refused = ask(&adapter, "list_samples", &json!({})).await;
    assert_eq!(refused["code"], "INTERNAL_ERROR", "{refused}");
}

/// A host with a share of something.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
#[resource(operations(get, update))]
struct Node {
    /// Address of the host.
    #[resource(id)]
    address: String,
    /// Number of parts.
    parts: i64,
    /// Share of each part, computed by the table.
    #[resource(read_only)]
    share: i64,
}

#[tokio::test]
async fn only_a_malformed_identifier_is_no_record() {
    // REQ-ERR-01
    let Some(pool) = postgres::pool_with_schema().await else { return };
    let rows = "CREATE TABLE node (address inet PRIMARY KEY, parts bigint);
        INSERT INTO node VALUES ('10.0.0.1', 4), ('10.0.0.2', 0), ('10.0.0.4', 7)";
    pool.get().await.unwrap().batch_execute(rows).await.unwrap();
    let table = SqlTable::<Node>::new(Dialect::Postgres, "node").column_type("address", "inet");
    // Reading a setting without a value fails. PostgreSQL reports it with the same code as malformed strings of some
    // types.
    let share =
        "CASE WHEN node.parts = 7 THEN current_setting('app.none')::int ELSE 100 / node.parts END";
    let table = table.expression("share", move |_| Expr::cust(share));
    let store = SqlStore::new(table, PostgresDatabase::new(pool));
    let adapter = Adapter::builder("net").resource(store).without_config().build().unwrap();
    for (address, code) in [
        ("10.0.0.1/32", None),
        ("10.0.0.2/32", Some("INTERNAL_ERROR")),
        ("10.0.0.3/32", Some("NOT_FOUND_RESOURCE")),
        ("10.0.0.4", Some("INTERNAL_ERROR")),
        ("nowhere", Some("NOT_FOUND_RESOURCE")),
    ] {
        let change = json!({ "address": address, "input": { "parts": 5 } });
        let changed = ask(&adapter, "update_node", &change).await;
        assert_eq!(changed["code"].as_str(), code, "{address}: {changed}");
        let found = ask(&adapter, "get_node", &json!({ "address": address })).await;
        assert_eq!(found["code"].as_str(), code, "{address}: {found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_left() {
    let tables = "CREATE TABLE parcel (parcel_id bigserial PRIMARY KEY, town text);
        INSERT INTO parcel (town) VALUES ('Rome')";
    let Some(address) = postgres::new_database(tables).await else { return };
    let mut config: tokio_postgres::Config = address.parse().unwrap();
    let Some(Host::Unix(server)) = config.get_hosts().first().cloned() else { return };
    let (folder, state) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU8::new(RUNNING)));
    stand_between(folder.path(), server, Arc::clone(&state)).await;
    let name = config.get_dbname().unwrap().to_owned();
    config = tokio_postgres::Config::new();
    config.host_path(folder.path()).user("test").dbname(name);
    let pool = Pool::builder(Manager::new(config, NoTls)).max_size(2).build().unwrap();
    let limits = WaitLimits::default().statement(Duration::from_millis(200));
    let database = PostgresDatabase::new(pool.clone()).wait_limits(limits);
    let store = SqlStore::<Parcel, _>::new(SqlTable::new(Dialect::Postgres, "parcel"), database);
    let adapter = Adapter::builder("post").resource(store).without_config().build().unwrap();
    let call = async |operation: &str, params: serde_json::Value| {
        let reply = adapter.call(operation, params);
        let reply = tokio::time::timeout(Duration::from_secs(30), reply).await;
        reply.expect("waiting is bounded")
    };
    assert!(call("list_parcels", json!({})).await.error().is_none());
    state.store(FROZEN, Ordering::SeqCst);
    let refused = call("list_parcels", json!({})).await;
    let error = refused.error().unwrap();
    assert!(error.message.contains("The database is busy"), "{}", error.message);
    assert_eq!(pool.status().size, 0, "the connection is closed");
    state.store(UNTIL_COMMIT, Ordering::SeqCst);
    let change = json!({ "parcel_id": 1, "input": { "town": "Oslo" } });
    let refused = call("update_parcel", change).await;
    let error = refused.error().unwrap();
    assert!(error.message.contains("so it is unknown if it was stored"), "{}", error.message);
    assert_eq!(error.details["operation_ran"], true);
    state.store(RUNNING, Ordering::SeqCst);
    let found = call("get_parcel", json!({ "parcel_id": 1 })).await;
    assert_eq!(found.data()["parcel"]["town"], "Oslo");
}
