//! Selects the parent of a span.

use mcp_aql_core::internal::caller::{ActiveSpan, CallOrigin, TraceContext};
use mcp_aql_core::internal::observe::CallStart;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{SpanContext, TraceContextExt as _};
use opentelemetry::{Context, global};
use opentelemetry_sdk::propagation::TraceContextPropagator;

/// The parent of a span, and the span to link to.
pub(crate) struct Parent {
    pub(crate) context: Context,
    pub(crate) link: Option<SpanContext>,
}

impl Parent {
    /// Selects the parent for the span of a call or an execution.
    ///
    /// The parent of an execution is the call that started it. The parent of a call is the first of:
    ///
    /// 1. the span in `_meta`. The call is also linked to the active span, for example that of the HTTP request,
    ///    because one request may contain calls of different traces.
    /// 2. the active span.
    /// 3. the span in the HTTP headers.
    pub(crate) fn of(start: &CallStart<'_>) -> Self {
        let origin = start.scope.origin.as_deref();
        let of_request = || origin.and_then(|origin| origin.active.as_ref());
        let active = start.parent.or_else(of_request).and_then(ActiveSpan::get::<Context>);
        let active = active.cloned().unwrap_or_else(Context::current);
        match origin.filter(|_| start.execution_id.is_none()) {
            Some(origin) => Self::of_request(active, origin),
            None => Self { context: active, link: None },
        }
    }

    fn of_request(active: Context, origin: &CallOrigin) -> Self {
        let is_active = active.has_active_span();
        if let Some(context) = extract(&active, &origin.meta) {
            let link = is_active.then(|| active.span().span_context().clone());
            return Self { context, link };
        }
        if is_active {
            return Self { context: active, link: None };
        }
        let context = extract(&active, &origin.headers).unwrap_or(active);
        Self { context, link: None }
    }
}

/// Reads a trace context, such as the one in this `_meta`. Returns `None` if it contains no valid span.
///
/// ```json
/// { "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }
/// ```
fn extract(base: &Context, fields: &TraceContext) -> Option<Context> {
    let carrier = Carrier(fields);
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    let remote = context.span().span_context().clone();
    if !remote.is_valid() {
        return None;
    }
    let context = base.with_remote_span_context(remote);
    // Propagators configured by the program may read more fields, for example baggage.
    Some(global::get_text_map_propagator(|propagator| {
        propagator.extract_with_context(&context, &carrier)
    }))
}

struct Carrier<'a>(&'a TraceContext);

impl Extractor for Carrier<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)
    }

    fn keys(&self) -> Vec<&str> {
        let fields = TraceContext::FIELDS.into_iter();
        fields.filter(|name| self.0.get(name).is_some()).collect()
    }
}
