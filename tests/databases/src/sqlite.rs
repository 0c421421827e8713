//! Runs the tests on SQLite, with rusqlite.

use mcp_aql::query::sql::{SqlValue, Statement};
use rusqlite::{Connection, params};

use crate::Item;

/// The error of a failed query.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Executes a statement. The executor needs no other code for this driver.
///
/// # Errors
///
/// Returns the errors of the driver.
pub fn execute(
    connection: &Connection,
    statement: &Statement,
) -> Result<Vec<Vec<SqlValue>>, Failure> {
    Ok(statement.run_on(connection)?)
}

/// The table of [items](Item).
pub const SCHEMA: &str = r#"
    CREATE TABLE "it""ems" (
        id TEXT NOT NULL COLLATE NOCASE,
        title TEXT NOT NULL COLLATE NOCASE, "title words" TEXT NOT NULL,
        body TEXT, "body words" TEXT,
        tags TEXT NOT NULL, "tags words" TEXT NOT NULL,
        numbers TEXT, state TEXT NOT NULL, former TEXT,
        rank INTEGER, size INTEGER NOT NULL, weight REAL, share REAL, ratio REAL NOT NULL,
        done INTEGER NOT NULL, paid INTEGER, due TEXT,
        created TEXT NOT NULL, "closed at" INTEGER, seen TEXT NOT NULL,
        place TEXT, team_name TEXT NOT NULL, "team ""lead""" TEXT,
        extra TEXT NOT NULL, score INTEGER NOT NULL, deleted INTEGER NOT NULL DEFAULT 0
    )"#;

/// Creates a database in memory with the empty table.
pub fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    connection
}

/// Inserts rows.
pub fn insert(connection: &Connection, items: &[Item]) {
    let mut statement = connection
        .prepare_cached(
            r#"INSERT INTO "it""ems" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
               ?, ?, ?, ?, ?, ?, ?, 0)"#,
        )
        .unwrap();
    let json = |value: &dyn erased::Json| value.text();
    for item in items {
        let [title, body, tags] = item.words();
        let name = |value: &dyn erased::Json| value.text().trim_matches('"').to_owned();
        statement
            .execute(params![
                item.id,
                item.title,
                title,
                item.body,
                body,
                json(&item.tags),
                tags,
                item.numbers.as_ref().map(|it| json(it)),
                name(&item.state),
                item.former.as_ref().map(|it| name(it)),
                item.rank,
                item.size,
                item.weight,
                item.share,
                item.ratio,
                item.done,
                item.paid,
                item.due.as_ref().map(|it| it.to_string()),
                name(&item.created),
                item.closed.as_ref().map(|it| it.timestamp_millis()),
                name(&item.seen),
                item.place.as_ref().map(|it| json(it)),
                item.team.name,
                item.team.lead,
                json(&item.extra),
                item.score,
            ])
            .unwrap();
    }
}

mod erased {
    /// A value, serialized to a JSON string on demand.
    pub(super) trait Json {
        fn text(&self) -> String;
    }

    impl<T: serde::Serialize> Json for T {
        fn text(&self) -> String {
            serde_json::to_string(self).unwrap()
        }
    }
}
