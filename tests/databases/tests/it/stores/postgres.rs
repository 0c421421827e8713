//! Tests the PostgreSQL store with lost connections, locks and migrations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_aql::store::{Change, Expected, NewRecord, PostgresState, StateStore, StoreError};
use mcp_aql_tests_databases::postgres;
use tokio_postgres::Client;

use super::fixture::schema;

fn put(key: &str) -> Vec<Change> {
    vec![Change::put("c", key, Expected::Any, NewRecord::new("0"))]
}

struct Server {
    /// A connection in addition to those of the store.
    client: Client,
    address: String,
    schema: String,
}

impl Server {
    async fn new() -> Option<Self> {
        let (address, schema) = schema().await?;
        Some(Self { client: postgres::connect().await?, address, schema })
    }

    fn store(&self) -> PostgresState {
        PostgresState::connect(&self.address).unwrap().schema(&self.schema)
    }

    /// Executes a statement in the store's schema.
    async fn batch(&self, sql: &str) {
        let schema = self.schema.replace('"', "\"\"");
        let path = format!("SET search_path = \"{schema}\"; {sql}");
        self.client.batch_execute(&path).await.unwrap();
    }

    async fn create(&self, sql: &str) {
        let schema = self.schema.replace('"', "\"\"");
        self.client.batch_execute(&format!("CREATE SCHEMA \"{schema}\"")).await.unwrap();
        self.batch(sql).await;
    }

    /// Returns the number of connections with this application name.
    async fn connections(&self, name: &str) -> i64 {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
        self.client.query_one(sql, &[&name]).await.unwrap().get(0)
    }

    /// Terminates the connections with this application name. Returns their number.
    async fn terminate(&self, name: &str) -> usize {
        let sql =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
        self.client.query(sql, &[&name]).await.unwrap().len()
    }

    async fn indexes(&self) -> Vec<String> {
        let sql = "SELECT indexname::text FROM pg_indexes WHERE schemaname = $1 ORDER BY 1";
        let rows = self.client.query(sql, &[&self.schema]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }
}

const FIRST_LAYOUT: &str = r#"
    CREATE TABLE mcp_aql_layout (number bigint NOT NULL);
    CREATE TABLE record (collection text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL,
        value text COLLATE "C" NOT NULL, version bigint NOT NULL, group_key text COLLATE "C",
        expires_at bigint, PRIMARY KEY (collection, key));
    CREATE SEQUENCE record_version START 42;
    INSERT INTO mcp_aql_layout VALUES (1);
    INSERT INTO record VALUES ('c', 'a', '{}', 7, 'g', NULL), ('c', 'b', '[]', 41, NULL, 5),
        ('c', 'ä', '0', 12, 'g', 1900000000000000);"#;

#[tokio::test]
async fn a_schema_of_the_first_layout_becomes_one_of_today() {
    let Some(server) = Server::new().await else { return };
    server.create(FIRST_LAYOUT).await;
    assert_eq!(server.indexes().await, ["record_pkey"]);
    let store = server.store();
    store.prepare().await.unwrap();
    assert_eq!(server.indexes().await, ["record_by_expiry", "record_by_group", "record_pkey"]);
    let listed = store.list("c", Some("g"), None, 9).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|it| (&*it.key, &*it.value, it.version)).collect();
    assert_eq!(listed, [("a", "{}", 7), ("ä", "0", 12)]);
    assert!(store.write(put("new")).await.unwrap());
    assert_eq!(store.get("c", "new").await.unwrap().unwrap().version, 42);
    assert_eq!(store.purge(chrono::Utc::now()).await.unwrap(), 1);
    server.store().prepare().await.unwrap();
}

