//! Statements that read and write one record.

use sea_query::{Expr, ExprTrait as _, LockType, Query};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context::Context;
use super::dialect::{Dialect, Storage};
use super::record_reader::{RecordReader, StoredRecord};
use super::stored_document::{UpdatedDocuments, updated_documents, value_at};
use super::value::Statement;
use super::written_value::{json, stored};
use super::{SqlError, SqlTable};
use crate::field_info::FieldInfo;
use crate::plan::Filter;
use crate::records::{GivenInput, Record};
use crate::text::fold_text;
use crate::value::{Scalar, ValueKind};

/// A column with the value to write.
pub(super) type ColumnAssignment = (String, Expr);

impl<R: Record + Serialize + DeserializeOwned> SqlTable<R> {
    /// Returns the statement for a record that satisfies a filter, and the conversion of its row.
    ///
    /// Without SQL for the filter, the statement omits it. If `locked`, the record is locked until the end of
    /// the transaction.
    pub(super) fn select_record(
        &self,
        id: &R::Id,
        filter: Option<&Filter>,
        locked: bool,
    ) -> Result<(Statement, RecordReader), SqlError> {
        let context = self.context(chrono::Utc::now());
        let (columns, mut reader) = RecordReader::of::<R>(&context)?;
        let mut select = Query::select();
        select.exprs(columns).from(context.from());
        if let Some(filter) = filter {
            match context.condition(filter) {
                Ok(condition) => select.and_where(condition),
                Err(SqlError::Unmapped { .. }) => {
                    reader.filters = false;
                    &mut select
                }
                Err(error) => return Err(error),
            };
        }
        for condition in conditions::<R>(&context, id)? {
            select.and_where(condition);
        }
        if locked && context.dialect() == Dialect::Postgres {
            select.lock(LockType::Update);
        }
        let statement = Statement::of(context.dialect(), &select)?;
        Ok((statement, reader))
    }

    /// Returns the statement that finds a record by its identifier and a filter, or `None` if the filter has
    /// no SQL.
    pub(super) fn find_record(
        &self,
        id: &R::Id,
        filter: &Filter,
    ) -> Result<Option<Statement>, SqlError> {
        let context = self.context(chrono::Utc::now());
        let condition = match context.condition(filter) {
            Ok(condition) => condition,
            Err(SqlError::Unmapped { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut select = Query::select();
        select.expr(super::dialect::number(1)).from(context.from()).and_where(condition);
        for condition in conditions::<R>(&context, id)? {
            select.and_where(condition);
        }
        Statement::of(context.dialect(), &select).map(Some)
    }

    /// Returns the fields stored as expressions of the table.
    pub(super) fn expression_fields(&self) -> Vec<String> {
        let paths = self.mapping.expressions.keys();
        let mut fields: Vec<_> = paths
            .filter(|path| R::RESOURCE.fields.iter().any(|field| field.name == **path))
            .cloned()
            .collect();
        fields.sort_unstable();
        fields
    }

    /// Returns the statement that adds a record and returns the stored row.
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
            // Otherwise a column with `GENERATED ALWAYS AS IDENTITY` would reject the number, although it
            // comes from the column's own sequence.
            statement.sql.insert_str(at, " OVERRIDING SYSTEM VALUE");
        }
        Ok((statement, reader))
    }

    /// Returns the columns of a record with their values, in their order.
    pub(super) fn written_values(&self, record: &R) -> Result<Vec<ColumnAssignment>, SqlError> {
        let context = self.context(chrono::Utc::now());
        written::<R>(&context, &members(record)?, None)
    }

    /// Returns the statement that writes the changed columns of a record and returns the stored row, or
    /// `None` if nothing has changed.
    pub(super) fn update_record(
        &self,
        old: &StoredRecord<R>,
        new: &R,
        given: Option<GivenInput<'_>>,
    ) -> Result<Option<(Statement, RecordReader)>, SqlError> {
        let context = self.context(chrono::Utc::now());
        let (before, after, replaced) = (members(&old.record)?, members(new)?, &old.replaced);
        let documents = updated_documents(&old.documents, given, (&before, &after), replaced);
        let earlier = EarlierRecord { members: &before, replaced, documents };
        let changed = written::<R>(&context, &after, Some(&earlier))?;
        if changed.is_empty() {
            return Ok(None);
        }
        let mut update = Query::update();
        update.table(context.from()).values(changed);
        for condition in conditions::<R>(&context, old.record.id())? {
            update.and_where(condition);
        }
        let (stored, reader) = RecordReader::of::<R>(&context)?;
        update.returning(Query::returning().exprs(stored));
        Ok(Some((Statement::of(context.dialect(), &update)?, reader)))
    }

    /// Returns the statement that deletes a record.
    pub(super) fn delete_record(&self, id: &R::Id) -> Result<Statement, SqlError> {
        let context = self.context(chrono::Utc::now());
        let mut delete = Query::delete();
        delete.from_table(context.from());
        for condition in conditions::<R>(&context, id)? {
            delete.and_where(condition);
        }
        Statement::of(context.dialect(), &delete)
    }

    /// Returns the problems of a table as a store of records.
    pub(super) fn record_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for name in R::WRITE_ONLY {
            problems.push(format!(
                "`{name}` has `#[serde(skip_serializing)]`, but a table stores the JSON form: store this field \
                 elsewhere"
            ));
        }
        let coarse = [Storage::UnixSeconds, Storage::UnixMillis];
        if let Some(version) = R::VERSION
            && self.mapping.storage.get(version).is_some_and(|storage| coarse.contains(storage))
        {
            problems.push(format!(
                "`{version}` is the version, but two changes could get the same value: store it in microseconds"
            ));
        }
        problems
    }
}

