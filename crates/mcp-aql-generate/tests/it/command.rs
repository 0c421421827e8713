//! Tests of the command `mcp-aql-generate`.

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
fn values_that_their_types_do_not_allow_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let connection = rusqlite::Connection::open(folder.path().join("old.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE notes (code TEXT PRIMARY KEY, made DATETIME, day DATE, done BOOLEAN, size INTEGER, price REAL,
                 extra JSON, label TEXT, kind STRING);
             INSERT INTO notes VALUES ('a', 1772388900, '2031-05-06', 1, 7, 1.5, '{}', 'secret', 'x'),
                 ('b', '2031-05-06 07:00:00', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
                 ('c', '2031-05-06T07:00:00.5Z', '6.5.2031', 't', '', '', 'secret', x'00', 7),
                 ('d', '2031-05-06T07:00:00+02:00', 'infinity', 2, 1.5, 9e999, 5, x'01', 8),
                 (NULL, 'secret', 20310506, 0, 2.0, 'NaN', '[', 7, 'y');",
        )
        .unwrap();
    // Most rows have one format, and only the last rows have another one.
    for table in ["a'⏎b", "few"] {
        let rows = if table == "few" { 0 } else { 3_000 };
        let sql = format!(
            "CREATE TABLE \"{table}\" (id INTEGER PRIMARY KEY, made DATETIME);
             WITH RECURSIVE rows(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM rows WHERE id < {rows})
             INSERT INTO \"{table}\" SELECT id, CASE WHEN id > 2990 THEN id ELSE '2031-05-06 07:00:00' END FROM rows;"
        );
        connection.execute_batch(&sql.replace('⏎', "\n")).unwrap();
    }
    let generated = run(folder.path(), &["--database", "sqlite:old.db"]);
    let remarks = text(&generated.stderr);
    let found: Vec<_> =
        remarks.lines().filter_map(|line| Some(line.split_once(" rows")?.0)).collect();
    let expected = [
        "The column 'made' of 'a'<U+000A>b' has numbers in 10 of the 1000",
        "The column 'code' of 'notes' has missing values in 1 of the 5",
        "The column 'made' of 'notes' has numbers in 1 of the 5",
        "The column 'made' of 'notes' has times with an offset in 1 of the 5",
        "The column 'made' of 'notes' has values that are not a time in the form 2031-05-06 07:00:00 in 1 of the 5",
        "The column 'day' of 'notes' has values that are not a day in the form 2031-05-06 in 3 of the 5",
        "The column 'done' of 'notes' has values that are neither 0 nor 1 in 2 of the 5",
        "The column 'size' of 'notes' has values that are not whole numbers in 2 of the 5",
        "The column 'price' of 'notes' has values that are infinite or not a number in 3 of the 5",
        "The column 'extra' of 'notes' has values that are not valid JSON in 3 of the 5",
        "The column 'label' of 'notes' has values that are binary in 2 of the 5",
        "The column 'kind' of 'notes' has numbers in 2 of the 5",
    ];
    assert_eq!(found, expected, "{remarks}");
    let source = text(&generated.stdout);
    assert!(source.contains("// The column 'made' of 'notes' has numbers in 1 of the 5"));
    assert!(!source.contains("secret") && !remarks.contains("secret"));
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
