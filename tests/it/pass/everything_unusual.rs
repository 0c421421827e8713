//! Tests unusual, but allowed shapes of operations.

use mcp_aql::prelude::*;
use mcp_aql_tests::register;
use std::sync::Arc;

/// Take nothing, return nothing.
#[operation(category = "EXECUTE")]
fn ping() {}

/// A raw identifier is a name without its `r#`.
#[operation(category = "READ")]
pub(crate) async fn look(
    /// The kind.
    r#type: String,
    /// A pair.
    #[param(default = (1, 2))]
    pair: (u8, u8),
    /// A bound below zero.
    #[param(minimum = -5, maximum = 1.5, default = -0.5)]
    offset: f64,
    /// Any object.
    #[param(default = { "a": [1, null] })]
    any: std::collections::BTreeMap<String, Option<Vec<u8>>>,
    State(shared): State<Arc<str>>,
    context: Context,
) -> std::result::Result<Vec<String>, OperationError> {
    let _ = (pair, offset, any, context);
    Ok(vec![r#type, shared.to_string()])
}

#[cfg(any())]
/// This one is not compiled.
#[operation(category = "READ")]
fn absent() -> Missing {}

/// Neither is this one.
#[operation(category = "READ")]
#[cfg(any())]
fn absent_too() -> Missing {}

macro_rules! operations_by_macro {
    ($name:ident, $ty:ty, $default:expr, $text:literal) => {
        #[doc = $text]
        #[operation(category = "READ")]
        fn $name(
            #[doc = $text]
            #[param(default = $default)]
            value: $ty,
        ) -> $ty {
            value
        }
    };
}

operations_by_macro!(echo_number, u8, 1, "Echo a number.");

#[test]
fn unusual_shapes_are_allowed() {
    register(ping {});
    register(look {});
    register(echo_number {});
}
