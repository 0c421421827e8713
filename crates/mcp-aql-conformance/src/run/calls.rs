//! The calls that checks make, with the permissions that they need.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::Run;
use crate::adapter::gaps::Gap;
use crate::adapter::{Operation, tool_parts};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, INTERRUPTED, Skip};
use crate::category::Category;
use crate::nouns::is_identifier;
use crate::pace::RateLimit;
use crate::shape::{Shape, hits_nothing};
use crate::wire::{Connection, NoResponse};

/// The letters and digits of a name, in lower case.
fn loose(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The arguments of a call: `operation` and `params`.
pub(crate) fn arguments(operation: &str, params: Map<String, Value>) -> Value {
    Value::Object(Map::from_iter([
        ("operation".to_owned(), operation.into()),
        ("params".to_owned(), params.into()),
    ]))
}

impl Run {
    /// Calls an operation with these parameters through its own tool. Skips the case if the call is not
    /// allowed.
    pub(crate) async fn call(
        &self,
        operation: &Operation,
        params: Map<String, Value>,
        cases: &Cases,
    ) -> Option<Exchange> {
        self.call_as(operation, arguments(&operation.name, params), cases).await
    }

    /// Calls an operation with complete arguments: `operation`, `params` and others.
    pub(crate) async fn call_as(
        &self,
        operation: &Operation,
        arguments: Value,
        cases: &Cases,
    ) -> Option<Exchange> {
        if let Some(why) =
            self.forbids(operation).or_else(|| self.ownership_skip_reason(operation, &arguments))
        {
            cases.skip(why);
            return None;
        }
        let _pending = cases.ok_or_skip(self.within_limits(&arguments).await)?;
        self.answered(&operation.tool, arguments, cases).await
    }

    /// Makes a call that must fail. Skips the case if the call could change data without permission in case
    /// it succeeds.
    pub(crate) async fn refused(
        &self,
        tool: &str,
        arguments: Value,
        cases: &Cases,
    ) -> Option<Exchange> {
        if let Some(why) =
            self.missing_tool(tool, &arguments).or_else(|| self.could_harm(tool, &arguments))
        {
            cases.skip(why);
            return None;
        }
        let _pending = cases.ok_or_skip(self.count_refused(&arguments))?;
        self.answered(tool, arguments, cases).await
    }

    /// The reason not to make a call without a tool: the tool of its operation could not be read.
    fn missing_tool(&self, tool: &str, arguments: &Value) -> Option<Skip> {
        let name = arguments.get("operation").and_then(Value::as_str).unwrap_or_default();
        let gap = || self.adapter.operation(name)?.gap.as_ref().map(Gap::skip);
        tool.is_empty()
            .then(|| gap().unwrap_or_else(|| Skip::NoFixture(format!("a tool for `{name}`"))))
    }

    /// Makes such a call of an operation with these parameters through its own tool.
    pub(crate) async fn refused_call(
        &self,
        operation: &Operation,
        params: Map<String, Value>,
        cases: &Cases,
    ) -> Option<Exchange> {
        self.refused(&operation.tool, arguments(&operation.name, params), cases).await
    }

    /// Returns the reason not to make a call that should fail: an adapter that does not reject it would run
    /// an excluded, forbidden or foreign operation. Names are compared as loosely as careless adapters do.
    fn could_harm(&self, tool: &str, arguments: &Value) -> Option<Skip> {
        let items = arguments.get("operations").and_then(Value::as_array);
        for item in items.into_iter().flatten().chain([arguments]) {
            let name = item.get("operation").and_then(Value::as_str).map(loose).unwrap_or_default();
            let named = |operation: &&Operation| loose(&operation.name) == name;
            let Some(operation) = self.adapter.operations.iter().find(named) else { continue };
            if let Some(left_out) = self.left_out(&operation.name) {
                return Some(Skip::LeftOut(left_out));
            }
            if operation.is_read() {
                continue;
            }
            if !operation.is_exercised {
                return Some(self.not_sampled());
            }
            let lacks = self.lacks(operation, item);
            // Without permission, a call needs two independent reasons to be rejected.
            if let Some(why) = self.forbids(operation)
                && !(lacks && self.is_elsewhere(tool, operation))
            {
                return Some(why);
            }
            let aimed = self.aimed(operation, item);
            let why = self.ownership_skip_reason(operation, &aimed);
            if why.is_some() && !lacks && !self.lacks(operation, &aimed) {
                return why;
            }
        }
        None
    }

    /// Whether a tool belongs to another endpoint than the operation.
    pub(super) fn is_elsewhere(&self, tool: &str, operation: &Operation) -> bool {
        let is_endpoint = self.adapter.endpoints.iter().any(|endpoint| endpoint.name == tool);
        let family = tool_parts(tool).and_then(|(_, family)| family);
        is_endpoint
            && tool != operation.tool
            && family.is_some_and(|family| {
                let own = operation.category.map(Category::family);
                family != operation.endpoint && Some(family) != own
            })
    }

    /// An item of a request without values that identify nothing.
    fn aimed(&self, operation: &Operation, item: &Value) -> Value {
        let mut aimed = item.clone();
        for parameter in operation.required() {
            let shape = Shape::of(&self.adapter, parameter);
            let misses = |value: &Value| {
                let is_ours = value.as_str().is_some_and(|text| text.contains("conformance"));
                value.is_null()
                    || (hits_nothing(value)
                        && (is_ours || !shape.accepts(value))
                        && !self.harvested(&parameter.name).contains(value))
            };
            let nested = aimed.get_mut("params").and_then(Value::as_object_mut);
            if let Some(params) = nested
                && params.get(&parameter.name).is_some_and(misses)
            {
                params.remove(&parameter.name);
            }
            if let Some(beside) = aimed.as_object_mut()
                && beside.get(&parameter.name).is_some_and(misses)
            {
                beside.remove(&parameter.name);
            }
        }
        aimed
    }

    /// Whether the required parameters that select the affected data are missing.
    fn lacks(&self, operation: &Operation, item: &Value) -> bool {
        let given = |name: &str| {
            item.get(name).is_some()
                || item.get("params").is_some_and(|params| params.get(name).is_some())
        };
        self.selects_data(operation)
            && !operation.required().any(|parameter| given(&parameter.name))
    }

    /// Whether required parameters select the affected data. An operation without such parameters may affect
    /// all data.
    pub(super) fn selects_data(&self, operation: &Operation) -> bool {
        // The configured values may be arbitrary.
        let is_named = self.is_named_whole(operation) && self.forbids(operation).is_none();
        let mut required = operation.required();
        match operation.category {
            Some(Category::Create) => required.next().is_some(),
            _ => required.any(|parameter| {
                is_identifier(&parameter.name) || (is_named && parameter.kind == "string")
            }),
        }
    }

    /// Sends a call, and skips the case if the adapter is unresponsive or limits the rate for too long.
    async fn answered(&self, tool: &str, arguments: Value, cases: &Cases) -> Option<Exchange> {
        cases.if_answered(self.send(tool, arguments, None).await)
    }

    /// Sends a call without permission checks: for `introspect` and harmless calls.
    pub(crate) async fn send(&self, tool: &str, arguments: Value, meta: Option<Value>) -> Exchange {
        let room = self.room.acquire().await;
        let connection = match &room {
            Ok(_) => self.connection().await,
            Err(_) => Err(NoResponse::Closed("the run is over".to_owned())),
        };
        let connection = match connection {
            Ok(connection) => connection,
            Err(lost) => {
                return Exchange {
                    tool: tool.to_owned(),
                    arguments,
                    reply: Reply::NoResponse(lost),
                };
            }
        };
        self.paced(&connection, tool, arguments, meta).await
    }

    /// Makes a call at the pace that the adapter allows, and repeats it after a rejection that states a time. A
    /// rejected call has not run.
    async fn paced(
        &self,
        connection: &Connection,
        tool: &str,
        mut arguments: Value,
        meta: Option<Value>,
    ) -> Exchange {
        let mut waited = Duration::ZERO;
        loop {
            self.pacer.turn().await;
            if self.is_stopped() {
                // A check that calls in a loop must not keep the time limit from being noticed.
                tokio::task::yield_now().await;
                let lost = NoResponse::Closed(INTERRUPTED.to_owned());
                return Exchange {
                    tool: tool.to_owned(),
                    arguments,
                    reply: Reply::NoResponse(lost),
                };
            }
            let expected = self.resources.expect_reply(&arguments);
            let begun = self.begun();
            let concurrent = self.at_once().saturating_sub(self.room.available_permits());
            let exchange = Exchange::make(connection, tool, arguments, meta.clone()).await;
            expected.arrived();
            let took = begun.0.elapsed();
            self.call_times.add(took, concurrent);
            if self.adapter.operation(exchange.operation()).is_some() {
                self.call_times.note(exchange.operation(), took);
            }
            self.note(&exchange, begun);
            if !self.only_reads(&exchange) {
                self.lists.note_change();
            }
            let Some(limit) = RateLimit::of(&exchange) else {
                self.pacer.accept();
                return exchange;
            };
            if !self.pacer.wait_to_repeat(limit, &mut waited).await {
                return exchange;
            }
            arguments = exchange.arguments;
        }
    }

    /// Whether a call has certainly changed nothing: it was rejected, or it called operations that only read.
    fn only_reads(&self, exchange: &Exchange) -> bool {
        let items = exchange.arguments.get("operations").and_then(Value::as_array);
        let mut calls = items.into_iter().flatten().chain([&exchange.arguments]);
        let reads = |call: &Value| {
            let name = call.get("operation").and_then(Value::as_str);
            name.and_then(|name| self.adapter.operation(name)).is_some_and(Operation::is_read)
        };
        let is_one = items.is_none() && exchange.is_rejected();
        is_one
            || calls.all(|call| reads(call) || (items.is_some() && call.get("operation").is_none()))
    }

    /// Calls `introspect` of an adapter whose operations could not be read, so that the checks of every call
    /// see its replies.
    pub(crate) async fn ask_again(&self) {
        if !self.adapter.introspect.is_empty() {
            for query in ["operations", "types"] {
                let params = Map::from_iter([("query".to_owned(), query.into())]);
                self.send(&self.adapter.introspect, arguments("introspect", params), None).await;
            }
        }
    }

    /// Calls `introspect`. Skips the case if there is no answer to the query.
    pub(crate) async fn introspect(&self, params: Value, cases: &Cases) -> Option<Exchange> {
        let arguments = serde_json::json!({ "operation": "introspect", "params": params });
        self.answered(&self.adapter.introspect, arguments, cases).await
    }

    /// Makes a permitted or harmless call on another connection.
    pub(crate) async fn send_on(
        &self,
        connection: &Connection,
        tool: &str,
        arguments: Value,
    ) -> Exchange {
        self.send_with(connection, tool, arguments, None).await
    }

    /// Makes such a call with `_meta` in the MCP request, such as a progress token.
    pub(crate) async fn send_with(
        &self,
        connection: &Connection,
        tool: &str,
        arguments: Value,
        meta: Option<Value>,
    ) -> Exchange {
        let was_open = connection.ended().is_none();
        let exchange = self.paced(connection, tool, arguments, meta).await;
        if was_open && let Some(lost @ NoResponse::Closed(_)) = exchange.no_response() {
            self.health().deaths.push(lost.to_string());
        }
        exchange
    }

    /// The time of a call: by the clock, and by the number of calls before it.
    fn begun(&self) -> (Instant, u64) {
        (Instant::now(), self.resources.now())
    }
}
