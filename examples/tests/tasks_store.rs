//! Runs the unit tests of the storage of `tasks`. They are modules of the example, but cargo does not test example
//! targets, so this test includes the modules.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]
#![allow(dead_code, unused_imports, reason = "the program uses all of it, a test some")]

#[path = "../tasks/error.rs"]
mod error;
#[path = "../tasks/model.rs"]
mod model;
#[path = "../tasks/store/mod.rs"]
mod store;
