//! Mutants of `examples/tasks`: small changes to its requests and replies, each a mistake that an author could make.
//!
//! A conformance run over a mutant must have at least one finding. The mistakes in `crate::faults` show that each check
//! works on the adapter for which it was written. Mutants measure how many mistakes of another adapter all checks
//! detect together.
//!
//! If you add a mutant, run it alone first. The test prints its findings:
//!
//! ```console
//! $ MUTANT=NAME cargo test -p mcp-aql-conformance-tests --test it every_mutant -- --nocapture
//! ```
#![expect(
    clippy::indexing_slicing,
    reason = "members of JSON: where `tasks` answers in another form, a mutant may well end the connection"
)]

mod collections;
mod introspection;
mod memory;
mod records;
mod replies;
mod requests;

use serde_json::{Map, Value};

use crate::Tamper;
use crate::faults::{arguments_of, asks_for, calls, entry, params_of, succeeds};

/// A mutant.
#[derive(Debug)]
pub struct Mutant {
    /// The mistake in a few words with hyphens.
    pub name: &'static str,
    /// How the mistake is injected.
    pub tamper: Tamper,
}

/// Mutants usually detected by the checks of the same areas.
#[derive(Debug)]
pub struct Group {
    /// The areas of checks to try first, one set after the other.
    /// If you are not sure which areas detect yours, add it to any group: in the end, all checks are tried.
    pub areas: &'static [&'static [&'static str]],
    /// The mutants of these areas.
    pub mutants: &'static [Mutant],
}

/// All mutants, grouped by the areas of checks that should detect them.
pub const GROUPS: &[Group] = &[
    Group {
        areas: &[&["pagination"], &["aggregates", "fields", "relationships"], &["collections"]],
        mutants: collections::MUTANTS,
    },
    Group {
        areas: &[
            &["introspection", "modes", "tools"],
            &["aggregates", "batch", "danger", "fields", "lifecycle", "relationships", "shapes"],
            &["collections", "creates", "parameters", "routing"],
        ],
        mutants: introspection::MUTANTS,
    },
    Group {
        areas: &[&["creates", "updates"], &["confirmation", "danger", "deletes", "fields"]],
        mutants: memory::MUTANTS,
    },
    Group {
        areas: &[&["creates", "errors", "shapes"], &["deletes", "encoding", "updates"]],
        mutants: records::MUTANTS,
    },
    Group {
        areas: &[
            &["errors", "routing", "shapes", "tools", "wire"],
            &["batch", "confirmation", "danger", "lifecycle", "updates"],
        ],
        mutants: replies::MUTANTS,
    },
    Group {
        areas: &[
            &["creates", "updates"],
            &["errors", "parameters", "routing"],
            &["batch", "encoding", "lifecycle"],
        ],
        mutants: requests::MUTANTS,
    },
];

/// Defines a mutant that changes the results of operations.
const fn body(name: &'static str, change: fn(&Value, &mut Value)) -> Mutant {
    Mutant { name, tamper: Tamper::Body(change) }
}

/// Defines a mutant that changes requests before the adapter reads them.
const fn request(name: &'static str, change: fn(&mut Value)) -> Mutant {
    Mutant { name, tamper: Tamper::Request(change) }
}

/// Defines a mutant that changes whole JSON-RPC responses.
const fn answer(name: &'static str, change: fn(&Value, &mut Value)) -> Mutant {
    Mutant { name, tamper: Tamper::Answer(change) }
}

/// Returns `data` of a successful call of this operation.
fn data<'v>(arguments: &Value, body: &'v mut Value, operation: &str) -> Option<&'v mut Value> {
    (calls(arguments, operation) && succeeds(body)).then(|| body.get_mut("data")).flatten()
}

/// Returns `data` of a successful `list_tasks` or `search_tasks`.
fn page<'v>(arguments: &Value, body: &'v mut Value) -> Option<&'v mut Value> {
    let is_page = calls(arguments, "list_tasks") || calls(arguments, "search_tasks");
    (is_page && succeeds(body)).then(|| body.get_mut("data")).flatten()
}

/// Returns the items of a page of tasks.
fn items<'v>(arguments: &Value, body: &'v mut Value) -> Option<&'v mut Vec<Value>> {
    page(arguments, body)?.get_mut("items")?.as_array_mut()
}

/// Returns the `pageInfo` of a page of tasks.
///
/// ```json
/// { "items": [], "pageInfo": { "hasNextPage": false, "endCursor": null } }
/// ```
fn info<'v>(arguments: &Value, body: &'v mut Value) -> Option<&'v mut Map<String, Value>> {
    page(arguments, body)?.get_mut("pageInfo")?.as_object_mut()
}

/// Changes every task of a result: a single one, those of a page, and those of a batch.
fn each_task(body: &mut Value, change: fn(&mut Map<String, Value>)) {
    match body {
        Value::Object(members)
            if members.contains_key("task_id") && members.contains_key("title") =>
        {
            change(members);
        }
        Value::Object(members) => members.values_mut().for_each(|member| each_task(member, change)),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| each_task(entry, change)),
        _ => {}
    }
}

/// Returns the parameters of a call of `list_tasks` or `search_tasks`.
fn page_params(message: &mut Value) -> Option<&mut Map<String, Value>> {
    let arguments = arguments_of(message)?;
    let is_page = calls(arguments, "list_tasks") || calls(arguments, "search_tasks");
    is_page.then(|| arguments.get_mut("params")).flatten()?.as_object_mut()
}

/// Returns the parameters of `create_task` or the input of `update_task`.
fn fields(message: &mut Value) -> Option<&mut Map<String, Value>> {
    let arguments = arguments_of(message)?;
    let path = if calls(arguments, "create_task") {
        "/params"
    } else if calls(arguments, "update_task") {
        "/params/input"
    } else {
        return None;
    };
    arguments.pointer_mut(path)?.as_object_mut()
}

/// Returns the input of `update_task`.
fn input(message: &mut Value) -> Option<&mut Map<String, Value>> {
    params_of(message, "update_task")?.get_mut("input")?.as_object_mut()
}

/// Returns the list of operations or types in a reply of `introspect`.
fn listed<'v>(arguments: &Value, body: &'v mut Value, query: &str) -> Option<&'v mut Vec<Value>> {
    data(arguments, body, "introspect")?.get_mut(query)?.as_array_mut()
}

/// Returns the details of an operation in a reply of `introspect`.
fn details<'v>(arguments: &Value, body: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    if !asks_for(arguments, name) {
        return None;
    }
    data(arguments, body, "introspect")?.get_mut("operation")
}

/// Returns the definition of a parameter in the details of its operation.
fn parameter<'v>(
    arguments: &Value,
    body: &'v mut Value,
    operation: &str,
    name: &str,
) -> Option<&'v mut Value> {
    entry(details(arguments, body, operation)?.get_mut("parameters"), name)
}

/// Returns the error of a result if it has this code.
fn error<'v>(body: &'v mut Value, code: &str) -> Option<&'v mut Map<String, Value>> {
    let error = body.get_mut("error")?.as_object_mut()?;
    (error.get("code")? == code).then_some(error)
}
