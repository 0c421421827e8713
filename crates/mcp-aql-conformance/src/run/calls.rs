//! Makes the calls of checks.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::Run;
use crate::adapter::Operation;
use crate::adapter::gaps::Gap;
use crate::budget::RateLimit;
use crate::call::{Exchange, batch_items};
use crate::cases::{Cases, INTERRUPTED, Skip};
use crate::wire::{Connection, NoResponse};

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

    /// Sends a call. Skips the case if the adapter is unresponsive or its rate limit persists.
    async fn answered(&self, tool: &str, arguments: Value, cases: &Cases) -> Option<Exchange> {
        cases.if_answered(self.send(tool, arguments, None).await)
    }

    /// Sends a call without checking permissions. Use it only for `introspect` and harmless calls.
    pub(crate) async fn send(&self, tool: &str, arguments: Value, meta: Option<Value>) -> Exchange {
        // Acquiring does not fail, because the semaphore is never closed.
        let _room = self.room.acquire().await;
        match self.connection().await {
            Ok(connection) => self.paced(&connection, tool, arguments, meta).await,
            Err(lost) => Exchange::unsent(tool, arguments, lost),
        }
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
                return Exchange::unsent(tool, arguments, lost);
            }
            let expected = self.resources.expect_reply(&arguments);
            let begun = self.begun();
            let concurrent = self.at_once().saturating_sub(self.room.available_permits());
            let exchange = Exchange::make(connection, tool, arguments, meta.clone()).await;
            match exchange.no_response() {
                None => expected.arrived(),
                Some(_) => drop(expected),
            }
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
        let items = batch_items(&exchange.arguments);
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
