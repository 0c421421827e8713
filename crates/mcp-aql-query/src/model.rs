//! The prepared table of a resource: names resolved, kinds determined, nested fields flattened.

use std::collections::{BTreeMap, HashMap};

use mcp_aql_core::internal::schema::COMPUTED;
use mcp_aql_core::internal::schema::shape::{Kind, Rest, Shape, Shapes};

use super::columns::Column;
use super::field_info::FieldInfo;
use super::resource_spec::{DefaultSort, FieldPreset, RelationshipType};
use super::value::ValueKind;

/// A resource's table with the columns of its rows.
#[derive(Debug)]
pub struct Model<T: 'static> {
    pub(super) table: ResourceSchema,
    pub(super) columns: Vec<ColumnRef<T>>,
}

/// The column of a field: from the resource's table, or generated for a nested field.
#[derive(Debug)]
pub(crate) enum ColumnRef<T: 'static> {
    Static(&'static dyn Column<T>),
    Made(Box<dyn Column<T>>),
}

impl<T> ColumnRef<T> {
    fn get(&self) -> &dyn Column<T> {
        match self {
            Self::Static(column) => *column,
            Self::Made(column) => &**column,
        }
    }
}

/// The part of the model that does not depend on the resource's Rust type.
#[derive(Debug)]
pub struct ResourceSchema {
    pub(crate) name: String,
    pub(crate) fields: Vec<FieldInfo>,
    pub(super) by_path: HashMap<String, usize>,
    pub(crate) id: Option<usize>,
    pub(crate) presets: Vec<FieldPreset>,
    pub(crate) default_sort: Vec<DefaultSort>,
    pub(crate) relationships: &'static [RelationshipType],
    /// The members of the JSON form that the schema describes.
    pub(crate) members: MemberTree,
    /// Problems that only the schema reveals. They are reported when the adapter is built.
    pub(crate) problems: Vec<String>,
}

/// The target of a path in `fields`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownPath {
    /// A member of every row.
    Stored,
    /// A member of some rows only, such as an entry of a map or a part of free-form JSON.
    Open,
    /// A computed field.
    Computed(usize),
}

/// The members of a JSON object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MemberTree {
    pub(crate) known: BTreeMap<String, MemberTree>,
    /// If `true`, other members are possible: the object is a map, or its type is unknown.
    pub(crate) open: bool,
    /// The members of the entries of a map, if all entries have the same type.
    pub(crate) each: Option<Box<MemberTree>>,
}

impl ResourceSchema {
    pub(super) fn of<T>(spec: &super::ResourceSpec<T>, name: String) -> Self {
        Self {
            name,
            fields: Vec::new(),
            by_path: HashMap::new(),
            id: None,
            presets: spec.presets.to_vec(),
            default_sort: spec.default_sort.to_vec(),
            relationships: spec.relationships,
            members: MemberTree::default(),
            problems: Vec::new(),
        }
    }

    /// Records problems that the macros cannot detect, because they depend on the JSON schema.
    pub(super) fn check(&mut self) {
        let mut problems = Vec::new();
        let name = self.name.clone();
        for field in &self.fields {
            let path = &field.path;
            let mut refuse = |mark: &str, why: &str| {
                problems.push(format!("resource `{name}`: `{path}` is marked `{mark}`, but {why}"));
            };
            let plain = "its JSON form is not a string, number, boolean or date";
            if field.kind == ValueKind::Json {
                for (mark, set) in
                    [("filter", field.filter), ("sort", field.sort), ("group", field.group)]
                {
                    if set {
                        refuse(mark, plain);
                    }
                }
            }
            if field.numeric && (field.list || !field.kind.is_numeric()) {
                refuse("numeric", "is not a number");
            }
            if field.search && !matches!(field.kind, ValueKind::Text | ValueKind::Choice) {
                refuse("search", "is not a string");
            }
            if field.group && field.kind == ValueKind::Number {
                refuse("group", "has numbers with fractions, which rarely form groups");
            }
            if field.list && (field.sort || field.group) {
                refuse(if field.sort { "sort" } else { "group" }, "is a list");
            }
        }
        for preset in &self.presets {
            for path in preset.paths {
                if self.shown(path).is_none() {
                    problems.push(format!(
                        "resource `{name}`: preset `{}` names `{path}`, which is not a field",
                        preset.name
                    ));
                }
            }
        }
        for key in &self.default_sort {
            if self.index_of(key.field).is_none() {
                problems.push(format!(
                    "resource `{name}`: `default_sort` names `{}`, which is not a field",
                    key.field
                ));
            }
        }
        self.problems.append(&mut problems);
    }

