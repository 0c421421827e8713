//! What a resource says of itself: the table that `#[derive(Resource)]` writes.

use schemars::{JsonSchema, SchemaGenerator};

use super::column::{Access, Column};
use super::model::Model;
use crate::spec::SchemaFn;

/// A type whose values can be listed, searched, filtered, sorted, cut down and counted:
/// `#[derive(Resource)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource",
    label = "not a resource",
    note = "write `#[derive(Resource)]` above the type and mark its fields with `#[resource(…)]`"
)]
pub trait Resource: JsonSchema + Send + Sync + Sized + 'static {
    /// The fields and what a query may do with them.
    const RESOURCE: ResourceSpec<Self>;

    /// The table, ready to use; made once.
    fn model() -> &'static Model<Self>;
}

/// A resource with a field that tells its values apart, without which there is no stable order and
/// no cursor. The derive implements it where a field says `#[resource(id)]`.
#[diagnostic::on_unimplemented(
    message = "nothing identifies a `{Self}`",
    label = "has no identifier",
    note = "derive `Resource` on `{Self}`, with `#[resource(id)]` above the field that is never the same twice"
)]
pub trait Identified: Resource {}

/// The table of a resource.
#[derive(Debug)]
pub struct ResourceSpec<T: 'static> {
    pub(crate) fields: &'static [FieldSpec<T>],
    pub(crate) computed: &'static [FieldSpec<T>],
    pub(crate) presets: &'static [Preset],
    pub(crate) default_sort: &'static [DefaultSort],
    pub(crate) relationships: &'static [RelationshipType],
}

/// One field of a resource, or one value that is computed of it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a mark that an author writes by itself")]
pub struct FieldSpec<T: 'static> {
    /// The name on the wire.
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: SchemaFn,
    pub(crate) column: &'static dyn Column<T>,
    pub(crate) id: bool,
    pub(crate) filter: bool,
    pub(crate) sort: bool,
    pub(crate) group: bool,
    pub(crate) numeric: bool,
    pub(crate) search: bool,
    /// Left out of the JSON form where there is no value.
    pub(crate) omitted: bool,
    /// Adds the fields of the resource in this field.
    pub(crate) nested: Option<super::column::Expand<T>>,
}

/// A named choice of fields (REQ-FLD-02).
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    pub(crate) name: &'static str,
    pub(crate) paths: &'static [&'static str],
}

/// One key of the order in which a collection comes when nobody asks for another.
#[derive(Debug, Clone, Copy)]
pub struct DefaultSort {
    pub(crate) field: &'static str,
    pub(crate) descending: bool,
}

/// A kind of relationship that a resource can have with others (REQ-REL-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationshipType {
    /// The name on the wire, such as `references`.
    pub name: &'static str,
    /// What it means.
    pub description: &'static str,
}

impl<T> ResourceSpec<T> {
    /// A resource with these fields.
    pub const fn new(fields: &'static [FieldSpec<T>]) -> Self {
        Self { fields, computed: &[], presets: &[], default_sort: &[], relationships: &[] }
    }

    /// Adds values that are computed of a resource.
    #[must_use]
    pub const fn computed(mut self, computed: &'static [FieldSpec<T>]) -> Self {
        self.computed = computed;
        self
    }

    /// Adds named choices of fields.
    #[must_use]
    pub const fn presets(mut self, presets: &'static [Preset]) -> Self {
        self.presets = presets;
        self
    }

    /// Sets the order in which a collection comes when nobody asks for another.
    #[must_use]
    pub const fn default_sort(mut self, keys: &'static [DefaultSort]) -> Self {
        self.default_sort = keys;
        self
    }

    /// Adds the kinds of relationships.
    #[must_use]
    pub const fn relationships(mut self, types: &'static [RelationshipType]) -> Self {
        self.relationships = types;
        self
    }

    /// Whether a stored field has this name; `#[computed_fields]` asks while compiling.
    pub const fn has_field(&self, name: &str) -> bool {
        let mut fields = self.fields;
        while let [field, rest @ ..] = fields {
            if crate::text::const_eq(field.name.as_bytes(), name.as_bytes()) {
                return true;
            }
            fields = rest;
        }
        false
    }
}

impl<T> FieldSpec<T> {
    /// A field that can be selected, and no more.
    pub const fn of<A: Access<Row = T>>(
        name: &'static str,
        description: &'static str,
        column: &'static dyn Column<T>,
    ) -> Self
    where
        A::Value: JsonSchema,
    {
        Self {
            name,
            description,
            schema: SchemaGenerator::subschema_for::<A::Value>,
            column,
            id: false,
            filter: false,
            sort: false,
            group: false,
            numeric: false,
            search: false,
            omitted: false,
            nested: None,
        }
    }

    /// It tells the values of the resource apart.
    #[must_use]
    pub const fn id(mut self) -> Self {
        self.id = true;
        self
    }

    /// `filter` may name it.
    #[must_use]
    pub const fn filter(mut self) -> Self {
        self.filter = true;
        self
    }

    /// `sort` may name it.
    #[must_use]
    pub const fn sort(mut self) -> Self {
        self.sort = true;
        self
    }

    /// `group_by` may name it.
    #[must_use]
    pub const fn group(mut self) -> Self {
        self.group = true;
        self
    }

    /// `sum`, `avg`, `min` and `max` may name it.
    #[must_use]
    pub const fn numeric(mut self) -> Self {
        self.numeric = true;
        self
    }

    /// `query` looks for words in it.
    #[must_use]
    pub const fn search(mut self) -> Self {
        self.search = true;
        self
    }

    /// Its JSON form leaves it out where there is no value, as `skip_serializing_if` says.
    #[must_use]
    pub const fn omitted(mut self) -> Self {
        self.omitted = true;
        self
    }

    /// It holds a resource, whose own fields a query may name behind a dot. `A` leads to it.
    #[must_use]
    pub const fn nested<A: super::column::NestedAccess<Row = T>>(mut self) -> Self {
        self.nested = Some(super::column::expand::<A>);
        self
    }
}

impl Preset {
    /// These paths under this name.
    pub const fn new(name: &'static str, paths: &'static [&'static str]) -> Self {
        Self { name, paths }
    }
}

impl DefaultSort {
    /// The smallest value first.
    pub const fn ascending(field: &'static str) -> Self {
        Self { field, descending: false }
    }

    /// The largest value first.
    pub const fn descending(field: &'static str) -> Self {
        Self { field, descending: true }
    }
}

impl RelationshipType {
    /// A kind of relationship by its name and meaning.
    pub const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description }
    }
}

/// Values that are computed of a resource; `#[computed_fields]` on an impl block implements it.
#[diagnostic::on_unimplemented(
    message = "nothing is computed of `{Self}`",
    note = "write `#[computed_fields]` above an impl block whose methods carry `#[computed]`"
)]
pub trait ComputedFields: Resource {
    /// The values, in the order of the methods.
    const COMPUTED: &'static [FieldSpec<Self>];
}
