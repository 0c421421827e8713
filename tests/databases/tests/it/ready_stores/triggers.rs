//! Tests triggers that silently skip a change.

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::sea_query::{Alias, Expr, ExprTrait as _};
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{Database, PostgresDatabase, RusqliteDatabase, SqlStore};
use mcp_aql_tests_databases::postgres;
use serde_json::json;

use super::{Parcel, ask};

const SQLITE: &str =
    "CREATE TABLE parcel (parcel_id INTEGER PRIMARY KEY, town TEXT, is_gone INTEGER DEFAULT 0);
    CREATE TRIGGER one BEFORE INSERT ON parcel WHEN new.town = 'skipped' BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER two BEFORE UPDATE ON parcel WHEN new.town = 'skipped' BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER three BEFORE DELETE ON parcel WHEN old.town = 'kept' BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER four AFTER DELETE ON parcel WHEN old.town = 'back' BEGIN
        INSERT INTO parcel (parcel_id, town) VALUES (old.parcel_id, old.town);
    END;
    CREATE TRIGGER five BEFORE DELETE ON parcel WHEN old.town = 'hidden' BEGIN
        UPDATE parcel SET is_gone = 1 WHERE parcel_id = old.parcel_id;
        SELECT RAISE(IGNORE);
    END;";

const POSTGRES: &str =
    "CREATE TABLE parcel (parcel_id bigserial PRIMARY KEY, town text, is_gone bigint DEFAULT 0);
    CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
        INSERT INTO parcel (parcel_id, town) VALUES (old.parcel_id, old.town); RETURN NULL; END';
    CREATE FUNCTION hide() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
        UPDATE parcel SET is_gone = 1 WHERE parcel_id = old.parcel_id; RETURN NULL; END';
    CREATE TRIGGER one BEFORE INSERT ON parcel FOR EACH ROW WHEN (new.town = 'skipped') EXECUTE FUNCTION skip();
    CREATE TRIGGER two BEFORE UPDATE ON parcel FOR EACH ROW WHEN (new.town = 'skipped') EXECUTE FUNCTION skip();
    CREATE TRIGGER three BEFORE DELETE ON parcel FOR EACH ROW WHEN (old.town = 'kept') EXECUTE FUNCTION skip();
    CREATE TRIGGER four AFTER DELETE ON parcel FOR EACH ROW WHEN (old.town = 'back') EXECUTE FUNCTION again();
    CREATE TRIGGER five BEFORE DELETE ON parcel FOR EACH ROW WHEN (old.town = 'hidden') EXECUTE FUNCTION hide();";

fn adapter<D: Database>(dialect: Dialect, database: D) -> Adapter {
    let table = SqlTable::<Parcel>::new(dialect, "parcel");
    let table = table.scope(|_| Expr::col(Alias::new("is_gone")).eq(0_i64));
    Adapter::builder("post")
        .resource(SqlStore::new(table, database))
        .without_config()
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_change_that_a_trigger_skips_is_an_error() {
    // REQ-ERR-02, REQ-CON-02
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(SQLITE).unwrap();
    let mut adapters = vec![adapter(Dialect::Sqlite, RusqliteDatabase::new(connection))];
    if let Some(pool) = postgres::pool_with_schema().await {
        pool.get().await.unwrap().batch_execute(POSTGRES).await.unwrap();
        adapters.push(adapter(Dialect::Postgres, PostgresDatabase::new(pool)));
    }
    for adapter in adapters {
        let refused = ask(&adapter, "create_parcel", &json!({ "town": "skipped" })).await;
        let not_stored = "The database did not store the 'parcel'";
        assert!(refused["message"].as_str().unwrap().starts_with(not_stored), "{refused}");
        assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE");
        for (town, is_kept) in [("kept", true), ("back", true), ("hidden", false), ("Rome", false)]
        {
            let created = ask(&adapter, "create_parcel", &json!({ "town": town })).await;
            let id = created["parcel"]["parcel_id"].clone();
            let change = json!({ "parcel_id": id, "input": { "town": "skipped" } });
            let refused = ask(&adapter, "update_parcel", &change).await;
            assert!(refused["message"].as_str().unwrap().starts_with(not_stored), "{refused}");
            let deleted = ask(&adapter, "delete_parcel", &json!({ "parcel_id": id })).await;
            let found = ask(&adapter, "get_parcel", &json!({ "parcel_id": id })).await;
            if is_kept {
                assert_eq!(deleted["code"], "CONFLICT_VERSION_MISMATCH", "{deleted}");
                let message = deleted["message"].as_str().unwrap();
                assert!(
                    message.starts_with("The database did not delete the 'parcel'"),
                    "{message}"
                );
                assert_eq!(found["parcel"]["town"], town, "{found}");
            } else {
                assert_eq!(deleted["parcel"]["town"], town, "{deleted}");
                assert_eq!(found["code"], "NOT_FOUND_RESOURCE", "{found}");
            }
        }
    }
}
