//! Parses the values of options. The error of each type states the expected form.

use darling::FromMeta;
use darling::util::SpannedValue;
use mcp_aql_protocol::{DangerLevel, Format, SemanticCategory, is_public_name, nearest_name};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, ExprMacro, Ident, Lit, Meta, Path, Token};

use super::date::{NO_DAY, is_date};
use super::json::{Json, Number, Value};
use super::names;
use super::options::{Grammar, nested, no_hint};
use super::{fault, strip};

/// A string literal that is not empty.
#[derive(Debug, Clone)]
pub(crate) struct Text(pub(crate) String);

/// A list of string literals that are not empty.
#[derive(Debug, Clone)]
pub(crate) struct Texts(pub(crate) Vec<String>);

/// A name without quotes.
#[derive(Debug, Clone)]
pub(crate) struct Word(pub(crate) Ident);

/// A list of distinct names without quotes.
#[derive(Debug, Clone)]
pub(crate) struct Words(pub(crate) Vec<Ident>);

/// An option without a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag;

/// A length: an integer of at least zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length(pub(crate) usize);

/// An integer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole(pub(crate) i128);

/// A number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(pub(crate) Number);

/// A list of literals.
#[derive(Debug, Clone)]
pub(crate) struct Choices(pub(crate) Vec<Json>);

/// The category of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Category(pub(crate) SemanticCategory);

/// The danger level of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level(pub(crate) DangerLevel);

/// The format of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormatName(pub(crate) Format);

/// The path of the runtime.
#[derive(Debug, Clone)]
pub(crate) struct CratePath(pub(crate) Path);

/// The options of `deprecated(…)`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deprecated {
    pub(crate) replacement: Option<SpannedValue<Text>>,
    pub(crate) removal_date: Option<String>,
}

/// Returns the option's name as written.
fn key(meta: &Meta) -> String {
    meta.path().segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}

/// The form of a value, for messages.
struct Form {
    what: &'static str,
    /// An example value.
    example: &'static str,
}

impl Form {
    const TEXT: Self = Self { what: "text", example: "\"…\"" };

    /// Returns the value of `key = value`, or the error about a missing value.
    fn value<'a>(&self, meta: &'a Meta) -> darling::Result<&'a Expr> {
        match meta {
            Meta::NameValue(pair) => Ok(strip(&pair.value)),
            _ => Err(self.wanted(meta)),
        }
    }

    /// Returns the error about a value of another form: `` `key` takes text: write `key = "…"` ``.
    fn wanted(&self, meta: &Meta) -> darling::Error {
        // An identifier in place of text lacks its quotes.
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

/// Returns the error about a macro call, whose value is not known before its expansion.
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

impl FromMeta for Text {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        match Form::TEXT.value(meta)? {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.value().trim().is_empty() => {
                let key = key(meta);
                Err(fault(
                    text.span(),
                    format_args!("`{key}` is empty: write some text or leave it out"),
                ))
            }
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(Self(text.value())),
            _ => Err(Form::TEXT.wanted(meta)),
        }
    }
}

impl FromMeta for Texts {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a list of texts", example: "[\"…\"]" };
        let key = key(meta);
        let list = match FORM.value(meta)? {
            Expr::Array(list) => list,
            Expr::Lit(ExprLit { lit: Lit::Str(only), .. }) => {
                return Err(FORM.wanted_as(meta, &format!("[{}]", only.to_token_stream())));
            }
            _ => return Err(FORM.wanted(meta)),
        };
        let mut errors = darling::Error::accumulator();
        if list.elems.is_empty() {
            errors.push(fault(
                list.span(),
                format_args!(
                    "`{key}` is empty: write some text, `{key} = [\"…\"]`, or leave it out"
                ),
            ));
        }
        let mut texts = Vec::new();
        for element in &list.elems {
            match strip(element) {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. })
                    if !text.value().trim().is_empty() =>
                {
                    texts.push(text.value());
                }
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => errors.push(fault(
                    text.span(),
                    format_args!("one of the `{key}` is empty: write some text or leave it out"),
                )),
                other => errors.push(fault(
                    other.span(),
                    format_args!("`{key}` takes texts: write this one in quotes, `\"…\"`"),
                )),
            }
        }
        errors.finish_with(Self(texts))
    }
}

