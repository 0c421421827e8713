//! The parents of spans.

use mcp_aql_core::internal::caller::{ActiveSpan, CallOrigin, TraceContext};
use mcp_aql_core::internal::observe::CallStart;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{SpanContext, TraceContextExt as _};
use opentelemetry::{Context, global};
use opentelemetry_sdk::propagation::TraceContextPropagator;

/// The parent of a span, and the context that it is linked to.
pub(crate) struct Parent {
    pub(crate) context: Context,
    pub(crate) link: Option<SpanContext>,
}

impl Parent {
    /// Finds the parent of the span of a call or of an execution.
    ///
    /// An execution is part of the call that began it. The parent of a call is the span that `_meta` names, and the
    /// call is linked to the active span, such as that of the HTTP request: one request may contain several calls of
    /// different traces. Without `_meta` the parent is the active span, or else the span that the headers name.
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

/// Reads a trace context. Returns `None` if it names no span.
fn extract(base: &Context, fields: &TraceContext) -> Option<Context> {
    let carrier = Carrier(fields);
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    let remote = context.span().span_context().clone();
    if !remote.is_valid() {
        return None;
    }
    let context = base.with_remote_span_context(remote);
    // The propagators of the program may read more, such as baggage.
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
