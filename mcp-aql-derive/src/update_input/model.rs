//! A resource with everything that was written about its fields.

use darling::error::Accumulator;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Data, DataStruct, DeriveInput, Field, Fields, Generics, Ident, Type};

use super::attr::Marks;
use super::shape::RuleTree;
use crate::parameter::{ParamAttr, Parameter};
use crate::support::doc::Doc;
use crate::support::options::is_called;
use crate::support::serde_attr::{SerdeAttr, wire_name};
use crate::support::{fault, shape};

/// A resource whose fields may change.
pub(super) struct ResourceModel<'a> {
    pub(super) ident: &'a Ident,
    pub(super) generics: &'a Generics,
    pub(super) serde: SerdeAttr,
    pub(super) fields: Vec<FieldModel<'a>>,
}

/// One field of it.
pub(super) struct FieldModel<'a> {
    pub(super) ident: &'a Ident,
    pub(super) ty: &'a Type,
    pub(super) role: Role,
    pub(super) rule: RuleTree<'a>,
    /// The field as callers see it: its name on the wire, its description and its constraints.
    pub(super) parameter: Parameter<'a>,
    /// Where `#[param(…)]` is written.
    pub(super) has_param: Option<Span>,
    pub(super) marks: Marks,
    pub(super) serde: SerdeAttr,
}

/// What an update may do with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Updatable,
    Identifier,
    ReadOnly,
    /// It is not on the wire.
    Hidden,
    /// A misspelt mark leaves it open.
    Unclear,
}

impl<'a> ResourceModel<'a> {
    /// The resource; `None` where it has no named fields.
    pub(super) fn read(input: &'a DeriveInput, errors: &mut Accumulator) -> Option<Self> {
        let fields = errors.handle(named_fields(input))?;
        let serde = SerdeAttr::read(&input.attrs);
        let fields = fields
            .filter_map(|field| FieldModel::read(field, &input.generics, &serde, errors))
            .collect();
        Some(Self { ident: &input.ident, generics: &input.generics, serde, fields })
    }

    pub(super) fn updatable(&self) -> impl Iterator<Item = &FieldModel<'a>> {
        self.fields.iter().filter(|field| field.role == Role::Updatable)
    }

    pub(super) fn names(&self, role: Role) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().filter(move |field| field.role == role);
        fields.map(|field| field.parameter.name.text.as_str())
    }
}

impl<'a> FieldModel<'a> {
    fn read(
        field: &'a Field,
        generics: &Generics,
        container: &SerdeAttr,
        errors: &mut Accumulator,
    ) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        let marks = Marks::read(&field.attrs, errors);
        let param = ParamAttr::read(&field.attrs, errors);
        let serde = SerdeAttr::read(&field.attrs);
        let role = if serde.skip {
            Role::Hidden
        } else if marks.id.is_some() {
            Role::Identifier
        } else if marks.read_only.is_some() || serde.skip_deserializing {
            Role::ReadOnly
        } else if marks.unclear {
            Role::Unclear
        } else {
            Role::Updatable
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
        Data::Enum(_) => "leave the derive out, a field of this type is replaced whole".to_owned(),
        _ => format!(
            "write `struct {ident} {{ … }}`, or leave the derive out where the type is one value"
        ),
    };
    let shape = shape(&input.data);
    Err(fault(
        ident.span(),
        format_args!("`{ident}` is {shape}, and an update names fields: {remedy}"),
    ))
}
