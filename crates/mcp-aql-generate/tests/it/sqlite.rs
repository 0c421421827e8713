//! Tests of the sources generated for SQLite tables.

use mcp_aql_generate::{Database, Generated, Request, generate};

/// Generates the source for tables, given as SQL statements.
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
fn a_type_that_makes_numbers_of_texts_is_named() {
    let types = "a STRING, b MONEY, c UUID, d TIME, e YEAR, f BIT, g CURRENCY, h INET, i WHATEVER, j ENUM, k JSON";
    let Generated { source, remarks } = generated(&format!(
        "CREATE TABLE changed (id INTEGER PRIMARY KEY, {types}, l JSON NOT NULL DEFAULT '[]', m JSON DEFAULT '{{}}');
         CREATE TABLE kept (id INTEGER PRIMARY KEY, a TEXT, b VARCHAR(3), c NATIVE_CHARACTER, d CLOB, e TINYTEXT,
             f DECIMAL(10, 2), g FLOAT, h \"FLOATING POINT\", i NUMERIC, j BOOLEAN, k DATE, l DATETIME,
             m STRING CHECK (m IN ('a', 'b')), n LONGBLOB);
         CREATE TABLE strict (id INTEGER PRIMARY KEY, a ANY) STRICT;
         CREATE TABLE docs (id INTEGER PRIMARY KEY, title TEXT, doc JSON NOT NULL);
         CREATE TABLE tags (code STRING PRIMARY KEY, label TEXT)"
    ));
    let start = |remark: &String| remark.split(" which SQLite changes").next().unwrap().to_owned();
    let mut expected: Vec<_> = types
        .split(", ")
        .chain(["l JSON", "m JSON"])
        .map(|column| {
            let (name, kind) = column.split_once(' ').unwrap();
            format!("The column '{name}' of 'changed' has the type '{kind}', with")
        })
        .collect();
    expected.extend([
        "The column 'doc' of 'docs' has the type 'JSON', with".to_owned(),
        "New records of 'docs' need the column 'doc', so they cannot be created.".to_owned(),
        "The column 'n' of 'kept' is left out, because of its type 'LONGBLOB'.".to_owned(),
        "The column 'code' of 'tags' has the type 'STRING', with".to_owned(),
        "The table 'tags' does not assign identifiers to new records, so they cannot be created."
            .to_owned(),
    ]);
    assert_eq!(remarks.iter().map(start).collect::<Vec<_>>(), expected);
    for (field, value) in [
        ("k: Option<Value>", "None"),
        ("l: Value", "serde_json::json!([])"),
        ("m: Option<Value>", "Some(serde_json::json!({}))"),
    ] {
        let lines =
            format!("#[resource(read_only)]\n    #[create_input(value = {value})]\n    {field}");
        assert!(source.contains(&lines), "{source}");
    }
    assert_eq!(
        source.matches("#[resource(operations(get, list, update, delete)").count(),
        2,
        "{source}"
    );
}

#[test]
fn the_rules_of_quoted_columns_are_read() {
    let Generated { source, remarks } = generated(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, [list price] INTEGER CHECK ([list price] > 0),
             [size] INTEGER CHECK ([size] < 5), \"a \"\"b\"\"\" INTEGER CHECK (\"a \"\"b\"\"\" > 1),
             [old name] TEXT CHECK ([old name] <> upper([old name])))",
    );
    assert!(remarks.is_empty(), "{remarks:?}");
    for part in [
        "#[param(minimum = 1)]\n    list_price: Option<i64>,",
        "#[param(maximum = 4)]\n    size: Option<i64>,",
        "#[param(minimum = 2)]\n    a_b: Option<i64>,",
        "The database requires `\"old name\" <> upper(\"old name\")`.",
    ] {
        assert!(source.contains(part), "{part}: {source}");
    }
}

#[test]
fn hexadecimal_numbers_are_not_bytes() {
    let Generated { source, remarks } = generated(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY,
             é INTEGER, `low` INTEGER CHECK (`low` > -0x10), high INTEGER CHECK (high <= 0x1f),
             bytes TEXT CHECK (bytes <> X'10'), other TEXT CHECK (other + 0x10 <> 0xffffffffffffffff))",
    );
    assert!(remarks.is_empty(), "{remarks:?}");
    for part in [
        "#[param(minimum = -15)]\n    low: Option<i64>,",
        "#[param(maximum = 31)]\n    high: Option<i64>,",
        "The database requires `bytes <> X'10'`.",
    ] {
        assert!(source.contains(part), "{part}: {source}");
    }
}

#[test]
fn views_are_counted() {
    let tables = "CREATE TABLE notes (id INTEGER PRIMARY KEY, name TEXT); CREATE VIEW names AS SELECT name FROM notes";
    assert_eq!(generated(tables).remarks, ["Views are left out. Their number: 1."]);
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
