//! Rows as a database returns them, and their serialization.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use chrono::{DateTime, Duration, NaiveDate, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use sea_query::Expr;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::SqlError;
use super::context::{Context, Source, StoredForm};
use super::dialect::Form;
use super::value::SqlValue;
use crate::projection::{COMPUTED, OpenPaths, Projected, Projection, Selection, has_part};
use crate::query::capture::{float, widened};
use crate::query::columns::instant_of;
use crate::query::field_info::FieldInfo;
use crate::query::resource::Resource;
use crate::query::value::{Scalar, ValueKind};

/// A row of a table with the selected fields.
///
/// Serializes like a `T` with the same fields, and introspection describes it as a `T`.
pub struct Record<T> {
    content: Content,
    row: PhantomData<fn() -> T>,
}

#[derive(Clone)]
enum Content {
    /// The values of the database.
    Cells { layout: Arc<Layout>, cells: Vec<Cell>, computed: Vec<Cell> },
    /// The JSON of a row that was processed in memory.
    Shown(Box<RawValue>),
}

/// One value of a record.
#[derive(Debug, Clone)]
enum Cell {
    /// Omitted.
    Omitted,
    Plain(Scalar),
    /// A 32-bit number, which has a shorter spelling.
    Single(f32),
    Document(Box<RawValue>),
    Part(Value),
    Object(Vec<Cell>),
}

/// The conversion of a query's rows into records.
#[derive(Debug)]
pub(super) struct Layout {
    members: Vec<Member>,
    computed: Vec<Member>,
    open: Option<Arc<OpenPaths>>,
}

#[derive(Debug)]
struct Member {
    name: String,
    info: &'static FieldInfo,
    shown: MemberSource,
}

#[derive(Debug)]
enum MemberSource {
    Plain {
        column: usize,
        stored: StoredForm,
    },
    Document {
        column: usize,
        projection: Projection,
    },
    /// An object with a column for each member.
    Object(Vec<Member>),
}

/// The columns of a statement.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) expressions: Vec<Expr>,
    known: Vec<(String, usize)>,
}

impl Columns {
    /// The index of the column of a field, which is added if necessary.
    pub(super) fn add(&mut self, context: &Context<'_>, source: &Source) -> usize {
        let path = &source.info.path;
        if let Some((_, column)) = self.known.iter().find(|(known, _)| known == path) {
            return *column;
        }
        let column = self.expressions.len();
        self.expressions.push(source.shown(context.dialect()));
        self.known.push((path.clone(), column));
        column
    }
}

impl Layout {
    /// The layout of rows with a selection, or with all stored fields.
    pub(super) fn of<T: Resource>(
        context: &Context<'_>,
        selection: Option<&Selection>,
        columns: &mut Columns,
    ) -> Result<Self, SqlError> {
        let mut members = Vec::new();
        let all = Projection::All;
        let projection = selection.map_or(&all, |selection| &selection.projection);
        for field in T::RESOURCE.fields {
            let Some(projection) = projection.member(field.name) else { continue };
            members.extend(Member::of(context, field.name, field.name, projection, columns)?);
        }
        let mut computed = Vec::new();
        for place in selection.map_or(&[][..], Selection::computed) {
            let source = context.source(*place)?;
            let name = source.info.path.split_once('.').map_or("", |(_, name)| name).to_owned();
            computed.push(Member::with(context, name, source, Projection::All, columns));
        }
        // In the order of a map.
        computed.sort_by(|left, right| left.name.cmp(&right.name));
        let open = selection.and_then(|selection| selection.open.clone());
        Ok(Self { members, computed, open })
    }

