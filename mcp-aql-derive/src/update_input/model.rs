//! Models an updatable resource and its fields.

use darling::error::Accumulator;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Data, DataStruct, DeriveInput, Field, Fields, Generics, Ident, Type};

use super::attr::UpdateMarks;
use super::shape::RuleTree;
use crate::parameter::{ParamAttr, Parameter};
use crate::support::doc::Doc;
use crate::support::options::is_called;
use crate::support::serde_attr::{SerdeAttr, wire_name};
use crate::support::{fault, shape};

/// A resource whose fields may change.
pub(super) struct UpdateModel<'a> {
    pub(super) ident: &'a Ident,
    pub(super) generics: &'a Generics,
    pub(super) serde: SerdeAttr,
    pub(super) fields: Vec<UpdateFieldModel<'a>>,
}

/// A field of a resource.
pub(super) struct UpdateFieldModel<'a> {
    pub(super) ident: &'a Ident,
    pub(super) ty: &'a Type,
    pub(super) role: FieldRole,
    pub(super) rule: RuleTree<'a>,
    /// The field as a parameter: its JSON name, description and constraints.
    pub(super) parameter: Parameter<'a>,
    /// The span of `#[param(…)]`.
    pub(super) has_param: Option<Span>,
    pub(super) marks: UpdateMarks,
    pub(super) serde: SerdeAttr,
}

/// The role of a field in updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldRole {
    Updatable,
    Identifier,
    ReadOnly,
    /// Not in the JSON form.
    Hidden,
    /// Unknown because of a misspelt mark.
    Unclear,
}

impl<'a> UpdateModel<'a> {
    /// Reads the resource. Returns `None` for a type without named fields.
    pub(super) fn read(input: &'a DeriveInput, errors: &mut Accumulator) -> Option<Self> {
        let fields = errors.handle(named_fields(input))?;
        let serde = SerdeAttr::read(&input.attrs);
        let fields = fields
            .filter_map(|field| UpdateFieldModel::read(field, &input.generics, &serde, errors))
            .collect();
        Some(Self { ident: &input.ident, generics: &input.generics, serde, fields })
    }

    pub(super) fn updatable(&self) -> impl Iterator<Item = &UpdateFieldModel<'a>> {
        self.fields.iter().filter(|field| field.role == FieldRole::Updatable)
    }

    pub(super) fn names(&self, role: FieldRole) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().filter(move |field| field.role == role);
        fields.map(|field| field.parameter.name.text.as_str())
    }
}

impl<'a> UpdateFieldModel<'a> {
    fn read(
        field: &'a Field,
        generics: &Generics,
        container: &SerdeAttr,
        errors: &mut Accumulator,
    ) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        let marks = UpdateMarks::read(&field.attrs, errors);
        let param = ParamAttr::read(&field.attrs, errors);
        let serde = SerdeAttr::read(&field.attrs);
        let role = if serde.skip {
            FieldRole::Hidden
        } else if marks.id.is_some() {
            FieldRole::Identifier
        } else if marks.read_only.is_some() || serde.skip_deserializing {
            FieldRole::ReadOnly
        } else if marks.unclear {
            FieldRole::Unclear
        } else {
            FieldRole::Updatable
        };
        let mut parameter = Parameter::new(param, Doc::of(&field.attrs), ident, &field.ty);
        parameter.name = wire_name(ident, &serde, container);
        Some(Self {
            ident,
            ty: &field.ty,
            role,
            rule: RuleTree::of(&field.ty, generics, marks.replace.is_some()),
            parameter,
            has_param: field
                .attrs
                .iter()
                .find(|attribute| is_called(attribute, "param"))
                .map(|attribute| attribute.path().span()),
            marks,
            serde,
        })
    }
}

fn named_fields(input: &DeriveInput) -> darling::Result<impl Iterator<Item = &Field>> {
    let ident = &input.ident;
    let remedy = match &input.data {
        Data::Struct(DataStruct { fields: Fields::Named(fields), .. }) => {
            return Ok(fields.named.iter());
        }
        Data::Enum(_) => {
            "leave the derive out, a field of this type is replaced as a whole".to_owned()
        }
        _ => format!(
            "write `struct {ident} {{ … }}`, or leave the derive out if the type is a single value"
        ),
    };
    let shape = shape(&input.data);
    Err(fault(
        ident.span(),
        format_args!("`{ident}` is {shape}, not a struct with named fields: {remedy}"),
    ))
}