impl FromMeta for Word {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a name without quotes", example: "admin" };
        match FORM.value(meta)? {
            Expr::Path(path) if path.path.get_ident().is_some_and(is_lower_case) => {
                path.path.require_ident().cloned().map(Self).map_err(Into::into)
            }
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if is_public_name(&text.value()) => {
                Err(FORM.wanted_as(meta, &text.value()))
            }
            _ => Err(FORM.wanted(meta)),
        }
    }
}

impl FromMeta for Words {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const MESSAGE: &str = "`blocks` takes names of blocks: write `blocks(admin)`";
        let Meta::List(list) = meta else { return Err(fault(meta.path().span(), MESSAGE)) };
        let read = Punctuated::<Ident, Token![,]>::parse_terminated;
        let names = list.parse_args_with(read).map_err(|error| fault(error.span(), MESSAGE))?;
        let mut errors = darling::Error::accumulator();
        if names.is_empty() {
            errors.push(fault(list.path.span(), MESSAGE));
        }
        let mut seen: Vec<Ident> = Vec::new();
        for name in names {
            if !is_lower_case(&name) {
                errors.push(fault(name.span(), MESSAGE));
            } else if seen.contains(&name) {
                errors.push(fault(
                    name.span(),
                    format_args!("`blocks` has `{name}` twice: keep one"),
                ));
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

impl FromMeta for Length {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a whole number from 0", example: "10" };
        match Json::from_expr(FORM.value(meta)?) {
            Some(Ok(Json { value: Value::Number(Number::Int(number)), span })) => {
                usize::try_from(number).map(Self).map_err(|_| {
                    let key = key(meta);
                    fault(span, format_args!("`{key}` is {number}: write a whole number from 0"))
                })
            }
            Some(Err(error)) => Err(error),
            _ => Err(FORM.wanted(meta)),
        }
    }
}

impl FromMeta for Whole {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a whole number", example: "30" };
        match Json::from_expr(FORM.value(meta)?) {
            Some(Ok(Json { value: Value::Number(Number::Int(number)), .. })) => Ok(Self(number)),
            Some(Err(error)) => Err(error),
            _ => Err(FORM.wanted(meta)),
        }
    }
}

impl FromMeta for Limit {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a number", example: "10" };
        match Json::from_expr(FORM.value(meta)?) {
            Some(Ok(Json { value: Value::Number(number), .. })) => Ok(Self(number)),
            Some(Err(error)) => Err(error),
            _ => Err(FORM.wanted(meta)),
        }
    }
}

impl FromMeta for Choices {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a list of literals", example: "[\"a\", \"b\"]" };
        match Json::from_expr(FORM.value(meta)?) {
            Some(Ok(Json { value: Value::List(list), .. })) => Ok(Self(list)),
            Some(Err(error)) => Err(error),
            Some(Ok(only)) => Err(FORM.wanted_as(meta, &format!("[{only}]"))),
            None => Err(FORM.wanted(meta)),
        }
    }
}

impl FromMeta for Category {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "text", example: "\"READ\"" };
        match FORM.value(meta)? {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => category(&text.value())
                .map(Self)
                .map_err(|message| fault(text.span(), format_args!("{message} (MCP-AQL §8.1)"))),
            other => {
                let word = match other {
                    Expr::Path(path) => path.path.segments.last().map(|it| it.ident.to_string()),
                    _ => None,
                };
                let word = word.unwrap_or_default().to_ascii_uppercase();
                let quoted =
                    SemanticCategory::ALL.map(|category| format!("\"{}\"", category.as_str()));
                Err(if SemanticCategory::from_name(&word).is_some() {
                    FORM.wanted_as(meta, &format!("\"{word}\""))
                } else {
                    let all = names::one_of(quoted.iter().map(String::as_str));
                    fault(
                        other.span(),
                        format_args!("`category` takes text: write {all} (MCP-AQL §8.1)"),
                    )
                })
            }
        }
    }
}

