//! The model of an argument that represents the parameters of a query: `CollectionQuery<T>`, `Fields<T>` or
//! `RelationshipQuery<T>`.

mod attr;
pub(super) mod check;

use darling::error::Accumulator;
use darling::util::SpannedValue;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned as _;
use syn::{PatType, Type};

use self::attr::QueryOptions;
pub(crate) use self::attr::{QueryKind, TextSearch};
use crate::support::options::is_called;
use crate::support::ty::{self, Integer, Kind, inside, last_segment};
use crate::support::{Name, fault};

/// A query argument.
pub(crate) struct Query<'a> {
    pub(crate) kind: QueryKind,
    /// The type as written. An `Option` around it is removed and reported as an error.
    pub(crate) ty: &'a Type,
    /// The span of the type's name.
    pub(crate) span: Span,
    options: QueryOptions,
}

/// Returns the kind of a query parameter's values if it is a simple one.
pub(crate) fn kind_of(parameter: &str) -> Kind {
    match parameter {
        "first" | "last" | "limit" | "offset" | "page" | "page_size" | "depth" => {
            Kind::Integer(Integer { name: "u32", min: 0, max: u32::MAX.into() })
        }
        "include_items" => Kind::Bool,
        "query" | "after" | "before" | "preset" | "direction" => Kind::Text,
        _ => Kind::Unknown,
    }
}

/// Returns `true` if the type represents the parameters of a query.
pub(crate) fn is_one(ty: &Type) -> bool {
    kind(ty).is_some()
}

/// Returns the kind of query. An `Option` around the type is accepted here, because it is reported later.
fn kind(ty: &Type) -> Option<QueryKind> {
    let bare = inside(ty, "Option").unwrap_or(ty);
    QueryKind::ALL.into_iter().find(|kind| inside(bare, kind.name()).is_some())
}

impl<'a> Query<'a> {
    /// Reads a query argument. The last segment of its type identifies it.
    pub(crate) fn read(argument: &PatType, ty: &'a Type, errors: &mut Accumulator) -> Option<Self> {
        let kind = kind(ty)?;
        let bare = inside(ty, "Option").unwrap_or(ty);
        let name = kind.name();
        if inside(ty, "Option").is_some() {
            let written = ty::text(bare).unwrap_or_else(|| format!("{name}<…>"));
            errors.push(fault(
                ty.span(),
                format_args!("a `{name}` cannot be an `Option`: write `{written}`"),
            ));
        }
        for attribute in argument.attrs.iter().filter(|attribute| is_called(attribute, "param")) {
            errors.push(fault(
                attribute.path().span(),
                format_args!("`#[param]` has no effect on a `{name}`: write `#[query(…)]`"),
            ));
        }
        let span = last_segment(bare)?.ident.span();
        let options = QueryOptions::of(&argument.attrs, kind, errors);
        Some(Self { kind, ty: bare, span, options })
    }

    /// Returns whether calls have the search parameter `query`. By default, operations called `search_…` require it.
    pub(crate) fn text(&self, operation: &str) -> TextSearch {
        match &self.options.text {
            _ if self.kind != QueryKind::Collection => TextSearch::None,
            Some(text) => **text,
            None if operation.starts_with("search_") => TextSearch::Required,
            None => TextSearch::None,
        }
    }

    /// Returns the span of `text = …`.
    pub(crate) fn text_span(&self) -> Option<Span> {
        self.options.text.as_ref().map(SpannedValue::span)
    }

    /// Returns the names of the parameters that the query adds.
    pub(crate) fn parameters(&self, operation: &str) -> Vec<&'static str> {
        let accepts = |name| self.options.accept.iter().any(|it| it == name);
        let has = |name| !self.options.without.iter().any(|it| it == name);
        let offered: &[(&'static str, bool)] = match self.kind {
            QueryKind::Collection => &[
                ("query", self.text(operation) != TextSearch::None),
                ("filter", has("filter")),
                ("sort", has("sort")),
                ("order", accepts("order")),
                ("fields", has("fields")),
                ("preset", accepts("preset")),
                ("aggregate", has("aggregate")),
                ("include_items", has("aggregate")),
                ("first", true),
                ("after", true),
                ("last", true),
                ("before", true),
                ("limit", accepts("offset")),
                ("offset", accepts("offset")),
                ("page", accepts("page")),
                ("page_size", accepts("page")),
            ],
            QueryKind::Fields => &[("fields", true), ("preset", accepts("preset"))],
            QueryKind::Relationship => &[
                ("root", true),
                ("direction", true),
                ("relationship", true),
                ("depth", true),
                ("include", true),
                ("first", true),
                ("after", true),
            ],
        };
        offered.iter().filter(|(_, offered)| *offered).map(|(name, _)| *name).collect()
    }

    /// Generates the table entry, for example `ParameterEntry::Composite(&QueryEntry::of::<CollectionQuery<Task>>(…))`.
    pub(crate) fn entry(&self, operation: &Name) -> TokenStream {
        let ty = self.ty;
        let options = self.options.tokens(self.text(&operation.text));
        quote! {
            __rt::ParameterEntry::Composite(&__rt::QueryEntry::of::<#ty>(
                __rt::QueryOptions::new() #options
            ))
        }
    }
}
