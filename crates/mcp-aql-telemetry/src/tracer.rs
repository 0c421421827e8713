//! The tracer of an adapter: spans of calls and executions.

use std::sync::{Arc, OnceLock};

use mcp_aql_core::ErrorCode;
use mcp_aql_core::audit::{AuditEntry, AuditObserver};
use mcp_aql_core::internal::caller::ActiveSpan;
use mcp_aql_core::internal::observe::{CallEvent, CallOutcome, CallSpan, CallStart, CallTracer};
use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::trace::{
    Link, SpanBuilder, SpanKind, Status, TraceContextExt as _, Tracer as _,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue};

use crate::attributes::{
    CATEGORY, ENDPOINT, ERROR_TYPE, EXECUTE_TOOL, EXECUTION_ID, METHOD, OPERATION_NAME, OTHER,
    OUTCOME, PROTOCOL_VERSION, REPLY_SIZE, REQUEST_ID, REQUEST_SIZE, SESSION_ID, TOOL_NAME,
    TOOLS_CALL, transport,
};
use crate::instruments::Instruments;
use crate::parent::Parent;
use crate::setup::Providers;

/// Opens a span for each call and each execution, and records the metrics.
pub(crate) struct OpenTelemetryTracer {
    /// Created on first use, because a program may set its global providers after it has built the adapter.
    pipeline: OnceLock<Pipeline>,
    /// The providers set up by this adapter, if any.
    providers: Option<Providers>,
}

struct Pipeline {
    tracer: BoxedTracer,
    instruments: Arc<Instruments>,
}

impl OpenTelemetryTracer {
    pub(crate) fn new(providers: Option<Providers>) -> Self {
        Self { pipeline: OnceLock::new(), providers }
    }

    fn pipeline(&self) -> &Pipeline {
        self.pipeline.get_or_init(|| {
            let scope = InstrumentationScope::builder("mcp-aql")
                .with_version(env!("CARGO_PKG_VERSION"))
                .build();
            let instruments = Instruments::new(&global::meter_with_scope(scope.clone()));
            Pipeline {
                tracer: global::tracer_with_scope(scope),
                instruments: Arc::new(instruments),
            }
        })
    }
}

impl CallTracer for OpenTelemetryTracer {
    fn active(&self) -> Option<ActiveSpan> {
        let context = Context::current();
        context.has_active_span().then(|| ActiveSpan::new(context))
    }

    fn begin(&self, start: &CallStart<'_>) -> Box<dyn CallSpan> {
        let Pipeline { tracer, instruments } = self.pipeline();
        if start.execution_id.is_some() {
            instruments.count_start(start.operation);
        }
        let parent = Parent::of(start);
        let mut builder = described(start);
        builder.links = parent.link.map(|link| vec![Link::with_context(link)]);
        let span = tracer.build_with_context(builder, &parent.context);
        Box::new(OpenSpan {
            context: parent.context.with_span(span),
            operation: start.operation,
            instruments: Arc::clone(instruments),
        })
    }

    fn flush(&self) {
        if let Some(providers) = &self.providers {
            providers.flush();
        }
    }
}

impl AuditObserver for OpenTelemetryTracer {
    fn observe(&self, entry: &AuditEntry<'_>) {
        if let Some(confirmation) = entry.confirmation {
            self.pipeline().instruments.count_confirmation(confirmation);
        }
    }
}

/// Returns a span builder with the name, kind and initial attributes of a span.
fn described(start: &CallStart<'_>) -> SpanBuilder {
    let scope = start.scope;
    let origin = scope.origin.as_deref().filter(|_| start.execution_id.is_none());
    let method = if origin.is_some() { TOOLS_CALL } else { EXECUTE_TOOL };
    let name = match start.operation {
        Some(operation) => format!("{method} {operation}").into(),
        None => method.into(),
    };
    let mut attributes = vec![
        KeyValue::new(OPERATION_NAME, EXECUTE_TOOL),
        KeyValue::new(TOOL_NAME, start.operation.unwrap_or(OTHER)),
    ];
    attributes.extend(start.category.map(|category| KeyValue::new(CATEGORY, category.as_str())));
    attributes.extend(start.execution_id.map(|id| KeyValue::new(EXECUTION_ID, id.to_owned())));
    let session = scope.session.as_ref();
    attributes.extend(session.map(|it| KeyValue::new(SESSION_ID, it.id().to_owned())));
    if let Some(origin) = origin {
        attributes.push(KeyValue::new(METHOD, TOOLS_CALL));
        attributes.extend(origin.transport.map(transport).into_iter().flatten());
        attributes.extend(origin.protocol_version.map(|it| KeyValue::new(PROTOCOL_VERSION, it)));
        attributes.extend(origin.tool.clone().map(|tool| KeyValue::new(ENDPOINT, tool)));
        attributes.extend(origin.request_id.clone().map(|id| KeyValue::new(REQUEST_ID, id)));
    }
    let kind = if origin.is_some() { SpanKind::Server } else { SpanKind::Internal };
    SpanBuilder::from_name::<std::borrow::Cow<'static, str>>(name)
        .with_kind(kind)
        .with_attributes(attributes)
}

/// The open span of a call or an execution.
struct OpenSpan {
    context: Context,
    operation: Option<&'static str>,
    instruments: Arc<Instruments>,
}

impl CallSpan for OpenSpan {
    fn enter(&self, poll: &mut dyn FnMut()) {
        let _active = self.context.clone().attach();
        poll();
    }

    fn end(&self, event: &CallEvent<'_>) {
        // Record the metrics within the span, so that exemplars can refer to it.
        let _active = self.context.clone().attach();
        self.instruments.count_end(event, self.operation);
        let span = self.context.span();
        span.set_attribute(KeyValue::new(OUTCOME, event.outcome.as_str()));
        if let Some(code) = event.code {
            span.set_attribute(KeyValue::new(ERROR_TYPE, code.as_str()));
        }
        if let Some(bytes) = event.request_bytes.filter(|_| event.execution_id.is_none()) {
            span.set_attribute(KeyValue::new(REQUEST_SIZE, size(bytes)));
        }
        span.set_attribute(KeyValue::new(REPLY_SIZE, size(event.reply_bytes)));
        if is_fault(event) {
            // Use the code only: the error message may contain argument values.
            span.set_status(Status::error(event.code.map_or("", ErrorCode::as_str)));
        }
        span.end();
    }
}

/// Returns `true` if the adapter failed, not the caller. As in the conventions for servers, a rejected call does not
/// count as an error of the adapter. A failed execution always does.
fn is_fault(event: &CallEvent<'_>) -> bool {
    event.outcome == CallOutcome::Failed
        && (event.execution_id.is_some() || event.code.is_some_and(|code| !code.is_recoverable()))
}

fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
