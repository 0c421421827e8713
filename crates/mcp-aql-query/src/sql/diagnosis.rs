//! Finds the columns that caused an error, if the database does not name them.

use sea_query::{ExprTrait as _, Query};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::column_type::SqlType;
use super::database::{AccessMode, Database, Transaction};
use super::database_error::{Defect, Violation};
use super::dialect::Dialect;
use super::record_statements::{column_name, quoted};
use super::value::{SqlValue, Statement};
use super::{DatabaseError, SqlTable};
use crate::records::Record;

/// Selects the columns of a constraint or an index, including the columns in their expressions.
const COLUMNS_OF_CONSTRAINT: &str = "SELECT DISTINCT CAST(a.attname AS text) FROM pg_depend d
        JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE a.attnum > 0 AND d.objid IN (
        SELECT c.oid FROM pg_constraint c
            WHERE c.conname = CAST($2 AS text) AND c.conrelid = CAST(CAST($1 AS text) AS regclass)
        UNION ALL SELECT i.indexrelid FROM pg_index i JOIN pg_class n ON n.oid = i.indexrelid
            WHERE n.relname = CAST($2 AS text) AND i.indrelid = CAST(CAST($1 AS text) AS regclass))";

/// Selects the columns of a table with their types, such as `numeric(9,2)`.
const TYPES: &str =
    "SELECT CAST(attname AS text), format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = CAST(CAST($1 AS text) AS regclass) AND attnum > 0 AND NOT attisdropped";

impl<R: Record + Serialize + DeserializeOwned> SqlTable<R> {
    /// Adds the columns to an error of a record. It runs in a new transaction, because the transaction of the
    /// record has ended.
    pub(super) async fn diagnosed<D: Database>(
        &self,
        database: &D,
        error: DatabaseError,
        record: &R,
    ) -> DatabaseError {
        let is_reference = matches!(error, DatabaseError::Reference(_));
        let (mut violation, kind): (_, fn(Violation) -> DatabaseError) = match error {
            DatabaseError::Unique(violation) => (violation, DatabaseError::Unique),
            DatabaseError::Reference(violation) => (violation, DatabaseError::Reference),
            DatabaseError::Value(violation) => (violation, DatabaseError::Value),
            other => return other,
        };
        let known = self.fields_of_columns(&violation.columns).len();
        if known == 0 || known < violation.columns.len() {
            // If the database reports nothing more, the error names no field.
            let found = self.find_columns(database, &mut violation, is_reference, record).await;
            violation.columns =
                found.ok().filter(|columns| !columns.is_empty()).unwrap_or(violation.columns);
        }
        match violation.defect {
            Defect::Unclear => DatabaseError::Other(violation.into_cause()),
            _ => kind(violation),
        }
    }

    async fn find_columns<D: Database>(
        &self,
        database: &D,
        violation: &mut Violation,
        is_reference: bool,
        record: &R,
    ) -> Result<Vec<String>, DatabaseError> {
        if let Defect::Character(Some(letter)) = violation.defect {
            return self.columns_with(letter, record);
        }
        let mut transaction = database.begin(AccessMode::Read).await?;
        let columns = match D::DIALECT {
            Dialect::Sqlite if is_reference => {
                self.columns_without_target(&mut transaction, record).await?
            }
            Dialect::Sqlite => self.columns_of_rule(&mut transaction, violation).await?,
            Dialect::Postgres => match &violation.constraint {
                Some(name) => {
                    let columns = self.columns_of_constraint(&mut transaction, name).await?;
                    match columns.is_empty() {
                        // The constraint may belong to a domain.
                        true => {
                            self.column_without_value(&mut transaction, violation, record).await?
                        }
                        false => columns,
                    }
                }
                None => self.column_without_value(&mut transaction, violation, record).await?,
            },
        };
        // The transaction only reads, so an error of its end does not matter.
        let _ = transaction.commit().await;
        Ok(columns)
    }

    /// Returns the columns of the fields whose values contain a character.
    fn columns_with(&self, letter: char, record: &R) -> Result<Vec<String>, DatabaseError> {
        let context = self.context(chrono::Utc::now());
        let Value::Object(members) = serde_json::to_value(record)? else { return Ok(Vec::new()) };
        let fields = members.iter().filter(|(_, value)| value.to_string().contains(letter));
        Ok(fields.map(|(name, _)| column_name(&context, name).to_owned()).collect())
    }

    /// Returns the columns in the expression of a CHECK constraint or of a unique index of SQLite.
    async fn columns_of_rule(
        &self,
        transaction: &mut impl Transaction,
        violation: &Violation,
    ) -> Result<Vec<String>, DatabaseError> {
        let index = violation.columns.first().and_then(|index| {
            index.strip_prefix("index '").and_then(|index| index.strip_suffix('\''))
        });
        let name = index.unwrap_or(&self.mapping.table);
        let schema = self.mapping.schema.as_deref().map(|schema| quoted(schema) + ".");
        let sql = format!(
            "SELECT sql FROM {}sqlite_master WHERE lower(name) = lower(?)",
            schema.unwrap_or_default()
        );
        let values = vec![SqlValue::Text(name.to_owned())];
        let rows = transaction.run(Statement { sql, values }).await?;
        let Some([SqlValue::Text(sql)]) = rows.first().map(Vec::as_slice) else {
            return Ok(Vec::new());
        };
        let expression = match (&violation.constraint, index) {
            (Some(rule), _) => check_named(sql, rule).unwrap_or(rule),
            (None, Some(_)) => sql.split_once('(').map_or("", |(_, rest)| rest),
            (None, None) => "",
        };
        let mut columns: Vec<_> = identifiers(expression)
            .into_iter()
            .filter(|word| !self.fields_of_columns(std::slice::from_ref(word)).is_empty())
            .collect();
        columns.sort_unstable();
        columns.dedup();
        Ok(columns)
    }

