//! Arguments that stand for the parameters of a query: `CollectionQuery<T>`, `Fields<T>` and
//! `RelationshipQuery<T>`, with `#[query(…)]` above them.

use std::ops::RangeInclusive;

use darling::FromMeta;
use darling::error::Accumulator;
use darling::util::SpannedValue;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Meta, PatType, Type};

use crate::support::names;
use crate::support::options::{Grammar, Hint, Options, is_called, nested};
use crate::support::runtime_path::RuntimePath;
use crate::support::ty::{self, inside, last_segment};
use crate::support::values::{Flag, Length, Text};
use crate::support::{Name, fault};

/// One such argument.
pub(crate) struct Query<'a> {
    pub(crate) kind: QueryKind,
    /// The type as written, without an `Option`, which is a fault.
    pub(crate) ty: &'a Type,
    /// Where `CollectionQuery` is written.
    pub(crate) span: Span,
    options: QueryOptions,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryKind {
    Collection,
    Fields,
    Relationship,
}

/// `#[query(…)]` as written.
#[derive(Default)]
struct QueryOptions {
    text: Option<SpannedValue<TextControl>>,
    accept: Vec<Ident>,
    without: Vec<Ident>,
    page_size: Option<SpannedValue<Length>>,
    max_page_size: Option<SpannedValue<Length>>,
    without_count: bool,
    backend: Option<Expr>,
    max_depth: Option<SpannedValue<Length>>,
}

/// Whether a call says what to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextControl {
    None,
    Optional,
    Required,
}

const OPTIONS: &[&str] = &[
    "text",
    "accept",
    "without",
    "page_size",
    "max_page_size",
    "without_count",
    "backend",
    "max_depth",
];

const GRAMMAR: Grammar = Grammar {
    attribute: "query",
    known: OPTIONS,
    repeatable: &[],
    bare: false,
    text: Some("text"),
    hint: |name| match name {
        "limit" => Hint::new("write `page_size = …` or `max_page_size = …`"),
        "offset" | "page" | "preset" | "order" => Hint::new(format!("write `accept({name})`")),
        "filter" | "sort" | "fields" | "aggregate" => Hint::new(format!(
            "it is offered where the resource has fields for it; write `without({name})` to do without"
        )),
        "default" | "name" => Hint::new("leave it out, a query describes itself"),
        _ => None,
    },
};

/// How many rows a page can be said to have, and how far relationships can be followed.
const PAGE_SIZES: RangeInclusive<usize> = 1..=1000;
const DEPTHS: RangeInclusive<usize> = 1..=100;

/// What the runtime takes for a page size that is left out.
const PAGE_SIZE: usize = 20;
const MAX_PAGE_SIZE: usize = 100;

impl QueryKind {
    const ALL: [Self; 3] = [Self::Collection, Self::Fields, Self::Relationship];

    /// The type's name, by which it is known.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Collection => "CollectionQuery",
            Self::Fields => "Fields",
            Self::Relationship => "RelationshipQuery",
        }
    }

    /// The options that it has a use for.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Collection => &[
                "text",
                "accept",
                "without",
                "page_size",
                "max_page_size",
                "without_count",
                "backend",
            ],
            Self::Fields => &["accept"],
            Self::Relationship => &["page_size", "max_page_size", "max_depth"],
        }
    }

    /// What `accept(…)` can name.
    fn accepts(self) -> Grammar {
        Grammar {
            attribute: "accept",
            known: match self {
                Self::Collection => &["offset", "page", "preset", "order"],
                _ => &["preset"],
            },
            repeatable: &[],
            bare: false,
            text: None,
            hint: |name| match name {
                "limit" => Hint::new("write `offset`, which accepts `limit` too"),
                "page_size" => Hint::new("write `page`, which accepts `page_size` too"),
                "offset" | "page" | "order" => {
                    Hint::new("leave it out, one resource has neither pages nor an order")
                }
                _ => None,
            },
        }
    }
}

/// What `without(…)` can name.
const CONTROLS: Grammar = Grammar {
    attribute: "without",
    known: &["filter", "sort", "fields", "aggregate"],
    repeatable: &[],
    bare: false,
    text: None,
    hint: |name| match name {
        "query" => Hint::new("write `text = \"none\"`"),
        "count" => Hint::new("write `without_count` beside it"),
        "include_items" => Hint::new("write `aggregate`, which it belongs to"),
        _ => None,
    },
};

