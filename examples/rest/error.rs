//! Maps the statuses of the service to errors of the protocol.
//!
//! Callers receive an error code of the protocol and a message of this adapter. The service's own message is only
//! logged, as the cause: it may contain host names, queries, stack traces, or instructions that a model would follow.

use mcp_aql::prelude::*;
use serde::Deserialize;

use crate::api::{ApiError, Refusal};

/// Delay before a retry if the service does not specify one, in seconds.
const DEFAULT_RETRY_AFTER_SECONDS: u64 = 60;

/// The subject of a request. Error messages for the caller name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// The caller's name for the parcel: its identifier, or the reference of a new parcel.
    pub(crate) parcel: Option<&'a str>,
    /// The prefix of field names in messages: `input.` in an UPDATE, otherwise empty.
    pub(crate) prefix: &'static str,
    /// The version that the caller expected.
    pub(crate) if_match: Option<&'a str>,
}

impl<'a> About<'a> {
    /// Describes a request for one parcel.
    pub(crate) const fn parcel(parcel: &'a str) -> Self {
        Self { parcel: Some(parcel), prefix: "", if_match: None }
    }

    /// Describes a request for all parcels.
    pub(crate) const fn all() -> Self {
        Self { parcel: None, prefix: "", if_match: None }
    }
}

/// The body of a 422 response:
///
/// ```json
/// { "field": "weight_g", "rule": "max" }
/// ```
#[derive(Deserialize)]
struct Complaint {
    field: String,
    rule: String,
}

impl ApiError {
    /// Returns the HTTP status, if the service responded with an error.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// Converts this error to the one that the caller receives. The original error is attached as its cause, for the
    /// log.
    pub(crate) fn explain(self, about: About<'_>) -> OperationError {
        let error = match &self {
            Self::Refused(refusal) => refusal.explain(about),
            Self::TimedOut { patience, .. } => OperationError::new(
                ErrorCode::InternalError,
                format!(
                    "The parcel service did not answer within '{}' seconds. A change may have been made: \
                     check the parcel before you try again",
                    patience.as_secs()
                ),
            ),
            Self::Unreachable { .. } => OperationError::new(
                ErrorCode::InternalError,
                "The parcel service cannot be reached. Try again later",
            ),
            // This is a bug in this adapter or in the service. The caller gets a correlation id to find it in the log.
            Self::TooLong { .. } | Self::Unreadable { .. } => {
                return OperationError::internal(self);
            }
        };
        error.with_cause(self)
    }
}

impl Refusal {
    /// Maps an HTTP status to an error code. The statuses with a special meaning in this API come first. For all
    /// others, the protocol defines the code.
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
            // The second argument would become part of the message, so the service's own message is not passed.
            (status, _) => OperationError::from_http_status(status, ""),
        }
    }

    /// Passes the service's rate limit on to the adapter. Until the limit ends, the adapter rejects calls of the
    /// operation itself and sends no requests.
    pub(crate) async fn heed(&self, context: &Context) -> Result<(), OperationError> {
        let wait = self.retry_after.as_deref().map(|wait| ("Retry-After", wait));
        context.report_upstream_response(self.status, wait.as_slice()).await
    }

    /// Describes a violated rule in this adapter's own words. An unknown field or rule gets a general description.
    fn complaint(&self, About { prefix, .. }: About<'_>) -> OperationError {
        let complaint: Option<Complaint> = serde_json::from_str(&self.body).ok();
        let named = complaint.as_ref().map(|it| (it.field.as_str(), it.rule.as_str()));
        match named {
            Some(("weight_g", "max")) => OperationError::invalid_value(
                &format!("{prefix}weight_g"),
                "must be '30000' grams or less, the maximum of the carrier",
            ),
            Some(("recipient.phone", "missing")) => OperationError::new(
                ErrorCode::ValidationMissingParam,
                format!(
                    "Missing required parameter '{prefix}recipient.phone'. Expected: string (Phone number; \
                     required for parcels over 20 kg)"
                ),
            )
            .with_detail("param_name", format!("{prefix}recipient.phone")),
            _ => OperationError::from_http_status(self.status, ""),
        }
    }
}
