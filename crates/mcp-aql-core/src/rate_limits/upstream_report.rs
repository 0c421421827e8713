//! Methods of [`Context`] for operations that wrap an API: they report usage and responses.

use super::Usage;
use super::limiter::answered_without_limits;
use crate::caller::principal::Principal;
use crate::caller::session::Session;
use crate::error::OperationError;
use crate::operation::{Context, UpstreamResponse};

impl Context {
    /// Reports the usage of a wrapped API by this call. Quotas count it when the operation ends, even if it fails.
    /// You can call this several times; the amounts are added up.
    ///
    /// ```
    /// use mcp_aql::rate_limits::Usage;
    /// use mcp_aql::prelude::*;
    ///
    /// /// Translate a text.
    /// #[operation(category = "READ", rationale = "it computes and stores nothing")]
    /// async fn translate(
    ///     context: Context,
    ///     /// The text.
    ///     text: String,
    /// ) -> String {
    ///     let (translated, tokens) = (text.to_uppercase(), 12);
    ///     context.report_usage(Usage::tokens(tokens).cost(0.02));
    ///     translated
    /// }
    /// ```
    pub fn report_usage(&self, usage: Usage) {
        self.add_usage(usage);
    }

    /// Records the response of a wrapped HTTP API, given by its status and its headers as names and values. Call it
    /// for every response, so that limits of the API are respected.
    ///
    /// The store keeps `Retry-After` of a 429 or 503, and the headers named by the adapter's limits. Calls counted by
    /// these limits are rejected for as long as the API requested. If no limit counts the operation, only its own
    /// calls are rejected.
    ///
    /// ```
    /// # use mcp_aql::{Context, OperationError};
    /// async fn ask(context: &Context, status: u16) -> Result<(), OperationError> {
    ///     let headers = [("Retry-After", "12"), ("X-RateLimit-Remaining", "0")];
    ///     context.report_upstream_response(status, &headers).await
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns `RATE_LIMIT_EXCEEDED` for the status 429, and `INTERNAL_ERROR` if the store fails.
    ///
    /// Source: adapter/rate-limiting §4.2 (REQ-RATE-01, REQ-RATE-09).
    pub async fn report_upstream_response(
        &self,
        status: u16,
        headers: &[(&str, &str)],
    ) -> Result<(), OperationError> {
        match self.upstream() {
            Some(upstream) => {
                let response = UpstreamResponse {
                    operation: self.operation(),
                    principal: self.principal().map(Principal::id),
                    session: self.session().map(Session::id),
                    status,
                    headers,
                };
                upstream.answered(response).await
            }
            None => answered_without_limits(status, headers),
        }
    }
}
