//! The danger that an operation declares with `danger(…)`: its part of the table, and a warning for operations
//! without one.

mod attr;
pub(super) mod check;

use darling::util::SpannedValue;
use mcp_aql_protocol::{DangerLevel, SemanticCategory};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

pub(crate) use self::attr::hint;
use super::OperationModel;
use crate::support::values::Text;
use crate::support::variant_ident;

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

impl Danger {
    /// Generates the builder call, for example `.danger(DangerSpec::new(DangerLevel::Destructive).reasons(&["…"]))`.
    pub(crate) fn tokens(&self, with_message: bool) -> TokenStream {
        let spec = match &self.level {
            Some(level) => {
                let variant = variant_ident(**level);
                quote!(__rt::DangerSpec::new(__rt::DangerLevel::#variant))
            }
            None => quote!(__rt::DangerSpec::UNDECLARED),
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

/// Generates a warning if the name of an operation raises its danger level above the level of its category, unless the
/// author has written `danger(level = …)` (REQ-DNG-08).
///
/// The warning is the use of a deprecated item: stable Rust has no other way for a macro to warn.
pub(super) fn note(operation: &OperationModel<'_>) -> Option<TokenStream> {
    if operation.danger_level().is_some() || operation.name_constant.is_some() {
        return None;
    }
    let category = *operation.category.as_deref()?;
    let name = &operation.name.text;
    let (level, Some(pattern)) = DangerLevel::inferred(name, category) else { return None };
    let level = level.as_str();
    let write = |level| match operation.danger {
        Some(_) => format!("write `level = \"{level}\"` in `danger(…)`"),
        None => format!("write `danger(level = \"{level}\")`"),
    };
    let remedy = match category {
        SemanticCategory::Read => {
            format!("{} if it only reads, or another `category`", write("safe"))
        }
        _ => format!("{} if that is right, or the correct level", write(level)),
    };
    let note = format!("`{name}` counts as `{level}` because of its name (`{pattern}`): {remedy}");
    Some(quote_spanned! {operation.name.span=>
        const _: () = {
            #[deprecated(note = #note)]
            struct UndeclaredDanger;
            let _ = UndeclaredDanger;
        };
    })
}
