//! Tests of `#[derive(UpdateInput)]` and its merges through the public API.

mod derived;
mod faults;
mod hygiene;
mod merges;
mod properties;
mod resource;
