//! The metrics of calls, confirmations and executions.

use mcp_aql_core::audit::{Confirmation, ConfirmationStep, ConfirmedBy};
use mcp_aql_core::internal::caller::CallOrigin;
use mcp_aql_core::internal::observe::CallEvent;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

use crate::attributes::{
    CATEGORY, CONFIRMATION_RESULT, CONFIRMED_BY, ERROR_TYPE, EXECUTE_TOOL, METHOD, OPERATION_NAME,
    OTHER, OUTCOME, PROTOCOL_VERSION, TOOL_NAME, TOOLS_CALL, transport,
};

/// Bucket boundaries of durations in seconds, as recommended by the conventions for MCP.
const BOUNDARIES: [f64; 14] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// The instruments of an adapter. Every attribute has a bounded number of values.
pub(crate) struct Instruments {
    call_duration: Histogram<f64>,
    calls: Counter<u64>,
    refusals: Counter<u64>,
    confirmations: Counter<u64>,
    executions_started: Counter<u64>,
    executions_ended: Counter<u64>,
    execution_duration: Histogram<f64>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter) -> Self {
        let counter = |name: &'static str, unit: &'static str, description: &'static str| {
            meter.u64_counter(name).with_unit(unit).with_description(description).build()
        };
        let durations = |name: &'static str, description: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s");
            let histogram = histogram.with_boundaries(BOUNDARIES.to_vec());
            histogram.with_description(description).build()
        };
        Self {
            call_duration: durations(
                "mcp.server.operation.duration",
                "The time from the decoded call of an operation to its reply",
            ),
            calls: counter("mcp_aql.calls", "{call}", "The calls of operations, by outcome"),
            refusals: counter(
                "mcp_aql.refusals",
                "{call}",
                "The calls that ended with an error, by its code",
            ),
            confirmations: counter(
                "mcp_aql.confirmations",
                "{confirmation}",
                "The confirmations of calls and steps that were requested, approved and denied",
            ),
            executions_started: counter(
                "mcp_aql.executions.started",
                "{execution}",
                "The executions that have started",
            ),
            executions_ended: counter(
                "mcp_aql.executions.ended",
                "{execution}",
                "The executions that have ended, by outcome",
            ),
            execution_duration: durations(
                "mcp_aql.execution.duration",
                "The time from the start of an execution to its end",
            ),
        }
    }

    /// Counts a started execution.
    pub(crate) fn count_start(&self, operation: Option<&'static str>) {
        self.executions_started.add(1, &[KeyValue::new(TOOL_NAME, operation.unwrap_or(OTHER))]);
    }

    /// Counts a finished call or execution.
    pub(crate) fn count_end(&self, event: &CallEvent<'_>, operation: Option<&'static str>) {
        let tool = KeyValue::new(TOOL_NAME, operation.unwrap_or(OTHER));
        let code = event.code.map(|code| KeyValue::new(ERROR_TYPE, code.as_str()));
        let mut attributes = vec![tool.clone(), KeyValue::new(OUTCOME, event.outcome.as_str())];
        attributes.extend(code.clone());
        let seconds = event.duration.as_secs_f64();
        if event.execution_id.is_some() {
            self.executions_ended.add(1, &attributes);
            return self.execution_duration.record(seconds, &attributes);
        }
        attributes
            .extend(event.category.map(|category| KeyValue::new(CATEGORY, category.as_str())));
        self.calls.add(1, &attributes);
        let mut of_call = vec![
            tool.clone(),
            KeyValue::new(METHOD, TOOLS_CALL),
            KeyValue::new(OPERATION_NAME, EXECUTE_TOOL),
        ];
        of_call.extend(code.clone());
        of_call.extend(event.scope.origin.as_deref().into_iter().flat_map(of_origin));
        self.call_duration.record(seconds, &of_call);
        if let Some(code) = code {
            self.refusals.add(1, &[tool, code]);
        }
    }

    /// Counts a step of a confirmation.
    pub(crate) fn count_confirmation(&self, confirmation: Confirmation) {
        let result = match confirmation.step {
            ConfirmationStep::Asked => "asked",
            ConfirmationStep::Approved => "approved",
            ConfirmationStep::Refused => "refused",
        };
        let by = match confirmation.by {
            ConfirmedBy::Token => "token",
            ConfirmedBy::User => "user",
            ConfirmedBy::Person => "person",
        };
        let attributes =
            [KeyValue::new(CONFIRMATION_RESULT, result), KeyValue::new(CONFIRMED_BY, by)];
        self.confirmations.add(1, &attributes);
    }
}

/// Returns the attributes of a request with a bounded number of values.
fn of_origin(origin: &CallOrigin) -> Vec<KeyValue> {
    let mut attributes = origin.transport.map(transport).unwrap_or_default();
    attributes.extend(origin.protocol_version.map(|it| KeyValue::new(PROTOCOL_VERSION, it)));
    attributes
}
