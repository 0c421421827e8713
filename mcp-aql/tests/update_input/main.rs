//! Tests of `#[derive(UpdateInput)]` and its merges through the public API.

#![allow(clippy::expect_used, clippy::panic, reason = "the helpers of a test may fail it")]

mod derived;
mod faults;
mod hygiene;
mod merges;
mod properties;
mod resource;
