//! Error messages for requests whose replies are no longer available.

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, JsonRpcMessage, RequestId, ServerJsonRpcMessage};

/// Code of these errors. Clients use it for a lost connection.
const REPLY_LOST: ErrorCode = ErrorCode(-32000);

/// The session has ended or is unknown.
pub(super) const SESSION_ENDED: &str = "The session of this request has ended, and its reply with it. A change may have \
                                        been made: open a new session and read the current state before repeating it";
/// The reply has expired, or it was dropped in favor of newer ones.
pub(super) const NOT_KEPT: &str = "The reply to this request is not kept any more. A change may have been made: read the \
                                   current state before repeating it";
/// The client of a READ did not reconnect in time.
pub(super) const ABANDONED: &str =
    "The request was cancelled, because its client did not reconnect in time: send it again";

/// Returns the error that answers the request with this id.
pub(super) fn lost_reply(id: RequestId, message: &'static str) -> ServerJsonRpcMessage {
    JsonRpcMessage::error(ErrorData::new(REPLY_LOST, message, None), Some(id))
}
