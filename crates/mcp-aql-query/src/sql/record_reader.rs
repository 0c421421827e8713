//! Converts a row into a record, including rows with values that the record's type does not allow.

use std::sync::Arc;

use mcp_aql_core::OperationError;
use mcp_aql_protocol::ErrorCode;
use sea_query::Expr;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::SqlError;
use super::context::Context;
use super::layout::{Columns, Layout};
use super::record::SqlRecord;
use super::stored_document::{StoredDocument, value_at};
use super::value::SqlValue;
use crate::document::{MAX_STEPS, MemberFault, missing_field, next_empty, pointer, shown};
use crate::field_info::FieldInfo;
use crate::odd_values::OddFields;
use crate::records::{GivenInput, Record};
use crate::value::ValueKind;

/// The conversion of a row into a record.
pub(super) struct RecordReader {
    layout: Arc<Layout>,
    /// If `true`, the statement applies the filter completely.
    pub(super) filters: bool,
}

/// A record as stored.
#[derive(Debug, Clone)]
pub(super) struct StoredRecord<R> {
    pub(super) record: R,
    /// The row. It also contains values that the record's type cannot hold.
    pub(super) row: SqlRecord<R>,
    /// The JSON documents of the row. A document that the call corrects already contains the correction.
    pub(super) documents: Vec<StoredDocument>,
    /// The paths of the fields whose stored values have another type. The record contains placeholders for them.
    pub(super) unreadable: Vec<String>,
    /// If `true`, the row could not be deserialized without placeholders.
    pub(super) is_repaired: bool,
    /// The unreadable fields that the call sets.
    pub(super) replaced: Vec<String>,
}

impl<R> StoredRecord<R> {
    /// Returns the unreadable fields caused by this change: those that were readable before, or that the call set.
    pub(super) fn odd_after(&self, old: Option<&Self>) -> Vec<String> {
        let is_left = |field: &&String| {
            old.is_some_and(|old| old.unreadable.contains(field) && !old.replaced.contains(field))
        };
        self.unreadable.iter().filter(|field| !is_left(field)).cloned().collect()
    }
}

impl RecordReader {
    /// Returns the columns of a record, and their conversion.
    pub(super) fn of<R: Record>(context: &Context<'_>) -> Result<(Vec<Expr>, Self), SqlError> {
        let mut columns = Columns::default();
        let layout = Arc::new(Layout::of::<R>(context, None, &mut columns)?);
        Ok((columns.expressions, Self { layout, filters: true }))
    }

    /// Converts the only row of a statement. `given` is the input of an update.
    pub(super) fn read<R: Record + DeserializeOwned>(
        &self,
        rows: Vec<Vec<SqlValue>>,
        given: Option<GivenInput<'_>>,
    ) -> Result<Option<StoredRecord<R>>, SqlError> {
        let Some(mut cells) = rows.into_iter().next() else { return Ok(None) };
        let mut odd = OddFields::default();
        let mut row = SqlRecord::<R>::read(&self.layout, &cells, &mut odd)?;
        let mut unreadable: Vec<String> = odd.paths().map(str::to_owned).collect();
        let has_corrections = self.correct(&mut cells, &unreadable, given)?;
        if has_corrections {
            row = SqlRecord::read(&self.layout, &cells, &mut OddFields::default())?;
        }
        let repaired = self.repaired(row.clone().into_members()?, given);
        let (record, replaced) = match repaired {
            Ok(repaired) => repaired,
            // The caller may not be allowed to see the row.
            Err(SqlError::Request(_)) if !self.filters => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_repaired = !replaced.is_empty() || has_corrections;
        for field in replaced {
            if !unreadable.contains(&field) {
                unreadable.push(field);
            }
        }
        let is_given = |field: &&String| given.is_some_and(|given| given.sets(field));
        let replaced = unreadable.iter().filter(is_given).cloned().collect();
        let documents = self.documents(&cells);
        Ok(Some(StoredRecord { record, row, documents, unreadable, is_repaired, replaced }))
    }

    /// Returns the documents of a row.
    fn documents(&self, row: &[SqlValue]) -> Vec<StoredDocument> {
        let document = |(info, column): (&'static FieldInfo, usize)| {
            let (reader, Some(SqlValue::Text(text))) = (info.document?, row.get(column)) else {
                return None;
            };
            Some(StoredDocument { path: info.path.clone(), text: text.clone(), reader })
        };
        self.layout.documents().into_iter().filter_map(document).collect()
    }

    /// Applies the input of an update to the unreadable documents of a row. Returns `true` if it sets one.
    ///
    /// # Errors
    ///
    /// Returns an error for a document that is still unreadable.
    fn correct(
        &self,
        row: &mut [SqlValue],
        unreadable: &[String],
        given: Option<GivenInput<'_>>,
    ) -> Result<bool, SqlError> {
        let mut has_corrections = false;
        for (info, column) in self.layout.documents() {
            let Some(edit) = given
                .filter(|_| unreadable.contains(&info.path))
                .and_then(|given| given.edit(&info.path))
            else {
                continue;
            };
            let (Some(reader), Some(cell)) = (info.document, row.get_mut(column)) else { continue };
            let stored = match cell {
                SqlValue::Text(text) => text.as_str(),
                _ => "null",
            };
            *cell = match edit.apply(stored) {
                None => SqlValue::Null,
                Some(text) if shown(Some(reader), &text).is_some() => SqlValue::Text(text),
                Some(_) => return Err(SqlError::Request(incomplete(&info.path))),
            };
            has_corrections = true;
        }
        Ok(has_corrections)
    }

    /// Reads a record with values that its type does not allow, so that the record can be corrected or deleted.
    /// Each such value is replaced by a placeholder. Returns the paths of these fields, too.
    fn repaired<R: Record + DeserializeOwned>(
        &self,
        mut members: Map<String, Value>,
        given: Option<GivenInput<'_>>,
    ) -> Result<(R, Vec<String>), SqlError> {
        let (mut replaced, mut completed) = (Vec::new(), Vec::new());
        loop {
            let fault = match read_members::<R>(members.clone()) {
                Ok(record) => return Ok((record, replaced)),
                Err(fault) => fault,
            };
            let is_new = |field: &&FieldInfo| {
                !replaced.contains(&field.path) && !completed.contains(&field.path)
            };
            let Some(field) = self.faulty_field(&fault).filter(is_new) else {
                return Err(SqlError::Row(fault.into_inner()));
            };
            // A readable document may lack members that its type omits, but requires itself.
            if let Some(document) = value_at(&members, &field.path).filter(|it| it.is_object())
                && let Some(whole) = self.completed::<R>(&members, field, document.clone())
            {
                put(&mut members, &field.path, whole);
                completed.push(field.path.clone());
                continue;
            }
            let given = given.and_then(|given| value_at(given.fields, &field.path));
            let accepted = stand_ins(field, given).into_iter().find(|stand_in| {
                let mut members = members.clone();
                put(&mut members, &field.path, stand_in.clone());
                let fault = read_members::<R>(members).err();
                let next = fault.and_then(|fault| self.faulty_field(&fault));
                next.is_none_or(|next| next.path != field.path)
            });
            let accepted = accepted.or_else(|| self.completed::<R>(&members, field, json!({})));
            let Some(stand_in) = accepted else {
                return Err(SqlError::Request(unreadable::<R>(field)));
            };
            put(&mut members, &field.path, stand_in);
            replaced.push(field.path.clone());
        }
    }

    /// Returns the field with a missing value or a value of another type.
    fn faulty_field(&self, fault: &MemberFault) -> Option<&'static FieldInfo> {
        let names = fault.path().iter().map_while(|segment| match segment {
            serde_path_to_error::Segment::Map { key } => Some(key.clone()),
            _ => None,
        });
        let message = fault.inner().to_string();
        let names: Vec<_> = names.chain(missing_field(&message).map(str::to_owned)).collect();
        self.layout.column_at(&names)
    }

