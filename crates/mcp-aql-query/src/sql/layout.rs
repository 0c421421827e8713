//! The conversion of a database's rows: the columns of a statement, and the members that they form.

use std::sync::Arc;

use mcp_aql_core::projection::{COMPUTED, OpenPaths, Projected, Projection, Selection, has_part};
use sea_query::Expr;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::SqlError;
use super::context::{Context, Source, StoredForm};
use super::dialect::Form;
use super::stored_value::scalar;
use super::value::SqlValue;
use crate::field_info::FieldInfo;
use crate::resource::Resource;
use crate::value::{Scalar, ValueKind};

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

/// One value of a record.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    /// Omitted.
    Omitted,
    Plain(Scalar),
    /// A 32-bit number, which has a shorter spelling.
    Single(f32),
    Document(Box<RawValue>),
    Part(Value),
    Object(Vec<Cell>),
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

    /// The members of a row with their cells, for serialization.
    pub(super) fn object<'a>(&'a self, cells: &'a [Cell], computed: &'a [Cell]) -> Object<'a> {
        let computed = Some((self.computed.as_slice(), computed));
        Object { members: &self.members, cells, computed }
    }

    /// Converts a row into the cells of the members and those of the computed fields.
    pub(super) fn cells(&self, row: &mut [SqlValue]) -> Result<(Vec<Cell>, Vec<Cell>), SqlError> {
        let cells = |members: &[Member], row: &mut [SqlValue]| {
            members.iter().map(|member| member.cell(row)).collect::<Result<Vec<_>, _>>()
        };
        if let Some(open) = &self.open {
            open.mark_row();
        }
        let computed = cells(&self.computed, row)?;
        Ok((cells(&self.members, row)?, computed))
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
        let Some(place) = context.table.index_of(path) else { return Ok(None) };
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
        self.info.may_be_omitted && (self.info.nullable || anything)
    }

    /// Whether an empty list or map omits the member, as [`Vec::is_empty`] does.
    fn leaves_out_empty(&self) -> bool {
        self.info.may_be_omitted && !self.info.nullable
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

/// Members with their values.
pub(super) struct Object<'a> {
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