impl FromMeta for Level {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "text", example: "\"destructive\"" };
        let (span, word) = match FORM.value(meta)? {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                return danger_level(&text.value())
                    .map(Self)
                    .map_err(|error| fault(text.span(), error));
            }
            // Audits use the numbers of the levels.
            Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
                let level = number
                    .base10_parse()
                    .ok()
                    .and_then(|it: usize| DangerLevel::ALL.get(it).copied());
                (number.span(), level.map(DangerLevel::as_str).unwrap_or_default().to_owned())
            }
            Expr::Path(path) => {
                let last = path.path.segments.last().map(|it| it.ident.to_string());
                (path.span(), last.unwrap_or_default().to_ascii_lowercase())
            }
            other => (other.span(), String::new()),
        };
        Err(if word.parse::<DangerLevel>().is_ok() {
            FORM.wanted_as(meta, &format!("\"{word}\""))
        } else {
            let quoted: Vec<_> =
                DangerLevel::ALL.iter().map(|level| format!("\"{level}\"")).collect();
            let all = names::one_of(quoted.iter().map(String::as_str));
            fault(span, format_args!("`level` takes text: write {all}"))
        })
    }
}

impl FromMeta for FormatName {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        let text = Text::from_meta(meta)?.0;
        Format::from_name(&text).map(Self).ok_or_else(|| {
            let hint = names::suggestion(&text, Format::ALL.iter().map(|format| format.as_str()));
            let span = Form::TEXT.value(meta).map_or_else(|_| meta.span(), |value| value.span());
            fault(span, format_args!("unknown format `{text}`: {hint}"))
        })
    }
}

/// Returns the category with this name, or the message about an unknown name.
fn category(name: &str) -> Result<SemanticCategory, String> {
    SemanticCategory::from_name(name).ok_or_else(|| {
        let known = SemanticCategory::ALL.map(SemanticCategory::as_str);
        let hint = names::suggestion(&name.to_ascii_uppercase(), known);
        format!("unknown category `{name}`: {hint}")
    })
}

/// Returns the danger level with this name, or the message about an unknown name.
fn danger_level(name: &str) -> Result<DangerLevel, String> {
    name.parse().map_err(|_| {
        let words = || DangerLevel::ALL.iter().map(|level| level.as_str());
        let hint = match nearest_name(&name.to_ascii_lowercase(), words()) {
            Some(near) => {
                let others = words().filter(|word| *word != near);
                format!("did you mean `{near}`? The others are {}", names::all_of(others))
            }
            None => format!("write {}", names::one_of(words())),
        };
        format!("unknown danger level `{name}`: {hint}")
    })
}

impl FromMeta for CratePath {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a path", example: "::mcp_aql" };
        match FORM.value(meta)? {
            Expr::Path(path) if path.qself.is_none() => Ok(Self(path.path.clone())),
            // A path in quotes, as in older attributes.
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.parse::<Path>().is_ok() => {
                Err(FORM.wanted_as(meta, &text.value()))
            }
            _ => Err(FORM.wanted(meta)),
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
            text: Some("replacement"),
            hint: no_hint,
        };
        let list = match meta {
            Meta::Path(_) => return Ok(Self::default()),
            Meta::List(list) => list,
            Meta::NameValue(pair) => {
                let replacement = match strip(&pair.value) {
                    Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                        text.to_token_stream().to_string()
                    }
                    _ => Form::TEXT.example.to_owned(),
                };
                return Err(fault(
                    pair.value.span(),
                    format_args!(
                        "`deprecated` takes a list: write `deprecated(replacement = {replacement})`"
                    ),
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
            errors.push(fault(date.span(), format_args!("`{}` {NO_DAY} `2031-05-06`", date.0)));
        }
        errors.finish_with(Self {
            replacement,
            removal_date: removal_date.map(|text| text.into_inner().0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_categories_are_answered_with_the_nearest_or_all() {
        assert_eq!(category("READ"), Ok(SemanticCategory::Read));
        for (name, message) in [
            ("read", "unknown category `read`: did you mean `READ`?"),
            ("REED", "unknown category `REED`: did you mean `READ`?"),
            ("", "unknown category ``: write `CREATE`, `READ`, `UPDATE`, `DELETE` or `EXECUTE`"),
        ] {
            assert_eq!(category(name), Err(message.to_owned()));
        }
    }

    #[test]
    fn unknown_levels_are_answered_with_all_levels() {
        assert_eq!(danger_level("dangerous"), Ok(DangerLevel::Dangerous));
        for (name, message) in [
            (
                "Destructiv",
                "unknown danger level `Destructiv`: did you mean `destructive`? The others are `safe`, `reversible`, `dangerous` and `forbidden`",
            ),
            (
                "high",
                "unknown danger level `high`: write `safe`, `reversible`, `destructive`, `dangerous` or `forbidden`",
            ),
        ] {
            assert_eq!(danger_level(name), Err(message.to_owned()));
        }
    }
}
