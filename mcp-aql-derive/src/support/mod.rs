//! The parts that all macros share: options, names, types, literals and the path of the runtime.

pub(crate) mod concat;
pub(crate) mod doc;
pub(crate) mod format;
mod grammar;
pub(crate) mod json;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod runtime;
pub(crate) mod serde_attr;
pub(crate) mod slots;
pub(crate) mod ty;
pub(crate) mod values;

use std::fmt::Display;

use proc_macro2::{Span, TokenTree};
use syn::parse::ParseStream;
use syn::{Data, DataStruct, Expr, ExprLit, Fields, Lit, LitStr};

/// Returns an error at one span. The message says what is wrong and, after a colon, what to write instead:
///
/// ```text
/// `titel` is not a parameter of `create_task`: did you mean `title`?
/// ```
pub(crate) fn fault(span: Span, message: impl Display) -> darling::Error {
    darling::Error::custom(message).with_span(&span)
}

/// The name of an item in JSON, with the span of its tokens.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
    /// If `true`, an option sets the name. Otherwise it is the name of the Rust item.
    pub(crate) set: bool,
}

/// Returns the expression inside the invisible groups that `macro_rules!` adds.
pub(crate) fn strip(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => strip(&group.expr),
        other => other,
    }
}

/// Returns the string literal if the expression is one.
pub(crate) fn text_literal(expr: &Expr) -> Option<&LitStr> {
    match strip(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// Returns the span of the expanded attribute, with the hygiene of `token` from the author's code.
pub(crate) fn attribute_of(token: Span) -> Span {
    token.located_at(Span::call_site())
}

/// Returns the name of an enum's variant. The runtime's enum has a variant of the same name.
pub(crate) fn variant_ident(value: impl std::fmt::Debug) -> syn::Ident {
    syn::Ident::new(&format!("{value:?}"), Span::call_site())
}

/// Returns the noun for the shape of an item, for messages.
pub(crate) fn shape(data: &Data) -> &'static str {
    match data {
        Data::Struct(DataStruct { fields: Fields::Named(_), .. }) => "a struct",
        Data::Struct(DataStruct { fields: Fields::Unnamed(_), .. }) => "a tuple struct",
        Data::Struct(DataStruct { fields: Fields::Unit, .. }) => "a unit struct",
        Data::Enum(_) => "an enum",
        Data::Union(_) => "a union",
    }
}

/// Returns the error for a missing comma.
pub(crate) fn no_comma(input: ParseStream<'_>) -> syn::Error {
    let next = match input.cursor().token_tree() {
        Some((TokenTree::Ident(ident), _)) => Some(ident.to_string()),
        Some((TokenTree::Literal(literal), _)) => Some(literal.to_string()),
        _ => None,
    };
    // A long literal would make the message unreadable.
    input.error(match next.filter(|next| next.len() <= 40) {
        Some(next) => format!("there is no comma before `{next}`: write one"),
        None => "there is no comma before this: write one".to_owned(),
    })
}

/// Returns the span of the first token after an item's attributes and doc comments.
pub(crate) fn keyword(item: &impl quote::ToTokens) -> Span {
    let mut tokens = item.to_token_stream().into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => drop(tokens.next()),
            other => return other.span(),
        }
    }
    Span::call_site()
}
