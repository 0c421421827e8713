//! The errors of the safety loop's operations.

use chrono::{DateTime, Utc};
use mcp_aql_core::OperationError;
use mcp_aql_core::internal::util::clock;
use mcp_aql_protocol::ErrorCode;

use super::retry_lockout::WINDOW_SECONDS;
use super::transition::Rejection;

/// Replaces a code in a reply to its sender, because replies must not contain codes.
const REDACTED: &str = "[redacted]";

/// Returns the error for the caller of an operation (choice G-03).
pub(super) fn error(refusal: Rejection, agent: &str, now: DateTime<Utc>) -> OperationError {
    match refusal {
        Rejection::Blocked { agent, challenge } => blocked(&agent, challenge),
        Rejection::NotExecuting => OperationError::not_found("execution", agent)
            .with_detail("hint", "the agent has none: call execute_agent first"),
        Rejection::Elsewhere { free_in } => elsewhere(free_in),
        Rejection::Busy => denied(
            "The agent executes with other parameters; call complete_execution or abort_execution \
             first",
            "already_executing",
        ),
        Rejection::Pending => denied(
            "The execution is pending and cannot be completed; wait for approval or call \
             abort_execution",
            "pending",
        ),
        Rejection::Invalid => OperationError::new(
            ErrorCode::TokenInvalid,
            "Invalid confirmation token. Ask a person for the code of an open request",
        )
        .with_detail("token", REDACTED),
        Rejection::Expired { at } => OperationError::new(
            ErrorCode::TokenExpired,
            "Confirmation token has expired. Report the action again to ask for another",
        )
        .with_detail("token", REDACTED)
        .with_detail("expired_at", clock::text(at))
        .with_detail("current_time", clock::text(now)),
        Rejection::Used { at } => OperationError::new(
            ErrorCode::TokenAlreadyUsed,
            "Confirmation token has already been used",
        )
        .with_detail("token", REDACTED)
        .with_detail("consumed_at", clock::text(at)),
        Rejection::WrongOperation => OperationError::new(
            ErrorCode::TokenScopeMismatch,
            "Confirmation token scope mismatch: send this code with verify_challenge",
        )
        .with_detail("token", REDACTED)
        .with_detail("token_operation", "verify_challenge")
        .with_detail("requested_operation", "confirm_operation"),
        Rejection::TooMany(seconds) => {
            let wait = i64::try_from(seconds).unwrap_or(WINDOW_SECONDS);
            OperationError::rate_limited(seconds)
                .with_detail("limit", super::state_machine::MAX_REQUESTS_PER_MINUTE)
                .with_detail("remaining", 0)
                .with_detail("window", "minute")
                .with_detail("resets_at", clock::text(now + chrono::TimeDelta::seconds(wait)))
        }
    }
}

/// Returns the error for a blocked agent. Its message ends with advice:
///
/// ```json
/// {
///   "code": "PERMISSION_DENIED", "message": "Permission denied: 'blocked'. …",
///   "details": { "reason": "blocked", "agent": "tidy", "challenge_id": "9f0c…" }
/// }
/// ```
fn blocked(agent: &str, challenge: Option<String>) -> OperationError {
    let help = match &challenge {
        Some(_) => {
            "The agent is blocked until a person verifies; ask for the code of the \
             challenge in the details and send it with verify_challenge"
        }
        None => {
            "The agent is blocked until a person lifts the block; call record_execution_step for a new challenge"
        }
    };
    let error = denied(help, "blocked").with_detail("agent", agent);
    match challenge {
        Some(id) => error.with_detail("challenge_id", id),
        None => error,
    }
}

fn elsewhere(free_in: Option<u64>) -> OperationError {
    match free_in {
        None => denied(
            "The agent executes in another session, and only the other session may continue it",
            "other_session",
        ),
        Some(seconds) => denied(
            "The agent executes in a session of another process, and only the other session may continue it; if \
             the process has ended, try again after the time in the details",
            "other_session",
        )
        .with_detail("retry_after_seconds", seconds),
    }
}

/// Returns an error with the code's message template, followed by advice.
fn denied(help: &'static str, reason: &str) -> OperationError {
    let message = format!("Permission denied: '{reason}'. {help}");
    OperationError::new(ErrorCode::PermissionDenied, message).with_detail("reason", reason)
}

/// Returns the error of `verify_challenge`. It is the same for an unknown challenge, a wrong code and an expired code,
/// so that it reveals nothing.
pub(super) fn not_verified() -> OperationError {
    denied(
        "The challenge cannot be verified with this code; a challenge allows one attempt",
        "not_verified",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn refusals_leak_nothing() {
        // REQ-CNF-09, REQ-GATE-06
        let now = Utc::now();
        let blocked = |challenge| Rejection::Blocked { agent: "a".to_owned(), challenge };
        for (refusal, code) in [
            (blocked(None), ErrorCode::PermissionDenied),
            (blocked(Some("c".to_owned())), ErrorCode::PermissionDenied),
            (Rejection::NotExecuting, ErrorCode::NotFoundResource),
            (Rejection::Elsewhere { free_in: None }, ErrorCode::PermissionDenied),
            (Rejection::Elsewhere { free_in: Some(12) }, ErrorCode::PermissionDenied),
            (Rejection::Busy, ErrorCode::PermissionDenied),
            (Rejection::Pending, ErrorCode::PermissionDenied),
            (Rejection::Invalid, ErrorCode::TokenInvalid),
            (Rejection::Expired { at: now }, ErrorCode::TokenExpired),
            (Rejection::Used { at: now }, ErrorCode::TokenAlreadyUsed),
            (Rejection::WrongOperation, ErrorCode::TokenScopeMismatch),
            (Rejection::TooMany(7), ErrorCode::RateLimitExceeded),
        ] {
            let error = error(refusal, "at x", now);
            assert_eq!(error.code(), code);
            // REQ-ERR-03: every value in a message is also in the details.
            if let Some(reason) = error.details().get("reason").and_then(Value::as_str) {
                let start = format!("Permission denied: '{reason}'. ");
                assert!(error.message().starts_with(&start), "{}", error.message());
            }
            if error.code() == ErrorCode::RateLimitExceeded {
                // REQ-RATE-03
                assert_eq!(error.details()["window"], "minute");
            }
            assert!(
                !mcp_aql_core::internal::text::leaks_internals(error.message()),
                "{}",
                error.message()
            );
        }
        assert!(!mcp_aql_core::internal::text::leaks_internals(not_verified().message()));
    }
}
