//! Converts the rows of a statement to the members of records.

use std::sync::Arc;

use mcp_aql_core::internal::schema::{
    COMPUTED, OpenPaths, Projected, Projection, Selection, has_part,
};
use sea_query::Expr;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::SqlError;
use super::context::{Context, Source, StoredForm};
use super::dialect::Form;
use super::stored_value::StoredValue;
use super::value::SqlValue;
use crate::document::shown;
use crate::field_info::FieldInfo;
use crate::odd_values::{OddFields, Outcome};
use crate::resource::Resource;
use crate::value::{Scalar, ValueKind};

/// The columns of a statement.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) expressions: Vec<Expr>,
    known: Vec<(String, usize)>,
}

impl Columns {
    /// Returns the index of the column of a field. The column is added if necessary.
    pub(super) fn add(&mut self, context: &Context<'_>, source: &Source) -> usize {
        let path = &source.info.path;
        if let Some((_, column)) = self.known.iter().find(|(known, _)| known == path) {
            return *column;
        }
        self.known.push((path.clone(), self.expressions.len()));
        self.push(source.shown(context.dialect()))
    }

    /// Returns the index of the column by which the database sorts. The column is added if necessary.
    pub(super) fn add_sorted(&mut self, context: &Context<'_>, source: &Source) -> usize {
        match source.form {
            // Instants stored as strings are compared in another form.
            Form::InstantText => self.push(source.ordered(context.dialect())),
            _ => self.add(context, source),
        }
    }

    pub(super) fn push(&mut self, column: Expr) -> usize {
        self.expressions.push(column);
        self.expressions.len() - 1
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
        /// If `true`, the column contains the document itself, and not another type such as an array.
        is_json: bool,
    },
    /// An object with a column for each member.
    Object(Vec<Member>),
}

/// One value of a record.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    /// The member is omitted.
    Omitted,
    Plain(Scalar),
    /// A 32-bit number. Its JSON form is shorter than that of the same `f64`.
    Single(f32),
    Document(Box<RawValue>),
    Part(Value),
    Object(Vec<Cell>),
}

impl Layout {
    /// Returns the layout of rows with a selection, or with all stored fields.
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
        // Sorted like the keys of a map, as in the in-memory executor.
        computed.sort_by(|left, right| left.name.cmp(&right.name));
        let open = selection.and_then(|selection| selection.open.clone());
        Ok(Self { members, computed, open })
    }

    /// Returns the members of a row with their cells, for serialization.
    pub(super) fn object<'a>(&'a self, cells: &'a [Cell], computed: &'a [Cell]) -> Object<'a> {
        let computed = Some((self.computed.as_slice(), computed));
        Object { members: &self.members, cells, computed }
    }

    /// Returns the fields stored as JSON documents, with the indexes of their columns.
    pub(super) fn documents(&self) -> Vec<(&'static FieldInfo, usize)> {
        fn add(members: &[Member], into: &mut Vec<(&'static FieldInfo, usize)>) {
            for member in members {
                match &member.shown {
                    MemberSource::Document { column, is_json: true, .. } => {
                        into.push((member.info, *column));
                    }
                    MemberSource::Object(members) => add(members, into),
                    _ => {}
                }
            }
        }
        let mut documents = Vec::new();
        add(&self.members, &mut documents);
        documents
    }

    /// Returns the field whose column contains the member at this position.
    pub(super) fn column_at(&self, names: &[String]) -> Option<&'static FieldInfo> {
        let mut members = &self.members;
        for name in names {
            let member = members.iter().find(|member| member.name == *name)?;
            match &member.shown {
                MemberSource::Object(inner) => members = inner,
                _ => return Some(member.info),
            }
        }
        None
    }

    /// Converts a row into the cells of the members and of the computed fields. `odd` collects the fields
    /// whose values have another type.
    pub(super) fn cells(
        &self,
        row: &[SqlValue],
        odd: &mut OddFields,
    ) -> Result<(Vec<Cell>, Vec<Cell>), SqlError> {
        let mut cells = |members: &[Member]| {
            members.iter().map(|member| member.cell(row, odd)).collect::<Result<Vec<_>, _>>()
        };
        if let Some(open) = &self.open {
            open.mark_row();
        }
        Ok((cells(&self.members)?, cells(&self.computed)?))
    }
}

