//! The protocol's requirements, shown through adapters in memory: the tests are in `main.rs` and beside
//! it.
