//! Parses `danger(…)` and generates its part of the table.
//!
//! ```text
//! danger(level = "destructive", reasons = ["…"], confirmation_message = "Delete task '{task_id}'?")
//! ```

use std::ops::RangeInclusive;

use darling::FromMeta;
use darling::util::SpannedValue;
use mcp_aql_protocol::DangerLevel;
use proc_macro2::TokenStream;
use quote::quote;
use syn::Meta;
use syn::spanned::Spanned as _;

use crate::support::options::{Grammar, Hint, nested};
use crate::support::runtime_path::RuntimePath;
use crate::support::values::{Flag, Level, Text, Texts};
use crate::support::{fault, variant_ident};

/// The danger that an operation declares.
#[derive(Debug, Default)]
pub(crate) struct Danger {
    /// The declared level. `None` if category and name decide.
    pub(crate) level: Option<SpannedValue<DangerLevel>>,
    reasons: Vec<String>,
    /// The question for the person who confirms the call.
    pub(crate) message: Option<SpannedValue<Text>>,
    cooldown_seconds: Option<u32>,
    requires_reauth: bool,
}

const GRAMMAR: Grammar = Grammar {
    attribute: "danger",
    known: &["level", "reasons", "confirmation_message", "cooldown_seconds", "requires_reauth"],
    repeatable: &[],
    bare: true,
    text: Some("level"),
    hint: |name| match name {
        "message" | "question" | "prompt" => Hint::new("write `confirmation_message = \"…\"`"),
        "wait" => Hint::new("write `cooldown_seconds = …`"),
        _ => level_hint(name),
    },
};

/// The accepted delays before a confirmation is valid, in seconds: up to one day.
const COOLDOWN_SECONDS: RangeInclusive<u32> = 1..=86_400;

/// Suggests `level = "…"` for a level without its key: `danger(destructive)`.
fn level_hint(name: &str) -> Option<Hint> {
    let level = name.parse::<DangerLevel>().ok()?;
    Hint::new(format!("write `level = \"{}\"`", level.as_str()))
}

/// Suggests `danger(…)` for options that belong inside it.
pub(crate) fn hint(name: &str) -> Option<Hint> {
    let inside = match name {
        "level" => "level = \"…\"".to_owned(),
        "reasons" => "reasons = [\"…\"]".to_owned(),
        "confirmation_message" => "confirmation_message = \"…\"".to_owned(),
        "cooldown_seconds" => "cooldown_seconds = …".to_owned(),
        "requires_reauth" => name.to_owned(),
        _ => format!("level = \"{}\"", name.parse::<DangerLevel>().ok()?.as_str()),
    };
    Hint::new(format!("write `danger({inside})`"))
}

impl FromMeta for Danger {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const EXAMPLE: &str = "danger(level = \"destructive\")";
        let list = match meta {
            Meta::List(list) if !list.tokens.is_empty() => list,
            Meta::NameValue(pair) => {
                let level = Level::from_meta(meta).map_or("destructive", |level| level.0.as_str());
                return Err(fault(
                    pair.value.span(),
                    format_args!("`danger` is not a list: write `danger(level = \"{level}\")`"),
                ));
            }
            _ => {
                return Err(fault(
                    meta.path().span(),
                    format_args!("`danger` is empty: write `{EXAMPLE}`, or leave it out"),
                ));
            }
        };
        let mut errors = darling::Error::accumulator();
        let mut options = nested(list, &GRAMMAR, &mut errors);
        let cooldown_seconds =
            options.take_seconds("cooldown_seconds", COOLDOWN_SECONDS, &mut errors);
        let read = Self {
            level: options
                .take::<Level>("level", &mut errors)
                .map(|level| level.map_ref(|level| level.0)),
            reasons: options
                .take::<Texts>("reasons", &mut errors)
                .map(|reasons| reasons.into_inner().0)
                .unwrap_or_default(),
            message: options.take("confirmation_message", &mut errors),
            cooldown_seconds,
            requires_reauth: options.take::<Flag>("requires_reauth", &mut errors).is_some(),
        };
        errors.finish_with(read)
    }
}

impl Danger {
    /// Generates the builder call, for example `.danger(DangerSpec::new(DangerLevel::Destructive).reasons(&["…"]))`.
    pub(crate) fn tokens(&self, runtime: &RuntimePath, with_message: bool) -> TokenStream {
        let spec = match &self.level {
            Some(level) => {
                let variant = variant_ident(**level);
                quote!(#runtime::table::DangerSpec::new(#runtime::DangerLevel::#variant))
            }
            None => quote!(#runtime::table::DangerSpec::UNDECLARED),
        };
        let reasons = &self.reasons;
        let reasons = (!reasons.is_empty()).then(|| quote!(.reasons(&[#(#reasons),*])));
        let message = self.message.as_ref().filter(|_| with_message).map(|it| &it.0);
        let message = message.map(|it| quote!(.confirmation_message(#it)));
        let cooldown = self.cooldown_seconds.map(|it| quote!(.cooldown_seconds(#it)));
        let reauth = self.requires_reauth.then(|| quote!(.requires_reauth()));
        quote!(.danger(#spec #reasons #message #cooldown #reauth))
    }
}
