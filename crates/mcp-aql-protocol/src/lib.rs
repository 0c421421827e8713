//! The vocabulary of MCP-AQL: categories, error codes, levels, formats, limits and reserved names.
//!
//! The macros check an operation against these lists at compile time, and the runtime enforces and publishes the same
//! lists. Each list exists only here, so the two cannot disagree.
//!
//! ```
//! use mcp_aql_protocol::{DangerLevel, SemanticCategory};
//!
//! assert_eq!(SemanticCategory::from_name("READ"), Some(SemanticCategory::Read));
//! assert_eq!(DangerLevel::of_category(SemanticCategory::Delete), DangerLevel::Destructive);
//! ```
#![forbid(unsafe_code)]

mod category;
mod claims;
mod danger;
mod error_code;
mod format;
mod level;
mod limits;
mod names;
mod trust;

pub use category::{EndpointPermissions, SemanticCategory};
pub use claims::is_changing_claim;
pub use danger::{DANGER_PATTERNS, DangerLevel, pattern_matches};
pub use error_code::ErrorCode;
pub use format::Format;
pub use level::UnknownLevel;
pub use limits::{DEFAULT_MAX_PAGE_SIZE, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, SizeLimits};
pub use names::{
    RESERVED_OPERATIONS, RESERVED_PARAMETERS, is_public_name, is_scope, is_text_name, nearest_name,
    path_parts, probable_operation, probable_parameter, search_operation, snake_case,
};
pub use trust::TrustLevel;

/// Version of the MCP-AQL specification that this crate implements, as published in `_protocol.version`.
///
/// Source: REQ-INT-05.
pub const PROTOCOL_VERSION: &str = "1.0.0-draft";
