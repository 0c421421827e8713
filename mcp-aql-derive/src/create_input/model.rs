//! The model of `#[derive(CreateInput)]`: each field with the source of its value.

use darling::error::Accumulator;
use proc_macro2::Span;
use quote::quote_spanned;
use syn::spanned::Spanned as _;
use syn::{Expr, Ident, Type};

use crate::input::{CreateOptions, FieldRole, InputField, InputModel};
use crate::parameter::DefaultValue;
use crate::support::ty;

/// A resource that callers can create.
pub(super) struct CreateModel<'a> {
    pub(super) resource: &'a InputModel<'a>,
    pub(super) fields: Vec<CreateField<'a>>,
}

/// A field, and the source of its value in a new resource.
pub(super) struct CreateField<'a> {
    pub(super) field: &'a InputField<'a>,
    pub(super) source: Source,
    /// The span of the mark of an identifier that callers choose themselves.
    pub(super) chosen: Option<Span>,
}

/// The source of a field's value in a new resource.
pub(super) enum Source {
    /// A parameter of the call. The default comes from `#[serde(default)]`, if there is one.
    Parameter(Option<DefaultValue>),
    /// The author's expression in `#[create_input(value = …)]`.
    Value(Expr, Span),
    /// The author's code. It passes the value as `Rest`.
    Rest,
}

impl<'a> CreateModel<'a> {
    pub(super) fn of(resource: &'a InputModel<'a>, errors: &mut Accumulator) -> Self {
        let fields = resource.fields.iter().map(|field| {
            let CreateOptions { value, chosen } = CreateOptions::read(field.attributes, errors);
            let source = match value {
                Some((value, span)) => Source::Value(value, span),
                None => match field.role {
                    FieldRole::Settable => Source::Parameter(default_of_serde(field)),
                    FieldRole::Identifier if chosen.is_some() => Source::Parameter(None),
                    _ => Source::Rest,
                },
            };
            CreateField { field, source, chosen }
        });
        Self { resource, fields: fields.collect() }
    }

    /// Returns the fields whose values are parameters.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &CreateField<'a>> {
        self.fields.iter().filter(|it| matches!(it.source, Source::Parameter(_)))
    }

    /// Returns the fields whose values the author's code passes as `Rest`.
    pub(super) fn rest(&self) -> impl Iterator<Item = &'a InputField<'a>> {
        self.fields.iter().filter(|it| matches!(it.source, Source::Rest)).map(|it| it.field)
    }
}

impl<'a> CreateField<'a> {
    pub(super) fn ident(&self) -> &'a Ident {
        self.field.ident
    }

    /// Returns the innermost type inside options, lists and maps. It may be a resource, too.
    ///
    /// ```text
    /// Option<Vec<Address>> → Address
    /// ```
    pub(super) fn innermost(&self) -> &'a Type {
        let mut inner = ty::peel(self.field.ty);
        loop {
            let single = ["Option", "Box", "Vec"].iter().find_map(|name| ty::inside(inner, name));
            let value = || {
                let map = ty::last_segment(inner)?;
                let is_map = map.ident == "BTreeMap" || map.ident == "HashMap";
                ty::nth_type(map, 1).filter(|_| is_map)
            };
            match single.or_else(value) {
                Some(next) => inner = ty::peel(next),
                None => return inner,
            }
        }
    }
}

/// Returns the default from `#[serde(default)]`, unless `#[param(default = …)]` sets one.
fn default_of_serde(field: &InputField<'_>) -> Option<DefaultValue> {
    let default = field.serde.default.as_ref()?;
    if field.parameter.default.is_some() || field.parameter.optional {
        return None;
    }
    let ty = field.ty;
    let tokens = match default {
        Some(path) => quote_spanned!(path.span()=> #path()),
        None => quote_spanned!(ty.span()=> <#ty as ::core::default::Default>::default()),
    };
    syn::parse2(tokens).ok().map(DefaultValue::Expr)
}