    /// Converts a row into a record.
    pub(super) fn record<T>(self: &Arc<Self>, row: &mut [SqlValue]) -> Result<Record<T>, SqlError> {
        let cells = |members: &[Member], row: &mut [SqlValue]| {
            members.iter().map(|member| member.cell(row)).collect::<Result<Vec<_>, _>>()
        };
        if let Some(open) = &self.open {
            open.mark_row();
        }
        let computed = cells(&self.computed, row)?;
        let cells = cells(&self.members, row)?;
        Ok(Record::of(Content::Cells { layout: Arc::clone(self), cells, computed }))
    }
}

impl Member {
    /// The member at a path, or `None` if the table does not contain it.
    fn of(
        context: &Context<'_>,
        name: &str,
        path: &str,
        projection: &Projection,
        columns: &mut Columns,
    ) -> Result<Option<Self>, SqlError> {
        let Some(place) = context.table.find(path) else { return Ok(None) };
        if !context.mapping.is_spread(path) {
            let source = context.source(place)?;
            let name = name.to_owned();
            return Ok(Some(Self::with(context, name, source, projection.clone(), columns)));
        }
        let Some(info) = context.table.field(place) else { return Ok(None) };
        let mut members = Vec::new();
        for inner in context.table.fields() {
            let Some(name) = inner.path.strip_prefix(path).and_then(|rest| rest.strip_prefix('.'))
            else {
                continue;
            };
            if let (false, Some(projection)) = (name.contains('.'), projection.member(name)) {
                members.extend(Self::of(context, name, &inner.path, projection, columns)?);
            }
        }
        Ok(Some(Self { name: name.to_owned(), info, shown: MemberSource::Object(members) }))
    }

    fn with(
        context: &Context<'_>,
        name: String,
        source: Source,
        projection: Projection,
        columns: &mut Columns,
    ) -> Self {
        let column = columns.add(context, &source);
        let info = source.info;
        let shown = if source.form == Form::Json {
            MemberSource::Document { column, projection }
        } else {
            MemberSource::Plain { column, stored: source.stored() }
        };
        Self { name, info, shown }
    }

    /// The value of a row. Documents are moved out of it unless another member needs them.
    fn cell(&self, row: &mut [SqlValue]) -> Result<Cell, SqlError> {
        let cell = match &self.shown {
            MemberSource::Plain { column, stored } => {
                let value = match row.get(*column) {
                    // Numbers are serialized as they are stored.
                    Some(SqlValue::Float(value)) if stored.form == Form::Number => {
                        if value.is_finite() { Scalar::Float(*value) } else { Scalar::Null }
                    }
                    value => scalar(*stored, value)?,
                };
                match value {
                    #[expect(clippy::cast_possible_truncation, reason = "it was one of 32 bits")]
                    Scalar::Float(value) if self.info.single => Cell::Single(value as f32),
                    value => Cell::Plain(value),
                }
            }
            MemberSource::Document { column, projection } => {
                self.document(row.get(*column), projection)?
            }
            MemberSource::Object(members) => {
                let cells = members.iter().map(|member| member.cell(row));
                let cells = cells.collect::<Result<Vec<_>, _>>()?;
                let missing =
                    |cell: &Cell| matches!(cell, Cell::Omitted | Cell::Plain(Scalar::Null));
                if self.info.optional && cells.iter().all(missing) {
                    Cell::Plain(Scalar::Null)
                } else {
                    Cell::Object(cells)
                }
            }
        };
        Ok(match cell {
            Cell::Plain(Scalar::Null) if self.leaves_out_nothing() => Cell::Omitted,
            cell => cell,
        })
    }

    /// Whether a missing value omits the member. A field that is omitted although it is not
    /// declared optional is a different case, unless its type allows anything.
    fn leaves_out_nothing(&self) -> bool {
        let anything = self.info.kind == ValueKind::Json && !self.info.list;
        self.info.omitted && (self.info.nullable || anything)
    }

    /// Whether an empty list or map omits the member, as [`Vec::is_empty`] does.
    fn leaves_out_empty(&self) -> bool {
        self.info.omitted && !self.info.nullable
    }

