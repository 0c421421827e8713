//! Parses the options of `#[query(…)]` and generates their part of the table.
//!
//! ```text
//! #[query(accept(offset, page), without(aggregate), page_size = 50, max_page_size = 500)]
//! ```

use std::ops::RangeInclusive;

use darling::FromMeta;
use darling::error::Accumulator;
use darling::util::SpannedValue;
use mcp_aql_protocol::{DEFAULT_MAX_PAGE_SIZE, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Meta};

use crate::support::options::{Grammar, Hint, Options, nested};
use crate::support::values::{Flag, Length, Text};
use crate::support::{fault, names};

/// The options of `#[query(…)]`.
#[derive(Default)]
pub(super) struct QueryOptions {
    pub(super) text: Option<SpannedValue<TextSearch>>,
    pub(super) accept: Vec<Ident>,
    pub(super) without: Vec<Ident>,
    page_size: Option<SpannedValue<Length>>,
    max_page_size: Option<SpannedValue<Length>>,
    without_count: bool,
    backend: Option<Expr>,
    max_depth: Option<SpannedValue<Length>>,
}

/// The search parameter `query` of an operation: absent, optional or required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextSearch {
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
    text: Some("text"),
    hint: |name| match name {
        "limit" => Hint::new("write `page_size = …` or `max_page_size = …`"),
        "offset" | "page" | "preset" | "order" => Hint::new(format!("write `accept({name})`")),
        "filter" | "sort" | "fields" | "aggregate" => Hint::new(format!(
            "it is accepted where the resource has fields for it; write `without({name})` to disable it"
        )),
        "default" | "name" => Hint::new("leave it out, because a query describes itself"),
        _ => None,
    },
    ..Grammar::EMPTY
};

/// The accepted page sizes.
const PAGE_SIZES: RangeInclusive<usize> = 1..=MAX_PAGE_SIZE;
/// The accepted depths of relationship queries.
const DEPTHS: RangeInclusive<usize> = 1..=100;

/// The kind of a query argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryKind {
    Collection,
    Fields,
    Relationship,
}

impl QueryKind {
    pub(super) const ALL: [Self; 3] = [Self::Collection, Self::Fields, Self::Relationship];

    /// Returns the name of the type. The macro recognizes the argument by this name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Collection => "CollectionQuery",
            Self::Fields => "Fields",
            Self::Relationship => "RelationshipQuery",
        }
    }

    /// Returns the options that apply to this kind.
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

    /// Returns the grammar of `accept(…)`.
    fn accepts(self) -> Grammar {
        Grammar {
            attribute: "accept",
            known: match self {
                Self::Collection => &["offset", "page", "preset", "order"],
                _ => &["preset"],
            },
            hint: |name| match name {
                "limit" => Hint::new("write `offset`, which accepts `limit` too"),
                "page_size" => Hint::new("write `page`, which accepts `page_size` too"),
                "offset" | "page" | "order" => {
                    Hint::new("leave it out, because one resource has neither pages nor an order")
                }
                _ => None,
            },
            ..Grammar::EMPTY
        }
    }
}

/// The grammar of `without(…)`.
const CONTROLS: Grammar = Grammar {
    attribute: "without",
    known: &["filter", "sort", "fields", "aggregate"],
    hint: |name| match name {
        "query" => Hint::new("write `text = \"none\"`"),
        "count" => Hint::new("write `without_count` next to `without(…)`"),
        "include_items" => Hint::new("write `aggregate`, which it belongs to"),
        _ => None,
    },
    ..Grammar::EMPTY
};

