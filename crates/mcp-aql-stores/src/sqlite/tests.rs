//! Tests of the query plans and settings of the SQLite store.

use mcp_aql_core::store::{Change, Expected, NewRecord, StateStore as _};
use rusqlite::Connection;
use rusqlite::types::Value as Stored;

use super::file;
use crate::sql::{Dialect, Statement, Tables, Upgrade};

const TABLES: Tables = Tables { dialect: Dialect::Sqlite, schema: None };

/// Creates a database with the latest layout, in memory.
fn empty_database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    let rows = |statement: Statement| file::rows(&connection, &statement).unwrap();
    let there = rows(TABLES.tables_query().unwrap());
    let Ok(Upgrade::Steps(steps)) = TABLES.upgrade(&there, None, "here") else { panic!() };
    for step in &steps {
        file::execute(&connection, step).unwrap();
    }
    let there = rows(TABLES.tables_query().unwrap());
    assert!(Tables::is_ours(&there));
    let layout = rows(TABLES.layout_query().unwrap());
    assert_eq!(TABLES.upgrade(&there, Some(&layout), "here").unwrap(), Upgrade::None);
    connection
}

/// Returns SQLite's query plan for a statement.
fn plan(connection: &Connection, statement: &Statement) -> String {
    let sql = format!("EXPLAIN QUERY PLAN {}", statement.sql);
    let mut prepared = connection.prepare(&sql).unwrap();
    let rows = prepared.raw_query().mapped(|row| row.get::<_, String>(3));
    rows.map(Result::unwrap).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_question_has_an_index() {
    let connection = empty_database();
    let cases = [
        ("a record", TABLES.get("c", "k"), "sqlite_autoindex_record_1"),
        ("all", TABLES.list("c", None, Some("k"), 5), "sqlite_autoindex_record_1"),
        ("a group", TABLES.list("c", Some("g"), None, 5), "record_by_group"),
        ("more of a group", TABLES.list("c", Some("g"), Some("k"), 5), "record_by_group"),
        (
            "the expired",
            TABLES.purge(chrono::Utc::now()).map(|it| it.statement),
            "record_by_expiry",
        ),
    ];
    for (what, statement, index) in cases {
        let plan = plan(&connection, &statement.unwrap());
        assert!(plan.contains(index), "{what}: {plan}");
        assert!(!plan.contains("SCAN record"), "{what}: {plan}");
        // The index returns keys in their order.
        assert!(!plan.contains("TEMP B-TREE"), "{what}: {plan}");
    }
    for expected in [Expected::Absent, Expected::Version(1), Expected::Any] {
        let put = Change::put("c", "k", expected, NewRecord::new("1"));
        for step in TABLES.write(vec![put, Change::remove("c", "l", expected)]).unwrap() {
            let plan = plan(&connection, &step.statement);
            let counter = step.statement.sql.starts_with("UPDATE \"record_version\"");
            assert!(counter || !plan.contains("SCAN record\n"), "{}: {plan}", step.statement.sql);
        }
    }
}

#[test]
fn a_commit_waits_for_the_disk() {
    // A test cannot cut the power. It checks the settings with which SQLite promises durability.
    let folder = std::env::temp_dir().join(format!("mcp-aql-settings-{}", std::process::id()));
    let connection =
        file::open(&file::File::new(&folder.join("state.db"), super::DEFAULT_BUSY_TIMEOUT))
            .unwrap();
    let setting =
        |name| connection.pragma_query_value(None, name, |row| row.get::<_, Stored>(0)).unwrap();
    assert_eq!(setting("synchronous"), 2.into(), "FULL");
    assert_eq!(setting("fullfsync"), 1.into());
    assert_eq!(setting("journal_mode"), "wal".to_owned().into());
    drop(connection);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_change_waits_ten_seconds_unless_told_otherwise() {
    let store = super::SqliteState::open("state.db");
    assert_eq!(store.file.busy_timeout.as_secs(), 10);
    let store = store.busy_timeout(std::time::Duration::from_secs(1));
    assert_eq!(store.file.busy_timeout.as_secs(), 1);
    assert!(store.path().ends_with("state.db"));
}

fn put(key: &str, bytes: usize) -> Vec<Change> {
    vec![Change::put("c", key, Expected::Any, NewRecord::new("x".repeat(bytes)))]
}

#[tokio::test]
async fn a_full_file_is_usable_again_once_there_is_room() {
    let folder = std::env::temp_dir().join(format!("mcp-aql-full-{}", std::process::id()));
    let store = super::SqliteState::open(folder.join("state.db"));
    assert!(store.write(put("early", 1_000)).await.unwrap());
    // This limit simulates a full file system. It belongs to this connection, and a new connection does not
    // have it.
    let limited = store.writer.run(|connection| {
        let set = connection.pragma_update_and_check(None, "max_page_count", 1, |_| Ok(()));
        set.map_err(mcp_aql_core::store::StoreError::failed)
    });
    limited.await.unwrap();
    let error = store.write(put("large", 500_000)).await.unwrap_err().to_string();
    assert!(error.contains("full: free space on its file system"), "{error}");
    assert!(store.get("c", "early").await.unwrap().is_some());
    assert!(store.get("c", "large").await.unwrap().is_none());
    assert!(store.write(put("large", 500_000)).await.unwrap());
    assert!(store.get("c", "large").await.unwrap().is_some());
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn the_write_ahead_log_stays_short() {
    let folder = std::env::temp_dir().join(format!("mcp-aql-log-{}", std::process::id()));
    let store = super::SqliteState::open(folder.join("state.db"));
    for number in 0..400 {
        assert!(store.write(put(&format!("{}", number % 20), 2_000)).await.unwrap());
        // The reader has a connection of its own. It must not prevent the log from being moved.
        assert!(store.get("c", "0").await.unwrap().is_some());
    }
    let log = std::fs::metadata(folder.join("state.db-wal")).unwrap().len();
    assert!(log <= 2 * 64 * 4_096, "{log}");
    drop(store);
    std::fs::remove_dir_all(folder).unwrap();
}
