//! A parameter with everything that was written about it.

use darling::util::SpannedValue;
use mcp_aql_protocol::Format;
use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::{Expr, Ident, Type};

use super::attr::ParamAttr;
use crate::support::Name;
use crate::support::doc::Doc;
use crate::support::json::Json;
use crate::support::ty::{self, Kind};
use crate::support::values::{Choices, Deprecated, Length, Limit, Text};

/// One parameter.
pub(crate) struct Parameter<'a> {
    pub(crate) name: Name,
    /// The doc comment; an empty one is a fault.
    pub(crate) doc: Doc,
    /// The type as written.
    pub(crate) written: &'a Type,
    /// The type, without the `Option` around it.
    pub(crate) ty: &'a Type,
    /// Whether there is an `Option` around the type.
    pub(crate) optional: bool,
    pub(crate) kind: Kind,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) constraints: Constraints,
    pub(crate) sensitive: bool,
    pub(crate) deprecated: Option<Deprecated>,
    /// The options as written.
    pub(crate) keys: Vec<Ident>,
    /// Where faults of the parameter as a whole are shown.
    pub(crate) span: Span,
}

/// What stands in for a parameter that is left out.
pub(crate) enum DefaultValue {
    Literal(Json),
    Expr(Expr),
}

/// What a value must satisfy beyond its type.
#[derive(Clone, Default)]
pub(crate) struct Constraints {
    pub(crate) minimum: Option<SpannedValue<Limit>>,
    pub(crate) maximum: Option<SpannedValue<Limit>>,
    pub(crate) min_length: Option<SpannedValue<Length>>,
    pub(crate) max_length: Option<SpannedValue<Length>>,
    pub(crate) pattern: Option<SpannedValue<Text>>,
    pub(crate) format: Option<SpannedValue<Format>>,
    pub(crate) choices: Option<SpannedValue<Choices>>,
    pub(crate) min_items: Option<SpannedValue<Length>>,
    pub(crate) max_items: Option<SpannedValue<Length>>,
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

    /// Where an option is written.
    pub(crate) fn key(&self, name: &str) -> Option<Span> {
        self.keys.iter().find(|key| *key == name).map(Ident::span)
    }

    /// Whether a call must give it.
    pub(crate) fn is_required(&self) -> bool {
        !self.optional && self.default.is_none()
    }
}
