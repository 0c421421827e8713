//! Tests the macros, except for compile errors.

mod hygiene;
mod macros;
mod pass;
mod query_macros;
