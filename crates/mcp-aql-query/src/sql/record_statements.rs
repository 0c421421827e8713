//! Statements that read and write one record.

use mcp_aql_protocol::ErrorCode;
use sea_query::{Alias, Expr, ExprTrait as _, LockType, Query};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use mcp_aql_core::error::OperationError;

use super::column_type::ColumnType;
use super::context::Context;
use super::dialect::{Dialect, Form, Operand, Storage, function};
use super::layout::{Columns, Layout};
use super::record::SqlRecord;
use super::value::{SqlValue, Statement};
use super::{SqlError, SqlTable};
use crate::columns::instant_of;
use crate::field_info::FieldInfo;
use crate::records::Record;
use crate::text::fold_text;
use crate::value::{Scalar, ValueKind, instant_text};

/// The table in which SQLite keeps the highest number of each column with `AUTOINCREMENT`.
const SEQUENCES: &str = "sqlite_sequence";

/// A column with the value to write.
type ColumnValue = (Alias, Expr);

impl<R: Record + Serialize + DeserializeOwned> SqlTable<R> {
    /// The statement for a record, which may lock it until the end of the transaction, and the conversion of its row.
    pub(super) fn select_record(
        &self,
        id: &R::Id,
        locked: bool,
    ) -> Result<(Statement, RecordReader), SqlError> {
        let context = self.context(chrono::Utc::now());
        let (columns, reader) = RecordReader::of::<R>(&context)?;
        let mut select = Query::select();
        select.exprs(columns).from(context.from());
        for condition in conditions::<R>(&context, id)? {
            select.and_where(condition);
        }
        if locked && context.dialect() == Dialect::Postgres {
            select.lock(LockType::Update);
        }
        let statement = Statement::of(context.dialect(), &select)?;
        Ok((statement, reader))
    }

    /// The statement that adds a record and returns it as it is stored.
    pub(super) fn insert_record(&self, record: &R) -> Result<(Statement, RecordReader), SqlError> {
        let context = self.context(chrono::Utc::now());
        let (stored, reader) = RecordReader::of::<R>(&context)?;
        let (columns, values): (Vec<_>, Vec<_>) =
            written::<R>(&context, &members(record)?, None)?.into_iter().unzip();
        let mut insert = Query::insert();
        insert.into_table(context.from()).columns(columns);
        insert.values(values).map_err(|_| SqlError::Unfinished)?;
        insert.returning(Query::returning().exprs(stored));
        let mut statement = Statement::of(context.dialect(), &insert)?;
        if context.dialect() == Dialect::Postgres
            && let Some(at) = place_of_values(&statement.sql)
        {
            // A column that is `GENERATED ALWAYS AS IDENTITY` accepts its own next number only like this.
            statement.sql.insert_str(at, " OVERRIDING SYSTEM VALUE");
        }
        Ok((statement, reader))
    }

    /// The statement that writes the changed columns of a record and returns it as it is stored, or `None` if nothing
    /// has changed.
    pub(super) fn update_record(
        &self,
        old: &R,
        new: &R,
    ) -> Result<Option<(Statement, RecordReader)>, SqlError> {
        let context = self.context(chrono::Utc::now());
        let changed = written::<R>(&context, &members(new)?, Some(&members(old)?))?;
        if changed.is_empty() {
            return Ok(None);
        }
        let mut update = Query::update();
        update.table(context.from()).values(changed);
        for condition in conditions::<R>(&context, old.id())? {
            update.and_where(condition);
        }
        let (stored, reader) = RecordReader::of::<R>(&context)?;
        update.returning(Query::returning().exprs(stored));
        Ok(Some((Statement::of(context.dialect(), &update)?, reader)))
    }

    /// The statement that deletes a record.
    pub(super) fn delete_record(&self, id: &R::Id) -> Result<Statement, SqlError> {
        let context = self.context(chrono::Utc::now());
        let mut delete = Query::delete();
        delete.from_table(context.from());
        for condition in conditions::<R>(&context, id)? {
            delete.and_where(condition);
        }
        Statement::of(context.dialect(), &delete)
    }

