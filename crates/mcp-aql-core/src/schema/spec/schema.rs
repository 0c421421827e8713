//! The description of a Rust type.

use schemars::{Schema, SchemaGenerator};

/// Describes a Rust type as a JSON schema.
pub type SchemaFn = fn(&mut SchemaGenerator) -> Schema;
