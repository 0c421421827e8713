//! Models the constraints and the default of a parameter.

use darling::util::SpannedValue;
use mcp_aql_protocol::Format;
use syn::Expr;

use crate::support::json::Json;
use crate::support::values::{Choices, Length, Limit, Text};

/// The value that a parameter has if a call omits it.
pub(crate) enum DefaultValue {
    Literal(Json),
    Expr(Expr),
}

/// The constraints of a parameter beyond its type.
#[derive(Clone, Default)]
pub(crate) struct Constraints {
    pub(crate) minimum: Option<SpannedValue<Limit>>,
    pub(crate) maximum: Option<SpannedValue<Limit>>,
    pub(crate) min_length: Option<SpannedValue<Length>>,
    pub(crate) max_length: Option<SpannedValue<Length>>,
    pub(crate) pattern: Option<SpannedValue<Text>>,
    pub(crate) format: Option<SpannedValue<Format>>,
    pub(crate) choices: Option<SpannedValue<Choices>>,
    pub(crate) min_items: Option<SpannedValue<Length>>,
    pub(crate) max_items: Option<SpannedValue<Length>>,
}