    async fn columns_of_constraint(
        &self,
        transaction: &mut impl Transaction,
        name: &str,
    ) -> Result<Vec<String>, DatabaseError> {
        let values = vec![SqlValue::Text(self.path()), SqlValue::Text(name.to_owned())];
        let sql = COLUMNS_OF_CONSTRAINT.to_owned();
        let rows = transaction.run(Statement { sql, values }).await?;
        let column = |row: Vec<SqlValue>| match row.into_iter().next() {
            Some(SqlValue::Text(column)) => Some(column),
            _ => None,
        };
        Ok(rows.into_iter().filter_map(column).collect())
    }

    /// Finds the column of PostgreSQL for whose type the value of the record is not valid. It converts each
    /// value in a statement of its own.
    async fn column_without_value(
        &self,
        transaction: &mut impl Transaction,
        violation: &mut Violation,
        record: &R,
    ) -> Result<Vec<String>, DatabaseError> {
        let values = vec![SqlValue::Text(self.path())];
        let types = transaction.run(Statement { sql: TYPES.to_owned(), values }).await?;
        for (column, value) in self.written_values(record)? {
            let name = types.iter().find_map(|row| match row.as_slice() {
                [SqlValue::Text(name), SqlValue::Text(kind)] if *name == column => Some(kind),
                _ => None,
            });
            // These characters would be placeholders in the statement.
            let Some(name) = name.filter(|name| !name.contains(['$', '?'])) else { continue };
            let field = self.fields_of_columns(std::slice::from_ref(&column)).pop();
            let known = field.and_then(|field| self.mapping.types.get(&field));
            let conversion = match known {
                // The statement has already converted the value. A second conversion would read an `hstore`
                // from a JSON object.
                Some(SqlType::Text(_) | SqlType::Array(_) | SqlType::Uuid) => value,
                _ => SqlType::Text(name.as_str().into()).write(value),
            };
            let mut select = Query::select();
            select.expr(conversion.is_null());
            let statement = Statement::of(Dialect::Postgres, &select)?;
            match transaction.run(statement).await {
                Ok(_) => {}
                Err(DatabaseError::Value(_)) => {
                    violation.type_name = Some(name.clone());
                    if violation.defect == Defect::Unclear {
                        violation.defect = Defect::Malformed;
                    }
                    return Ok(vec![column]);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Vec::new())
    }

    /// Returns the quoted name of the table with its schema.
    fn path(&self) -> String {
        let schema = self.mapping.schema.as_deref().map(|schema| quoted(schema) + ".");
        schema.unwrap_or_default() + &quoted(&self.mapping.table)
    }
}

/// Returns the expression of a named CHECK constraint from the statement that created a table of SQLite.
///
/// ```text
/// CREATE TABLE t (size INTEGER, CONSTRAINT small CHECK (size < 10)) → (size < 10
/// ```
///
/// The closing parenthesis is not included.
fn check_named<'a>(sql: &'a str, name: &str) -> Option<&'a str> {
    let lower = sql.to_ascii_lowercase();
    let name = name.to_ascii_lowercase();
    let after = lower.match_indices("constraint").find_map(|(at, word)| {
        let rest = lower.get(at + word.len()..)?.trim_start();
        let rest = rest.trim_start_matches(['"', '`', '[', '\'']).strip_prefix(&name)?;
        let rest = rest.trim_start_matches(['"', '`', ']', '\'']).trim_start();
        let rest = rest.strip_prefix("check")?;
        Some(lower.len() - rest.len())
    })?;
    let expression = sql.get(after..)?;
    let mut depth = 0_usize;
    let end = expression.char_indices().find_map(|(at, letter)| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return None,
        }
        (depth == 0).then_some(at)
    })?;
    expression.get(..end)
}

/// Returns the words and the quoted identifiers of an SQL expression, without their quotes. Strings are skipped.
fn identifiers(expression: &str) -> Vec<String> {
    let is_word = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    let mut found = Vec::new();
    let mut letters = expression.chars().peekable();
    while let Some(first) = letters.next() {
        let mut name = String::new();
        let quote = match first {
            '"' | '`' | '\'' => first,
            '[' => ']',
            first => {
                if is_word(&first) {
                    name.push(first);
                    name.extend(std::iter::from_fn(|| letters.next_if(is_word)));
                    found.push(name);
                }
                continue;
            }
        };
        while let Some(letter) = letters.next() {
            // A doubled quote is a character of the name. Brackets cannot be doubled.
            if letter == quote && (quote == ']' || letters.next_if_eq(&quote).is_none()) {
                break;
            }
            name.push(letter);
        }
        if first != '\'' {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{check_named, identifiers};

    #[test]
    fn quoted_columns_are_identifiers() {
        for (expression, expected) in [
            ("length(a_1) > 2", &["length", "a_1", "2"][..]),
            ("(\"unit price\" > [list price]", &["unit price", "list price"]),
            ("`a``b` = \"c\"\"d\" || 'it''s size'", &["a`b", "c\"d"]),
            ("\"open", &["open"]),
        ] {
            assert_eq!(identifiers(expression), expected, "{expression}");
        }
    }

    #[test]
    fn the_expression_of_a_named_check_is_found() {
        let sql = "CREATE TABLE t (a INT CONSTRAINT \"size\" CHECK (length(a) > 0), size INT,
            constraint other check (b IN (1)), CONSTRAINT open CHECK (c";
        for (name, expected) in [
            ("size", Some(" (length(a) > 0")),
            ("OTHER", Some(" (b IN (1)")),
            ("open", None),
            ("a > 0", None),
        ] {
            assert_eq!(check_named(sql, name), expected, "{name}");
        }
    }
}
