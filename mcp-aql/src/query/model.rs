//! The prepared table of a resource: names resolved, kinds determined, nested fields flattened.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::column::{Column, ColumnType};
use super::field_info::FieldInfo;
use super::resource::{DefaultSort, FieldSpec, Preset, RelationshipType, Resource};
use super::value::ValueKind;
use crate::introspection::TypeRegistry;
use crate::projection::COMPUTED;
use crate::shape::{self, Compiler, Kind, Rest, Shape, Shapes};
use crate::spec::SchemaFn;

/// A resource's table with the columns of its rows.
#[derive(Debug)]
pub struct Model<T: 'static> {
    table: Table,
    columns: Vec<ColumnRef<T>>,
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
pub struct Table {
    pub(crate) name: String,
    pub(crate) fields: Vec<FieldInfo>,
    by_path: HashMap<String, usize>,
    pub(crate) id: Option<usize>,
    pub(crate) presets: Vec<Preset>,
    pub(crate) default_sort: Vec<DefaultSort>,
    pub(crate) relationships: &'static [RelationshipType],
    /// The members of the JSON form, as far as the schema describes them.
    pub(crate) members: Members,
    /// Problems that only the schema reveals, reported when the adapter is built.
    pub(crate) problems: Vec<String>,
}

/// The target of a path in `fields`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShownPath {
    /// A part of the row's own JSON form.
    Stored,
    /// A part that only some rows have: an entry of a map, or a part of free-form JSON.
    Open,
    /// A computed field.
    Computed(usize),
}

/// The members of a JSON object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Members {
    pub(crate) known: BTreeMap<String, Members>,
    /// Whether other members are possible: the object is a map, or its type is unknown.
    pub(crate) open: bool,
    /// The members of the entries of a map, if they have one type.
    pub(crate) each: Option<Box<Members>>,
}

impl Table {
    fn of<T>(spec: &super::ResourceSpec<T>, name: String) -> Self {
        Self {
            name,
            fields: Vec::new(),
            by_path: HashMap::new(),
            id: None,
            presets: spec.presets.to_vec(),
            default_sort: spec.default_sort.to_vec(),
            relationships: spec.relationships,
            members: Members::default(),
            problems: Vec::new(),
        }
    }

    /// Records problems that the macros cannot detect.
    fn check(&mut self) {
        let mut problems = Vec::new();
        let name = self.name.clone();
        for field in &self.fields {
            let path = &field.path;
            let mut refuse = |mark: &str, why: &str| {
                problems.push(format!("resource `{name}`: `{path}` is marked `{mark}` and {why}"));
            };
            let plain = "its JSON form is neither text, nor a number, a boolean or a date";
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
                refuse("numeric", "holds no number");
            }
            if field.search && !matches!(field.kind, ValueKind::Text | ValueKind::Choice) {
                refuse("search", "holds no text");
            }
            if field.group && field.kind == ValueKind::Number {
                refuse("group", "holds numbers with a fraction, of which hardly two are the same");
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
            if self.find(key.field).is_none() {
                problems.push(format!(
                    "resource `{name}`: `default_sort` names `{}`, which is not a field",
                    key.field
                ));
            }
        }
        self.problems.append(&mut problems);
    }

    /// Whether a field with this path exists, regardless of its capabilities.
    pub(crate) fn has(&self, path: &str) -> bool {
        let mut members = Some(&self.members);
        for name in path.split('.') {
            members = members.and_then(|members| members.known.get(name));
        }
        members.is_some() || self.find(path).is_some()
    }

    /// Resolves a path in `fields`.
    pub(crate) fn shown(&self, path: &str) -> Option<ShownPath> {
        if path.starts_with(COMPUTED) {
            let place = self.find(path)?;
            return self.field(place)?.computed.then_some(ShownPath::Computed(place));
        }
        self.members.leads(path)
    }

    /// The resource's name, such as `Task`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fields that a query may name.
    pub fn fields(&self) -> &[FieldInfo] {
        &self.fields
    }

