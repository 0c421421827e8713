//! Generates the source of an adapter: reads the tables, decides about resources, and renders the source.

use crate::database::{Database, Error, MAX_TABLES, Request};
use crate::resource::Resource;
use crate::table::Table;
use crate::value_type::TypeNames;
use crate::{postgres, render, sqlite};

/// A generated source, with remarks about the tables and columns that it leaves out.
#[derive(Debug, Clone)]
pub struct Generated {
    /// A complete `main.rs`.
    pub source: String,
    /// Remarks about missing parts, one sentence each. Read them before you use the source.
    pub remarks: Vec<String>,
}

/// Reads the tables of a database, and returns the source of an adapter for them.
///
/// ```no_run
/// use mcp_aql_generate::{Request, generate};
///
/// # async fn sample() -> Result<(), mcp_aql_generate::Error> {
/// let request = Request {
///     database: "sqlite:shop.db".parse()?,
///     schema: None,
///     tables: Vec::new(),
///     name: "shop".to_owned(),
/// };
/// let generated = generate(&request).await?;
/// println!("{}", generated.source);
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// Returns an error if the database cannot be read, if a requested table does not exist, or if no table can be a
/// resource.
pub async fn generate(request: &Request) -> Result<Generated, Error> {
    let (tables, views) = match &request.database {
        Database::Postgres(url) => {
            let schema = request.schema.as_deref().unwrap_or("public");
            postgres::tables(url, schema, &request.tables).await?
        }
        Database::Sqlite(path) => sqlite::tables(path, &request.tables)?,
    };
    let mut generated = write(request, &tables)?;
    if request.tables.is_empty() && views > 0 {
        generated.remarks.push(format!("Views are left out. Their number: {views}."));
    }
    Ok(generated)
}

