//! Maps the statuses of the service to errors of the protocol.
//!
//! The caller receives a code of the protocol and a message of this adapter. The service's own text is attached as the
//! cause, which only the log shows: it may contain host names, queries, stack traces, or text that instructs a model.

use mcp_aql::prelude::*;
use serde::Deserialize;

use crate::api::{ApiError, Refusal};

/// The delay before a retry if the service specifies none, in seconds.
const DEFAULT_RETRY_AFTER_SECONDS: u64 = 60;

/// The subject of a request, for the message that the caller reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// The caller's name of the parcel: its identifier, or the reference of a new one.
    pub(crate) parcel: Option<&'a str>,
    /// The prefix of field names: `input.` in an UPDATE.
    pub(crate) prefix: &'static str,
    /// The version that the caller expected.
    pub(crate) if_match: Option<&'a str>,
}

impl<'a> About<'a> {
    /// A request about one parcel.
    pub(crate) const fn parcel(parcel: &'a str) -> Self {
        Self { parcel: Some(parcel), prefix: "", if_match: None }
    }

    /// A request about all parcels.
    pub(crate) const fn all() -> Self {
        Self { parcel: None, prefix: "", if_match: None }
    }
}

/// The body of a 422 answer.
#[derive(Deserialize)]
struct Complaint {
    field: String,
    rule: String,
}

impl ApiError {
    /// Returns the status of a refusal.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// Returns the error for the caller.
    pub(crate) fn explain(self, about: About<'_>) -> OperationError {
        let error = match &self {
            Self::Refused(refusal) => refusal.explain(about),
            Self::TimedOut { patience, .. } => OperationError::new(
                ErrorCode::InternalError,
                format!(
                    "The parcel service did not answer within '{}' seconds. A change may have been \
                     made or not: read before you try again",
                    patience.as_secs()
                ),
            ),
            Self::Unreachable { .. } => OperationError::new(
                ErrorCode::InternalError,
                "The parcel service cannot be reached. Try again later",
            ),
            // An error of this adapter or of the service. The log has it under a correlation id.
            Self::TooLong { .. } | Self::Unreadable { .. } => {
                return OperationError::internal(self);
            }
        };
        error.with_cause(self)
    }
}

impl Refusal {
    /// Maps an HTTP status to an error code. Statuses with a specific meaning in this API are listed here. The protocol
    /// defines a table for all others.
    fn explain(&self, about: About<'_>) -> OperationError {
        match (self.status, about.parcel) {
            (404, Some(parcel)) => OperationError::not_found("parcel", parcel),
            (409, Some(parcel)) => OperationError::already_exists("parcel", parcel),
            (412, _) => OperationError::version_mismatch(
                about.if_match.unwrap_or("any"),
                self.etag.as_deref().unwrap_or("another"),
            ),
            (422, _) => self.complaint(about),
            (429, _) => {
                let seconds = self.retry_after.as_ref().and_then(|wait| wait.parse().ok());
                OperationError::rate_limited(seconds.unwrap_or(DEFAULT_RETRY_AFTER_SECONDS))
            }
            // The service's own text is left out, which `from_http_status` would add to the message.
            (status, _) => OperationError::from_http_status(status, ""),
        }
    }

    /// Reports the service's rate limit to the adapter, which then refuses calls of the operation until the limit ends,
    /// without sending requests.
    pub(crate) async fn heed(&self, context: &Context) -> Result<(), OperationError> {
        let wait = self.retry_after.as_deref().map(|wait| ("Retry-After", wait));
        context.report_upstream_response(self.status, wait.as_slice()).await
    }

    /// Describes a violated rule. Only fields and rules that this adapter knows are named, in its own words.
    fn complaint(&self, About { prefix, .. }: About<'_>) -> OperationError {
        let complaint: Option<Complaint> = serde_json::from_str(&self.body).ok();
        let named = complaint.as_ref().map(|it| (it.field.as_str(), it.rule.as_str()));
        match named {
            Some(("weight_g", "max")) => OperationError::invalid_value(
                &format!("{prefix}weight_g"),
                "must be '30000' grams or less, which is all the carrier takes",
            ),
            Some(("recipient.phone", "missing")) => OperationError::new(
                ErrorCode::ValidationMissingParam,
                format!(
                    "Missing required parameter '{prefix}recipient.phone'. Expected: string (Whom \
                     to call; needed for parcels over 20 kg)"
                ),
            )
            .with_detail("param_name", format!("{prefix}recipient.phone")),
            _ => OperationError::from_http_status(self.status, ""),
        }
    }
}
