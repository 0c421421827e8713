//! The options of `deprecated`.
//!
//! ```text
//! deprecated(replacement = "list_tasks", removal_date = "2031-05-06")
//! ```

use darling::FromMeta;
use darling::util::SpannedValue;
use quote::ToTokens as _;
use syn::Meta;
use syn::spanned::Spanned as _;

use super::super::date::{NO_DAY, is_date};
use super::super::options::{Grammar, nested, no_hint};
use super::super::{fault, text_literal};
use super::Form;
use super::text::Text;

/// The options of `deprecated(…)`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deprecated {
    pub(crate) replacement: Option<SpannedValue<Text>>,
    pub(crate) removal_date: Option<String>,
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
                let replacement = match text_literal(&pair.value) {
                    Some(text) => text.to_token_stream().to_string(),
                    None => Form::TEXT.example.to_owned(),
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
