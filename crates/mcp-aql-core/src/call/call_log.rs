//! The span and the log lines of a call.

use std::pin::Pin;
use std::time::Instant;

use mcp_aql_protocol::ErrorCode;
use tracing::level_filters::LevelFilter;
use tracing::{Instrument as _, Span};

use crate::error::OperationError;
use crate::gatekeeper::GatedOperation;
use crate::log_targets::CALLS;
use crate::operation::{CallScope, Outcome};
use crate::store::chain;

/// The span of a call, which measures its time.
pub(super) struct CallLog {
    span: Span,
    /// The start of the call, which is only read if its time is logged.
    started: Option<Instant>,
}

impl CallLog {
    /// Begins the span of a routed call.
    pub(super) fn new(operation: &GatedOperation, scope: &CallScope) -> Self {
        let span = tracing::info_span!(
            target: CALLS,
            "operation",
            operation = &*operation.name,
            category = operation.spec.category.as_str(),
            session = scope.session.as_ref().map(|session| session.id().to_owned()),
            client_request_id = scope.client_request_id.as_deref(),
        );
        let started = (LevelFilter::current() != LevelFilter::OFF).then(Instant::now);
        Self { span, started }
    }

    /// Awaits the stages of the call within its span, and logs the outcome. The stages are pinned by the
    /// caller, because a future that is moved takes its place twice.
    pub(super) async fn record(
        &self,
        stages: Pin<&mut impl Future<Output = Outcome>>,
        scope: &CallScope,
    ) -> Outcome {
        let outcome = stages.instrument(self.span.clone()).await;
        let _entered = self.span.enter();
        let duration_ms = self.started.map(|started| started.elapsed().as_secs_f64() * 1_000.0);
        match &outcome {
            Ok(_) => tracing::info!(target: CALLS, duration_ms, "operation done"),
            Err(_) if scope.is_cancelled() => {
                tracing::info!(target: CALLS, duration_ms, "operation given up by its caller");
            }
            Err(error) => log_failure(error, duration_ms),
        }
        outcome
    }
}

fn log_failure(error: &OperationError, duration_ms: Option<f64>) {
    let code = error.code().as_str();
    let correlation_id = error.details().get("correlation_id").and_then(serde_json::Value::as_str);
    if error.code() != ErrorCode::InternalError || error.is_logged() {
        tracing::info!(target: CALLS, duration_ms, code, correlation_id, "operation failed");
        return;
    }
    tracing::error!(target: CALLS, duration_ms,
        code,
        correlation_id,
        cause = error.cause().map(|cause| chain(cause)),
        "operation failed"
    );
}
