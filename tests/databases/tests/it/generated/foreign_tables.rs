//! Generates random tables with names, comments, defaults and rules that a hostile program may have chosen.

use mcp_aql::query::sql::Dialect;
use proptest::prelude::*;
use proptest::sample::select;

/// Parts of names and strings. They try to break out of their position in the source, or have a meaning in it.
const PARTS: &[&str] = &[
    "",
    "a",
    "B",
    "_",
    "__",
    " ",
    "1",
    "'",
    "\"",
    "\\",
    "`",
    "```",
    "~~~",
    "/",
    "*/",
    "/*",
    "//",
    "//!",
    "#",
    "#[x]",
    "{",
    "}",
    "{x}",
    "(",
    ")",
    ";",
    "%s",
    "$1",
    "?",
    "\n",
    "\r",
    "\t",
    "\u{b}",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{1b}[2J",
    "\u{9b}",
    "\u{8}",
    "\u{ad}",
    "\u{e0041}",
    "\u{fe0f}",
    "\u{301}",
    "ß",
    "İ",
    "größe",
    "日本",
    "\u{1f600}",
    "macro_rules! env { () => {} }",
    "fn main() {}",
    "<script>",
    "ﬁ",
    "self",
    "Self",
    "crate",
    "super",
    "type",
    "match",
    "gen",
    "static",
    "async",
    "dyn",
    "r#fn",
    "union",
    "macro_rules",
    "operation",
    "operations",
    "params",
    "input",
    "filter",
    "fields",
    "sort",
    "query",
    "first",
    "after",
    "limit",
    "page",
    "and",
    "or",
    "not",
    "if_match",
    "confirmation_token",
    "adapter",
    "main",
    "id",
    "version",
    "_version",
    "row_version",
    "option",
    "string",
    "vec",
    "value",
    "update",
    "list",
    "result",
    "ok",
    "none",
    "some",
    "database",
    "table",
    "sql_store",
    "user",
    "userId",
    "user_id",
    "UserID",
    "user-id",
    "null",
    "true",
    "bool",
    "i64",
    "serde",
    "std",
    "mcp_aql",
    "tokio",
    "chrono",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(PARTS).prop_map(str::to_owned),
        6 => prop::collection::vec(select(PARTS), 0..4).prop_map(|parts| parts.concat()),
        1 => select(PARTS).prop_map(|part| part.repeat(60)),
    ]
}

