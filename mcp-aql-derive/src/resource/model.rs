//! The model of a resource and its fields.

use darling::error::Accumulator;
use darling::util::SpannedValue;
use proc_macro2::Span;
use syn::{Data, DataStruct, DeriveInput, Field, Fields, Generics, Ident, Path, Type};

use super::attr::{self, FieldAttr, ResourceAttr};
use super::columns::ColumnModel;
use super::lists::{DefaultSort, Presets, Relationships};
use super::operations::ReadyOperations;
use crate::support::doc::Doc;
use crate::support::serde_attr::{SerdeAttr, wire_name};
use crate::support::values::Text;
use crate::support::{fault, shape, ty};

/// A resource whose fields queries can name.
pub(super) struct ResourceModel<'a> {
    pub(super) ident: &'a Ident,
    pub(super) generics: &'a Generics,
    pub(super) serde: SerdeAttr,
    pub(super) fields: Vec<FieldModel<'a>>,
    pub(super) presets: Presets,
    pub(super) default_sort: DefaultSort,
    pub(super) relationships: Relationships,
    pub(super) operations: Option<ReadyOperations>,
    pub(super) runtime: Option<Path>,
}

/// A field of a resource.
pub(super) struct FieldModel<'a> {
    pub(super) ident: &'a Ident,
    pub(super) column: ColumnModel<'a>,
    pub(super) doc: Doc,
    /// The resource whose identifiers the field contains.
    pub(super) references: Option<SpannedValue<Text>>,
    /// If `true`, the field is not part of the JSON form.
    pub(super) hidden: bool,
    /// If `true`, the value of the field is a secret: `#[param(sensitive)]`.
    pub(super) is_sensitive: bool,
    /// If `true`, callers choose the identifier of a new record.
    pub(super) is_chosen: bool,
    /// The span of `#[resource(…)]`.
    pub(super) attribute: Option<Span>,
    pub(super) serde: SerdeAttr,
}

impl<'a> ResourceModel<'a> {
    /// Reads the resource. A type without named fields is reported as an error and has no fields here.
    pub(super) fn read(input: &'a DeriveInput, errors: &mut Accumulator) -> Self {
        let attr = ResourceAttr::read(&input.attrs, &input.ident, errors);
        let serde = SerdeAttr::read(&input.attrs);
        let fields = match &input.data {
            Data::Struct(DataStruct { fields: Fields::Named(fields), .. }) => {
                let read = |field| FieldModel::read(field, &serde, errors);
                fields.named.iter().filter_map(read).collect()
            }
            other => {
                let ident = &input.ident;
                errors.push(fault(
                    ident.span(),
                    format_args!(
                        "`{ident}` is {}, not a struct with named fields: write `struct {ident} {{ … }}`",
                        shape(other),
                    ),
                ));
                Vec::new()
            }
        };
        Self {
            ident: &input.ident,
            generics: &input.generics,
            serde,
            fields,
            presets: attr.presets,
            default_sort: attr.default_sort,
            relationships: attr.relationships,
            operations: attr.operations,
            runtime: attr.runtime,
        }
    }

    /// Returns the fields of the JSON form.
    pub(super) fn on_the_wire(&self) -> impl Iterator<Item = &FieldModel<'a>> {
        self.fields.iter().filter(|field| !field.hidden)
    }

    /// Returns the field that identifies the resource.
    pub(super) fn identifier(&self) -> Option<&FieldModel<'a>> {
        self.on_the_wire().find(|field| field.column.marks.id.is_some())
    }

    /// Returns the field with the version of the resource (MCP-AQL §9.3.2).
    pub(super) fn version(&self) -> Option<&FieldModel<'a>> {
        self.field("_version").or_else(|| self.field("_etag"))
    }

    /// Returns `true` if queries can search the resource for words.
    pub(super) fn is_searchable(&self) -> bool {
        self.on_the_wire().any(|field| field.column.marks.search.is_some())
    }

    /// Returns the fields with identifiers of other resources, and the names of those resources.
    pub(super) fn references(
        &self,
    ) -> impl Iterator<Item = (&FieldModel<'a>, &SpannedValue<Text>)> {
        self.on_the_wire().filter_map(|field| Some((field, field.references.as_ref()?)))
    }

    pub(super) fn field(&self, name: &str) -> Option<&FieldModel<'a>> {
        self.on_the_wire().find(|field| field.column.name.text == name)
    }
}

impl<'a> FieldModel<'a> {
    fn read(field: &'a Field, container: &SerdeAttr, errors: &mut Accumulator) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        let serde = SerdeAttr::read(&field.attrs);
        let doc = Doc::of(&field.attrs);
        let FieldAttr { marks, references } = FieldAttr::read(&field.attrs, errors);
        Some(Self {
            ident,
            column: ColumnModel {
                name: wire_name(ident, &serde, container),
                description: doc.clone(),
                ty: ty::peel(&field.ty),
                marks,
            },
            doc,
            references,
            hidden: serde.skip || serde.skip_serializing,
            is_sensitive: attr::has_option(&field.attrs, "param", "sensitive"),
            is_chosen: attr::has_option(&field.attrs, "create_input", "chosen"),
            attribute: attr::place(&field.attrs),
            serde,
        })
    }

    /// Returns the kind of the relationship that the field represents: `author` for a field `author_id`.
    pub(super) fn relationship(&self) -> &str {
        let name = self.column.name.text.as_str();
        name.strip_suffix("_ids").or_else(|| name.strip_suffix("_id")).unwrap_or(name)
    }

    /// Returns the type of the nested resource, without the `Option` and `Box` around it.
    pub(super) fn inner(&self) -> &'a Type {
        let mut inner = self.column.ty;
        while let Some(next) = ty::inside(inner, "Option").or_else(|| ty::inside(inner, "Box")) {
            inner = ty::peel(next);
        }
        inner
    }
}