    /// Completes the object of a document with an empty value for each member that its type requires.
    ///
    /// One kind of empty value after another is tried until the record deserializes.
    fn completed<R: Record + DeserializeOwned>(
        &self,
        members: &Map<String, Value>,
        field: &FieldInfo,
        start: Value,
    ) -> Option<Value> {
        let mut whole = members.clone();
        put(&mut whole, &field.path, start);
        let mut whole = Value::Object(whole);
        for _ in 0..MAX_STEPS {
            let fault = serde_path_to_error::deserialize::<_, R>(whole.clone()).err();
            let is_same = |fault: &MemberFault| {
                self.faulty_field(fault).is_some_and(|faulty| faulty.path == field.path)
            };
            let Some(fault) = fault.filter(is_same) else {
                return value_at(whole.as_object()?, &field.path).cloned();
            };
            let place = whole.pointer_mut(&pointer(&fault))?;
            match missing_field(&fault.inner().to_string()) {
                Some(name) => _ = place.as_object_mut()?.insert(name.to_owned(), Value::Null),
                None => *place = next_empty(place)?,
            }
        }
        None
    }
}

/// Returns the error for an update of some members of a document that has another type.
fn incomplete(path: &str) -> OperationError {
    let expected = "must have all members of the field, because the stored value does not have its type: send the \
                    whole value";
    OperationError::invalid_value(&format!("input.{path}"), expected)
}

/// Returns the error for a record with a value that has neither the type of its field nor a placeholder.
fn unreadable<R: Record>(field: &FieldInfo) -> OperationError {
    let (path, singular) = (&field.path, R::NAMES.singular);
    let message = format!(
        "The stored value of '{path}' in the '{singular}' does not have the type of its field: correct it first, with \
         an update that sets '{path}', or in the database"
    );
    OperationError::new(ErrorCode::ConflictVersionMismatch, message)
        .with_detail("resource_type", singular)
        .with_detail("fields", vec![path.clone()])
}

/// Sets the value at a path such as `team.settings`.
fn put(members: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => _ = members.insert(path.to_owned(), value),
        Some((first, rest)) => {
            let inner = members.entry(first).or_insert_with(|| json!({}));
            if let Some(inner) = inner.as_object_mut() {
                put(inner, rest, value);
            }
        }
    }
}

fn read_members<R: DeserializeOwned>(members: Map<String, Value>) -> Result<R, MemberFault> {
    serde_path_to_error::deserialize(Value::Object(members))
}

/// Returns the possible placeholders for an unreadable value: an empty value, or otherwise the value that the
/// call sets.
fn stand_ins(info: &FieldInfo, given: Option<&Value>) -> Vec<Value> {
    let missing = info.optional.then_some(Value::Null);
    let empty = match info.kind {
        _ if info.list => json!([]),
        ValueKind::Boolean => json!(false),
        ValueKind::Integer | ValueKind::Number => json!(0),
        ValueKind::Text => json!(""),
        ValueKind::Choice => info.choices.first().map_or(Value::Null, |choice| json!(choice)),
        ValueKind::Date => json!("1970-01-01"),
        ValueKind::Instant => json!("1970-01-01T00:00:00Z"),
        ValueKind::Json => json!({}),
    };
    missing.into_iter().chain([empty]).chain(given.cloned()).collect()
}
