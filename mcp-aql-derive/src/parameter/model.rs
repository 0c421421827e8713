//! Models a parameter: its options, description and type.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::{Ident, Type};

use super::attr::{Constraints, DefaultValue, ParamAttr};
use crate::support::Name;
use crate::support::doc::Doc;
use crate::support::ty::{self, Kind};
use crate::support::values::Deprecated;

/// A parameter as declared.
pub(crate) struct Parameter<'a> {
    pub(crate) name: Name,
    /// The doc comment. An empty doc comment is an error.
    pub(crate) doc: Doc,
    /// The type as written.
    pub(crate) written: &'a Type,
    /// The type, without the `Option` around it.
    pub(crate) ty: &'a Type,
    /// If `true`, the type is an `Option`.
    pub(crate) optional: bool,
    pub(crate) kind: Kind,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) constraints: Constraints,
    pub(crate) sensitive: bool,
    pub(crate) deprecated: Option<Deprecated>,
    /// The keys of the options as written.
    pub(crate) keys: Vec<Ident>,
    /// The span at which errors of the parameter as a whole are reported.
    pub(crate) span: Span,
}

impl<'a> Parameter<'a> {
    pub(crate) fn new(attr: ParamAttr, doc: Doc, ident: &Ident, ty: &'a Type) -> Self {
        let inner = ty::inside(ty, "Option");
        let name = match attr.name {
            Some(name) => Name { span: name.span(), text: name.into_inner().0, set: true },
            None => Name { text: ident.unraw().to_string(), span: ident.span(), set: false },
        };
        Self {
            name,
            doc,
            written: ty,
            ty: inner.unwrap_or(ty),
            optional: inner.is_some(),
            kind: Kind::of(inner.unwrap_or(ty)),
            default: attr.default,
            constraints: attr.constraints,
            sensitive: attr.sensitive,
            deprecated: attr.deprecated,
            keys: attr.keys,
            span: ident.span(),
        }
    }

    /// Returns the span of an option's key.
    pub(crate) fn key(&self, name: &str) -> Option<Span> {
        self.keys.iter().find(|key| *key == name).map(Ident::span)
    }

    /// Returns `true` if every call must contain the parameter.
    pub(crate) fn is_required(&self) -> bool {
        !self.optional && self.default.is_none()
    }
}
