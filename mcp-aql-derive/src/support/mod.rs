//! What all macros share: reading options, names, types, literals and the path of the runtime.

pub(crate) mod category;
pub(crate) mod codes;
pub(crate) mod date;
pub(crate) mod doc;
pub(crate) mod format;
pub(crate) mod json;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod runtime_path;
pub(crate) mod ty;
pub(crate) mod values;

use std::fmt::Display;

use proc_macro2::{Span, TokenTree};

/// One fault at one place. Messages read: what is wrong, a colon, what to write.
pub(crate) fn fault(span: Span, message: impl Display) -> darling::Error {
    darling::Error::custom(message).with_span(&span)
}

/// A name on the wire and the tokens it came from.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// The first token of an item behind its attributes, doc comments among them.
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

/// The first token of something.
pub(crate) fn span_of(node: &impl syn::spanned::Spanned) -> Span {
    node.span()
}
