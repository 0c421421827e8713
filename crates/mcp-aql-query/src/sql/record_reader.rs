//! Converts a row into a record, including rows with values that the record's type does not allow.

use std::sync::Arc;

use mcp_aql_core::update::merge_json;
use sea_query::Expr;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::SqlError;
use super::context::Context;
use super::layout::{Columns, Layout};
use super::record::SqlRecord;
use super::value::SqlValue;
use crate::odd_values::OddFields;
use crate::records::Record;
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
    /// The fields whose stored values have another type. The record contains placeholders for them.
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

    /// Converts the only row of a statement. `given` contains the JSON values of the fields that an update
    /// sets.
    pub(super) fn read<R: Record + DeserializeOwned>(
        &self,
        rows: Vec<Vec<SqlValue>>,
        given: Option<&Map<String, Value>>,
    ) -> Result<Option<StoredRecord<R>>, SqlError> {
        let Some(row) = rows.into_iter().next() else { return Ok(None) };
        let mut odd = OddFields::default();
        let row = SqlRecord::<R>::read(&self.layout, &row, &mut odd)?;
        let members = row.clone().into_members()?;
        let (record, mut unreadable) = match R::deserialize(Value::Object(members.clone())) {
            Ok(record) => (record, Vec::new()),
            Err(_) => repaired(members, given)?,
        };
        let is_repaired = !unreadable.is_empty();
        unreadable.extend(odd.fields());
        let is_given = |field: &&String| given.is_some_and(|given| given.contains_key(*field));
        let replaced = unreadable.iter().filter(is_given).cloned().collect();
        Ok(Some(StoredRecord { record, row, unreadable, is_repaired, replaced }))
    }
}

/// Reads a record with values that its type does not allow, so that the record can be corrected or deleted.
/// Each such value is replaced by a placeholder. Returns the names of these fields, too.
fn repaired<R: Record + DeserializeOwned>(
    mut members: Map<String, Value>,
    given: Option<&Map<String, Value>>,
) -> Result<(R, Vec<String>), SqlError> {
    let mut replaced = Vec::new();
    loop {
        let fault = match read_members::<R>(members.clone()) {
            Ok(record) => return Ok((record, replaced)),
            Err(fault) => fault,
        };
        let field = faulty_field::<R>(&fault).filter(|field| !replaced.contains(field));
        let Some(field) = field else { return Err(SqlError::Row(fault.into_inner())) };
        let given = given.and_then(|given| given.get(&field));
        let stand_ins = stand_ins::<R>(&field, members.get(&field), given);
        let accepted = stand_ins.into_iter().find(|stand_in| {
            let mut members = members.clone();
            members.insert(field.clone(), stand_in.clone());
            let read = read_members::<R>(members);
            read.err().and_then(|fault| faulty_field::<R>(&fault)).as_ref() != Some(&field)
        });
        // An update must not store members that the caller did not set.
        let accepted = match given {
            None => accepted.or_else(|| completed::<R>(&members, &field)),
            Some(_) => accepted,
        };
        let Some(stand_in) = accepted else { return Err(SqlError::Row(fault.into_inner())) };
        members.insert(field.clone(), stand_in);
        replaced.push(field);
    }
}

type MemberFault = serde_path_to_error::Error<serde_json::Error>;

fn read_members<R: DeserializeOwned>(members: Map<String, Value>) -> Result<R, MemberFault> {
    serde_path_to_error::deserialize(Value::Object(members))
}

/// Returns the field with a missing value or a value of another type.
fn faulty_field<R: Record>(fault: &MemberFault) -> Option<String> {
    let message = fault.inner().to_string();
    let name = match fault.path().iter().next() {
        Some(serde_path_to_error::Segment::Map { key }) => key.as_str(),
        _ => message.strip_prefix("missing field `")?.split('`').next()?,
    };
    R::RESOURCE.fields.iter().any(|field| field.name == name).then(|| name.to_owned())
}

/// Maximum number of steps to complete an object.
const MAX_STEPS: usize = 200;

/// Creates a placeholder object for a document, with an empty value for each member that its type requires.
///
/// One kind of empty value after another is tried until the record deserializes.
fn completed<R: Record + DeserializeOwned>(
    members: &Map<String, Value>,
    field: &str,
) -> Option<Value> {
    let mut whole = members.clone();
    whole.insert(field.to_owned(), json!({}));
    let mut whole = Value::Object(whole);
    for _ in 0..MAX_STEPS {
        let fault = serde_path_to_error::deserialize::<_, R>(whole.clone()).err();
        let fault = fault.filter(|fault| faulty_field::<R>(fault).as_deref() == Some(field));
        let Some(fault) = fault else { return whole.get_mut(field).map(Value::take) };
        let place = whole.pointer_mut(&pointer(&fault)?)?;
        let message = fault.inner().to_string();
        match message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
            Some(name) => _ = place.as_object_mut()?.insert(name.to_owned(), Value::Null),
            None => *place = next_empty(place)?,
        }
    }
    None
}

/// Returns the position of an error as a JSON pointer.
fn pointer(fault: &MemberFault) -> Option<String> {
    let mut pointer = String::new();
    for segment in fault.path() {
        let serde_path_to_error::Segment::Map { key } = segment else { return None };
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    }
    Some(pointer)
}

/// Returns the empty value of the next kind.
fn next_empty(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => json!(false),
        Value::Bool(_) => json!(0),
        Value::Number(_) => json!(""),
        Value::String(text) if text.is_empty() => json!("1970-01-01"),
        Value::String(text) if !text.contains('T') => json!("1970-01-01T00:00:00Z"),
        Value::String(_) => json!([]),
        Value::Array(_) => json!({}),
        Value::Object(_) => return None,
    })
}

/// Returns the possible placeholders for an unreadable value: an empty value, or otherwise the value that the
/// call sets.
fn stand_ins<R: Record>(field: &str, stored: Option<&Value>, given: Option<&Value>) -> Vec<Value> {
    if let (Some(Value::Object(_)), Some(Value::Object(_))) = (stored, given) {
        // The call sets only some members. The other members must remain, so there is no other placeholder.
        let mut whole = stored.cloned().unwrap_or_default();
        merge_json(&mut whole, given.cloned().unwrap_or_default());
        return vec![whole];
    }
    let schema = R::model().schema();
    let Some(info) = schema.index_of(field).and_then(|place| schema.field(place)) else {
        return Vec::new();
    };
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
