//! Faults that the conformance runner must find, by the area of the check.
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

/// A fault and the checks that find it.
#[derive(Debug)]
pub struct Fault {
    /// The name of the fault: a few words with hyphens.
    pub name: &'static str,
    /// The check that must find it.
    pub check: &'static str,
    /// Checks that may find it as well.
    pub neighbours: &'static [&'static str],
    /// The way in which the fault is injected.
    pub tamper: Tamper,
}

/// The way in which a fault is injected.
pub enum Tamper {
    /// Changes the result of an operation, given the arguments of the call. The results of a batch are in
    /// `results`.
    Body(fn(&Value, &mut Value)),
    /// Changes a JSON-RPC response, given the request.
    Answer(fn(&Value, &mut Value)),
    /// Changes requests before the adapter reads them.
    Request(fn(&mut Value)),
    /// Runs a proxy in each connection, which may drop, delay, add or answer messages, or hang up.
    Proxy(fn() -> Box<dyn Proxy>),
    /// Runs a proxy in each connection with a shared JSON object, which is empty at first.
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

/// Returns all faults.
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

/// Returns the fault of this name.
pub fn named(name: &str) -> Option<&'static Fault> {
    all().find(|fault| fault.name == name)
}

/// Whether these arguments call this operation.
pub(crate) fn calls(arguments: &Value, operation: &str) -> bool {
    arguments.get("operation").is_some_and(|called| called == operation)
}

/// Whether a result is a failure with this code.
pub(crate) fn fails_with(body: &Value, code: &str) -> bool {
    body.pointer("/error/code").is_some_and(|failed| failed == code)
}

/// The arguments in a client's call.
pub(crate) fn arguments_of(message: &mut Value) -> Option<&mut Value> {
    message.pointer_mut("/params/arguments")
}

/// The parameters in a client's call of this operation.
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

/// The `input` in a client's update.
pub(crate) fn input_of(message: &mut Value) -> Option<&mut Map<String, Value>> {
    params_of(message, "update_bed")?.get_mut("input")?.as_object_mut()
}

/// The entry of this name in a list.
pub(crate) fn entry<'v>(list: Option<&'v mut Value>, name: &str) -> Option<&'v mut Value> {
    list?.as_array_mut()?.iter_mut().find(|entry| entry["name"] == name)
}

/// Whether these arguments request the details of this operation or type.
pub(crate) fn asks_for(arguments: &Value, name: &str) -> bool {
    calls(arguments, "introspect") && arguments["params"]["name"] == name
}

/// Whether a result is a success.
pub(crate) fn succeeds(body: &Value) -> bool {
    body["success"] == true
}