    /// The faults of a table that keeps records.
    pub(super) fn record_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for name in R::WRITE_ONLY {
            problems.push(format!(
                "`{name}` has `#[serde(skip_serializing)]`, and a table stores the JSON form: store it elsewhere"
            ));
        }
        let coarse = [Storage::UnixSeconds, Storage::UnixMillis];
        if let Some(version) = R::VERSION
            && self.mapping.storage.get(version).is_some_and(|storage| coarse.contains(storage))
        {
            problems.push(format!(
                "`{version}` is the version, and two changes may have the same: store it in microseconds"
            ));
        }
        problems
    }

    /// Whether records are identified by UUIDs.
    pub(super) fn has_uuids(&self) -> bool {
        matches!(self.mapping.types.get(R::ID.name), Some(ColumnType::Uuid))
    }

    /// The statement that counts the tables with the highest numbers of deleted records, which SQLite keeps for
    /// columns with `AUTOINCREMENT`.
    pub(super) fn count_of_sequences(&self) -> Result<Option<Statement>, SqlError> {
        let context = self.context(chrono::Utc::now());
        if context.dialect() != Dialect::Sqlite {
            return Ok(None);
        }
        let mut select = Query::select();
        select.expr(Expr::cust("count(*)")).from(Alias::new("sqlite_master"));
        select.and_where(Expr::col(Alias::new("name")).eq(SEQUENCES));
        Statement::of(context.dialect(), &select).map(Some)
    }

    /// The statement for the number of a new record, or `None` if records are identified by texts. In SQLite, it
    /// reads the numbers of deleted records if `has_sequences`.
    pub(super) fn next_number(&self, has_sequences: bool) -> Result<Option<Statement>, SqlError> {
        let context = self.context(chrono::Utc::now());
        let info = identifier::<R>(&context)?;
        if info.kind != ValueKind::Integer {
            return Ok(None);
        }
        let column = column_name(&context, &info.path);
        let mut select = Query::select();
        match context.dialect() {
            Dialect::Sqlite => {
                let mut highest = Expr::col(Alias::new(column)).max().if_null(0_i64);
                if has_sequences {
                    let mut kept = Query::select();
                    kept.expr(Expr::col(Alias::new("seq"))).from(Alias::new(SEQUENCES));
                    let table = context.mapping.table.as_str();
                    kept.and_where(Expr::col(Alias::new("name")).eq(table));
                    let kept = Expr::SubQuery(None, Box::new(kept.into())).if_null(0_i64);
                    highest = Expr::from(function("max").arg(highest).arg(kept));
                }
                select.expr(highest.add(1_i64)).from(context.from());
            }
            Dialect::Postgres => {
                let table = match &context.mapping.schema {
                    Some(schema) => {
                        format!("{}.{}", quoted(schema), quoted(&context.mapping.table))
                    }
                    None => quoted(&context.mapping.table),
                };
                let sequence =
                    function("pg_get_serial_sequence").arg(Expr::val(table)).arg(Expr::val(column));
                let next = function("nextval").arg(Expr::from(sequence));
                select.expr(next);
            }
        }
        Statement::of(context.dialect(), &select).map(Some)
    }
}

/// The conversion of a row into a record.
pub(super) struct RecordReader {
    layout: std::sync::Arc<Layout>,
}

impl RecordReader {
    /// Returns the columns of a record, and their conversion.
    fn of<R: Record>(context: &Context<'_>) -> Result<(Vec<Expr>, Self), SqlError> {
        let mut columns = Columns::default();
        let layout = std::sync::Arc::new(Layout::of::<R>(context, None, &mut columns)?);
        Ok((columns.expressions, Self { layout }))
    }