    fn document(
        &self,
        value: Option<&SqlValue>,
        projection: &Projection,
    ) -> Result<Cell, SqlError> {
        let unexpected =
            |found| SqlError::Column { path: self.info.path.clone(), expected: "JSON", found };
        let text = match value {
            Some(SqlValue::Text(text)) => text,
            // A list that is never missing.
            Some(SqlValue::Null) if self.info.list && !self.info.optional => "[]",
            Some(SqlValue::Null) => return Ok(Cell::Plain(Scalar::Null)),
            Some(other) => return Err(unexpected(other.kind())),
            None => return Err(unexpected("no column")),
        };
        let broken = |_| unexpected("text that is not JSON");
        if text == "null" {
            return Ok(Cell::Plain(Scalar::Null));
        }
        if self.leaves_out_empty() && is_empty(text) {
            return Ok(Cell::Omitted);
        }
        if !matches!(projection, Projection::Members(_)) {
            if let Projection::Open(_) = projection {
                // Marks the open paths that exist. The document itself is returned as stored.
                let value: Value = serde_json::from_str(text).map_err(broken)?;
                let whole = Projected { value: &value, projection, computed: None };
                serde_json::to_value(whole).map_err(SqlError::Row)?;
            }
            return RawValue::from_string(text.to_owned()).map(Cell::Document).map_err(broken);
        }
        let value: Value = serde_json::from_str(text).map_err(broken)?;
        if !has_part(&value, projection) {
            return Ok(Cell::Omitted);
        }
        let part = Projected { value: &value, projection, computed: None };
        serde_json::to_value(part).map(Cell::Part).map_err(SqlError::Row)
    }
}

fn is_empty(document: &str) -> bool {
    matches!(document, "[]" | "{}")
}

/// Converts the database's value of a field.
pub(super) fn scalar(stored: StoredForm, value: Option<&SqlValue>) -> Result<Scalar, SqlError> {
    let text = |text: &str| Scalar::from(text.to_owned());
    let (expected, found) = match (stored.form, value) {
        (_, Some(SqlValue::Null)) | (Form::Json, _) => return Ok(Scalar::Null),
        (Form::Boolean, Some(SqlValue::Bool(value))) => return Ok(Scalar::Bool(*value)),
        (Form::Boolean, Some(SqlValue::Int(value))) => return Ok(Scalar::Bool(*value != 0)),
        (Form::Boolean, _) => ("a boolean", None),
        (Form::Integer, Some(SqlValue::Int(value))) => return Ok(Scalar::Int((*value).into())),
        (Form::Integer, _) => ("a whole number", None),
        #[expect(clippy::cast_possible_truncation, reason = "it was one of 32 bits")]
        (Form::Number, Some(SqlValue::Float(value))) if stored.info.single => {
            return Ok(float(widened(*value as f32)));
        }
        (Form::Number, Some(SqlValue::Float(value))) => return Ok(float(*value)),
        #[expect(clippy::cast_precision_loss, reason = "so the field holds it")]
        (Form::Number, Some(SqlValue::Int(value))) => return Ok(float(*value as f64)),
        (Form::Number, _) => ("a number", None),
        (Form::Text | Form::Choice, Some(SqlValue::Text(value))) => return Ok(text(value)),
        (Form::Text | Form::Choice, _) => ("text", None),
        (Form::DateText, Some(SqlValue::Text(value))) => match value.parse() {
            Ok(date) => return Ok(Scalar::Date(date)),
            Err(_) => ("a date", Some("other text")),
        },
        (Form::DateText | Form::DateNative, Some(SqlValue::Int(days)))
            if stored.form == Form::DateNative =>
        {
            let days = Duration::try_days(*days);
            match days.and_then(|days| NaiveDate::default().checked_add_signed(days)) {
                Some(date) => return Ok(Scalar::Date(date)),
                None => ("a date", Some("one beyond all calendars")),
            }
        }
        (Form::DateText | Form::DateNative, _) => ("a date", None),
        (Form::InstantText, Some(SqlValue::Text(value))) => {
            // An aggregate returns it as it is compared.
            match instant_of(value).or_else(|| instant_of(&format!("{value}Z"))) {
                Some(instant) => return Ok(Scalar::Instant(instant)),
                None => ("an instant", Some("other text")),
            }
        }
        (Form::InstantNative, Some(SqlValue::Int(value))) => match instant(*value, 1_000) {
            Some(instant) => return Ok(Scalar::Instant(instant)),
            None => ("an instant", Some("one beyond all calendars")),
        },
        (Form::Unix(unit), Some(SqlValue::Int(value))) => match instant(*value, unit) {
            Some(instant) => return Ok(Scalar::Instant(instant)),
            None => ("an instant", Some("one beyond all calendars")),
        },
        (Form::InstantText | Form::InstantNative | Form::Unix(_), _) => ("an instant", None),
    };
    let found = found.unwrap_or_else(|| value.map_or("no column", SqlValue::kind));
    Err(SqlError::Column { path: stored.info.path.clone(), expected, found })
}

