//! Errors that answer requests whose replies are not available any more.

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, JsonRpcMessage, RequestId, ServerJsonRpcMessage};

/// The code of these errors. Clients use it for a lost connection.
const REPLY_LOST: ErrorCode = ErrorCode(-32000);

/// The session has ended, or is unknown.
pub(super) const SESSION_ENDED: &str = "The session of this request has ended, and its reply with it. A change may have \
                                        been made: open a new session and read the current state before repeating it";
/// The reply is older than the retention, or newer ones needed its space.
pub(super) const NOT_KEPT: &str = "The reply to this request is not kept any more. A change may have been made: read the \
                                   current state before repeating it";
/// The client of a READ did not reconnect.
pub(super) const ABANDONED: &str =
    "The request was cancelled, because its client did not reconnect in time: send it again";

/// The error that answers the request with this id.
pub(super) fn lost_reply(id: RequestId, message: &'static str) -> ServerJsonRpcMessage {
    JsonRpcMessage::error(ErrorData::new(REPLY_LOST, message, None), Some(id))
}
