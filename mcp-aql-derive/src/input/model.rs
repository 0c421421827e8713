//! The model of a resource and of the fields that callers set.

use darling::error::Accumulator;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DataStruct, DeriveInput, Field, Fields, Generics, Ident, Type};

use super::attr::InputMarks;
use super::rule_tree::RuleTree;
use crate::parameter::{ParamAttr, Parameter};
use crate::support::doc::Doc;
use crate::support::options::is_called;
use crate::support::serde_attr::{SerdeAttr, wire_name};
use crate::support::{fault, shape};

/// A resource whose fields callers can set.
pub(crate) struct InputModel<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) serde: SerdeAttr,
    pub(crate) fields: Vec<InputField<'a>>,
}

/// A field of a resource.
pub(crate) struct InputField<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) attributes: &'a [Attribute],
    pub(crate) role: FieldRole,
    pub(crate) rule: RuleTree<'a>,
    /// The field as a parameter: its JSON name, description and constraints.
    pub(crate) parameter: Parameter<'a>,
    /// The span of `#[param(…)]`.
    pub(crate) has_param: Option<Span>,
    pub(crate) marks: InputMarks,
    pub(crate) serde: SerdeAttr,
}

/// The role of a field when callers create or change the resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldRole {
    /// Callers can set the field.
    Settable,
    Identifier,
    ReadOnly,
    /// The field is not in the JSON form.
    Hidden,
    /// The role is unknown because of a misspelled mark.
    Unclear,
}

impl<'a> InputModel<'a> {
    /// Reads the resource. Returns `None` for a type without named fields.
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Accumulator) -> Option<Self> {
        let fields = errors.handle(named_fields(input))?;
        let serde = SerdeAttr::read(&input.attrs);
        let fields = fields
            .filter_map(|field| InputField::read(field, &input.generics, &serde, errors))
            .collect();
        Some(Self { ident: &input.ident, generics: &input.generics, serde, fields })
    }

    pub(crate) fn settable(&self) -> impl Iterator<Item = &InputField<'a>> {
        self.fields.iter().filter(|field| field.role == FieldRole::Settable)
    }

    pub(crate) fn names(&self, role: FieldRole) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().filter(move |field| field.role == role);
        fields.map(|field| field.parameter.name.text.as_str())
    }
}

impl<'a> InputField<'a> {
    fn read(
        field: &'a Field,
        generics: &Generics,
        container: &SerdeAttr,
        errors: &mut Accumulator,
    ) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        let marks = InputMarks::read(&field.attrs, errors);
        let param = ParamAttr::read(&field.attrs, errors);
        param.no_claim(errors);
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
            FieldRole::Settable
        };
        let mut parameter = Parameter::new(param, Doc::of(&field.attrs), ident, &field.ty);
        parameter.name = wire_name(ident, &serde, container);
        Some(Self {
            ident,
            ty: &field.ty,
            attributes: &field.attrs,
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
        Data::Enum(_) => "leave the derive out, a field of this type is set as a whole".to_owned(),
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