    /// The index of the field with this path.
    pub fn find(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The index of the identifier.
    pub fn id(&self) -> Option<usize> {
        self.id
    }

    /// The field with this index.
    pub fn field(&self, place: usize) -> Option<&FieldInfo> {
        self.fields.get(place)
    }
}

impl<T: Resource> Model<T> {
    /// Builds the model of a resource. Use [`Resource::model`], which caches it.
    pub fn new() -> Self {
        let _under_way = ModelInProgress::begin::<T>();
        let mut types = TypeRegistry::new();
        let mut compiler = Compiler::default();
        let whole = types.output(SchemaGenerator::subschema_for::<T>);
        let whole = compiler.schema(&whole);
        let name = match &whole.kind {
            Kind::Named(name) => name.to_string(),
            _ => T::schema_name().into_owned(),
        };
        let spec = &T::RESOURCE;
        let mut model = Self { table: Table::of(spec, name), columns: Vec::new() };
        let mut kinds = Kinds { types: &mut types, compiler: &mut compiler };
        for field in spec.fields {
            model.add(field.name.to_owned(), field, false, &mut kinds);
            if let Some(expand) = field.nested {
                let problems = expand(&mut |nested| {
                    // Paths to computed fields start with the prefix `_computed` (REQ-FLD-04).
                    if nested.info.computed {
                        return;
                    }
                    let path = format!("{}.{}", field.name, nested.info.path);
                    let info = FieldInfo { path, id: false, optional: true, ..nested.info };
                    model.push(info, ColumnRef::Made(nested.column));
                });
                match problems {
                    Some(problems) => model.table.problems.extend_from_slice(problems),
                    None => model.table.problems.push(format!(
                        "resource `{}`: `{}` leads back to where it is nested: leave `nested` out",
                        model.table.name, field.name
                    )),
                }
            }
        }
        for field in spec.computed {
            model.add(format!("{COMPUTED}.{}", field.name), field, true, &mut kinds);
        }
        let shapes = types.forms_in(&whole, &mut compiler);
        model.table.members = Members::of(&whole, shapes, 0);
        model.table.check();
        model
    }

    fn add(&mut self, path: String, field: &FieldSpec<T>, computed: bool, kinds: &mut Kinds<'_>) {
        let field_kind = kinds.of(field);
        if field.id {
            self.table.id = Some(self.table.fields.len());
        }
        let info = FieldInfo {
            path,
            description: field.description.to_owned(),
            kind: field_kind.known.kind,
            list: field_kind.known.list,
            optional: field_kind.known.optional,
            nullable: field_kind.known.optional,
            single: field_kind.single,
            choices: field_kind.choices,
            type_name: field_kind.type_name,
            id: field.id,
            filter: field.filter,
            sort: field.sort,
            group: field.group,
            numeric: field.numeric,
            search: field.search,
            omitted: field.omitted,
            computed,
        };
        self.push(info, ColumnRef::Static(field.column));
    }

    fn push(&mut self, info: FieldInfo, column: ColumnRef<T>) {
        self.table.by_path.insert(info.path.clone(), self.table.fields.len());
        self.table.fields.push(info);
        self.columns.push(column);
    }

    /// The part that does not depend on the resource's type.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The fields with their columns.
    pub(crate) fn own_fields(
        &'static self,
    ) -> impl Iterator<Item = (&'static FieldInfo, &'static dyn Column<T>)> {
        self.table.fields.iter().zip(self.columns.iter().map(ColumnRef::get))
    }

    /// The field with this index, and its column.
    pub(crate) fn at(
        &'static self,
        place: usize,
    ) -> Option<(&'static FieldInfo, &'static dyn Column<T>)> {
        Some((self.table.fields.get(place)?, self.columns.get(place)?.get()))
    }
}

impl<T: Resource> Default for Model<T> {
    fn default() -> Self {
        Self::new()
    }
}

thread_local! {
    /// The resources whose models are being built on this thread, each nested in the one before.
    static MODELS_IN_PROGRESS: RefCell<Vec<TypeId>> = const { RefCell::new(Vec::new()) };
}

/// Whether a resource's model is being built, so that it is not available yet.
pub(crate) fn is_in_progress<T: 'static>() -> bool {
    MODELS_IN_PROGRESS.with_borrow(|stack| stack.contains(&TypeId::of::<T>()))
}

