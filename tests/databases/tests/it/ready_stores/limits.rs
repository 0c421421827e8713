//! Tables that cannot keep a resource, and values at the limits of columns.

use chrono::{DateTime, FixedOffset, Utc};
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable, Storage};
use mcp_aql::resource::{RusqliteDatabase, SqlStore};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::missing_ids::{self, Tag};
use super::{Parcel, ask};

/// A note.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Note {
    /// Number of the note.
    #[resource(id)]
    note_id: u64,
    /// Time of the note.
    #[resource(filter, sort)]
    written: DateTime<FixedOffset>,
    /// Number of letters.
    letters: u64,
    /// Labels.
    #[param(default = [])]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
}

/// A lock.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Lock {
    /// Number of the lock.
    #[resource(id)]
    lock_id: u32,
    /// Digits that open the lock.
    #[serde(skip_serializing, default)]
    #[param(sensitive)]
    pin: String,
    /// Time of the last change.
    #[resource(read_only)]
    #[create_input(value = Utc::now())]
    #[serde(rename = "_version")]
    version: DateTime<Utc>,
}

fn sqlite(tables: &str) -> RusqliteDatabase {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(tables).unwrap();
    RusqliteDatabase::new(connection)
}

#[test]
fn a_table_that_cannot_keep_the_resource_is_reported_when_the_adapter_is_built() {
    // REQ-CON-02
    let table = SqlTable::new(Dialect::Postgres, "lock")
        .stored_as("_version", Storage::UnixSeconds)
        .column("unknown_field", "hidden");
    let store = SqlStore::<Lock, _>::new(table, sqlite(""));
    let error = Adapter::builder("door").resource(store).without_config().build().unwrap_err();
    let text = error.to_string();
    for problem in [
        "the table of 'lock': `Lock` has no field `unknown_field`",
        "the table of 'lock': the dialect is not that of the database",
        "the table of 'lock': `pin` has `#[serde(skip_serializing)]`",
        "the table of 'lock': `_version` is the version, and two changes may have the same",
    ] {
        assert!(text.contains(problem), "{problem}: {text}");
    }
}

#[tokio::test]
async fn instants_lists_and_numbers_are_stored_as_they_are_compared() {
    // REQ-COL-04, REQ-ERR-05
    let database = sqlite(
        "CREATE TABLE note (note_id INTEGER PRIMARY KEY, written TEXT NOT NULL, letters INTEGER NOT NULL,
             labels TEXT NOT NULL)",
    );
    let store = SqlStore::<Note, _>::new(SqlTable::new(Dialect::Sqlite, "note"), database);
    let adapter = Adapter::builder("notes").resource(store).without_config().build().unwrap();
    let new =
        |letters: Value| json!({ "written": "2031-05-06T09:00:00+02:00", "letters": letters });
    let created = ask(&adapter, "create_note", &new(json!(3))).await;
    assert_eq!(created["note"]["written"], "2031-05-06T07:00:00Z", "{created}");
    for (bound, count) in [("2031-05-06T08:00:00Z", 1), ("2031-05-06T07:00:00Z", 0)] {
        let filter = json!({ "filter": { "written": { "lt": bound } } });
        let listed = ask(&adapter, "list_notes", &filter).await;
        assert_eq!(listed["pageInfo"]["totalCount"], count, "{bound}: {listed}");
    }
    let refused = ask(&adapter, "create_note", &new(json!(u64::MAX))).await;
    assert_eq!(
        refused["message"], "Parameter 'letters' must be 9223372036854775807 or less",
        "{refused}"
    );
}

#[tokio::test]
async fn a_new_record_has_a_number_next_to_odd_ones() {
    // REQ-CON-02
    let largest = i64::MAX;
    for (columns, rows, expected) in [
        ("INTEGER PRIMARY KEY, town TEXT)", format!("({largest}, 'a')"), [1, 2]),
        ("INTEGER PRIMARY KEY AUTOINCREMENT, town TEXT)", format!("({largest}, 'a')"), [1, 2]),
        (
            "INTEGER PRIMARY KEY, town TEXT)",
            format!("(7, 'a'), ({}, 'b'), ({largest}, 'c')", largest - 1),
            [8, 9],
        ),
        ("INTEGER PRIMARY KEY, town TEXT)", "(-5, 'a')".to_owned(), [1, 2]),
        (
            "INTEGER PRIMARY KEY, town TEXT) WITHOUT ROWID",
            "('x', 'a'), (2.5, 'b'), (x'00', 'c'), (1, 'd')".to_owned(),
            [3, 4],
        ),
    ] {
        let tables =
            format!("CREATE TABLE parcel (parcel_id {columns}; INSERT INTO parcel VALUES {rows}");
        let table = SqlTable::<Parcel>::new(Dialect::Sqlite, "parcel");
        let store = SqlStore::new(table, sqlite(&tables));
        let adapter = Adapter::builder("post").resource(store).without_config().build().unwrap();
        for id in expected {
            let created = ask(&adapter, "create_parcel", &json!({ "town": "Rome" })).await;
            assert_eq!(created["parcel"]["parcel_id"], id, "{tables}: {created}");
        }
    }
}

#[tokio::test]
async fn rows_without_an_identifier_are_on_pages() {
    // REQ-PAG-04, REQ-PAG-09
    for (tables, count) in missing_ids::tables() {
        let table = SqlTable::<Tag>::new(Dialect::Sqlite, "tag");
        let store = SqlStore::new(table, sqlite(&tables));
        let adapter = Adapter::builder("tags").resource(store).without_config().build().unwrap();
        missing_ids::every_row_is_on_a_page(&adapter, &tables, count).await;
    }
    let view = "CREATE TABLE own (code TEXT NOT NULL, name TEXT, rank INTEGER);
        INSERT INTO own VALUES ('a', 'x', 1), ('b', 'y', NULL);
        CREATE VIEW tag AS SELECT * FROM own";
    let store = SqlStore::new(SqlTable::<Tag>::new(Dialect::Sqlite, "tag"), sqlite(view));
    let adapter = Adapter::builder("tags").resource(store).without_config().build().unwrap();
    missing_ids::every_row_is_on_a_page(&adapter, view, 2).await;
}
