//! End-to-end tests of `tasks`.

mod configuration;
mod durability;
mod gates;
mod operations;
mod queries;
