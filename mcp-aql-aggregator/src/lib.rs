//! One query over many MCP servers, one ranked answer.

mod ask;
mod config;
mod items;
pub mod rank;
mod text;

pub use config::{Config, ConfigError, Fault};
