//! `#[derive(UpdateInput)]` and the merges that it chooses, from the outside.

#![allow(clippy::expect_used, clippy::panic, reason = "the helpers of a test may fail it")]

mod derived;
mod faults;
mod hygiene;
mod merges;
mod properties;
mod resource;
