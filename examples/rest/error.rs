//! What a status means to the caller.
//!
//! The caller gets a code of the protocol and a sentence of ours. What the service wrote goes along
//! as the cause, which only the log sees: it may hold names of hosts, queries, stack traces, or text
//! that tells a model what to do.

use mcp_aql::prelude::*;
use serde::Deserialize;

use crate::api::{ApiError, Refusal};

/// How long to wait when the service does not say, in seconds.
const A_WHILE: u64 = 60;

/// What a request was about, for the sentence that the caller reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// What the caller calls the parcel: its identifier, or the reference of a new one.
    pub(crate) parcel: Option<&'a str>,
    /// What stands before the names of fields: `input.` in an UPDATE.
    pub(crate) prefix: &'static str,
    /// The version that the caller expected.
    pub(crate) if_match: Option<&'a str>,
}

impl<'a> About<'a> {
    /// About one parcel.
    pub(crate) const fn parcel(parcel: &'a str) -> Self {
        Self { parcel: Some(parcel), prefix: "", if_match: None }
    }

    /// About all of them.
    pub(crate) const fn all() -> Self {
        Self { parcel: None, prefix: "", if_match: None }
    }
}

/// What the service says in the body of a 422.
#[derive(Deserialize)]
struct Complaint {
    field: String,
    rule: String,
}

impl ApiError {
    /// The status of a refusal.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// The error that the caller gets.
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
            // A fault of this adapter or of the service: the log has it under a correlation id.
            Self::TooLong { .. } | Self::Unreadable { .. } => {
                return OperationError::internal(self);
            }
        };
        error.with_cause(self)
    }
}

impl Refusal {
    /// What HTTP says in a number, in the protocol's codes. A status that this API gives a meaning of
    /// its own has a line here; for all others the protocol has a table.
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
                OperationError::rate_limited(seconds.unwrap_or(A_WHILE))
            }
            // Without the service's own words, which this function could take along.
            (status, _) => OperationError::from_http_status(status, ""),
        }
    }

    /// Has the adapter remember how long the service wants to be left alone: calls of the operation are
    /// refused for so long, and no request is sent. A 429 is the error that says so.
    pub(crate) async fn heed(&self, context: &Context) -> Result<(), OperationError> {
        let wait = self.retry_after.as_deref().map(|wait| ("Retry-After", wait));
        context.upstream_answered(self.status, wait.as_slice()).await
    }

    /// The service names the field and the rule. Only what this adapter knows gets through, in its
    /// own words.
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