/// Marks a model as being built until it is dropped.
struct ModelInProgress;

impl ModelInProgress {
    fn begin<T: 'static>() -> Self {
        MODELS_IN_PROGRESS.with_borrow_mut(|stack| stack.push(TypeId::of::<T>()));
        Self
    }
}

impl Drop for ModelInProgress {
    fn drop(&mut self) {
        MODELS_IN_PROGRESS.with_borrow_mut(Vec::pop);
    }
}

/// Determines the kinds of fields.
struct Kinds<'a> {
    types: &'a mut TypeRegistry,
    compiler: &'a mut Compiler,
}

/// The kind of a field and its related properties.
struct FieldKind {
    known: ColumnType,
    single: bool,
    choices: Vec<String>,
    type_name: String,
}

impl Kinds<'_> {
    fn of<T>(&mut self, field: &FieldSpec<T>) -> FieldKind {
        let schema = self.types.output(field.schema);
        let shape = self.compiler.schema(&schema);
        let shapes = self.types.forms_in(&shape, self.compiler);
        let resolved = shape.resolve(shapes);
        let (entry, list) = match &resolved.kind {
            Kind::Array(entry) => (entry.resolve(shapes), true),
            _ => (resolved, false),
        };
        let known = field.column.column_type().unwrap_or_else(|| ColumnType {
            kind: kind_of(entry),
            list,
            optional: shape.nullable || resolved.nullable,
        });
        let names = entry.checks.allowed.iter().filter_map(Value::as_str).map(str::to_owned);
        let choices = if known.kind == ValueKind::Choice { names.collect() } else { Vec::new() };
        let named = match &resolved.kind {
            Kind::Array(entry) => entry,
            _ => &shape,
        };
        let single = known.kind == ValueKind::Number && is_single(field.schema);
        FieldKind { known, single, choices, type_name: shape::type_name(named, shapes) }
    }
}

/// Whether the numbers of a type, or of its entries, have 32 bits. Shapes do not contain this,
/// since it does not affect validation.
fn is_single(schema: SchemaFn) -> bool {
    fn is_single_schema(schema: &Value) -> bool {
        let inside = |name| schema.get(name).into_iter();
        let mut entries =
            inside("items").chain(inside("anyOf").filter_map(Value::as_array).flatten());
        schema.get("format").is_some_and(|format| format == "float")
            || entries.any(is_single_schema)
    }
    let settings = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    is_single_schema(schema(&mut settings.into_generator()).as_value())
}

/// The kind of values of this shape.
fn kind_of(shape: &Shape) -> ValueKind {
    use mcp_aql_protocol::Format;
    match &shape.kind {
        Kind::Boolean => ValueKind::Boolean,
        Kind::Integer => ValueKind::Integer,
        Kind::Number => ValueKind::Number,
        Kind::String if !shape.checks.allowed.is_empty() => ValueKind::Choice,
        Kind::String => match shape.checks.format {
            Some(Format::Date) => ValueKind::Date,
            Some(Format::DateTime) => ValueKind::Instant,
            _ => ValueKind::Text,
        },
        _ => ValueKind::Json,
    }
}

impl Members {
    /// The members of values of this shape.
    fn of(shape: &Shape, shapes: &Shapes, depth: usize) -> Self {
        // Types may be recursive.
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

    /// Suggests a path, if the given one names a member of a map's entries instead of an entry:
    /// `prices.KEY.amount` for `prices.amount`.
    pub(crate) fn near(&self, path: &str) -> Option<String> {
        let (head, rest) =
            path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
        match (self.known.get(head), rest) {
            (Some(member), Some(rest)) => Some(format!("{head}.{}", member.near(rest)?)),
            (Some(_), None) => None,
            (None, _) => self.each.as_ref()?.leads(path).map(|_| format!("KEY.{path}")),
        }
    }

    /// All paths, as suggestions for a caller.
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
