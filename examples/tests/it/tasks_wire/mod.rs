//! End-to-end tests of `tasks`: a process that speaks MCP.

mod configuration;
mod durability;
mod gates;
mod operations;
mod queries;
