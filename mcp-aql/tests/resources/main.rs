//! Tests of resources: `Create<T>`, and ready operations over stores.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

mod create_input;
#[cfg(feature = "query")]
mod ready_operations;
#[cfg(feature = "query")]
mod references;
