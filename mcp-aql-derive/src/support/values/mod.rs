//! Parses the values of options. The error of each type states the expected form.

mod deprecated;
mod literal;
mod text;
mod vocabulary;

use darling::FromMeta;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprMacro, Meta, Path};

pub(crate) use self::deprecated::Deprecated;
pub(crate) use self::literal::{Choices, Length, Limit};
pub(crate) use self::text::{Text, Texts, Word, Words};
pub(crate) use self::vocabulary::{Category, FormatName, Level};
use super::json::Json;
use super::{fault, strip, text_literal};

/// An option without a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag;

/// The path of a function.
#[derive(Debug, Clone)]
pub(crate) struct FunctionPath(pub(crate) Path);

/// The path of the runtime.
#[derive(Debug, Clone)]
pub(crate) struct CratePath(pub(crate) Path);

/// An expression.
#[derive(Clone)]
pub(crate) struct Expression(pub(crate) Expr);

/// Returns the option's name as written.
fn key(meta: &Meta) -> String {
    meta.path().segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}

/// The expected form of a value, for messages.
struct Form {
    what: &'static str,
    /// An example value.
    example: &'static str,
}

impl Form {
    const TEXT: Self = Self { what: "a string", example: "\"…\"" };

    /// Returns the value of `key = value`, or an error if there is no value.
    fn value<'a>(&self, meta: &'a Meta) -> darling::Result<&'a Expr> {
        match meta {
            Meta::NameValue(pair) => Ok(strip(&pair.value)),
            _ => Err(self.wanted(meta)),
        }
    }

    /// Returns the value of `key = value` if it is a literal, and an error otherwise.
    fn literal(&self, meta: &Meta) -> darling::Result<Json> {
        Json::from_expr(self.value(meta)?).unwrap_or_else(|| Err(self.wanted(meta)))
    }

    /// Returns the error for a value of another form: `` `key` takes text: write `key = "…"` ``.
    fn wanted(&self, meta: &Meta) -> darling::Error {
        // An identifier instead of a string probably lacks its quotes.
        let quoted = match meta {
            Meta::NameValue(pair) if self.what == Self::TEXT.what => match strip(&pair.value) {
                Expr::Path(path) => path.path.get_ident().map(|ident| format!("\"{ident}\"")),
                _ => None,
            },
            _ => None,
        };
        self.wanted_as(meta, &quoted.unwrap_or_else(|| self.example.to_owned()))
    }

    /// Like [`Self::wanted`], with the value that was probably meant.
    fn wanted_as(&self, meta: &Meta, value: &str) -> darling::Error {
        let key = key(meta);
        if let Meta::NameValue(pair) = meta
            && let Expr::Macro(call) = strip(&pair.value)
        {
            return unexpanded(&key, value, call);
        }
        let span = match meta {
            Meta::NameValue(pair) => pair.value.span(),
            _ => meta.path().span(),
        };
        let fault_is = match meta {
            Meta::Path(_) => format!("`{key}` has no value"),
            _ => format!("`{key}` takes {}", self.what),
        };
        fault(span, format_args!("{fault_is}: write `{key} = {value}`"))
    }
}

/// Returns the error for a macro call. Its value is unknown before rustc expands it.
fn unexpanded(key: &str, value: &str, call: &ExprMacro) -> darling::Error {
    let name = call.mac.path.segments.last().map(|it| it.ident.to_string()).unwrap_or_default();
    let remedy = match name.as_str() {
        "concat" => "write literals alone in `concat!(…)`".to_owned(),
        _ => format!("write `{key} = {value}`, or `concat!(…)` with literals alone"),
    };
    fault(
        call.span(),
        format_args!("`{key}` is read before rustc expands this `{name}!`: {remedy}"),
    )
}

impl FromMeta for Flag {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        match meta {
            Meta::Path(_) => Ok(Self),
            _ => {
                let key = key(meta);
                Err(fault(
                    meta.path().span(),
                    format_args!("`{key}` takes no value: write `{key}` alone or leave it out"),
                ))
            }
        }
    }
}

impl FromMeta for Expression {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "an expression", example: "…" };
        FORM.value(meta).cloned().map(Self)
    }
}

impl FromMeta for FunctionPath {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "the name of a function", example: "preview_deletion" };
        match FORM.value(meta)? {
            Expr::Path(path) if path.qself.is_none() => Ok(Self(path.path.clone())),
            _ => Err(FORM.wanted(meta)),
        }
    }
}

impl FromMeta for CratePath {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a path", example: "::mcp_aql" };
        match FORM.value(meta)? {
            Expr::Path(path) if path.qself.is_none() => Ok(Self(path.path.clone())),
            // Attributes of older crates accept a path in quotes, so the message shows the path without them.
            other => Err(match text_literal(other).filter(|text| text.parse::<Path>().is_ok()) {
                Some(text) => FORM.wanted_as(meta, &text.value()),
                None => FORM.wanted(meta),
            }),
        }
    }
}