    /// Converts the only row of a statement.
    pub(super) fn read<R: DeserializeOwned>(
        &self,
        rows: Vec<Vec<SqlValue>>,
    ) -> Result<Option<R>, SqlError> {
        let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
        let record = SqlRecord::<R>::read(&self.layout, &mut row)?;
        serde_json::from_value(Value::Object(record.into_members()))
            .map(Some)
            .map_err(SqlError::Row)
    }
}

/// The members of a record in JSON.
fn members<R: Serialize>(record: &R) -> Result<Map<String, Value>, SqlError> {
    match serde_json::to_value(record).map_err(SqlError::Row)? {
        Value::Object(members) => Ok(members),
        _ => Err(SqlError::Unmapped { path: "the resource".to_owned() }),
    }
}

/// The field that identifies the resource.
fn identifier<R: Record>(context: &Context<'_>) -> Result<&'static FieldInfo, SqlError> {
    let place = context.table.index_of(R::ID.name);
    let info = place.and_then(|place| context.table.field(place));
    info.ok_or_else(|| SqlError::Unmapped { path: R::ID.name.to_owned() })
}

/// The conditions on the row of a record: its identifier, and those of the table.
fn conditions<R: Record>(context: &Context<'_>, id: &R::Id) -> Result<Vec<Expr>, SqlError> {
    let info = identifier::<R>(context)?;
    let unmapped = || SqlError::Unmapped { path: info.path.clone() };
    let source = context.source_of(info).ok_or_else(unmapped)?;
    let text = id.to_string();
    let value = match info.kind {
        ValueKind::Integer => Scalar::Int(text.parse().map_err(|_| unmapped())?),
        _ => Scalar::from(text),
    };
    let same = match source.equal(context.dialect(), &value) {
        Some(operand) => source.same(context.dialect()).eq(operand),
        None => super::dialect::truth(false),
    };
    Ok(context.scope().chain([same]).collect())
}

/// The columns of a record, or those that differ from an earlier state.
fn written<R: Record>(
    context: &Context<'_>,
    members: &Map<String, Value>,
    earlier: Option<&Map<String, Value>>,
) -> Result<Vec<ColumnValue>, SqlError> {
    let mut columns = Vec::new();
    for field in R::RESOURCE.fields {
        let value = members.get(field.name).unwrap_or(&Value::Null);
        let before = earlier.map(|earlier| earlier.get(field.name).unwrap_or(&Value::Null));
        write(context, field.name, value, before, &mut columns)?;
    }
    Ok(columns)
}

/// Adds the columns of the value at a path.
fn write(
    context: &Context<'_>,
    path: &str,
    value: &Value,
    before: Option<&Value>,
    columns: &mut Vec<ColumnValue>,
) -> Result<(), SqlError> {
    if before == Some(value) {
        return Ok(());
    }
    let unmapped = || SqlError::Unmapped { path: path.to_owned() };
    let place = context.table.index_of(path);
    let info = place.and_then(|place| context.table.field(place)).ok_or_else(unmapped)?;
    if context.mapping.expressions.contains_key(path) {
        return Err(unmapped());
    }
    if context.mapping.is_spread(path) {
        for inner in context.table.fields().iter().filter(|inner| !inner.computed) {
            let name = inner.path.strip_prefix(path).and_then(|rest| rest.strip_prefix('.'));
            let Some(name) = name.filter(|name| !name.contains('.')) else { continue };
            let part = |whole: &Value| whole.get(name).cloned().unwrap_or_default();
            let before = before.map(part);
            write(context, &inner.path, &part(value), before.as_ref(), columns)?;
        }
        return Ok(());
    }
    let column = Alias::new(column_name(context, path));
    // `skip_serializing_if` omits an empty list.
    let empty = Value::Array(Vec::new());
    let whole = if value.is_null() && info.list && !info.optional { &empty } else { value };
    let written = match context.mapping.types.get(path) {
        _ if whole.is_null() => Expr::null(),
        Some(kind) => kind.write(stored(context, info, whole)?),
        None => stored(context, info, whole)?,
    };
    columns.push((column, written));
    if let Some(column) = context.mapping.folded.get(path) {
        columns.push((Alias::new(column), folded(value)));
    }
    Ok(())
}

fn column_name<'a>(context: &'a Context<'_>, path: &'a str) -> &'a str {
    context.mapping.columns.get(path).map_or(path, String::as_str)
}

