//! Parses the lists above a resource: `presets(…)`, `default_sort(…)` and `relationships(…)`. darling cannot derive
//! their parsers, because entries such as `title desc` are not a `Meta`.
//!
//! ```text
//! presets(minimal = [task_id, owner.name])
//! default_sort(created_at desc, title)
//! relationships(references = "Mentions another task.")
//! ```

use std::fmt;

use darling::FromMeta;
use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Ident, LitStr, Meta, Token, bracketed};

use crate::support::options::{list_of, value};
use crate::support::{fault, names, no_comma};

/// The path to a field: `title`, `metadata.owner` or `_computed.age_days`.
#[derive(Debug, Clone)]
pub(super) struct FieldPath {
    pub(super) segments: Vec<String>,
    pub(super) span: Span,
}

/// `presets(name = [paths])`.
#[derive(Debug, Default, Clone)]
pub(super) struct Presets(pub(super) Vec<Preset>);

#[derive(Debug, Clone)]
pub(super) struct Preset {
    pub(super) name: Ident,
    pub(super) paths: Vec<FieldPath>,
}

/// `default_sort(path, path desc)`.
#[derive(Debug, Default, Clone)]
pub(super) struct DefaultSort(pub(super) Vec<SortKey>);

#[derive(Debug, Clone)]
pub(super) struct SortKey {
    pub(super) path: FieldPath,
    pub(super) descending: bool,
}

/// `relationships(name = "what it means")`.
#[derive(Debug, Default, Clone)]
pub(super) struct Relationships(pub(super) Vec<Relationship>);

#[derive(Debug, Clone)]
pub(super) struct Relationship {
    pub(super) name: Ident,
    pub(super) description: LitStr,
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.segments.join("."))
    }
}

impl FromMeta for Presets {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        list(meta, "minimal = [task_id, title]", |input| {
            let name = name(input, "minimal = [task_id, title]")?;
            if !input.peek(syn::token::Bracket) {
                return Err(syn::Error::new(
                    if input.is_empty() { name.span() } else { input.span() },
                    format!(
                        "preset `{name}` is a list of fields: write `{name} = [task_id, title]`"
                    ),
                ));
            }
            let content;
            let bracket = bracketed!(content in input);
            let mut paths = Vec::new();
            while !content.is_empty() {
                paths.push(path(&content)?);
                if !content.is_empty() && content.parse::<Token![,]>().is_err() {
                    return Err(no_comma(&content));
                }
            }
            if paths.is_empty() {
                return Err(syn::Error::new(
                    bracket.span.join(),
                    format!("preset `{name}` is empty: write a field or leave the preset out"),
                ));
            }
            Ok(Preset { name, paths })
        })
        .map(Self)
    }
}

impl FromMeta for DefaultSort {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        list(meta, "created_at desc", |input| {
            let path = path(input)?;
            let mut descending = false;
            if input.peek(Ident::peek_any) {
                let direction = input.call(Ident::parse_any)?;
                descending = match direction.to_string().as_str() {
                    "asc" => false,
                    "desc" => true,
                    other => {
                        let known = ["asc", "desc"];
                        let hint = names::suggestion(&other.to_ascii_lowercase(), known);
                        return Err(syn::Error::new(
                            direction.span(),
                            format!("unknown direction `{other}`: {hint}"),
                        ));
                    }
                };
            } else if input.peek(Token![=]) {
                return Err(
                    input.error(format_args!("a direction follows its field: write `{path} desc`"))
                );
            }
            Ok(SortKey { path, descending })
        })
        .map(Self)
    }
}

impl FromMeta for Relationships {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        list(meta, "references = \"Mentions another task.\"", |input| {
            let name = input.call(Ident::parse_any)?;
            let wanted = format!("write what it means, `{name} = \"…\"`");
            if input.parse::<Option<Token![=]>>()?.is_none() {
                return Err(syn::Error::new(
                    name.span(),
                    format!("relationship `{name}` has no description: {wanted}"),
                ));
            }
            if !input.peek(LitStr) {
                let span = if input.is_empty() { name.span() } else { input.span() };
                return Err(syn::Error::new(
                    span,
                    format!("the description of relationship `{name}` is not a string: {wanted}"),
                ));
            }
            let description: LitStr = input.parse()?;
            if description.value().trim().is_empty() {
                return Err(syn::Error::new(
                    description.span(),
                    format!("the description of relationship `{name}` is empty: {wanted}"),
                ));
            }
            Ok(Relationship { name, description })
        })
        .map(Self)
    }
}

/// Parses the entries of `key(…)`. Errors of one entry do not hide those of another.
pub(super) fn list<T>(
    meta: &Meta,
    example: &str,
    entry: impl Fn(ParseStream<'_>) -> syn::Result<T>,
) -> darling::Result<Vec<T>> {
    let list = list_of(meta, example)?;
    let mut errors = darling::Error::accumulator();
    let mut entries = Vec::new();
    // Each entry is parsed from its own tokens. Otherwise syn would report the rest of an entry with errors, too.
    let one = |input: ParseStream<'_>| {
        let entry = entry(input)?;
        if input.is_empty() { Ok(entry) } else { Err(no_comma(input)) }
    };
    let read = |input: ParseStream<'_>| {
        while !input.is_empty() {
            let place = input.span();
            let tokens = value(input)?;
            if tokens.is_empty() {
                errors.push(fault(place, "there is nothing before this comma: leave it out"));
            } else {
                match one.parse2(tokens) {
                    Ok(entry) => entries.push(entry),
                    Err(error) => errors.push(error.into()),
                }
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    };
    if let Err(error) = read.parse2(list.tokens.clone()) {
        errors.push(error.into());
    }
    errors.finish_with(entries)
}

/// Parses `name =`.
fn name(input: ParseStream<'_>, example: &str) -> syn::Result<Ident> {
    if !input.peek(Ident::peek_any) {
        return Err(input.error(format_args!("a preset has a name: write `{example}`")));
    }
    let name = input.call(Ident::parse_any)?;
    match input.parse::<Option<Token![=]>>()? {
        Some(_) => Ok(name),
        None => Err(syn::Error::new(
            name.span(),
            format!("preset `{name}` has no fields: write `{name} = [task_id, title]`"),
        )),
    }
}

/// Parses a path such as `a` or `a.b`. Paths are written in quotes if a name is not a Rust identifier.
fn path(input: ParseStream<'_>) -> syn::Result<FieldPath> {
    if input.peek(LitStr) {
        let text: LitStr = input.parse()?;
        let segments = text.value().split('.').map(str::to_owned).collect();
        return Ok(FieldPath { segments, span: text.span() });
    }
    if !input.peek(Ident::peek_any) {
        return Err(input.error(
            "this is not the path of a field: write one, such as `title` or `metadata.owner`",
        ));
    }
    let first = input.call(Ident::parse_any)?;
    let span = first.span();
    let mut segments = vec![first.unraw().to_string()];
    while let Some(dot) = input.parse::<Option<Token![.]>>()? {
        let next = input.call(Ident::parse_any).map_err(|_| {
            syn::Error::new(dot.span, "there is no field after this dot: write one or leave it out")
        })?;
        segments.push(next.unraw().to_string());
    }
    Ok(FieldPath { segments, span })
}
