//! Tests records with invalid values for the types of their fields, with and without rules of the author.

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{
    Database, PostgresDatabase, ResourceRules, ResourceStore, RusqliteDatabase, SqlStore,
};
use mcp_aql_tests_databases::postgres;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Shelf, ask};

/// A paper.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Paper {
    /// Number of the paper.
    #[resource(id)]
    id: i64,
    /// Weight in grams.
    #[resource(filter, sort)]
    weight: f64,
    /// Title of the paper.
    title: Option<String>,
    /// Any JSON.
    body: Value,
}

/// Rules that protect heavy papers from changes.
struct Rules;

impl Rules {
    fn check(paper: &Paper) -> Result<(), OperationError> {
        match paper.weight > 10.0 {
            true => Err(OperationError::wrong_state("paper", "heavy", ["get_paper"])),
            false => Ok(()),
        }
    }
}

impl ResourceRules for Rules {
    type Resource = Paper;

    fn before_update(
        &self,
        _context: &Context,
        old: &Paper,
        _new: &mut Paper,
    ) -> Result<(), OperationError> {
        Self::check(old)
    }

    fn before_delete(&self, _context: &Context, paper: &Paper) -> Result<(), OperationError> {
        Self::check(paper)
    }
}

/// Returns documents that a database can store, but that no JSON value or no reply can hold.
fn odd_documents() -> Vec<String> {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    vec![r#"{"a":1e400}"#.to_owned(), r#""\ud800""#.to_owned(), nested(110), nested(200)]
}

/// Returns SQL for papers with these documents, alternating between heavy and light ones. The last paper has an invalid
/// weight.
fn tables(dialect: Dialect) -> String {
    let (columns, odd) = match dialect {
        Dialect::Sqlite => ("id INTEGER PRIMARY KEY, weight, title TEXT, body TEXT", "'much'"),
        _ => ("id bigserial PRIMARY KEY, weight double precision, title text, body json", "'NaN'"),
    };
    let mut sql = format!("CREATE TABLE paper ({columns});");
    let mut insert = |weight: &str, body: &str| {
        sql += &format!("INSERT INTO paper (weight, body) VALUES ({weight}, '{body}');");
    };
    for document in odd_documents() {
        insert("99", &document);
        insert("1", &document);
    }
    insert(odd, "{}");
    sql
}

fn adapter<S: ResourceStore<Resource = Paper>>(store: S) -> Adapter {
    Adapter::builder("papers").resource(store).without_config().build().unwrap()
}

/// Returns an adapter without rules and one with rules, for each available database.
async fn adapters() -> Vec<(Adapter, Adapter)> {
    fn pair<D: Database + Clone>(dialect: Dialect, plain: D, ruled: D) -> (Adapter, Adapter) {
        let store = |database| SqlStore::new(SqlTable::<Paper>::new(dialect, "paper"), database);
        (adapter(store(plain)), adapter(store(ruled).with_rules(Rules)))
    }
    let in_sqlite = || {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch(&tables(Dialect::Sqlite)).unwrap();
        RusqliteDatabase::new(connection)
    };
    let mut all = vec![pair(Dialect::Sqlite, in_sqlite(), in_sqlite())];
    let mut in_postgres = Vec::new();
    for _ in 0..2 {
        let Some(pool) = postgres::pool_with_schema().await else { return all };
        pool.get().await.unwrap().batch_execute(&tables(Dialect::Postgres)).await.unwrap();
        in_postgres.push(PostgresDatabase::new(pool));
    }
    if let [plain, ruled] = in_postgres.as_slice() {
        all.push(pair(Dialect::Postgres, plain.clone(), ruled.clone()));
    }
    all
}

fn update(id: usize, input: Value) -> Value {
    json!({ "id": id, "input": input })
}

#[tokio::test]
async fn a_document_that_no_value_holds_hides_nothing_else() {
    // REQ-COL-03, REQ-WRN-02
    for (adapter, _) in adapters().await {
        let page = adapter.call("list_papers", json!({})).await;
        let rows = 2 * odd_documents().len() + 1;
        assert_eq!(page.data()["items"].as_array().map(Vec::len), Some(rows), "{}", page.data());
        let warnings = serde_json::to_value(page.warnings()).unwrap();
        assert_eq!(warnings[0]["details"]["count"], rows, "{warnings}");
        for id in 1..rows {
            let weight = if id % 2 == 1 { 99.0 } else { 1.0 };
            let found = ask(&adapter, "get_paper", &json!({ "id": id })).await;
            let whole = json!({ "id": id, "weight": weight, "title": null });
            assert_eq!(found["paper"], whole, "{found}");
            let changed = ask(&adapter, "update_paper", &update(id, json!({ "title": "A" }))).await;
            assert_eq!(changed["paper"]["title"], "A", "{changed}");
            if id > 2 {
                let body = json!({ "b": [1] });
                let change = update(id, json!({ "body": body }));
                let changed = ask(&adapter, "update_paper", &change).await;
                assert_eq!(changed["paper"]["body"], body, "{changed}");
                assert_eq!(changed["paper"]["weight"], weight, "{changed}");
            }
            let deleted = ask(&adapter, "delete_paper", &json!({ "id": id })).await;
            assert_eq!(deleted["paper"]["id"], id, "{deleted}");
        }
    }
}

#[tokio::test]
async fn rules_do_not_decide_by_values_that_nobody_has_stored() {
    // REQ-CON-02, REQ-ERR-02
    for (_, adapter) in adapters().await {
        let heavy = "The 'paper' is in state 'heavy'. This state does not allow";
        let last = 2 * odd_documents().len() + 1;
        for id in 1..=last {
            let field = if id == last { "weight" } else { "body" };
            let delete = async || ask(&adapter, "delete_paper", &json!({ "id": id })).await;
            for refused in [
                delete().await,
                ask(&adapter, "update_paper", &update(id, json!({ "title": "A" }))).await,
                ask(&adapter, "update_paper", &update(id, json!({ "title": "A", field: 1 }))).await,
            ] {
                assert_eq!(refused["code"], "CONFLICT_VERSION_MISMATCH", "{refused}");
                let message = refused["message"].as_str().unwrap();
                let told = format!("The stored value of '{field}' in the 'paper' does not have");
                assert!(message.starts_with(&told), "{message}");
            }
            let corrected = ask(&adapter, "update_paper", &update(id, json!({ field: 11 }))).await;
            let refused = if field == "body" && id % 2 == 1 {
                // The weight is readable, so the rules can decide.
                corrected
            } else {
                assert_eq!(corrected["paper"][field], 11.0, "{corrected}");
                delete().await
            };
            match id % 2 {
                1 => assert!(refused["message"].as_str().unwrap().starts_with(heavy), "{refused}"),
                _ => assert_eq!(refused["paper"]["id"], id, "{refused}"),
            }
        }
    }
}

/// A crate whose place is a document with required members.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Crate {
    /// Number of the crate.
    #[resource(id)]
    id: i64,
    /// Weight in grams.
    weight: f64,
    /// The place.
    place: Place,
}

