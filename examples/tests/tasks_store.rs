//! The storage of `tasks`, tested by itself. The tests stand beside what they test; an example
//! target is built as a program and not as a test, so this takes its modules in.

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