impl FromMeta for TextSearch {
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

impl QueryOptions {
    pub(super) fn of(attributes: &[Attribute], kind: QueryKind, errors: &mut Accumulator) -> Self {
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
                    "`backend` has no value: write an expression that returns its `Capabilities`, `backend = …`",
                ));
            }
        }
        read.ranges(errors);
        read.forms(errors);
        read
    }

    /// Rejects `accept(…)` of a form whose control `without(…)` disables, for example `order` without `sort`.
    fn forms(&self, errors: &mut Accumulator) {
        for (form, control) in [("order", "sort"), ("preset", "fields")] {
            if let Some(accepted) = self.accept.iter().find(|it| *it == form)
                && self.without.iter().any(|it| it == control)
            {
                errors.push(fault(
                    accepted.span(),
                    format_args!(
                        "`{form}` has no effect without `{control}`, which is disabled: leave `{form}` out"
                    ),
                ));
            }
        }
    }

    /// Requires sizes in the accepted ranges, and a page size that does not exceed the maximum.
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
        let size = self.page_size.as_ref().map_or(DEFAULT_PAGE_SIZE, |it| it.0);
        let max = self.max_page_size.as_ref().map_or(DEFAULT_MAX_PAGE_SIZE, |it| it.0);
        if fits && size > max {
            let (span, remedy) = match (&self.page_size, &self.max_page_size) {
                (Some(it), Some(_)) => (it.span(), format!("a `page_size` of {max} or less")),
                (Some(it), None) => (it.span(), format!("`max_page_size = {size}` too")),
                (None, Some(it)) => (it.span(), format!("`page_size = {max}` too")),
                (None, None) => return,
            };
            errors.push(fault(
                span,
                format_args!("`page_size` is {size} and `max_page_size` is {max}: write {remedy}"),
            ));
        }
    }

    pub(super) fn tokens(&self, text: TextSearch) -> TokenStream {
        let text = match text {
            TextSearch::None => None,
            TextSearch::Optional => Some(format_ident!("Optional")),
            TextSearch::Required => Some(format_ident!("Required")),
        };
        let text = text.map(|text| quote!(.text(__rt::TextSearch::#text)));
        let accept = self.accept.iter().map(|name| format_ident!("accept_{name}"));
        let page_size = self.page_size.as_ref().map(|it| it.0).map(|it| quote!(.page_size(#it)));
        let max_page_size =
            self.max_page_size.as_ref().map(|it| it.0).map(|it| quote!(.max_page_size(#it)));
        let max_depth = self.max_depth.as_ref().map(|it| it.0).map(|it| quote!(.max_depth(#it)));
        let controls = self.without.iter().map(|name| match name.to_string().as_str() {
            "filter" => quote!(__rt::QueryControl::Filter),
            "sort" => quote!(__rt::QueryControl::Sort),
            "fields" => quote!(__rt::QueryControl::Fields),
            _ => quote!(__rt::QueryControl::Aggregate),
        });
        let without = (!self.without.is_empty()).then(|| quote!(.without(&[#(#controls),*])));
        let without_count = self.without_count.then(|| quote!(.without_count()));
        let backend = self.backend.as_ref().map(|expr| quote!(.capabilities(|| #expr)));
        quote! {
            #text #(.#accept())* #page_size #max_page_size #without #without_count #backend #max_depth
        }
    }
}

/// Returns the error for an option that does not apply to the argument's type.
fn no_use(key: &Ident, kind: QueryKind) -> darling::Error {
    let known = kind.options();
    let remedy = match known {
        [only] => format!("leave it out, because the only option is `{only}`"),
        _ => "leave it out".to_owned(),
    };
    fault(key.span(), format_args!("`{key}` has no effect on `{}`: {remedy}", kind.name()))
}

/// Reads the words of `accept(…)` and `without(…)`.
fn words(meta: &Meta, grammar: &Grammar, errors: &mut Accumulator) -> Vec<Ident> {
    let example = grammar.known.first().copied().unwrap_or_default();
    let mut options = nested(meta, grammar, example, errors);
    let keys: Vec<_> = options.keys().cloned().collect();
    keys.into_iter()
        .filter(|key| options.take::<Flag>(&key.to_string(), errors).is_some())
        .collect()
}
