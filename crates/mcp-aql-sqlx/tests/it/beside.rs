//! SQLite through sqlx and through rusqlite in one program: the author's table in a pool, and the adapter's
//! state.

use std::path::Path;

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{Database, RusqliteDatabase, SqlStore};
use mcp_aql::store::SqliteState;
use mcp_aql_sqlx::SqlxSqlite;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;

/// An article.
#[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
#[resource(operations(create, list, delete))]
struct Article {
    /// Number of the article.
    #[resource(id)]
    article_id: u32,
    /// Name of the article.
    #[resource(filter, sort)]
    name: String,
}

/// Creates an adapter over a database. Its state is in another file in the same folder.
fn adapter(folder: &Path, database: impl Database) -> Adapter {
    let table = SqlTable::new(Dialect::Sqlite, "article");
    let articles = SqlStore::<Article, _>::new(table, database);
    let state = SqliteState::open(folder.join("state.db"));
    Adapter::builder("shop").resource(articles).store(state).without_config().build().unwrap()
}

#[tokio::test]
async fn state_in_a_file_works_beside_a_pool() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let table =
        "CREATE TABLE article (article_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL)";
    sqlx::raw_sql(table).execute(&pool).await.unwrap();

    let pooled = adapter(folder.path(), SqlxSqlite::new(pool.clone()));
    let created = pooled.call("create_article", json!({ "name": "Tea" })).await;
    assert_eq!(created.data()["article"]["article_id"], 1);
    let asked = pooled.call("delete_article", json!({ "article_id": 1 })).await;
    let token = asked.error().unwrap().details["confirmation_token"].clone();
    assert!(token.is_string(), "{asked:?}");

    // Both drivers have opened their files. The state's driver can open the author's file as well.
    let other = adapter(folder.path(), RusqliteDatabase::open(&file).unwrap());
    let listed = other.call("list_articles", json!({ "filter": { "name": "Tea" } })).await;
    assert_eq!(listed.data()["items"][0]["name"], "Tea", "{listed:?}");

    let confirmed = json!({ "article_id": 1, "_confirmation": token });
    let deleted = pooled.call("delete_article", confirmed).await;
    assert!(deleted.error().is_none(), "{deleted:?}");
    let left: i64 =
        sqlx::query_scalar("SELECT count(*) FROM article").fetch_one(&pool).await.unwrap();
    assert_eq!(left, 0);
}
