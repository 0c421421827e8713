//! Reads the tables of SQLite.

use std::collections::BTreeMap;
use std::sync::mpsc;

use mcp_aql_text::visible;
use rusqlite::{Connection, OpenFlags, Row};
use sqlparser::ast::{ColumnOption, CreateTable, Statement, TableConstraint};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Word};

use crate::database::{Error, selected};
use crate::expression::is_shallow;
use crate::odd_values::{MAX_TIME, ValueCheck};
use crate::table::{Column, ColumnKind, Table};

/// Reads the requested tables of a file, or all of them. Also returns the number of views.
pub(crate) fn tables(path: &str, wanted: &[String]) -> Result<(Vec<Table>, i64), Error> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let known = {
        let mut statement = connection.prepare(
            "SELECT name FROM pragma_table_list
             WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1",
        )?;
        let names = statement.query_map([], |row| row.get(0))?;
        names.collect::<Result<Vec<String>, _>>()?
    };
    let tables = selected(known, wanted)?.into_iter().map(|name| table(&connection, name));
    let views = connection.query_row(
        "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'view'",
        [],
        |row| row.get(0),
    )?;
    Ok((tables.collect::<Result<_, _>>()?, views))
}

fn table(connection: &Connection, name: String) -> Result<Table, Error> {
    let (sql, is_strict): (String, bool) = connection.query_row(
        "SELECT sql, (SELECT strict FROM pragma_table_list WHERE schema = 'main' AND name = ?1)
         FROM sqlite_master WHERE type = 'table' AND name = ?1",
        [&name],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let (columns, primary_key) = columns(connection, &name, is_strict)?;
    let foreign_keys = foreign_keys(connection, &name)?;
    let mut table = Table { name, columns, primary_key, foreign_keys, ..Table::default() };
    match checks(&sql) {
        Some(checks) => table.checks = checks,
        None if sql.to_lowercase().contains("check") => table.remarks.push(format!(
            "The rules of the table '{}' are too long or have an unknown form: only the database checks them.",
            visible(&table.name)
        )),
        None => {}
    }
    if let Some(check) = ValueCheck::of_sqlite(&table) {
        match counts(connection, &check.sql) {
            Ok(counts) => table.remarks.extend(check.remarks(&counts)),
            Err(_) => table.remarks.push(check.failed()),
        }
    }
    Ok(table)
}

/// Returns the columns of a table, and the names of those in its primary key.
fn columns(
    connection: &Connection,
    table: &str,
    is_strict: bool,
) -> Result<(Vec<Column>, Vec<String>), Error> {
    let mut keys = BTreeMap::new();
    let mut columns = Vec::new();
    let mut statement = connection.prepare(
        "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?)",
    )?;
    let mut rows = statement.query([table])?;
    while let Some(row) = rows.next()? {
        let (column, declared): (String, String) = (row.get(0)?, row.get(1)?);
        let (place, hidden): (i64, i64) = (row.get(4)?, row.get(5)?);
        if place > 0 {
            keys.insert(place, column.clone());
        }
        let is_required: bool = row.get(2)?;
        columns.push(Column {
            name: column,
            kind: kind(&declared),
            is_nullable: !is_required && place == 0,
            default: row.get(3)?,
            // A column with this declaration is an alias of SQLite's row id, so SQLite numbers new rows.
            is_numbered: place > 0 && declared.eq_ignore_ascii_case("integer"),
            is_generated: hidden >= 2,
            comment: None,
            note: None,
            // In a strict table, no type converts values, not even `ANY`.
            numeric_type: (!is_strict && is_numeric(&declared)).then_some(declared),
        });
    }
    let primary_key: Vec<_> = keys.into_values().collect();
    if primary_key.len() != 1 {
        columns.iter_mut().for_each(|column| column.is_numbered = false);
    }
    Ok((columns, primary_key))
}

/// Returns the single-column foreign keys of a table: the column, and the table whose primary key it references.
fn foreign_keys(connection: &Connection, table: &str) -> Result<BTreeMap<String, String>, Error> {
    let mut statement = connection.prepare(
        "SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?1) AS key
         WHERE (SELECT count(*) FROM pragma_foreign_key_list(?1) AS other WHERE other.id = key.id) = 1
             AND (SELECT count(*) FROM pragma_table_info(key.\"table\") WHERE pk > 0) = 1
             AND coalesce((SELECT name FROM pragma_table_info(key.\"table\") WHERE pk > 0) = key.\"to\", true)",
    )?;
    let keys = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(keys.collect::<Result<_, _>>()?)
}

/// Returns the numbers in the only row of a statement, or an error if it exceeds the time limit.
fn counts(connection: &Connection, sql: &str) -> Result<Vec<i64>, rusqlite::Error> {
    let handle = connection.get_interrupt_handle();
    let (end, is_over) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if is_over.recv_timeout(MAX_TIME) == Err(mpsc::RecvTimeoutError::Timeout) {
            handle.interrupt();
        }
    });
    let numbers = |row: &Row<'_>| (0..row.as_ref().column_count()).map(|at| row.get(at)).collect();
    let counts = connection.query_row(sql, [], numbers);
    drop(end);
    // The thread must have ended before the next statement, because it would interrupt that one.
    let _ = watch.join();
    counts
}

/// Returns the expressions of the CHECK constraints in a `CREATE TABLE` statement. Returns `None` if the statement
/// cannot be parsed.
///
/// The result for this statement is `priority BETWEEN 1 AND 5`:
///
/// ```sql
/// CREATE TABLE task (priority INTEGER CHECK (priority BETWEEN 1 AND 5))
/// ```
fn checks(sql: &str) -> Option<Vec<String>> {
    if !is_shallow(&SQLiteDialect {}, sql) {
        return None;
    }
    let mut tokens = Tokenizer::new(&SQLiteDialect {}, sql).tokenize_with_location().ok()?;
    for TokenWithSpan { token, span } in &mut tokens {
        match token {
            // The expressions are parsed again without SQLite's own quotes.
            Token::Word(Word { quote_style: Some(quote), .. }) => *quote = '"',
            // The parser would write the number `0x10` as the bytes `X'10'`.
            Token::HexStringLiteral(digits) => {
                let number = i64::from_str_radix(digits, 16).ok();
                if let Some(number) = number.filter(|_| starts_with_zero(sql, span.start)) {
                    *token = Token::Number(number.to_string(), false);
                }
            }
            _ => {}
        }
    }
    let mut parser = Parser::new(&SQLiteDialect {}).with_tokens_with_locations(tokens);
    let statements = parser.parse_statements().ok()?;
    let Some(Statement::CreateTable(CreateTable { columns, constraints, .. })) =
        statements.into_iter().next()
    else {
        return None;
    };
    let of_columns = columns.into_iter().flat_map(|column| column.options).filter_map(|option| {
        match option.option {
            ColumnOption::Check(check) => Some(check.expr.to_string()),
            _ => None,
        }
    });
    let of_table = constraints.into_iter().filter_map(|constraint| match constraint {
        TableConstraint::Check(check) => Some(check.expr.to_string()),
        _ => None,
    });
    Some(of_columns.chain(of_table).collect())
}

/// Returns `true` if the token at this location starts with a zero.
fn starts_with_zero(sql: &str, location: Location) -> bool {
    // Lines and columns count from 1.
    let index = |number: u64| usize::try_from(number).ok()?.checked_sub(1);
    let line = index(location.line).and_then(|index| sql.split('\n').nth(index));
    let column = index(location.column);
    line.zip(column).and_then(|(line, column)| line.chars().nth(column)) == Some('0')
}

/// The parts of declared types that decide the affinity of a column, in the order in which SQLite tests them.
const WHOLE: &[&str] = &["int"];
const TEXT: &[&str] = &["char", "clob", "text"];
const BYTES: &[&str] = &["blob"];
const FRACTION: &[&str] = &["real", "floa", "doub"];

fn has_part(declared: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| declared.contains(part))
}

/// Returns `true` if SQLite converts strings in the column that look like numbers, because the column has the affinity
/// NUMERIC.
fn is_numeric(declared: &str) -> bool {
    let lower = declared.trim().to_lowercase();
    !lower.is_empty() && ![WHOLE, TEXT, BYTES, FRACTION].iter().any(|parts| has_part(&lower, parts))
}

/// Returns the kind of a declared type.
fn kind(declared: &str) -> ColumnKind {
    let lower = declared.trim().to_lowercase();
    let (name, length) = match lower.split_once('(') {
        Some((name, rest)) => (name.trim(), rest.trim_end_matches(')').trim().parse::<u32>().ok()),
        None => (lower.as_str(), None),
    };
    match name {
        "boolean" | "bool" => ColumnKind::Boolean,
        "date" => ColumnKind::Date,
        "datetime" | "timestamp" => ColumnKind::LocalInstant("datetime"),
        "json" | "jsonb" => ColumnKind::Json,
        "" => ColumnKind::Unsupported(declared.to_owned()),
        name if has_part(name, WHOLE) => ColumnKind::Integer(8),
        name if has_part(name, TEXT) => ColumnKind::Text { max_length: length },
        name if has_part(name, BYTES) => ColumnKind::Unsupported(declared.to_owned()),
        name if has_part(name, FRACTION) => ColumnKind::Number(8),
        name if name.starts_with("dec") || name.starts_with("num") => ColumnKind::Number(8),
        // SQLite stores any value in a column of another type.
        _ => ColumnKind::Text { max_length: None },
    }
}
