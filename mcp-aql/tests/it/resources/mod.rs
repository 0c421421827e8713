//! Tests of resources: `Create<T>`, and ready operations over stores.

mod create_input;
#[cfg(feature = "query")]
mod deep_texts;
#[cfg(feature = "query")]
mod ready_operations;
#[cfg(feature = "query")]
mod references;
