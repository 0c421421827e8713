//! Terms of the protocol as values of options: categories, danger levels and formats.

use darling::FromMeta;
use mcp_aql_protocol::{DangerLevel, Format, SemanticCategory, nearest_name};
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, Lit, Meta};

use super::super::{fault, names};
use super::Form;
use super::text::Text;

/// The category of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Category(pub(crate) SemanticCategory);

impl FromMeta for Category {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a string", example: "\"READ\"" };
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
                        format_args!("`category` takes a string: write {all} (MCP-AQL §8.1)"),
                    )
                })
            }
        }
    }
}

/// The danger level of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level(pub(crate) DangerLevel);

impl FromMeta for Level {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a string", example: "\"destructive\"" };
        let (span, word) = match FORM.value(meta)? {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                return danger_level(&text.value())
                    .map(Self)
                    .map_err(|error| fault(text.span(), error));
            }
            // Audit logs contain the numbers of the levels, so the message for a number names its level.
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
            fault(span, format_args!("`level` takes a string: write {all}"))
        })
    }
}

/// The format of a string.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormatName(pub(crate) Format);

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

/// Returns the category with this name, or the message for an unknown name.
fn category(name: &str) -> Result<SemanticCategory, String> {
    SemanticCategory::from_name(name).ok_or_else(|| {
        let known = SemanticCategory::ALL.map(SemanticCategory::as_str);
        let hint = names::suggestion(&name.to_ascii_uppercase(), known);
        format!("unknown category `{name}`: {hint}")
    })
}

/// Returns the danger level with this name, or the message for an unknown name.
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
