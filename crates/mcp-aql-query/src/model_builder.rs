//! Builds the model of a resource from its static table and its JSON schema.

use std::any::TypeId;
use std::cell::RefCell;

use mcp_aql_core::internal::introspection::TypeRegistry;
use mcp_aql_core::internal::schema::shape::{Compiler, Kind, Shape};
use mcp_aql_core::internal::schema::{COMPUTED, SchemaFn, shape};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::columns::ColumnType;
use super::field_info::FieldInfo;
use super::model::{ColumnRef, MemberTree, Model, ResourceSchema};
use super::resource::Resource;
use super::resource_spec::FieldSpec;
use super::value::ValueKind;

impl<T: Resource> Model<T> {
    /// Builds the model of a resource. Use [`Resource::model`] instead: it builds the model once and caches
    /// it.
    pub fn new() -> Self {
        let _under_way = ModelInProgress::begin::<T>();
        let mut types = TypeRegistry::default();
        let mut compiler = Compiler::default();
        let whole = types.output(SchemaGenerator::subschema_for::<T>);
        let whole = compiler.schema(&whole);
        let name = match &whole.kind {
            Kind::Named(name) => name.to_string(),
            _ => T::schema_name().into_owned(),
        };
        let spec = &T::RESOURCE;
        let mut model = Self { table: ResourceSchema::of(spec, name), columns: Vec::new() };
        let mut kinds = Kinds { types: &mut types, compiler: &mut compiler };
        for field in spec.fields {
            model.add(field.name.to_owned(), field, false, &mut kinds);
            if let Some(expand) = field.nested {
                let problems = expand(&mut |nested| {
                    // A path to a computed field starts with the prefix `_computed`, so computed fields of
                    // nested resources have no path (REQ-FLD-04).
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
                        "resource `{}`: `{}` contains itself: leave `nested` out",
                        model.table.name, field.name
                    )),
                }
            }
        }
        for field in spec.computed {
            model.add(format!("{COMPUTED}.{}", field.name), field, true, &mut kinds);
        }
        let shapes = types.forms_in(&whole, &mut compiler);
        model.table.members = MemberTree::of(&whole, shapes, 0);
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
            may_be_omitted: field.may_be_omitted,
            reference: field.reference,
            computed,
            document: field.document,
        };
        self.push(info, ColumnRef::Static(field.column));
    }

    fn push(&mut self, info: FieldInfo, column: ColumnRef<T>) {
        self.table.by_path.insert(info.path.clone(), self.table.fields.len());
        self.table.fields.push(info);
        self.columns.push(column);
    }
}

impl<T: Resource> Default for Model<T> {
    fn default() -> Self {
        Self::new()
    }
}

thread_local! {
    /// The resources whose models are being built on this thread. Each is nested in the preceding one.
    static MODELS_IN_PROGRESS: RefCell<Vec<TypeId>> = const { RefCell::new(Vec::new()) };
}

/// Returns `true` if a resource's model is being built on this thread. In this case, the resource contains
/// itself.
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

/// Returns `true` if the numbers of a type, or of its entries, have 32 bits.
///
/// Shapes do not contain this property, because it does not affect validation.
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

/// Returns the kind of values of this shape.
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
