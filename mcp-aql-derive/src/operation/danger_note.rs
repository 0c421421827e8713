//! Generates a warning if the name of an operation raises its danger level above the level of its category.

use mcp_aql_protocol::{DangerLevel, SemanticCategory};
use proc_macro2::TokenStream;
use quote::quote_spanned;

use super::model::OperationModel;

/// Generates the warning, unless the author has written `danger(level = …)` (REQ-DNG-08).
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
