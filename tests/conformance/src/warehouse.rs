//! A correct adapter with any number of resources and a fixed delay of its replies, for tests of long runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_aql::prelude::*;
use mcp_aql::table::{DynamicOperation, DynamicParameter};
use mcp_aql::{EndpointMode, SemanticCategory};
use mcp_aql_conformance::Mode;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::proxy::{Proxy, Wire, serve_behind};

/// The stored items by resource and number, and the last assigned number.
#[derive(Debug, Default)]
struct Shelves {
    items: BTreeMap<usize, BTreeMap<u64, Value>>,
    last: u64,
}

/// A warehouse with six operations on each of its resources.
///
/// The operations of the first resource are `create_box0`, `get_box0`, `list_box0s`, `search_box0s`, `update_box0` and
/// `delete_box0`.
///
/// You call the first one in this form:
///
/// ```json
/// { "operation": "create_box0", "params": { "label": "Screws", "weight": 12, "fragile": false } }
/// ```
#[derive(Debug, Clone)]
pub struct Warehouse {
    shelves: Arc<Mutex<Shelves>>,
    resources: usize,
    delay: Duration,
}

/// The result of an operation.
type Outcome = Result<Value, OperationError>;

/// Delays every reply to a call.
struct Delayed(Duration);

impl Proxy for Delayed {
    fn answer(&mut self, message: Value, wire: &mut Wire) {
        wire.later(self.0, &message);
    }
}

/// Returns a string parameter of a call, or the empty string.
fn text<'v>(params: &'v Map<String, Value>, name: &str) -> &'v str {
    params.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the schema of a string.
fn text_schema() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 60 })
}

/// Returns the fields of an item that callers can set.
fn fields() -> Value {
    json!({
        "label": text_schema(),
        "weight": { "type": "integer", "minimum": 0, "maximum": 900 },
        "fragile": { "type": "boolean" },
    })
}

impl Warehouse {
    /// Creates an empty warehouse with this number of resources and this delay of each reply.
    pub fn new(resources: usize, delay: Duration) -> Self {
        Self { shelves: Arc::default(), resources, delay }
    }

