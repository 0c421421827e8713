//! Passes requests to rmcp, and rewrites those that it cannot parse.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use futures_util::TryStreamExt as _;
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::request::readable;

use super::current_request::{SessionProblem, observe_session};
use super::long_id::{self, splice};
use super::original_message::OriginalMessage;
use super::server::RmcpService;
use crate::mcp::message::{Message, ToolCall, decode_message};

/// Rewrites a request that rmcp cannot parse. Returns `None` if nothing has to be rewritten. The second value is `true`
/// if the id was replaced.
///
/// Two parts are rewritten: numeric ids that rmcp cannot represent, and values in a call's arguments that rmcp's parser
/// rejects. The call itself is decoded from the original bytes. Therefore an invalid value only fails its own
/// operation, and the other operations of a batch run.
fn rewrite_for_rmcp(mut head: Parts, body: &[u8]) -> Option<(Request, bool)> {
    let arguments = match decode_message(body) {
        Message::Call(ToolCall { arguments: Some(arguments), .. }) => match readable(arguments) {
            Cow::Owned(readable) => splice(body, arguments, &readable),
            Cow::Borrowed(_) => None,
        },
        _ => None,
    };
    let id = long_id::shorten(arguments.as_deref().unwrap_or(body));
    let has_other_id = id.is_some();
    let body_for_rmcp = id.or(arguments)?;
    let sent: Option<&OriginalMessage> = head.extensions.get();
    if sent.is_none_or(|sent| sent.batch_budget().is_none()) {
        head.extensions.insert(OriginalMessage::new(body, None));
    }
    Some((Request::from_parts(head, Body::from(body_for_rmcp)), has_other_id))
}

/// Passes a request to rmcp. If rmcp could not parse it or mistook it for a notification, passes it again in a
/// rewritten form.
pub(crate) async fn forward_to_rmcp(
    request: Request,
    rmcp: &RmcpService,
    sent: impl FnOnce() -> Bytes,
) -> (Response, SessionProblem) {
    let (head, body) = request.into_parts();
    let second_head = head.clone();
    let principal: Option<Principal> = head.extensions.get().cloned();
    let run = |request| observe_session(principal.as_ref(), rmcp.run(request));
    let first = run(Request::from_parts(head, body)).await;
    if !matches!(first.0.status(), StatusCode::ACCEPTED | StatusCode::UNSUPPORTED_MEDIA_TYPE) {
        return first;
    }
    match rewrite_for_rmcp(second_head, &sent()) {
        Some((request, has_other_id)) => {
            let (response, observed) = run(request).await;
            (if has_other_id { with_original_ids(response) } else { response }, observed)
        }
        None => first,
    }
}

/// Restores the ids replaced for rmcp.
pub(crate) fn with_original_ids(response: Response) -> Response {
    response.map(|body| Body::from_stream(body.into_data_stream().map_ok(long_id::restore)))
}