/// The instant at this number of units since 1970; `unit` is in nanoseconds.
fn instant(count: i64, unit: i128) -> Option<DateTime<Utc>> {
    const SECOND: i128 = 1_000_000_000;
    let all = i128::from(count) * unit;
    let seconds = i64::try_from(all.div_euclid(SECOND)).ok()?;
    DateTime::from_timestamp(seconds, u32::try_from(all.rem_euclid(SECOND)).ok()?)
}

impl<T> Record<T> {
    const fn of(content: Content) -> Self {
        Self { content, row: PhantomData }
    }

    /// A row that was processed in memory.
    pub(super) const fn shown(json: Box<RawValue>) -> Self {
        Self::of(Content::Shown(json))
    }

    /// The value of a member, such as `title`, or `None` if it is not selected.
    pub fn get(&self, member: &str) -> Option<Value> {
        match self.to_json() {
            Value::Object(mut members) => members.remove(member),
            _ => None,
        }
    }

    /// Converts the record to JSON.
    pub fn to_json(&self) -> Value {
        // All parts were validated, so this cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The members, for deserializing a whole row.
    pub(super) fn into_members(self) -> Map<String, Value> {
        match self.to_json() {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }
}

impl<T> Clone for Record<T> {
    fn clone(&self) -> Self {
        Self::of(self.content.clone())
    }
}

impl<T> fmt::Debug for Record<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Record").field(&self.to_json()).finish()
    }
}

/// Members with their values.
struct Object<'a> {
    members: &'a [Member],
    cells: &'a [Cell],
    computed: Option<(&'a [Member], &'a [Cell])>,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (member, cell) in self.members.iter().zip(self.cells) {
            match cell {
                Cell::Omitted => {}
                Cell::Plain(value) => map.serialize_entry(&member.name, value)?,
                Cell::Single(value) => map.serialize_entry(&member.name, value)?,
                Cell::Document(value) => map.serialize_entry(&member.name, value)?,
                Cell::Part(value) => map.serialize_entry(&member.name, value)?,
                Cell::Object(cells) => {
                    let members = match &member.shown {
                        MemberSource::Object(members) => members.as_slice(),
                        _ => &[],
                    };
                    map.serialize_entry(&member.name, &Object { members, cells, computed: None })?;
                }
            }
        }
        if let Some((members, cells)) = self.computed.filter(|(members, _)| !members.is_empty()) {
            map.serialize_entry(COMPUTED, &Object { members, cells, computed: None })?;
        }
        map.end()
    }
}

impl<T> Serialize for Record<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.content {
            Content::Cells { layout, cells, computed } => {
                let computed = Some((layout.computed.as_slice(), computed.as_slice()));
                Object { members: &layout.members, cells, computed }.serialize(serializer)
            }
            Content::Shown(json) => json.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Record<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