    /// Returns `true` if a field with this path exists, regardless of its capabilities.
    pub(crate) fn has(&self, path: &str) -> bool {
        let mut members = Some(&self.members);
        for name in path.split('.') {
            members = members.and_then(|members| members.known.get(name));
        }
        members.is_some() || self.index_of(path).is_some()
    }

    /// Resolves a path in `fields`.
    pub(crate) fn shown(&self, path: &str) -> Option<ShownPath> {
        if path.starts_with(COMPUTED) {
            let place = self.index_of(path)?;
            return self.field(place)?.computed.then_some(ShownPath::Computed(place));
        }
        self.members.leads(path)
    }

    /// Returns the resource's name, such as `Task`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the fields that a query may name.
    pub fn fields(&self) -> &[FieldInfo] {
        &self.fields
    }

    /// Returns the index of the field with this path.
    pub fn index_of(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// Returns the field with this index.
    pub fn field(&self, place: usize) -> Option<&FieldInfo> {
        self.fields.get(place)
    }
}

impl<T> Model<T> {
    /// Returns the part that does not depend on the resource's type.
    pub fn schema(&self) -> &ResourceSchema {
        &self.table
    }

    /// Returns the fields with their columns.
    pub(crate) fn own_fields(
        &'static self,
    ) -> impl Iterator<Item = (&'static FieldInfo, &'static dyn Column<T>)> {
        self.table.fields.iter().zip(self.columns.iter().map(ColumnRef::get))
    }

    /// Returns the field with this index, and its column.
    pub(crate) fn at(
        &'static self,
        place: usize,
    ) -> Option<(&'static FieldInfo, &'static dyn Column<T>)> {
        Some((self.table.fields.get(place)?, self.columns.get(place)?.get()))
    }
}

impl MemberTree {
    /// Returns the members of values of this shape.
    pub(super) fn of(shape: &Shape, shapes: &Shapes, depth: usize) -> Self {
        // A limit is necessary because types can be recursive.
        const MAX_MEMBER_DEPTH: usize = 8;
        let open = Self { open: true, ..Self::default() };
        if depth > MAX_MEMBER_DEPTH {
            return open;
        }
        match &shape.resolve(shapes).kind {
            Kind::Object(object) => Self {
                known: object
                    .fields
                    .iter()
                    .map(|(name, field)| (name.clone(), Self::of(&field.shape, shapes, depth + 1)))
                    .collect(),
                open: !matches!(object.rest, Rest::Closed) || object.fields.is_empty(),
                each: match &object.rest {
                    Rest::Each(shape) => Some(Box::new(Self::of(shape, shapes, depth + 1))),
                    Rest::Closed | Rest::Open => None,
                },
            },
            Kind::Array(entry) => Self::of(entry, shapes, depth),
            Kind::Any | Kind::Union(_) => open,
            _ => Self::default(),
        }
    }

    /// Resolves a path. Returns `None` if no value of the type can have it.
    fn leads(&self, path: &str) -> Option<ShownPath> {
        let (head, rest) =
            path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
        match (self.known.get(head), rest) {
            (Some(_), None) => Some(ShownPath::Stored),
            (Some(member), Some(rest)) => member.leads(rest),
            (None, _) if !self.open => None,
            (None, rest) => match (&self.each, rest) {
                (Some(each), Some(rest)) => each.leads(rest).map(|_| ShownPath::Open),
                _ => Some(ShownPath::Open),
            },
        }
    }

    /// Suggests a path if the given one names a member of a map's entries, but no entry:
    ///
    /// ```text
    /// prices.amount → prices.KEY.amount
    /// ```
    pub(crate) fn near(&self, path: &str) -> Option<String> {
        let (head, rest) =
            path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
        match (self.known.get(head), rest) {
            (Some(member), Some(rest)) => Some(format!("{head}.{}", member.near(rest)?)),
            (Some(_), None) => None,
            (None, _) => self.each.as_ref()?.leads(path).map(|_| format!("KEY.{path}")),
        }
    }

    /// Returns all paths, as suggestions for a caller.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.known
            .iter()
            .flat_map(|(name, inner)| {
                let behind = inner.paths().into_iter().map(|path| format!("{name}.{path}"));
                std::iter::once(name.clone()).chain(behind).collect::<Vec<_>>()
            })
            .collect()
    }
}
