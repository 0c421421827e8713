//! Builds the adapters to compare, and calls them in process.

use mcp_aql::AdapterBuilder;
use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Endpoint};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::Result;

/// Get what was asked for.
#[operation(category = "READ")]
fn get_room(
    /// Its number.
    number: u64,
) -> u64 {
    number
}

/// Create a room.
#[operation(category = "CREATE")]
fn create_room(
    /// Its name.
    name: String,
    /// How many people fit in.
    seats: u32,
) -> u32 {
    let _ = name;
    seats
}

/// Delete a room.
#[operation(category = "DELETE")]
fn delete_room(
    /// Its number.
    number: u64,
) -> u64 {
    number
}

/// Builds an adapter with three operations and these settings.
pub(super) fn adapter(settings: impl FnOnce(AdapterBuilder) -> AdapterBuilder) -> Result<Adapter> {
    let builder = Adapter::builder("rooms")
        .operation(get_room {})
        .operation(create_room {})
        .operation(delete_room {})
        .without_config();
    Ok(settings(builder).build()?)
}

/// Builds the arguments of a call.
pub(super) fn arguments(operation: &str, params: Value) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("operation".to_owned(), operation.into());
    map.insert("params".to_owned(), params);
    map
}

/// Runs a call and parses its reply.
pub(super) fn reply(
    runtime: &Runtime,
    adapter: &Adapter,
    arguments: Map<String, Value>,
) -> Result<Value> {
    let reply = runtime.block_on(handle(adapter, arguments));
    Ok(serde_json::from_str(&reply.text)?)
}

/// Runs a call through the unified endpoint.
pub(super) fn handle(
    adapter: &Adapter,
    arguments: Map<String, Value>,
) -> impl Future<Output = mcp_aql::transport::Reply> + '_ {
    adapter.handle(Endpoint::Unified, arguments, CallScope::default())
}

/// Returns `true` if the reply is a success.
pub(super) fn good(reply: &mcp_aql::transport::Reply) -> bool {
    reply.text.starts_with("{\"success\":true")
}

/// Builds the arguments of a call that creates a room.
pub(super) fn room() -> Map<String, Value> {
    arguments("create_room", json!({ "name": "Blue", "seats": 8 }))
}