impl FromMeta for TextControl {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        let text = Text::from_meta(meta)?.0;
        Ok(match text.as_str() {
            "none" => Self::None,
            "optional" => Self::Optional,
            "required" => Self::Required,
            _ => {
                let hint = names::suggestion(&text, ["none", "optional", "required"]);
                let span = match meta {
                    Meta::NameValue(pair) => pair.value.span(),
                    _ => meta.span(),
                };
                return Err(fault(span, format_args!("`text` is `{text}`: {hint}")));
            }
        })
    }
}

/// Whether a type stands for the parameters of a query.
pub(crate) fn is_one(ty: &Type) -> bool {
    kind(ty).is_some()
}

/// Also where an `Option` stands around the type, which is a fault.
fn kind(ty: &Type) -> Option<QueryKind> {
    let bare = inside(ty, "Option").unwrap_or(ty);
    QueryKind::ALL.into_iter().find(|kind| inside(bare, kind.name()).is_some())
}

impl<'a> Query<'a> {
    /// The query that an argument is, by the last segment of its type.
    pub(crate) fn read(argument: &PatType, ty: &'a Type, errors: &mut Accumulator) -> Option<Self> {
        let kind = kind(ty)?;
        let bare = inside(ty, "Option").unwrap_or(ty);
        let name = kind.name();
        if inside(ty, "Option").is_some() {
            let written = ty::text(bare).unwrap_or_else(|| format!("{name}<…>"));
            errors.push(fault(
                ty.span(),
                format_args!("every part of a `{name}` can be left out already: write `{written}`"),
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

    /// Whether a call says what to look for. An operation called `search_…` is a search.
    pub(crate) fn text(&self, operation: &str) -> TextControl {
        match &self.options.text {
            _ if self.kind != QueryKind::Collection => TextControl::None,
            Some(text) => **text,
            None if operation.starts_with("search_") => TextControl::Required,
            None => TextControl::None,
        }
    }

    /// Where `text = …` is written.
    pub(crate) fn text_span(&self) -> Option<Span> {
        self.options.text.as_ref().map(SpannedValue::span)
    }

    /// The parameters that it stands for.
    pub(crate) fn parameters(&self, operation: &str) -> Vec<&'static str> {
        let accepts = |name| self.options.accept.iter().any(|it| it == name);
        let has = |name| !self.options.without.iter().any(|it| it == name);
        let offered: &[(&'static str, bool)] = match self.kind {
            QueryKind::Collection => &[
                ("query", self.text(operation) != TextControl::None),
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

    /// `ParameterEntry::Query(QueryEntry::of::<CollectionQuery<Task>>(…))`.
    pub(crate) fn entry(&self, operation: &Name, runtime: &RuntimePath) -> TokenStream {
        let ty = self.ty;
        let query = quote!(#runtime::query);
        let options = self.options.tokens(self.text(&operation.text), &query);
        quote! {
            #runtime::ParameterEntry::Query(#query::QueryEntry::of::<#ty>(
                #query::QueryOptions::new() #options
            ))
        }
    }
}

impl QueryOptions {
    fn of(attributes: &[Attribute], kind: QueryKind, errors: &mut Accumulator) -> Self {
        let mut options = Options::of(attributes, "query", &GRAMMAR, errors);
        let useless: Vec<_> = options
            .keys()
            .filter(|key| !kind.options().contains(&&*key.to_string()))
            .cloned()
            .collect();
        for key in useless {
            errors.push(no_use(&key, kind));
        }
        let mut read = Self {
            text: options.take("text", errors),
            page_size: options.take("page_size", errors),
            max_page_size: options.take("max_page_size", errors),
            without_count: options.take::<Flag>("without_count", errors).is_some(),
            max_depth: options.take("max_depth", errors),
            ..Self::default()
        };
        for (key, meta) in options.rest() {
            if !kind.options().contains(&&*key.to_string()) {
                continue;
            }
            if key == "accept" {
                read.accept = words(&meta, &kind.accepts(), errors);
            } else if key == "without" {
                read.without = words(&meta, &CONTROLS, errors);
            } else if let Meta::NameValue(pair) = meta {
                read.backend = Some(pair.value);
            } else {
                errors.push(fault(
                    key.span(),
                    "`backend` has no value: write an expression that gives its `Capabilities`, `backend = …`",
                ));
            }
        }
        read.ranges(errors);
        read
    }

    /// Sizes that the runtime can keep.
    fn ranges(&self, errors: &mut Accumulator) {
        let numbers = [
            ("page_size", &self.page_size, PAGE_SIZES),
            ("max_page_size", &self.max_page_size, PAGE_SIZES),
            ("max_depth", &self.max_depth, DEPTHS),
        ];
        let mut fits = true;
        for (name, number, range) in numbers {
            if let Some(number) = number
                && !range.contains(&number.0)
            {
                fits = false;
                errors.push(fault(
                    number.span(),
                    format_args!(
                        "`{name}` is {}: write a number from {} to {}",
                        number.0,
                        range.start(),
                        range.end()
                    ),
                ));
            }
        }
        let size = self.page_size.as_ref().map_or(PAGE_SIZE, |it| it.0);
        let max = self.max_page_size.as_ref().map_or(MAX_PAGE_SIZE, |it| it.0);
        if fits && size > max {
            let (span, remedy) = match (&self.page_size, &self.max_page_size) {
                (Some(it), Some(_)) => (it.span(), format!("a `page_size` of {max} or less")),
                (Some(it), None) => (it.span(), format!("`max_page_size = {size}` too")),
                (None, Some(it)) => (it.span(), format!("`page_size = {max}` too")),
                (None, None) => return,
            };
            errors.push(fault(
                span,
                format_args!("pages have {size} rows, and {max} at most: write {remedy}"),
            ));
        }
    }

    fn tokens(&self, text: TextControl, query: &TokenStream) -> TokenStream {
        let text = match text {
            TextControl::None => None,
            TextControl::Optional => Some(format_ident!("Optional")),
            TextControl::Required => Some(format_ident!("Required")),
        };
        let text = text.map(|text| quote!(.text(#query::TextControl::#text)));
        let accept = self.accept.iter().map(|name| format_ident!("accept_{name}"));
        let page_size = self.page_size.as_ref().map(|it| it.0).map(|it| quote!(.page_size(#it)));
        let max_page_size =
            self.max_page_size.as_ref().map(|it| it.0).map(|it| quote!(.max_page_size(#it)));
        let max_depth = self.max_depth.as_ref().map(|it| it.0).map(|it| quote!(.max_depth(#it)));
        let controls = self.without.iter().map(|name| match name.to_string().as_str() {
            "filter" => quote!(#query::Control::Filter),
            "sort" => quote!(#query::Control::Sort),
            "fields" => quote!(#query::Control::Fields),
            _ => quote!(#query::Control::Aggregate),
        });
        let without = (!self.without.is_empty()).then(|| quote!(.without(&[#(#controls),*])));
        let without_count = self.without_count.then(|| quote!(.without_count()));
        let backend = self.backend.as_ref().map(|expr| quote!(.capabilities(|| #expr)));
        quote! {
            #text #(.#accept())* #page_size #max_page_size #without #without_count #backend #max_depth
        }
    }
}

/// The complaint about an option that an argument's type has no use for.
fn no_use(key: &Ident, kind: QueryKind) -> darling::Error {
    let known = kind.options();
    let remedy = match known {
        [only] => format!("leave it out, `{only}` is all there is"),
        _ => "leave it out".to_owned(),
    };
    fault(key.span(), format_args!("`{key}` has no effect on `{}`: {remedy}", kind.name()))
}

/// The words of `accept(…)` and `without(…)`.
fn words(meta: &Meta, grammar: &Grammar, errors: &mut Accumulator) -> Vec<Ident> {
    let key = grammar.attribute;
    let example = grammar.known.first().copied().unwrap_or_default();
    let list = match meta {
        Meta::List(list) if !list.tokens.is_empty() => list,
        Meta::List(list) => {
            errors.push(fault(
                list.path.span(),
                format_args!("`{key}` is empty: write `{key}({example})` or leave it out"),
            ));
            return Vec::new();
        }
        Meta::Path(path) => {
            errors.push(fault(
                path.span(),
                format_args!("`{key}` has no value: write `{key}({example})`"),
            ));
            return Vec::new();
        }
        Meta::NameValue(pair) => {
            errors.push(fault(
                pair.value.span(),
                format_args!("`{key}` takes a list: write `{key}({example})`"),
            ));
            return Vec::new();
        }
    };
    let mut options = nested(list, grammar, errors);
    let keys: Vec<_> = options.keys().cloned().collect();
    keys.into_iter()
        .filter(|key| options.take::<Flag>(&key.to_string(), errors).is_some())
        .collect()
}
