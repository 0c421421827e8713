//! The command, as a user runs it.

use std::process::{Command, Output};

fn run(folder: &std::path::Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mcp-aql-generate"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("DATABASE_URL")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn tables_are_chosen_and_remarks_are_on_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let connection = rusqlite::Connection::open(folder.path().join("shop.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE towns (town_id INTEGER PRIMARY KEY, name TEXT NOT NULL, map BLOB);
             CREATE TABLE roads (first INTEGER, second INTEGER, PRIMARY KEY (first, second));",
        )
        .unwrap();
    let chosen = run(folder.path(), &["--database", "sqlite:shop.db", "--tables", "towns"]);
    assert!(chosen.status.success(), "{}", text(&chosen.stderr));
    let source = text(&chosen.stdout);
    assert!(source.contains("struct Town {") && source.contains("Adapter::builder(\"database\")"));
    assert_eq!(
        text(&chosen.stderr),
        "The column 'map' of 'towns' is left out, because of its type 'BLOB'.\n"
    );
}

#[test]
fn mistakes_are_answered_with_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let connection = rusqlite::Connection::open(folder.path().join("shop.db")).unwrap();
    connection.execute_batch("CREATE TABLE roads (first INTEGER, second INTEGER)").unwrap();
    rusqlite::Connection::open(folder.path().join("empty.db"))
        .unwrap()
        .execute_batch("VACUUM")
        .unwrap();
    for (arguments, expected) in [
        (&[][..], "the database is a URL: write postgres://user@host/database or sqlite:file.db"),
        (&["--database", "mysql://x"], "the database is a URL: write"),
        (&["--database", "sqlite:none.db"], "SQLite: unable to open database file"),
        (&["--database", "sqlite:empty.db"], "there are no tables"),
        (
            &["--database", "sqlite:shop.db", "--tables", "road"],
            "there is no table 'road': the tables are roads",
        ),
        (
            &["--database", "sqlite:shop.db"],
            "no table can be a resource:\nThe table 'roads' has a primary key of 0 columns.",
        ),
        (
            &["--database", "postgres://127.0.0.1:1/x?user=a"],
            "PostgreSQL: error connecting to server",
        ),
    ] {
        let refused = run(folder.path(), arguments);
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
        let message = text(&refused.stderr);
        assert!(message.starts_with(expected), "{arguments:?}: {message}");
        assert_eq!(text(&refused.stdout), "");
    }
}
