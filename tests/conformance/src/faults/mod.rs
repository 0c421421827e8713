//! Mistakes that the conformance runner must detect, one module per area of checks.
//!
//! Each mistake is injected into the garden, a correct adapter. If you add a check, add a [`Fault`] that only your
//! check detects to the module of its area. You can test a single mistake by its name, or look at it yourself:
//!
//! ```console
//! $ FAULT=never-deletes cargo test -p mcp-aql-conformance-tests --test it every_fault
//! $ cargo run -p mcp-aql-conformance-tests --bin faulty -- --fault never-deletes
//! ```
#![expect(
    clippy::indexing_slicing,
    reason = "members of JSON: where the garden answers in another form, a fault may well end the connection"
)]

mod aggregates;
mod batch;
mod collections;
mod confirmation;
mod creates;
mod danger;
mod deletes;
mod encoding;
mod errors;
mod fields;
mod introspection;
mod lifecycle;
mod limits;
mod modes;
mod pagination;
mod parameters;
mod quotas;
mod relationships;
mod robustness;
mod routing;
mod safety_loop;
mod sessions;
mod shadow;
mod shapes;
mod storage;
mod tools;
mod updates;
mod wire;

use serde_json::{Map, Value};

pub use storage::HIGHEST_LEVELS;

use crate::garden::GardenOptions;
use crate::proxy::{Proxy, Shared};

/// A mistake of an adapter and the checks that detect it.
#[derive(Debug)]
pub struct Fault {
    /// A few words with hyphens, for example `never-deletes`.
    pub name: &'static str,
    /// Id of the check meant to detect the mistake.
    pub check: &'static str,
    /// Ids of further checks whose findings are acceptable.
    /// If other checks rightly detect your mistake as well, list them here.
    pub neighbours: &'static [&'static str],
    /// How the mistake is injected.
    pub tamper: Tamper,
}

/// How a mistake is injected into the garden.
///
/// Prefer a function to a proxy. You only need a proxy if your mistake depends on earlier messages or on time.
pub enum Tamper {
    /// Changes the result of an operation, given the arguments of the call. The results of a batch are in `results`.
    Body(fn(&Value, &mut Value)),
    /// Changes a JSON-RPC response, given the request.
    Answer(fn(&Value, &mut Value)),
    /// Changes requests before the adapter reads them.
    Request(fn(&mut Value)),
    /// Runs a proxy in each connection. A proxy may drop, delay, add or answer messages, or close the connection.
    Proxy(fn() -> Box<dyn Proxy>),
    /// Runs a proxy in each connection. All of them share a JSON object, initially empty.
    Shared(fn(Shared) -> Box<dyn Proxy>),
    /// Changes the options of the garden.
    Garden(fn(&mut GardenOptions)),
    /// Changes the options of the garden and the results of its operations.
    Both(fn(&mut GardenOptions), fn(&Value, &mut Value)),
}

impl std::fmt::Debug for Tamper {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Body(_) => "Body",
            Self::Answer(_) => "Answer",
            Self::Request(_) => "Request",
            Self::Proxy(_) => "Proxy",
            Self::Shared(_) => "Shared",
            Self::Garden(_) => "Garden",
            Self::Both(..) => "Both",
        })
    }
}

/// Returns all mistakes.
pub fn all() -> impl Iterator<Item = &'static Fault> {
    [
        wire::FAULTS,
        tools::FAULTS,
        introspection::FAULTS,
        routing::FAULTS,
        parameters::FAULTS,
        errors::FAULTS,
        shapes::FAULTS,
        encoding::FAULTS,
        limits::FAULTS,
        collections::FAULTS,
        pagination::FAULTS,
        fields::FAULTS,
        aggregates::FAULTS,
        relationships::FAULTS,
        batch::FAULTS,
        creates::FAULTS,
        updates::FAULTS,
        deletes::FAULTS,
        storage::FAULTS,
        danger::FAULTS,
        confirmation::FAULTS,
        lifecycle::FAULTS,
        safety_loop::FAULTS,
        quotas::FAULTS,
        sessions::FAULTS,
        robustness::FAULTS,
        modes::FAULTS,
    ]
    .into_iter()
    .flatten()
}

/// Returns the mistake with this name.
pub fn named(name: &str) -> Option<&'static Fault> {
    all().find(|fault| fault.name == name)
}

/// Returns `true` if these arguments call this operation.
pub(crate) fn calls(arguments: &Value, operation: &str) -> bool {
    arguments.get("operation").is_some_and(|called| called == operation)
}

/// Returns `true` if a result is a failure with this code.
///
/// ```json
/// { "success": false, "error": { "code": "NOT_FOUND_RESOURCE", "message": "…" } }
/// ```
pub(crate) fn fails_with(body: &Value, code: &str) -> bool {
    body.pointer("/error/code").is_some_and(|failed| failed == code)
}

/// Returns the arguments of a client's call.
pub(crate) fn arguments_of(message: &mut Value) -> Option<&mut Value> {
    message.pointer_mut("/params/arguments")
}

/// Returns the parameters of a client's call of this operation.
///
/// ```json
/// { "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "mcp_aql_update", "arguments": {
///     "operation": "update_bed", "params": { "bed_id": "bed-7", "input": { "rows": 4 } } } } }
/// ```
///
/// For this message it returns `bed_id` and `input`.
pub(crate) fn params_of<'v>(
    message: &'v mut Value,
    operation: &str,
) -> Option<&'v mut Map<String, Value>> {
    let arguments = arguments_of(message)?;
    if !calls(arguments, operation) {
        return None;
    }
    arguments.get_mut("params")?.as_object_mut()
}

/// Returns the `input` of a client's update.
pub(crate) fn input_of(message: &mut Value) -> Option<&mut Map<String, Value>> {
    params_of(message, "update_bed")?.get_mut("input")?.as_object_mut()
}

/// Returns the entry with this name in a list.
pub(crate) fn entry<'v>(list: Option<&'v mut Value>, name: &str) -> Option<&'v mut Value> {
    list?.as_array_mut()?.iter_mut().find(|entry| entry["name"] == name)
}

/// Returns `true` if these arguments request the details of this operation or type.
///
/// ```json
/// { "operation": "introspect", "params": { "query": "operations", "name": "get_bed" } }
/// ```
pub(crate) fn asks_for(arguments: &Value, name: &str) -> bool {
    calls(arguments, "introspect") && arguments["params"]["name"] == name
}

/// Returns `true` if a result is a success.
pub(crate) fn succeeds(body: &Value) -> bool {
    body["success"] == true
}
