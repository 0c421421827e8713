//! The values that options take. Each says in its own words what it wanted instead.

use darling::FromMeta;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, Lit, Meta, Path};

use super::category::Category;
use super::date::is_date;
use super::fault;
use super::format::{FORMATS, Format};
use super::json::{Json, Number, Value};
use super::names;
use super::options::{Grammar, nested, no_hint};

/// Text in quotes that is not empty.
#[derive(Debug, Clone)]
pub(crate) struct Text(pub(crate) String);

/// A word that switches something on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag;

/// A length: a whole number from zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length(pub(crate) usize);

/// A number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(pub(crate) Number);

/// A list of literals.
#[derive(Debug, Clone)]
pub(crate) struct Choices(pub(crate) Vec<Json>);

/// The path of the runtime.
#[derive(Debug, Clone)]
pub(crate) struct CratePath(pub(crate) Path);

/// Notice that something will go away.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deprecated {
    pub(crate) replacement: Option<String>,
    pub(crate) removal_date: Option<String>,
}

/// The option's name as it is written.
fn key(meta: &Meta) -> String {
    meta.path().segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}

/// `key = value`, or the complaint that it is something else.
fn value<'a>(meta: &'a Meta, form: &str) -> darling::Result<&'a Expr> {
    match meta {
        Meta::NameValue(pair) => Ok(strip(&pair.value)),
        _ => Err(wanted(meta, form)),
    }
}

/// `` `key` takes text: write `key = "…"` ``.
fn wanted(meta: &Meta, form: &str) -> darling::Error {
    let key = key(meta);
    let (what, how) = form.split_once('|').unwrap_or((form, "…"));
    let span = match meta {
        Meta::NameValue(pair) => pair.value.span(),
        _ => meta.path().span(),
    };
    fault(span, format_args!("`{key}` takes {what}: write `{key} = {how}`"))
}

fn strip(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => strip(&group.expr),
        other => other,
    }
}

impl FromMeta for Text {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: &str = "text|\"…\"";
        match value(meta, FORM)? {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.value().trim().is_empty() => {
                let key = key(meta);
                Err(fault(
                    text.span(),
                    format_args!("`{key}` is empty: write some text or leave it out"),
                ))
            }
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(Self(text.value())),
            _ => Err(wanted(meta, FORM)),
        }
    }
}

impl FromMeta for Flag {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        match meta {
            Meta::Path(_) => Ok(Self),
            _ => {
                let key = key(meta);
                Err(fault(
                    meta.path().span(),
                    format_args!("`{key}` takes no value: write the word alone or leave it out"),
                ))
            }
        }
    }
}

impl FromMeta for Length {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: &str = "a whole number from 0|10";
        match Json::from_expr(value(meta, FORM)?) {
            Some(Ok(Json { value: Value::Number(Number::Int(number)), span })) => {
                usize::try_from(number).map(Self).map_err(|_| {
                    let key = key(meta);
                    fault(span, format_args!("`{key}` is {number}: write a whole number from 0"))
                })
            }
            Some(Err(error)) => Err(error),
            _ => Err(wanted(meta, FORM)),
        }
    }
}

impl FromMeta for Limit {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: &str = "a number|10";
        match Json::from_expr(value(meta, FORM)?) {
            Some(Ok(Json { value: Value::Number(number), .. })) => Ok(Self(number)),
            Some(Err(error)) => Err(error),
            _ => Err(wanted(meta, FORM)),
        }
    }
}

impl FromMeta for Choices {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: &str = "a list of literals|[\"a\", \"b\"]";
        match Json::from_expr(value(meta, FORM)?) {
            Some(Ok(Json { value: Value::List(list), .. })) => Ok(Self(list)),
            Some(Err(error)) => Err(error),
            _ => Err(wanted(meta, FORM)),
        }
    }
}

impl FromMeta for Category {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: &str = "text|\"READ\"";
        match value(meta, FORM)? {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Self::from_name(&text.value())
                .map_err(|message| fault(text.span(), format_args!("{message} (MCP-AQL §8.1)"))),
            _ => Err(wanted(meta, FORM)),
        }
    }
}

impl FromMeta for Format {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        let text = Text::from_meta(meta)?.0;
        Self::from_name(&text).ok_or_else(|| {
            let hint = names::suggestion(&text, FORMATS.iter().map(|format| format.name));
            let span = value(meta, "").map_or_else(|_| meta.span(), |value| value.span());
            fault(span, format_args!("unknown format `{text}`: {hint}"))
        })
    }
}

impl FromMeta for CratePath {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: &str = "a path|some::path";
        match value(meta, FORM)? {
            Expr::Path(path) if path.qself.is_none() => Ok(Self(path.path.clone())),
            _ => Err(wanted(meta, FORM)),
        }
    }
}

impl FromMeta for Deprecated {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const GRAMMAR: Grammar = Grammar {
            attribute: "deprecated",
            known: &["replacement", "removal_date"],
            repeatable: &[],
            bare: true,
            hint: no_hint,
        };
        let list = match meta {
            Meta::Path(_) => return Ok(Self::default()),
            Meta::List(list) => list,
            Meta::NameValue(pair) => {
                return Err(fault(
                    pair.value.span(),
                    "`deprecated` takes a list: write `deprecated(replacement = \"…\", removal_date = \"2031-05-06\")`",
                ));
            }
        };
        let mut errors = darling::Error::accumulator();
        let mut options = nested(list, &GRAMMAR, &mut errors);
        let replacement = options.take::<Text>("replacement", &mut errors);
        let removal_date = options.take::<Text>("removal_date", &mut errors);
        if let Some(date) = &removal_date
            && !is_date(&date.0)
        {
            errors.push(fault(
                date.span(),
                format_args!(
                    "`{}` is not a day of the calendar: write one in the form `2031-05-06`",
                    date.0
                ),
            ));
        }
        errors.finish_with(Self {
            replacement: replacement.map(|text| text.into_inner().0),
            removal_date: removal_date.map(|text| text.into_inner().0),
        })
    }
}
