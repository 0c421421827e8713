//! Renders the introspection of an adapter while it is built.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::adapter::{Parts, Settings};
use crate::gatekeeper;
use crate::introspection::catalog::Views;
use crate::introspection::{
    self, Introspection, ListedOperation, ListedType, ProtocolFacts, protocol_head,
    protocol_of_part,
};
use crate::operation::further_query::FurtherQueries;
use crate::operation::summary;
use crate::router::{Entry, Registry};
use crate::schema::shape::Members;

/// Returns the queries that `introspect` answers in addition to operations and types (choice C-35).
pub(super) fn further_queries(
    entries: &[Entry],
    parts: &Parts,
    settings: &Settings,
    problems: &mut Vec<String>,
) -> FurtherQueries {
    let operations = entries.iter().map(|entry| &entry.operation);
    let mut queries: FurtherQueries = vec![Box::new(gatekeeper::DangerQuery::of(operations))];
    if let Some(trust) = &settings.gate.trust {
        match gatekeeper::AdapterInfo::new(&parts.name, &parts.version, trust) {
            Ok(info) => queries.push(Box::new(info)),
            Err(error) => problems.push(format!("the trust block cannot be serialized: {error}")),
        }
    }
    queries
}

/// Describes the result of `introspect`. The protocol defines this result, so the description does not come from a Rust
/// type.
pub(super) fn returns_of_introspect(returns: Option<&mut Members>, further: &FurtherQueries) {
    if let Some(returns) = returns {
        returns.put("name", "OperationResult");
        returns.put("kind", "union");
        let further: Vec<_> = further.iter().map(|query| query.query()).collect();
        let text = match further.as_slice() {
            [] => String::from("data.operations, data.operation, data.types or data.type."),
            some => format!(
                "data.operations, data.operation, data.types or data.type. With query {}: all of data.",
                some.join(" or ")
            ),
        };
        returns.put("description", text);
    }
}

/// Returns the capabilities that composite arguments, such as queries, add to the protocol facts.
fn composite_capabilities(registry: &Registry) -> impl Iterator<Item = (String, Value)> {
    let composites = registry.entries.iter().map(|entry| &entry.operation.composites);
    let names = composites.flat_map(|it| it.description.capabilities.iter().copied());
    names.map(|name| (name.to_owned(), true.into()))
}

/// Prepares the views of the operations. A view describes only the operations that a caller may call.
pub(super) fn views(settings: &Settings, capabilities: Map<String, Value>) -> Views {
    let settings = settings.clone();
    Views::new(move |registry, types, further| {
        render(registry, &settings, types, further, &capabilities)
    })
}

/// Renders the lists of operations and types.
pub(super) fn render(
    registry: &Registry,
    settings: &Settings,
    all_types: BTreeMap<String, Members>,
    further: Arc<FurtherQueries>,
    capabilities: &Map<String, Value>,
) -> Introspection {
    let has_parameter = |name: &str| {
        registry.entries.iter().skip(1).any(|entry| {
            entry.operation.parameters.iter().any(|parameter| &*parameter.name == name)
        })
    };
    let protocol = protocol_head(&ProtocolFacts {
        mode: settings.mode,
        profile: &registry.profile,
        limits: &settings.limits,
        concurrency: settings.concurrency,
        max_concurrent_requests: settings.max_concurrent_requests,
        batch: settings.batch,
        pagination: has_parameter("first"),
        etags: has_parameter("if_match"),
        further: composite_capabilities(registry).chain(capabilities.clone()).collect(),
    });
    let listed = |entry: &Arc<Entry>| ListedOperation {
        name: Arc::clone(&entry.operation.name),
        category: entry.operation.spec.category,
        entry: introspection::list_entry(entry, registry),
        in_brief: OnceLock::new(),
        in_full: OnceLock::new(),
    };
    let operations: Vec<_> = registry.entries.iter().map(listed).collect();
    let all_operations =
        operations.iter().map(|listed| listed.entry.as_str()).collect::<Vec<_>>().join(",");
    let listed = |(name, details): (String, Members)| {
        let mut entry = Members::new();
        entry.put("name", name.as_str());
        entry.put_some("kind", details.text("kind"));
        entry.put_some("description", details.text("description").map(summary));
        let entry = entry.to_json();
        (name, ListedType { entry, details, in_full: OnceLock::new() })
    };
    let types: BTreeMap<_, _> = all_types.into_iter().map(listed).collect();
    let entries: Vec<_> = types.values().map(|listed| listed.entry.as_str()).collect();
    let all_types = format!(r#"{{"types":[{}]}}"#, entries.join(","));
    Introspection {
        protocol,
        protocol_of_part: protocol_of_part(),
        operations,
        all_operations,
        all_types,
        types,
        further,
        cursor_key: settings.cursor_key.clone(),
        search: OnceLock::new(),
    }
}