impl Member {
    /// Returns the member at a path, or `None` if the table does not contain it.
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
            let is_json = source.typed.is_none();
            MemberSource::Document { column, projection, is_json }
        } else {
            MemberSource::Plain { column, stored: source.stored(context.dialect()) }
        };
        Self { name, info, shown }
    }

    /// Converts one value of a row. A value that the field's type does not allow is omitted.
    fn cell(&self, row: &[SqlValue], odd: &mut OddFields) -> Result<Cell, SqlError> {
        let cell = match &self.shown {
            MemberSource::Plain { column, stored } => {
                match StoredValue::of(*stored, row.get(*column))? {
                    #[expect(clippy::cast_possible_truncation, reason = "it was one of 32 bits")]
                    StoredValue::Usual(Scalar::Float(value)) if self.info.single => {
                        Cell::Single(value as f32)
                    }
                    StoredValue::Usual(value) => Cell::Plain(value),
                    StoredValue::Odd(text) => {
                        let outcome =
                            if text.is_some() { Outcome::Shown } else { Outcome::Omitted };
                        odd.add(&self.info.path, outcome);
                        return Ok(text.map_or(Cell::Omitted, |text| Cell::Plain(text.into())));
                    }
                }
            }
            MemberSource::Document { column, projection, .. } => {
                match self.document(row.get(*column), projection)? {
                    Some(cell) => cell,
                    None => {
                        odd.add(&self.info.path, Outcome::Omitted);
                        return Ok(Cell::Omitted);
                    }
                }
            }
            MemberSource::Object(members) => {
                let cells = members.iter().map(|member| member.cell(row, odd));
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

    /// Returns `true` if a missing value omits the member, as `skip_serializing_if = "Option::is_none"` does.
    ///
    /// If the field is not optional, the author omits it under another condition, unless its type allows
    /// anything.
    fn leaves_out_nothing(&self) -> bool {
        let anything = self.info.kind == ValueKind::Json && !self.info.list;
        self.info.may_be_omitted && (self.info.nullable || anything)
    }

    /// Returns `true` if an empty list or map omits the member, as [`Vec::is_empty`] does.
    fn leaves_out_empty(&self) -> bool {
        self.info.may_be_omitted && !self.info.nullable
    }

    /// Returns the displayed part of a document, or `None` if the column contains something else.
    fn document(
        &self,
        value: Option<&SqlValue>,
        projection: &Projection,
    ) -> Result<Option<Cell>, SqlError> {
        let text = match value {
            Some(SqlValue::Text(text)) => text,
            // A list field without `Option` has no JSON form for `NULL` other than the empty list.
            Some(SqlValue::Null) if self.info.list && !self.info.optional => "[]",
            Some(SqlValue::Null) => return Ok(Some(Cell::Plain(Scalar::Null))),
            Some(_) => return Ok(None),
            None => {
                let (path, expected) = (self.info.path.clone(), "JSON");
                return Err(SqlError::Column { path, expected, found: "no column" });
            }
        };
        if text == "null" {
            return Ok(Some(Cell::Plain(Scalar::Null)));
        }
        if self.leaves_out_empty() && is_empty(text) {
            return Ok(Some(Cell::Omitted));
        }
        let Some((text, value)) = shown(self.info.document, text) else { return Ok(None) };
        if self.info.list && !value.is_array() {
            return Ok(None);
        }
        if !matches!(projection, Projection::Members(_)) {
            if matches!(projection, Projection::Open(_)) {
                // Mark the existing open paths. The document itself is returned as stored.
                let whole = Projected { value: &value, projection, computed: None };
                serde_json::to_value(whole).map_err(SqlError::Row)?;
            }
            return Ok(RawValue::from_string(text).ok().map(Cell::Document));
        }
        if !has_part(&value, projection) {
            return Ok(Some(Cell::Omitted));
        }
        let part = Projected { value: &value, projection, computed: None };
        serde_json::to_value(part).map(|part| Some(Cell::Part(part))).map_err(SqlError::Row)
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
