//! Shows that the protocol's requirements are met by in-memory adapters. The tests are in `main.rs` and beside it.