/// Generates a name that the database accepts. PostgreSQL allows neither an empty name nor more than 63 bytes.
fn name(dialect: Dialect) -> impl Strategy<Value = String> {
    text().prop_map(move |mut name| {
        if dialect == Dialect::Postgres {
            while name.len() > 63 {
                name.pop();
            }
            if name.is_empty() {
                name.push('x');
            }
        }
        name
    })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A placeholder for the name of the column in a rule.
const COLUMN: &str = "COLUMN";

/// Generates a column without its name, and optionally a rule for it.
fn column(dialect: Dialect) -> impl Strategy<Value = (String, Option<String>)> {
    let of_sqlite: &[&str] = &[
        "TEXT",
        "VARCHAR(3)",
        "INTEGER",
        "BOOLEAN",
        "REAL",
        "NUMERIC",
        "DATE",
        "DATETIME",
        "JSON",
        "BLOB",
        "",
        "UUID",
    ];
    let of_postgres: &[&str] = &[
        "text",
        "varchar(3)",
        "char(2)",
        "smallint",
        "integer",
        "bigint",
        "boolean",
        "real",
        "double precision",
        "numeric(10, 2)",
        "date",
        "timestamptz",
        "timestamp",
        "jsonb",
        "bytea",
        "uuid",
        "text[]",
        "integer[]",
        "inet",
        "bit(3)",
        "interval",
    ];
    let kind = select(if dialect == Dialect::Sqlite { of_sqlite } else { of_postgres });
    let texts = prop::collection::vec(text(), 1..4);
    (kind, any::<[bool; 2]>(), 0..10_u8, texts).prop_map(
        move |(kind, [is_required, has_default], rule, texts)| {
            let lower = kind.to_lowercase();
            let is_text = ["text", "varchar(3)"].contains(&lower.as_str());
            let first = texts.first().map(String::as_str).unwrap_or_default();
            let default = match lower.as_str() {
                "text" => string(first),
                "varchar(3)" => string(&first.chars().take(3).collect::<String>()),
                "boolean" => "true".to_owned(),
                "date" => "CURRENT_DATE".to_owned(),
                "datetime" | "timestamp" | "timestamptz" => "CURRENT_TIMESTAMP".to_owned(),
                "json" | "jsonb" => {
                    let text = serde_json::to_string(
                        &serde_json::json!({ first: [first, 3_000_000_000_u64] }),
                    );
                    string(&text.unwrap_or_default())
                }
                "integer" | "bigint" | "real" | "numeric" | "double precision" => "7".to_owned(),
                _ => "NULL".to_owned(),
            };
            let is_number =
                ["integer", "bigint", "real", "numeric", "smallint"].contains(&lower.as_str());
            let list = texts.iter().map(|text| string(text)).collect::<Vec<_>>().join(", ");
            let rule = match rule {
                0 | 1 if is_text => Some(format!("{COLUMN} IN ({list})")),
                2 if is_text => Some(format!("{COLUMN} <> {}", string(first))),
                3 if is_text => Some(format!("length({COLUMN}) > 0")),
                0 if is_number => Some(format!("{COLUMN} IN (0, 1)")),
                1 if is_number => Some(format!("{COLUMN} IN (1, 3, 7)")),
                2 if is_number => Some(format!("{COLUMN} BETWEEN -5 AND 1.5")),
                3 if is_number => Some(format!("{COLUMN} > 0 OR {COLUMN} < -1e300")),
                _ => None,
            };
            let required = if is_required { " NOT NULL" } else { "" };
            let default = if has_default { format!(" DEFAULT {default}") } else { String::new() };
            (format!("{kind}{required}{default}"), rule)
        },
    )
}

/// Generates the quoted name of a table and the statement that creates it.
fn table(dialect: Dialect, number: usize) -> impl Strategy<Value = (String, String)> {
    let key = select(match dialect {
        Dialect::Sqlite => vec!["INTEGER PRIMARY KEY", "TEXT PRIMARY KEY", "INT PRIMARY KEY"],
        Dialect::Postgres => vec!["bigserial PRIMARY KEY", "text PRIMARY KEY", "uuid PRIMARY KEY"],
    });
    let columns = prop::collection::vec((name(dialect), column(dialect), text()), 1..7);
    (name(dialect), name(dialect), key, columns).prop_map(move |(table, id, key, columns)| {
        // The names must differ even without case, and in the form that they have in Rust.
        let table = format!("t{number}{table}").chars().take(60).collect::<String>();
        let table = quoted(&truncated(table));
        let mut known = vec![id.to_lowercase()];
        let mut parts = vec![format!("{} {key}", quoted(&id))];
        let mut comments = vec![format!("COMMENT ON TABLE {table} IS {};", string(&id))];
        for (name, (column, rule), comment) in columns {
            if known.contains(&name.to_lowercase()) {
                continue;
            }
            known.push(name.to_lowercase());
            let name = quoted(&name);
            comments.push(format!("COMMENT ON COLUMN {table}.{name} IS {};", string(&comment)));
            parts.push(format!("{name} {column}"));
            parts.extend(rule.map(|rule| format!("CHECK ({})", rule.replace(COLUMN, &name))));
        }
        // In the statement, the rules come after the columns.
        parts.sort_by_key(|part| part.starts_with("CHECK"));
        let comments = if dialect == Dialect::Postgres { comments.concat() } else { String::new() };
        let statement = format!("CREATE TABLE {table} ({});{comments}", parts.join(", "));
        (table, statement)
    })
}

fn truncated(mut name: String) -> String {
    while name.len() > 63 {
        name.pop();
    }
    name
}

/// Generates statements that create random tables. In SQLite, all other tables refer to the first.
pub(super) fn tables(dialect: Dialect, count: usize) -> impl Strategy<Value = String> {
    let tables: Vec<_> = (0..count).map(|number| table(dialect, number)).collect();
    tables.prop_map(move |tables| {
        let mut statements: Vec<_> =
            tables.iter().map(|(_, statement)| statement.clone()).collect();
        if let (Dialect::Sqlite, [(first, _), others @ ..]) = (dialect, tables.as_slice()) {
            statements.extend(others.iter().map(|(table, _)| {
                format!("ALTER TABLE {table} ADD COLUMN \"belongs to\" INTEGER REFERENCES {first};")
            }));
        }
        statements.join("\n")
    })
}
