//! What tables of SQLite become.

use mcp_aql_generate::{Database, Generated, Request, generate};

/// Generates the source for tables.
fn generated(tables: &str) -> Generated {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tables.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(tables).unwrap();
    let database = Database::Sqlite(path.to_str().unwrap().to_owned());
    let request = Request { database, schema: None, tables: Vec::new(), name: "test".to_owned() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(generate(&request)).unwrap()
}

#[test]
fn a_key_that_is_a_foreign_key_is_chosen_and_refers() {
    let Generated { source, remarks } = generated(
        "CREATE TABLE parents (id INTEGER PRIMARY KEY REFERENCES parents, name TEXT);
         CREATE TABLE profiles (parent_id INTEGER PRIMARY KEY REFERENCES parents, bio TEXT);
         CREATE TABLE counts (parent_id INT PRIMARY KEY CHECK (parent_id > 0) REFERENCES parents, n INTEGER)",
    );
    assert!(remarks.is_empty(), "{remarks:?}");
    let chosen =
        "#[resource(id, filter, sort, references = \"parent\")]\n    #[create_input(chosen)]\n    ";
    assert!(source.contains(&format!("{chosen}parent_id: i64,")), "{source}");
    assert!(source.contains(&format!("{chosen}#[param(minimum = 1)]\n    parent_id: i64,")));
    assert!(source.contains("#[resource(id, filter, sort)]\n    id: i64,"), "{source}");
}

#[test]
fn the_rules_of_a_table_may_be_too_long() {
    for operator in ["AND", "+", "||"] {
        // SQLite itself accepts a depth of 1000.
        let chain = ["n"; 990].join(operator).replace("nAND", "n AND ");
        let sql = format!(
            "CREATE TABLE deep (id INTEGER PRIMARY KEY, n INTEGER CHECK (n < 5), CHECK ({chain}));
             CREATE TABLE flat (id INTEGER PRIMARY KEY, n INTEGER CHECK (n < 5))"
        );
        let Generated { source, remarks } = generated(&sql);
        assert_eq!(
            remarks,
            [
                "The rules of the table 'deep' are too long or have an unknown form: only the database checks them."
            ]
        );
        assert_eq!(source.matches("#[param(maximum = 4)]").count(), 1, "{source}");
        assert!(source.contains("struct Deep {"));
    }
}
