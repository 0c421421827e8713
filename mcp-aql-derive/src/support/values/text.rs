//! Strings and names as values of options.

use darling::FromMeta;
use mcp_aql_protocol::is_public_name;
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Expr, Ident, LitStr, Meta, Token};

use super::super::options::list_of;
use super::super::{fault, strip, text_literal};
use super::{Form, key};

/// A string literal with at least one character.
#[derive(Debug, Clone)]
pub(crate) struct Text(pub(crate) String);

impl FromMeta for Text {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        let value = Form::TEXT.value(meta)?;
        let text = text_literal(value).ok_or_else(|| Form::TEXT.wanted(meta))?;
        if text.value().trim().is_empty() {
            let key = key(meta);
            return Err(fault(
                text.span(),
                format_args!("`{key}` is empty: write a value or leave it out"),
            ));
        }
        Ok(Self(text.value()))
    }
}

/// A list of string literals with at least one character each.
#[derive(Debug, Clone)]
pub(crate) struct Texts(pub(crate) Vec<String>);

impl FromMeta for Texts {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a list of strings", example: "[\"…\"]" };
        let key = key(meta);
        let value = FORM.value(meta)?;
        let Expr::Array(list) = value else {
            return Err(match text_literal(value) {
                Some(only) => FORM.wanted_as(meta, &format!("[{}]", only.to_token_stream())),
                None => FORM.wanted(meta),
            });
        };
        let mut errors = darling::Error::accumulator();
        if list.elems.is_empty() {
            errors.push(fault(
                list.span(),
                format_args!("`{key}` is empty: write a value, `{key} = [\"…\"]`, or leave it out"),
            ));
        }
        let mut texts = Vec::new();
        for element in &list.elems {
            match text_literal(element) {
                Some(text) if text.value().trim().is_empty() => errors.push(fault(
                    text.span(),
                    format_args!("one of the `{key}` is empty: write a value or leave it out"),
                )),
                Some(text) => texts.push(text.value()),
                None => errors.push(fault(
                    strip(element).span(),
                    format_args!("`{key}` takes strings: write this one in quotes, `\"…\"`"),
                )),
            }
        }
        errors.finish_with(Self(texts))
    }
}

/// A name without quotes.
#[derive(Debug, Clone)]
pub(crate) struct Word(pub(crate) Ident);

impl FromMeta for Word {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a name without quotes", example: "admin" };
        let value = FORM.value(meta)?;
        if let Expr::Path(path) = value
            && path.path.get_ident().is_some_and(is_lower_case)
        {
            return path.path.require_ident().cloned().map(Self).map_err(Into::into);
        }
        let name = text_literal(value).map(LitStr::value).filter(|name| is_public_name(name));
        Err(match name {
            Some(name) => FORM.wanted_as(meta, &name),
            None => FORM.wanted(meta),
        })
    }
}

/// A list of distinct names without quotes. darling's `PathList` would also accept paths, and the same name twice.
#[derive(Debug, Clone)]
pub(crate) struct Words(pub(crate) Vec<Ident>);

impl FromMeta for Words {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const MESSAGE: &str = "`blocks` takes names of blocks: write `blocks(admin)`";
        let list = list_of(meta, "admin")?;
        let read = Punctuated::<Ident, Token![,]>::parse_terminated;
        let names = list.parse_args_with(read).map_err(|error| fault(error.span(), MESSAGE))?;
        let mut errors = darling::Error::accumulator();
        let mut seen: Vec<Ident> = Vec::new();
        for name in names {
            if !is_lower_case(&name) {
                errors.push(fault(name.span(), MESSAGE));
            } else if seen.contains(&name) {
                errors
                    .push(fault(name.span(), format_args!("`{name}` is written twice: keep one")));
            } else {
                seen.push(name);
            }
        }
        errors.finish_with(Self(seen))
    }
}

fn is_lower_case(name: &Ident) -> bool {
    is_public_name(&name.unraw().to_string())
}