pub(crate) fn write(request: &Request, tables: &[Table]) -> Result<Generated, Error> {
    let mut resources: Vec<Resource> = Vec::new();
    let mut remarks = Vec::new();
    let mut names = TypeNames::of(tables);
    for table in tables {
        match Resource::of(table, &mut names) {
            Ok(resource) => {
                let same = |other: &&Resource| other.type_name == resource.type_name;
                if let Some(other) = resources.iter().find(same) {
                    return Err(Error::SameName(other.table.clone(), resource.table));
                }
                remarks.extend(resource.remarks.iter().cloned());
                resources.push(resource);
            }
            Err(remark) => remarks.push(remark),
        }
    }
    if resources.is_empty() {
        return Err(Error::NoResource(remarks));
    }
    if resources.len() > MAX_TABLES {
        return Err(Error::TooMany(resources.len()));
    }
    let source = render::source(request, &resources);
    Ok(Generated { source, remarks })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::planned::has_only_what_was_planned;
    use super::write;
    use crate::database::{Database, Error, Request};
    use crate::table::{Column, ColumnKind, Table};
    use crate::test_util::generate_described;

    /// Generates strings that could break out of their position in the source, and names with a meaning in the source.
    fn foreign_text() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "a",
            "B",
            "_",
            " ",
            "1",
            "'",
            "\"",
            "\\",
            "`",
            "```",
            "~~~",
            "- ",
            "* ",
            "1. ",
            "> ",
            "    ",
            "\t",
            "/",
            "*/",
            "/*",
            "//",
            "#",
            "!",
            "#[x]",
            "{",
            "}",
            "(",
            ")",
            ";",
            ",",
            "\n",
            "\r",
            "\u{2028}",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{1b}[2J",
            "\u{9b}",
            "\u{0}",
            "\u{8}",
            "\u{ad}",
            "\u{e0041}",
            "\u{fe0f}",
            "\u{301}",
            "\u{df}",
            "\u{130}",
            "\u{1f600}",
            "macro_rules! env { () => {} }",
            "fn main() {}",
            "self",
            "type",
            "operations",
            "params",
            "operation",
            "adapter",
            "main",
            "id",
            "_version",
            "option",
            "string",
            "filter",
            "update",
            "Self",
            "crate",
            "super",
            "match",
            "async",
            "gen",
            "userId",
            "user_id",
            "UserID",
            "user id",
            "日本",
            "ﬁ",
            "<script>",
        ]);
        let parts = prop::collection::vec(part.clone(), 0..5).prop_map(|parts| parts.concat());
        prop_oneof![8 => parts, 1 => part.prop_map(|part| part.repeat(100))]
    }

    fn kind() -> impl Strategy<Value = ColumnKind> {
        let list = |entries: ColumnKind| ColumnKind::Array {
            name: "x[]".to_owned(),
            entries: Box::new(entries),
        };
        let values = prop::collection::vec(foreign_text(), 0..4);
        prop_oneof![
            Just(ColumnKind::Boolean),
            Just(ColumnKind::Integer(2)),
            Just(ColumnKind::Integer(4)),
            Just(ColumnKind::Integer(8)),
            Just(ColumnKind::Number(4)),
            Just(ColumnKind::Number(8)),
            Just(ColumnKind::Instant),
            Just(ColumnKind::Text { max_length: None }),
            Just(ColumnKind::Uuid),
            Just(ColumnKind::Date),
            Just(ColumnKind::LocalInstant("timestamp")),
            Just(ColumnKind::Json),
            Just(list(ColumnKind::Integer(4))),
            (foreign_text(), values).prop_map(|(name, values)| ColumnKind::Enum { name, values }),
            foreign_text().prop_map(ColumnKind::Other),
            foreign_text().prop_map(ColumnKind::Unsupported),
        ]
    }

    fn column() -> impl Strategy<Value = Column> {
        let default = prop_oneof![
            foreign_text().prop_map(|text| format!("'{}'", text.replace('\'', "''"))),
            foreign_text(),
            Just("'{\"a\": [\"\\u0001\\b\", 3000000000, -1, 1e300]}'".to_owned()),
            Just("[".repeat(100)),
        ];
        let texts = (prop::option::of(default), prop::option::of(foreign_text()));
        (foreign_text(), kind(), any::<[bool; 4]>(), texts).prop_map(
            |(
                name,
                kind,
                [is_nullable, is_numbered, is_generated, is_numeric],
                (default, comment),
            )| Column {
                note: None,
                numeric_type: is_numeric.then(|| name.clone()),
                name,
                kind,
                is_nullable,
                default,
                is_numbered,
                is_generated,
                comment,
            },
        )
    }

    fn table() -> impl Strategy<Value = Table> {
        let texts = (foreign_text(), prop::option::of(foreign_text()), foreign_text());
        (texts, prop::collection::vec(column(), 1..6), foreign_text()).prop_map(
            |((name, comment, other), columns, value)| {
                let column = |place: usize| {
                    columns.get(place % columns.len()).map(|it: &Column| it.name.clone())
                };
                let check = format!(
                    "\"{}\" IN ('{}')",
                    column(1).unwrap_or_default(),
                    value.replace('\'', "''")
                );
                Table {
                    name,
                    comment,
                    primary_key: column(0).into_iter().collect(),
                    foreign_keys: BTreeMap::from_iter(column(2).map(|name| (name, other))),
                    checks: vec![check],
                    columns,
                    ..Table::default()
                }
            },
        )
    }

    /// Returns the description of a table for `generate_described`, with a column of each kind.
    fn described(table: &str) -> String {
        let kinds = ["b", "i", "n", "u", "d", "z", "o", "j", "eone,two", "a", "x", "t"];
        let columns = kinds.iter().enumerate().map(|(place, kind)| {
            let (kind, rest) = kind.split_at(1);
            format!("\u{b}{kind}\0{rest}\u{b}column{place}\u{b}\u{b}")
        });
        let key = "l\u{2}\u{b}id\u{b}\u{b}".to_owned();
        format!("{table}\u{b}\u{b}\u{b}\u{b}{key}{}", columns.collect::<String>())
    }

    #[test]
    fn each_name_of_the_source_may_name_a_table() {
        let source = generate_described("test", &described("things")).unwrap().source;
        let words = source.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let names: BTreeSet<_> = words.filter(|word| !word.is_empty()).collect();
        assert!(
            ["database", "table", "adapter", "SqlTable", "DateTime"]
                .iter()
                .all(|it| names.contains(it))
        );
        for name in names {
            // Both the name itself and the one with its ending.
            let other = format!("{name}_rows");
            let plain = generate_described("test", &described(name)).unwrap();
            has_only_what_was_planned(&plain.source, &plain.remarks);
            let tables = format!("{}\u{c}{}", described(name), described(&other));
            match generate_described("test", &tables) {
                Ok(both) => has_only_what_was_planned(&both.source, &both.remarks),
                Err(error) => assert!(matches!(error, Error::SameName(..)), "{error}"),
            }
        }
    }

    #[test]
    fn the_seeds_of_the_fuzz_target_are_schemas() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/generate");
        for seed in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(seed.unwrap().path()).unwrap();
            let (name, tables) = text.split_once('\u{c}').unwrap();
            let generated = generate_described(name, tables).unwrap();
            has_only_what_was_planned(&generated.source, &generated.remarks);
        }
    }

    proptest! {
        #[test]
        fn a_foreign_database_writes_no_code(tables in prop::collection::vec(table(), 1..4), name in foreign_text()) {
            let request = Request { database: Database::Sqlite(String::new()), schema: None, tables: Vec::new(), name };
            match write(&request, &tables) {
                Ok(generated) => has_only_what_was_planned(&generated.source, &generated.remarks),
                Err(error) => assert!(!mcp_aql_text::visible_lines(&error.to_string()).contains('\u{1b}')),
            }
        }
    }
}

#[cfg(test)]
mod planned;