    fn open(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of stored items.
    pub fn items(&self) -> usize {
        self.open().items.values().map(BTreeMap::len).sum()
    }

    /// Builds the adapter for a mode.
    ///
    /// # Errors
    ///
    /// Returns the error of the builder.
    pub fn adapter(&self, mode: Option<Mode>) -> mcp_aql::Result<Adapter> {
        let mode = match mode {
            Some(Mode::Single) => EndpointMode::Single,
            Some(Mode::All) => EndpointMode::All,
            _ => EndpointMode::Semantic,
        };
        let builder = Adapter::builder("warehouse").version("1.0.0").without_config().mode(mode);
        let builder = builder.confirmations_per_minute(100_000);
        let operations = (0..self.resources).flat_map(|number| self.operations(number));
        Ok(operations.fold(builder, mcp_aql::AdapterBuilder::dynamic_operation).build()?)
    }

    /// Serves one connection until it ends.
    ///
    /// # Errors
    ///
    /// Returns an error if the adapter cannot be built.
    pub async fn serve(
        &self,
        mode: Option<Mode>,
        from_client: impl AsyncRead + Send + Unpin + 'static,
        to_client: impl AsyncWrite + Send + Unpin + 'static,
    ) -> mcp_aql::Result<()> {
        let adapter = self.adapter(mode)?;
        let serve = |stream| async move { adapter.serve(stream).await };
        serve_behind(Box::new(Delayed(self.delay)), serve, from_client, to_client).await;
        Ok(())
    }

    /// Returns the operations on one resource.
    fn operations(&self, number: usize) -> [DynamicOperation; 6] {
        let name = format!("box{number}");
        let id = format!("{name}_id");
        let item = json!({
            "type": "object",
            "properties": {
                &id: { "type": "string" },
                "label": { "type": "string" },
                "weight": { "type": "integer" },
                "fragile": { "type": "boolean" },
            },
            "required": [&id, "label", "weight", "fragile"],
        });
        let one = json!({
            "type": "object",
            "properties": { &name: item },
            "required": [&name],
        });
        let list = json!({
            "type": "object",
            "properties": { "items": { "type": "array", "items": item } },
            "required": ["items"],
        });
        let which = || {
            DynamicParameter::required(
                &id,
                format!("Identifier of the {name}."),
                json!({ "type": "string", "maxLength": 60 }),
            )
        };
        let field = |name: &str| fields().get(name).cloned().unwrap_or_default();
        let input = json!({
            "type": "object",
            "properties": fields(),
            "additionalProperties": false,
        });
        let example = json!({ &id: format!("{name}-1") });
        [
            self.operation(number, "create", "", SemanticCategory::Create, Self::create)
                .parameter(DynamicParameter::required("label", "The text on it.", field("label")))
                .parameter(
                    DynamicParameter::optional("weight", "The weight in kg.", field("weight"))
                        .default(json!(1)),
                )
                .parameter(
                    DynamicParameter::optional("fragile", "Whether it breaks.", field("fragile"))
                        .default(json!(false)),
                )
                .returns(one.clone())
                .example("A box of cups", json!({ "label": "Cups", "fragile": true })),
            self.operation(number, "get", "", SemanticCategory::Read, Self::get)
                .parameter(which())
                .returns(one.clone())
                .example("One", example.clone()),
            self.operation(number, "list", "s", SemanticCategory::Read, Self::list)
                .returns(list.clone()),
            self.operation(number, "search", "s", SemanticCategory::Read, Self::search)
                .parameter(DynamicParameter::required(
                    "query",
                    "A part of the label: words that follow each other in it.",
                    text_schema(),
                ))
                .returns(list)
                .example("Boxes of cups", json!({ "query": "Cups" })),
            self.operation(number, "update", "", SemanticCategory::Update, Self::update)
                .parameter(which())
                .parameter(DynamicParameter::required(
                    "input",
                    "The fields to change: `label`, `weight`, `fragile`.",
                    input,
                ))
                .returns(one)
                .example(
                    "A heavier one",
                    json!({ &id: format!("{name}-1"), "input": { "weight": 12 } }),
                ),
            self.operation(number, "delete", "", SemanticCategory::Delete, Self::delete)
                .parameter(which())
                .returns(json!({
                    "type": "object",
                    "properties": { "deleted": { "type": "boolean" } },
                    "required": ["deleted"],
                }))
                .example("One", example),
        ]
    }

    fn operation(
        &self,
        number: usize,
        verb: &str,
        ending: &str,
        category: SemanticCategory,
        run: fn(&Self, usize, &Map<String, Value>) -> Outcome,
    ) -> DynamicOperation {
        let name = format!("{verb}_box{number}{ending}");
        let description = match verb {
            "create" => format!("Create a box{number}."),
            "get" => format!("Get a box{number}."),
            "list" => format!("List box{number} items."),
            "search" => format!("Search box{number} items."),
            "update" => format!("Update a box{number}."),
            _ => format!("Delete a box{number}."),
        };
        let warehouse = self.clone();
        DynamicOperation::new(name, category, description, move |params, _| {
            let outcome = run(&warehouse, number, &params);
            async move { outcome }
        })
    }

    fn create(&self, number: usize, params: &Map<String, Value>) -> Outcome {
        let mut shelves = self.open();
        shelves.last += 1;
        let next = shelves.last;
        let value = |name: &str, other: Value| params.get(name).cloned().unwrap_or(other);
        let item = json!({
            format!("box{number}_id"): format!("box{number}-{next}"),
            "label": value("label", Value::Null),
            "weight": value("weight", json!(1)),
            "fragile": value("fragile", json!(false)),
        });
        shelves.items.entry(number).or_default().insert(next, item.clone());
        Ok(json!({ format!("box{number}"): item }))
    }

    /// Returns the failure for an item that does not exist.
    fn missing(number: usize, which: impl ToString) -> OperationError {
        OperationError::not_found(&format!("box{number}"), which.to_string())
    }

    /// Returns the number of the item that a call identifies.
    fn named(number: usize, params: &Map<String, Value>) -> Result<u64, OperationError> {
        let id = text(params, &format!("box{number}_id"));
        let found = id.strip_prefix(&format!("box{number}-")).and_then(|last| last.parse().ok());
        found.ok_or_else(|| Self::missing(number, id))
    }

    fn get(&self, number: usize, params: &Map<String, Value>) -> Outcome {
        let which = Self::named(number, params)?;
        let found = self.open().items.get(&number).and_then(|shelf| shelf.get(&which)).cloned();
        found
            .map(|item| json!({ format!("box{number}"): item }))
            .ok_or_else(|| Self::missing(number, which))
    }

    fn list(&self, number: usize, _: &Map<String, Value>) -> Outcome {
        let shelves = self.open();
        let items: Vec<_> =
            shelves.items.get(&number).into_iter().flat_map(BTreeMap::values).collect();
        Ok(json!({ "items": items }))
    }

    fn search(&self, number: usize, params: &Map<String, Value>) -> Outcome {
        let wanted = text(params, "query").to_lowercase();
        let shelves = self.open();
        let items = shelves.items.get(&number).into_iter().flat_map(BTreeMap::values);
        let has = |item: &&Value| {
            item["label"].as_str().is_some_and(|label| label.to_lowercase().contains(&wanted))
        };
        Ok(json!({ "items": items.filter(has).collect::<Vec<_>>() }))
    }

    fn update(&self, number: usize, params: &Map<String, Value>) -> Outcome {
        let which = Self::named(number, params)?;
        let mut shelves = self.open();
        let item = shelves.items.get_mut(&number).and_then(|shelf| shelf.get_mut(&which));
        let item = item.ok_or_else(|| Self::missing(number, which))?;
        let input = params.get("input").and_then(Value::as_object);
        for (name, value) in input.into_iter().flatten() {
            item[name] = value.clone();
        }
        Ok(json!({ format!("box{number}"): item }))
    }

    fn delete(&self, number: usize, params: &Map<String, Value>) -> Outcome {
        let which = Self::named(number, params)?;
        let removed = self.open().items.get_mut(&number).and_then(|shelf| shelf.remove(&which));
        removed.map(|_| json!({ "deleted": true })).ok_or_else(|| Self::missing(number, which))
    }
}
