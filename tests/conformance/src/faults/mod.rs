//! The faults that the conformance runner is to find, by the area of the check that is to find them.
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
mod tools;
mod updates;
mod wire;

use serde_json::{Map, Value};

use crate::garden::GardenOptions;
use crate::proxy::{Proxy, Shared};

/// One fault, and who finds it.
#[derive(Debug)]
pub struct Fault {
    /// What is wrong, in a few words with hyphens.
    pub name: &'static str,
    /// The check that is meant for it.
    pub check: &'static str,
    /// Checks that may find it too, since it is against what they are about.
    pub neighbours: &'static [&'static str],
    /// How the garden comes to have it.
    pub tamper: Tamper,
}

/// How a fault comes about.
pub enum Tamper {
    /// Changes what an operation answers: from the arguments of the call, the result as it is. A batch
    /// has its results in `results`.
    Body(fn(&Value, &mut Value)),
    /// Changes a whole JSON-RPC answer: from the request.
    Answer(fn(&Value, &mut Value)),
    /// Changes what the client says before the adapter sees it.
    Request(fn(&mut Value)),
    /// Stands in each connection by itself: may swallow, delay, add, answer, hang up.
    Proxy(fn() -> Box<dyn Proxy>),
    /// The same, with something that all connections of the adapter know: an object, empty at first.
    Shared(fn(Shared) -> Box<dyn Proxy>),
    /// Grows another garden.
    Garden(fn(&mut GardenOptions)),
    /// Grows another garden, and changes what its operations answer.
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

/// All faults.
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

/// The fault of this name.
pub fn named(name: &str) -> Option<&'static Fault> {
    all().find(|fault| fault.name == name)
}

/// Whether these arguments call that operation.
pub(crate) fn calls(arguments: &Value, operation: &str) -> bool {
    arguments.get("operation").is_some_and(|called| called == operation)
}

/// Whether a result is a failure with this code.
pub(crate) fn fails_with(body: &Value, code: &str) -> bool {
    body.pointer("/error/code").is_some_and(|failed| failed == code)
}

/// The arguments of a call, as the client sends it.
pub(crate) fn arguments_of(message: &mut Value) -> Option<&mut Value> {
    message.pointer_mut("/params/arguments")
}

/// The parameters of a call, as the client sends it, if it is one of this operation.
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

/// `input` of an update, as the client sends it.
pub(crate) fn input_of(message: &mut Value) -> Option<&mut Map<String, Value>> {
    params_of(message, "update_bed")?.get_mut("input")?.as_object_mut()
}

/// The entry of an operation or another thing in a list of them, by its name.
pub(crate) fn entry<'v>(list: Option<&'v mut Value>, name: &str) -> Option<&'v mut Value> {
    list?.as_array_mut()?.iter_mut().find(|entry| entry["name"] == name)
}

/// Whether these arguments ask `introspect` for the details of this operation or type.
pub(crate) fn asks_for(arguments: &Value, name: &str) -> bool {
    calls(arguments, "introspect") && arguments["params"]["name"] == name
}

/// Whether a result is a success.
pub(crate) fn succeeds(body: &Value) -> bool {
    body["success"] == true
}