/// A place.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Place {
    /// The shelf.
    shelf: Shelf,
    /// Whether it is open.
    is_open: bool,
    /// Day of the delivery.
    since: chrono::NaiveDate,
    /// Numbers of the locks.
    locks: Vec<u16>,
}

#[tokio::test]
async fn a_document_with_required_members_can_be_unreadable() {
    // REQ-COL-03
    let sql = |columns: &str| {
        let row = |document| format!("INSERT INTO box (weight, place) VALUES (1, '{document}');");
        let rows: String = odd_documents().iter().map(row).collect();
        format!("CREATE TABLE box ({columns}); {rows}")
    };
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(&sql("id INTEGER PRIMARY KEY, weight REAL, place TEXT")).unwrap();
    fn of<D: Database>(dialect: Dialect, database: D) -> Adapter {
        let store = SqlStore::new(SqlTable::<Crate>::new(dialect, "box"), database);
        Adapter::builder("crates").resource(store).without_config().build().unwrap()
    }
    let mut adapters = vec![of(Dialect::Sqlite, RusqliteDatabase::new(connection))];
    if let Some(pool) = postgres::pool_with_schema().await {
        let sql = sql("id bigserial PRIMARY KEY, weight double precision, place json");
        pool.get().await.unwrap().batch_execute(&sql).await.unwrap();
        adapters.push(of(Dialect::Postgres, PostgresDatabase::new(pool)));
    }
    for adapter in adapters {
        for id in 1..=odd_documents().len() {
            let changed = ask(&adapter, "update_crate", &update(id, json!({ "weight": 2 }))).await;
            assert_eq!(changed["crate"], json!({ "id": id, "weight": 2.0 }), "{changed}");
            if id == 1 {
                let place = json!({ "shelf": { "room": "a", "floor": 1 }, "is_open": true, "since": "2031-05-06", "locks": [] });
                let change = update(id, json!({ "place": place }));
                let changed = ask(&adapter, "update_crate", &change).await;
                assert_eq!(changed["crate"]["place"], place, "{changed}");
            }
            let deleted = ask(&adapter, "delete_crate", &json!({ "id": id })).await;
            assert_eq!(deleted["crate"]["weight"], 2.0, "{deleted}");
        }
    }
}