/// The state of a record before an update.
struct EarlierRecord<'a> {
    members: &'a Map<String, Value>,
    /// The fields that are written even if their value is the same.
    replaced: &'a [String],
    documents: UpdatedDocuments,
}

impl EarlierRecord<'_> {
    /// Returns `true` if the field at a path had the same value before, and need not be written.
    fn keeps(&self, path: &str, value: &Value) -> bool {
        let before = value_at(self.members, path).unwrap_or(&Value::Null);
        before == value && self.replaced.iter().all(|field| field != path)
    }
}

/// Returns the members of a record in JSON. Numbers have the same digits as in a reply.
fn members<R: Serialize>(record: &R) -> Result<Map<String, Value>, SqlError> {
    let json = serde_json::to_string(record).map_err(SqlError::Row)?;
    match serde_json::from_str(&json).map_err(SqlError::Row)? {
        Value::Object(members) => Ok(members),
        _ => Err(SqlError::Unmapped { path: "the resource".to_owned() }),
    }
}

/// Returns the field that identifies the resource.
pub(super) fn identifier<R: Record>(context: &Context<'_>) -> Result<&'static FieldInfo, SqlError> {
    let place = context.table.index_of(R::ID.name);
    let info = place.and_then(|place| context.table.field(place));
    info.ok_or_else(|| SqlError::Unmapped { path: R::ID.name.to_owned() })
}

/// Returns the conditions on the row of a record: its identifier, and the conditions of the table.
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

/// Returns the columns to write. With an earlier state, these are the columns with a different value and
/// those of replaced fields.
fn written<R: Record>(
    context: &Context<'_>,
    members: &Map<String, Value>,
    earlier: Option<&EarlierRecord<'_>>,
) -> Result<Vec<ColumnAssignment>, SqlError> {
    let mut columns = Vec::new();
    for field in R::RESOURCE.fields {
        let value = members.get(field.name).unwrap_or(&Value::Null);
        write(context, field.name, value, earlier, &mut columns)?;
    }
    Ok(columns)
}

/// Adds the columns of the value at a path.
fn write(
    context: &Context<'_>,
    path: &str,
    value: &Value,
    earlier: Option<&EarlierRecord<'_>>,
    columns: &mut Vec<ColumnAssignment>,
) -> Result<(), SqlError> {
    let unmapped = || SqlError::Unmapped { path: path.to_owned() };
    let place = context.table.index_of(path);
    let info = place.and_then(|place| context.table.field(place)).ok_or_else(unmapped)?;
    // The database computes the column.
    if context.mapping.expressions.contains_key(path) {
        return Ok(());
    }
    if context.mapping.is_spread(path) {
        let part = |whole: &Value, name: &str| whole.get(name).cloned().unwrap_or_default();
        for inner in context.table.fields().iter().filter(|inner| !inner.computed) {
            let name = inner.path.strip_prefix(path).and_then(|rest| rest.strip_prefix('.'));
            let Some(name) = name.filter(|name| !name.contains('.')) else { continue };
            write(context, &inner.path, &part(value, name), earlier, columns)?;
        }
        return Ok(());
    }
    let document = earlier.and_then(|earlier| earlier.documents.get(path));
    if document.map_or_else(|| earlier.is_some_and(|it| it.keeps(path, value)), Option::is_none) {
        return Ok(());
    }
    let column = column_name(context, path).to_owned();
    // `skip_serializing_if` omits an empty list.
    let empty = Value::Array(Vec::new());
    let whole = if value.is_null() && info.list && !info.optional { &empty } else { value };
    let written = match context.mapping.types.get(path) {
        // A field for arbitrary JSON stores `null` as JSON, not as SQL NULL.
        None if whole.is_null() && info.kind == ValueKind::Json && !info.optional => {
            stored(context, info, whole)?
        }
        _ if whole.is_null() => Expr::null(),
        Some(kind) => {
            let place = if earlier.is_some() { "input." } else { "" };
            kind.check(&format!("{place}{path}"), whole)?;
            kind.write(stored(context, info, whole)?)
        }
        None => match document {
            Some(Some(text)) => json(context.dialect(), text.clone()),
            _ => stored(context, info, whole)?,
        },
    };
    columns.push((column, written));
    if let Some(column) = context.mapping.folded.get(path) {
        columns.push((column.clone(), folded(value)));
    }
    Ok(())
}

pub(super) fn column_name<'a>(context: &'a Context<'_>, path: &'a str) -> &'a str {
    context.mapping.columns.get(path).map_or(path, String::as_str)
}

/// Returns the folded strings of a value, for the column used by text search.
fn folded(value: &Value) -> Expr {
    match value {
        Value::String(text) => Expr::val(fold_text(text)),
        Value::Array(entries) => {
            Expr::val(entries.iter().filter_map(Value::as_str).map(fold_text).collect::<String>())
        }
        _ => Expr::null(),
    }
}

/// Returns the end of the list of columns in an INSERT. Quoted names are skipped, because they may contain
/// any characters.
///
/// ```sql
/// INSERT INTO "tasks" ("title", "due")| VALUES ($1, $2)
/// ```
fn place_of_values(sql: &str) -> Option<usize> {
    let mut is_quoted = false;
    sql.char_indices().find_map(|(at, letter)| {
        is_quoted ^= letter == '"';
        let rest = sql.get(at..).filter(|_| !is_quoted)?;
        rest.starts_with(" VALUES ").then_some(at)
    })
}

/// Returns a quoted name.
pub(super) fn quoted(name: &str) -> String {
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
