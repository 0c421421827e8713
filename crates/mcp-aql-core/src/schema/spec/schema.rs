//! The type of functions that describe a Rust type.

use schemars::{Schema, SchemaGenerator};

/// Describes a Rust type as a JSON schema.
pub type SchemaFn = fn(&mut SchemaGenerator) -> Schema;
