//! Makes the calls of checks, and verifies that they are permitted.

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

/// Reduces a name to its letters and digits in lower case: `delete_task` and `deleteTask` are equal afterwards.
fn loose(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns the arguments of a call: `operation` and `params`.
///
/// ```json
/// { "operation": "get_task", "params": { "task_id": "7" } }
/// ```
pub(crate) fn arguments(operation: &str, params: Map<String, Value>) -> Value {
    Value::Object(Map::from_iter([
        ("operation".to_owned(), operation.into()),
        ("params".to_owned(), params.into()),
    ]))
}

impl Run {
    /// Calls an operation with these parameters through its own tool. Skips the case if the call is not permitted.
    pub(crate) async fn call(
        &self,
        operation: &Operation,
        params: Map<String, Value>,
        cases: &Cases,
    ) -> Option<Exchange> {
        self.call_as(operation, arguments(&operation.name, params), cases).await
    }

    /// Like [`call`](Self::call), but with complete arguments: `operation`, `params` and others.
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

    /// Makes a call that the adapter must reject.
    ///
    /// Skips the case if the call could change data without permission in an adapter that wrongly accepts it.
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

    /// Returns the reason to skip a call without a tool: the tool of its operation could not be read.
    fn missing_tool(&self, tool: &str, arguments: &Value) -> Option<Skip> {
        let name = arguments.get("operation").and_then(Value::as_str).unwrap_or_default();
        let gap = || self.adapter.operation(name)?.gap.as_ref().map(Gap::skip);
        tool.is_empty()
            .then(|| gap().unwrap_or_else(|| Skip::NoFixture(format!("a tool for `{name}`"))))
    }

    /// Like [`refused`](Self::refused), but calls an operation with these parameters through its own tool.
    pub(crate) async fn refused_call(
        &self,
        operation: &Operation,
        params: Map<String, Value>,
        cases: &Cases,
    ) -> Option<Exchange> {
        self.refused(&operation.tool, arguments(&operation.name, params), cases).await
    }

    /// Returns the reason not to make a call that should fail.
    ///
    /// An adapter that does not reject the call could run an excluded, forbidden or foreign operation. Names are
    /// compared loosely, because a careless adapter may do so, too.
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
            // Without permission, the adapter must have two independent reasons to reject the call.
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

    /// Returns `true` if a tool belongs to another endpoint than the operation.
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

    /// Returns an item of a request without the values that identify nothing.
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

    /// Returns `true` if all required parameters that select the affected data are missing.
    fn lacks(&self, operation: &Operation, item: &Value) -> bool {
        let given = |name: &str| {
            item.get(name).is_some()
                || item.get("params").is_some_and(|params| params.get(name).is_some())
        };
        self.selects_data(operation)
            && !operation.required().any(|parameter| given(&parameter.name))
    }

    /// Returns `true` if required parameters select the affected data. Without such parameters, an operation may affect
    /// all data.
    pub(super) fn selects_data(&self, operation: &Operation) -> bool {
        // Values from the configuration may be arbitrary.
        let is_named = self.is_named_whole(operation) && self.forbids(operation).is_none();
        let mut required = operation.required();
        match operation.category {
            Some(Category::Create) => required.next().is_some(),
            _ => required.any(|parameter| {
                is_identifier(&parameter.name) || (is_named && parameter.kind == "string")
            }),
        }
    }

    /// Sends a call. Skips the case if the adapter is unresponsive or its rate limit persists.
    async fn answered(&self, tool: &str, arguments: Value, cases: &Cases) -> Option<Exchange> {
        cases.if_answered(self.send(tool, arguments, None).await)
    }

    /// Sends a call without checking permissions. Use it only for `introspect` and harmless calls.
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

    /// Makes a call at the pace that the adapter allows. If a rate limit rejected the call and states a time, repeats
    /// it: a rejected call has not run.
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
                // Yield, or a check that calls in a loop would prevent the time limit from firing.
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

    /// Returns `true` if a call certainly changed nothing, because it was rejected or called only READ operations.
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

    /// Calls `introspect` again for an adapter with unreadable operations. The checks of every call then receive the
    /// replies.
    pub(crate) async fn ask_again(&self) {
        if !self.adapter.introspect.is_empty() {
            for query in ["operations", "types"] {
                let params = Map::from_iter([("query".to_owned(), query.into())]);
                self.send(&self.adapter.introspect, arguments("introspect", params), None).await;
            }
        }
    }

    /// Calls `introspect`. Skips the case if there is no reply.
    pub(crate) async fn introspect(&self, params: Value, cases: &Cases) -> Option<Exchange> {
        let arguments = serde_json::json!({ "operation": "introspect", "params": params });
        self.answered(&self.adapter.introspect, arguments, cases).await
    }

    /// Calls `introspect` on another connection.
    pub(crate) async fn introspect_on(&self, connection: &Connection, params: Value) -> Exchange {
        let arguments = serde_json::json!({ "operation": "introspect", "params": params });
        self.send_on(connection, &self.adapter.introspect, arguments).await
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

    /// Like [`send_on`](Self::send_on), but with `_meta` in the MCP request, such as a progress token.
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

    /// Returns the start of a call, as an instant and as a value of the clock that counts calls.
    fn begun(&self) -> (Instant, u64) {
        (Instant::now(), self.resources.now())
    }
}