/// The folded texts of a value, for the column that text search reads.
fn folded(value: &Value) -> Expr {
    match value {
        Value::String(text) => Expr::val(fold_text(text)),
        Value::Array(entries) => {
            Expr::val(entries.iter().filter_map(Value::as_str).map(fold_text).collect::<String>())
        }
        _ => Expr::null(),
    }
}

/// A value that exists, as its column stores it.
fn stored(context: &Context<'_>, info: &FieldInfo, value: &Value) -> Result<Expr, SqlError> {
    let dialect = context.dialect();
    let form = context.form(info);
    let wrong = |expected: &'static str| SqlError::Column {
        path: info.path.clone(),
        expected,
        found: "another value in the record",
    };
    let text = || value.as_str().ok_or_else(|| wrong("text"));
    Ok(match form {
        Form::Boolean => Expr::val(value.as_bool().ok_or_else(|| wrong("a boolean"))?),
        Form::Integer => Expr::val(value.as_i64().ok_or_else(|| {
            let expected = format!("must be at most {}", i64::MAX);
            SqlError::Request(OperationError::invalid_value(&info.path, expected))
        })?),
        Form::Number => {
            let number = value.as_f64().ok_or_else(|| wrong("a number"))?;
            #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
            Expr::val(if info.single { f64::from(number as f32) } else { number })
        }
        Form::InstantText => {
            let instant = instant_of(text()?).ok_or_else(|| wrong("an instant"))?;
            Expr::val(instant_text(&instant))
        }
        Form::Text | Form::Choice | Form::DateText => {
            let text = text()?;
            if !dialect.holds(text) {
                return Err(SqlError::Request(OperationError::new(
                    ErrorCode::ValidationInvalidValue,
                    format!("'{}' has a character U+0000, which cannot be stored", info.path),
                )));
            }
            Expr::val(text)
        }
        Form::DateNative => {
            let date = text()?.parse().map_err(|_| wrong("a date"))?;
            written_operand(dialect.operand(&Scalar::Date(date), form))
                .ok_or_else(|| wrong("a date of the database's calendar"))?
        }
        Form::InstantNative | Form::Unix(_) => {
            let instant = instant_of(text()?).ok_or_else(|| wrong("an instant"))?;
            written_operand(dialect.operand(&Scalar::Instant(instant), form))
                .ok_or_else(|| wrong("an instant of the database's calendar"))?
        }
        Form::Json => {
            let json = Expr::val(value.to_string());
            match dialect {
                Dialect::Sqlite => json,
                Dialect::Postgres => json.cast_as(Alias::new("jsonb")),
            }
        }
    })
}

/// The value that a column stores: the operand, or the largest value below it.
fn written_operand(operand: Operand) -> Option<Expr> {
    match operand {
        Operand::Exact(value) | Operand::Above(value) => Some(value),
        Operand::Smallest | Operand::Largest => None,
    }
}

/// The end of the list of columns in a statement that inserts. A name in quotation marks may contain anything.
fn place_of_values(sql: &str) -> Option<usize> {
    let mut is_quoted = false;
    sql.char_indices().find_map(|(at, letter)| {
        is_quoted ^= letter == '"';
        let rest = sql.get(at..).filter(|_| !is_quoted)?;
        rest.starts_with(" VALUES ").then_some(at)
    })
}

/// A name in quotation marks.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::place_of_values;

    #[test]
    fn the_values_follow_the_columns() {
        let sql = "INSERT INTO \"t\" (\"a) VALUES (\"\"b\") VALUES ($1)";
        assert_eq!(place_of_values(sql), sql.rfind(" VALUES "));
        assert_eq!(place_of_values("SELECT 1"), None);
    }
}
