//! Generates a source from a description of tables, without a database, for a fuzz target.

use std::collections::BTreeMap;

use crate::database::{Database, Error, Request};
use crate::generation::{Generated, write};
use crate::table::{Column, ColumnKind, Table};

/// Generates a source from a description of tables.
///
/// Tables are separated by form feeds, and the parts of a table by vertical tabs. The first parts are the name, the
/// comment, a CHECK constraint, and the table of a foreign key. Each column follows with four parts: its kind with
/// flags, its name, its default and its comment.
///
/// # Errors
///
/// Returns the same errors as [`generate`](crate::generate).
pub fn generate_described(name: &str, tables: &str) -> Result<Generated, Error> {
    let request = Request {
        database: Database::Sqlite(String::new()),
        schema: None,
        tables: Vec::new(),
        name: name.to_owned(),
    };
    let tables: Vec<_> = tables.split('\u{c}').map(table).collect();
    write(&request, &tables)
}

fn table(text: &str) -> Table {
    let parts: Vec<_> = text.split('\u{b}').collect();
    let part = |place: usize| parts.get(place).copied().unwrap_or_default();
    let given = |place: usize| Some(part(place).to_owned()).filter(|text| !text.is_empty());
    let columns: Vec<_> = parts.get(4..).unwrap_or_default().chunks(4).map(column).collect();
    let name = |column: Option<&Column>| column.map(|column| column.name.clone());
    Table {
        name: part(0).to_owned(),
        comment: given(1),
        checks: given(2).into_iter().collect(),
        foreign_keys: BTreeMap::from_iter(name(columns.get(1)).zip(given(3))),
        primary_key: name(columns.first()).into_iter().collect(),
        columns,
        ..Table::default()
    }
}

fn column(parts: &[&str]) -> Column {
    let part = |place: usize| parts.get(place).copied().unwrap_or_default();
    let given = |place: usize| Some(part(place).to_owned()).filter(|text| !text.is_empty());
    let mut letters = part(0).chars();
    let kind = letters.next().unwrap_or_default();
    let flags = letters.next().map_or(0, u32::from);
    let has = |flag: u32| flags >> flag & 1 == 1;
    Column {
        name: part(1).to_owned(),
        kind: kind_of(kind, letters.as_str()),
        is_nullable: has(0),
        default: given(2),
        is_numbered: has(1),
        is_generated: has(2),
        comment: given(3),
        note: None,
        numeric_type: has(3).then(|| letters.as_str().to_owned()),
    }
}

fn kind_of(kind: char, text: &str) -> ColumnKind {
    match kind {
        'b' => ColumnKind::Boolean,
        'i' => ColumnKind::Integer(2),
        'l' => ColumnKind::Integer(8),
        'n' => ColumnKind::Number(8),
        'u' => ColumnKind::Uuid,
        'd' => ColumnKind::Date,
        'z' => ColumnKind::Instant,
        'o' => ColumnKind::LocalInstant("timestamp"),
        'j' => ColumnKind::Json,
        'e' => {
            let values = text.split(',').map(str::to_owned).collect();
            ColumnKind::Enum { name: text.to_owned(), values }
        }
        'a' => {
            let entries = Box::new(ColumnKind::Text { max_length: None });
            ColumnKind::Array { name: text.to_owned(), entries }
        }
        'x' => ColumnKind::Other(text.to_owned()),
        'y' => ColumnKind::Unsupported(text.to_owned()),
        _ => ColumnKind::Text { max_length: text.parse().ok() },
    }
}