#[tokio::test]
async fn newer_layouts_and_foreign_files_are_rejected() {
    let Some(server) = Server::new().await else { return };
    let store = server.store();
    store.write(put("a")).await.unwrap();
    server.batch("UPDATE mcp_aql_layout SET number = 3").await;
    // Open stores keep working. Opening another one fails.
    store.get("c", "a").await.unwrap();
    let error = server.store().prepare().await.unwrap_err();
    assert!(matches!(error, StoreError::Unreadable(_)), "{error:?}");
    assert!(error.to_string().contains("update this program, or use another database"), "{error}");

    let Some(server) = Server::new().await else { return };
    server.create("CREATE TABLE record (x int)").await;
    let error = server.store().write(put("a")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreadable(_)), "{error:?}");
    assert!(error.to_string().contains("belongs to another program"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_begin_at_once() {
    for old in [false, true] {
        let Some(server) = Server::new().await else { return };
        if old {
            server.create(FIRST_LAYOUT).await;
        }
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..16 {
            let store = server.store();
            tasks.spawn(async move {
                store.prepare().await.unwrap();
                assert!(store.write(put(&format!("new {number}"))).await.unwrap());
            });
        }
        tasks.join_all().await;
        let there = server.store().list("c", None, None, 99).await.unwrap();
        assert_eq!(there.iter().filter(|record| record.key.starts_with("new")).count(), 16);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn terminated_connections_are_reopened() {
    let Some(server) = Server::new().await else { return };
    let name = format!("ended {}", server.schema);
    let named = format!("{} application_name='{name}'", server.address);
    let store = PostgresState::connect(&named).unwrap().schema(&server.schema).connections(4);
    let store = Arc::new(store);
    store.write(put("a")).await.unwrap();
    // If idle connections are lost, the next caller does not notice it.
    for _ in 0..20 {
        assert!(server.terminate(&name).await > 0);
        assert!(store.get("c", "a").await.unwrap().is_some());
        assert!(server.terminate(&name).await > 0);
        assert!(store.write(put("a")).await.unwrap());
    }
    // If connections are lost during writes, acknowledged writes are present and the other callers get an error.
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let (mut written, mut failed) = (Vec::new(), 0);
            for number in 0..150 {
                let key = format!("{writer} {number}");
                let change = Change::put("w", &key, Expected::Absent, NewRecord::new("0"));
                match store.write(vec![change]).await {
                    Ok(made) => {
                        assert!(made);
                        written.push(key);
                    }
                    Err(_) => failed += 1,
                }
            }
            (written, failed)
        });
    }
    let mut ended = 0;
    for _ in 0..25 {
        tokio::time::sleep(Duration::from_millis(8)).await;
        ended += server.terminate(&name).await;
    }
    let (mut written, mut failed) = (0, 0);
    for (keys, errors) in tasks.join_all().await {
        failed += errors;
        written += keys.len();
        for key in keys {
            assert!(store.get("w", &key).await.unwrap().is_some(), "{key} is lost");
        }
    }
    assert!(ended > 10, "{ended} were ended");
    assert_eq!(written + failed, 8 * 150);
    assert!(failed <= ended, "{failed} of {written} failed, with {ended} connections ended");
    assert!(server.connections(&name).await <= 4);
}

#[tokio::test]
async fn the_connection_limit_holds() {
    let Some(server) = Server::new().await else { return };
    let name = format!("bounded {}", server.schema);
    let named = format!("{} application_name='{name}'", server.address);
    let store = PostgresState::connect(&named).unwrap().schema(&server.schema).connections(3);
    let store = Arc::new(store);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40 {
        let store = Arc::clone(&store);
        tasks.spawn(async move { store.write(put(&number.to_string())).await.unwrap() });
    }
    tasks.join_all().await;
    assert_eq!(server.connections(&name).await, 3);
}

#[tokio::test]
async fn a_statement_does_not_wait_for_ever() {
    let Some(server) = Server::new().await else { return };
    server.store().write(put("a")).await.unwrap();
    server.batch("BEGIN; SELECT 1 FROM record FOR UPDATE").await;
    let limited = format!("{} options='-c statement_timeout=200'", server.address);
    let store = PostgresState::connect(&limited).unwrap().schema(&server.schema).connections(1);
    let start = Instant::now();
    let error = store.write(put("a")).await.unwrap_err();
    assert!(error.to_string().contains("statement timeout"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5), "the user's limit counts");
    // Other records are available on the same connection.
    assert!(store.get("c", "a").await.unwrap().is_some());
    assert!(store.write(put("b")).await.unwrap());
    server.batch("ROLLBACK").await;
    assert!(store.write(put("a")).await.unwrap());
}

#[tokio::test]
async fn limits_are_set_where_the_server_has_none() {
    let Some(server) = Server::new().await else { return };
    server.store().write(put("a")).await.unwrap();
    server.batch("BEGIN; SELECT 1 FROM record FOR UPDATE").await;
    let timeout = Duration::from_millis(300);
    let start = Instant::now();
    let error = server.store().statement_timeout(timeout).write(put("a")).await.unwrap_err();
    assert!(error.to_string().contains("statement timeout"), "{error}");
    let waited = start.elapsed();
    assert!(waited >= timeout, "{waited:?}");
    server.batch("ROLLBACK").await;
}

#[tokio::test]
async fn groups_are_read_from_an_index() {
    let Some(server) = Server::new().await else { return };
    let store = server.store().connections(1);
    store.prepare().await.unwrap();
    server
        .batch(
            "INSERT INTO record SELECT 'c', lpad(n::text, 6, '0'), '0', n, 'g' || n % 1000, n
                 FROM generate_series(1, 20000) AS s (n);
             ANALYZE record",
        )
        .await;
    let scans = async |index: &str| {
        let sql =
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE schemaname = $1 AND indexrelname = $2";
        server.client.query_one(sql, &[&server.schema, &index]).await.unwrap().get::<_, i64>(0)
    };
    let grown = async |index: &str, before: i64| {
        let start = Instant::now();
        // The server updates its statistics with a delay. A query speeds this up.
        while scans(index).await == before {
            assert!(start.elapsed().as_secs() < 60, "{index} is not used");
            store.get("elsewhere", "a").await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let before = scans("record_by_group").await;
    let found = store.list("c", Some("g7"), Some("010000"), 3).await.unwrap();
    let keys: Vec<_> = found.iter().map(|record| &*record.key).collect();
    assert_eq!(keys, ["010007", "011007", "012007"]);
    grown("record_by_group", before).await;
    let before = scans("record_by_expiry").await;
    let now = chrono::DateTime::from_timestamp_micros(11).unwrap();
    assert_eq!(store.purge(now).await.unwrap(), 10);
    grown("record_by_expiry", before).await;
}

#[tokio::test]
async fn a_role_needs_no_right_to_create_what_is_there() {
    let Some(server) = Server::new().await else { return };
    server.store().write(put("a")).await.unwrap();
    let role = format!("user_{}_{}", std::process::id(), server.schema.rsplit('"').next().unwrap());
    let schema = server.schema.replace('"', "\"\"");
    let sql = format!(
        "DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA \"{schema}\" TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \"{schema}\" TO {role};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA \"{schema}\" TO {role}"
    );
    server.client.batch_execute(&sql).await.unwrap();
    let limited = format!("{} user={role}", server.address);
    let store = PostgresState::connect(&limited).unwrap().schema(&server.schema);
    assert!(store.write(put("a")).await.unwrap());
    // In another schema, the error names the missing permission.
    let error = store_elsewhere(&limited).prepare().await.unwrap_err();
    assert!(error.to_string().contains("permission denied"), "{error}");
    let sql = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    server.client.batch_execute(&sql).await.unwrap();
}

fn store_elsewhere(address: &str) -> PostgresState {
    PostgresState::connect(address).unwrap().schema(format!("nowhere_{}", std::process::id()))
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_says_so() {
    let nowhere = "host=/nonexistent user=ada password=secret dbname=x";
    let store = PostgresState::connect(nowhere).unwrap();
    for _ in 0..2 {
        let error = store.prepare().await.unwrap_err();
        assert!(matches!(error, StoreError::Failed(_)), "{error:?}");
        assert!(error.to_string().contains("connecting to server"), "{error}");
        assert!(!format!("{error:?} {store:?}").contains("secret"));
    }
    let error = PostgresState::connect("host=localhost sslmode=require user=ada").unwrap_err();
    assert!(error.to_string().contains("use PostgresState::connect_with"), "{error}");
    let error = PostgresState::connect("hast=localhost password=secret").unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
    for name in ["", "a\0", &"s".repeat(64)] {
        let store = PostgresState::connect(nowhere).unwrap().schema(name);
        let error = store.prepare().await.unwrap_err();
        assert!(error.to_string().contains("cannot be the name of a schema"), "{error}");
    }
}
