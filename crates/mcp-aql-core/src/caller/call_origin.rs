//! Where a call comes from: the request of its client, and its trace.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// The request that a call belongs to. It is used in traces and in the log.
///
/// The built-in transports fill it in for adapters that trace or log their calls. If you write your own transport, you
/// can set the trace context of its requests. None of the values are authenticated, so do not base decisions on them.
///
/// ```
/// use std::sync::Arc;
///
/// use mcp_aql::transport::{CallOrigin, CallScope, TraceContext};
///
/// let fields = [("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")];
/// let mut origin = CallOrigin::default();
/// origin.meta = TraceContext::read(|name| {
///     fields.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
/// });
/// let scope = CallScope { origin: Some(Arc::new(origin)), ..CallScope::default() };
/// # let _ = scope;
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CallOrigin {
    /// Transport of the request. `None` for a call that did not arrive over MCP.
    pub transport: Option<TransportKind>,
    /// Name of the called MCP tool.
    pub tool: Option<String>,
    /// Id of the JSON-RPC request, shortened.
    pub request_id: Option<String>,
    /// Address of the client's connection, over HTTP. Behind a proxy, it is the address of the proxy.
    pub client: Option<SocketAddr>,
    /// MCP version of the request.
    pub protocol_version: Option<&'static str>,
    /// Trace context in the `_meta` of the request (SEP-414).
    pub meta: TraceContext,
    /// Trace context in the headers of the HTTP request.
    pub headers: TraceContext,
    /// Span active when the transport received the request.
    pub active: Option<ActiveSpan>,
}

/// The kind of transport over which a request arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportKind {
    /// Lines over standard input and output, or over another stream.
    Pipe,
    /// Streamable HTTP.
    Http,
}

/// The trace context of a request, as sent by its client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceContext {
    /// Trace and span of the client (W3C Trace Context).
    pub traceparent: Option<String>,
    /// State of tracing systems (W3C Trace Context).
    pub tracestate: Option<String>,
    /// Properties of the trace (W3C Baggage).
    pub baggage: Option<String>,
}

impl TraceContext {
    /// Names of the fields, both in `_meta` and in headers.
    pub const FIELDS: [&str; 3] = ["traceparent", "tracestate", "baggage"];
    /// Maximum length of a field in bytes. Longer fields are ignored.
    const MAX_FIELD_BYTES: usize = 8192;

    /// Reads the trace context with a function that returns the value of a field.
    pub fn read<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Self {
        let [traceparent, tracestate, baggage] = Self::FIELDS.map(|name| {
            field(name).filter(|value| value.len() <= Self::MAX_FIELD_BYTES).map(str::to_owned)
        });
        Self { traceparent, tracestate, baggage }
    }

    /// Returns a field by its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        match name {
            "traceparent" => self.traceparent.as_deref(),
            "tracestate" => self.tracestate.as_deref(),
            "baggage" => self.baggage.as_deref(),
            _ => None,
        }
    }
}

/// A span of a tracer, in the tracer's own type.
#[derive(Clone)]
pub struct ActiveSpan(Arc<dyn Any + Send + Sync>);

impl ActiveSpan {
    /// Wraps a span of a tracer.
    pub fn new(span: impl Any + Send + Sync) -> Self {
        Self(Arc::new(span))
    }

    /// Returns the span if it has this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for ActiveSpan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ActiveSpan").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_fields_are_ignored() {
        let long = "x".repeat(TraceContext::MAX_FIELD_BYTES + 1);
        let read = TraceContext::read(|name| match name {
            "traceparent" => Some("00-1-2-01"),
            "baggage" => Some(&*long),
            _ => None,
        });
        assert_eq!(read.get("traceparent"), Some("00-1-2-01"));
        assert_eq!((read.get("tracestate"), read.get("baggage")), (None, None));
    }
}
