//! The options of `deprecated`.
//!
//! ```text
//! deprecated(replacement = "list_tasks", removal_date = "2031-05-06")
//! ```

use darling::FromMeta;
use darling::util::SpannedValue;
use syn::Meta;

use super::super::fault;
use super::super::format::{NO_DAY, is_date};
use super::super::options::{Grammar, nested};
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
            bare: true,
            text: Some("replacement"),
            ..Grammar::EMPTY
        };
        let mut errors = darling::Error::accumulator();
        let mut options = nested(meta, &GRAMMAR, "replacement = \"…\"", &mut errors);
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
