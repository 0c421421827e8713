//! Parses `danger(…)`.
//!
//! ```text
//! danger(level = "destructive", reasons = ["…"], confirmation_message = "Delete task '{task_id}'?")
//! ```

use std::ops::RangeInclusive;

use darling::FromMeta;
use mcp_aql_protocol::DangerLevel;
use syn::Meta;

use super::Danger;
use crate::support::options::{Grammar, Hint, nested};
use crate::support::values::{Flag, Level, Texts};

const GRAMMAR: Grammar = Grammar {
    attribute: "danger",
    known: &["level", "reasons", "confirmation_message", "cooldown_seconds", "requires_reauth"],
    text: Some("level"),
    hint: |name| match name {
        "message" | "question" | "prompt" => Hint::new("write `confirmation_message = \"…\"`"),
        "wait" => Hint::new("write `cooldown_seconds = …`"),
        _ => level_hint(name),
    },
    ..Grammar::EMPTY
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
        let mut errors = darling::Error::accumulator();
        let mut options = nested(meta, &GRAMMAR, "level = \"destructive\"", &mut errors);
        let read = Self {
            level: options
                .take::<Level>("level", &mut errors)
                .map(|level| level.map_ref(|level| level.0)),
            reasons: options
                .take::<Texts>("reasons", &mut errors)
                .map(|reasons| reasons.into_inner().0)
                .unwrap_or_default(),
            message: options.take("confirmation_message", &mut errors),
            cooldown_seconds: options.take_seconds(
                "cooldown_seconds",
                COOLDOWN_SECONDS,
                &mut errors,
            ),
            requires_reauth: options.take::<Flag>("requires_reauth", &mut errors).is_some(),
        };
        errors.finish_with(read)
    }
}
