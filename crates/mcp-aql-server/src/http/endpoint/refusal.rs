//! The responses to requests with invalid messages.

use std::pin::Pin;

use axum::body::HttpBody as _;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::request::{parse, too_large};
use tokio::time::Instant;

use super::McpEndpoint;
use crate::http::body::BodyRecord;
use crate::http::body::refusal::json;
use crate::mcp::answer::fail_with;
use crate::mcp::message::{Fault, Message, Refusal, ToolCall, decode_message, too_long};
use crate::mcp::request_id::IdScanner;

/// Maximum number of bytes of an overlong body to read, as a multiple of the maximum body length. The bytes are
/// discarded and only searched for the request's id.
const MAX_SKIPPED_FACTOR: usize = 4;

impl McpEndpoint {
    /// Reads and discards the rest of an overlong body to find the request's id (REQ-ENC-08).
    pub(super) async fn refuse_long(
        &self,
        seen: BodyRecord,
        (modern, caller): (bool, Option<&Principal>),
        until: Instant,
    ) -> Response {
        let mut scanner = IdScanner::default();
        let mut read = 0;
        let mut take = |piece: &[u8]| {
            scanner.read(piece);
            read += piece.len();
            read < MAX_SKIPPED_FACTOR.saturating_mul(self.longest)
        };
        let mut on = true;
        for piece in &seen.pieces {
            on = take(piece);
        }
        drop(seen.pieces);
        if let Some(mut rest) = seen.rest.filter(|_| !seen.ended) {
            while on {
                let frame = std::future::poll_fn(|context| Pin::new(&mut rest).poll_frame(context));
                match tokio::time::timeout_at(until, frame).await.ok().flatten() {
                    Some(Ok(frame)) => on = frame.data_ref().is_none_or(|piece| take(piece)),
                    Some(Err(_)) | None => break,
                }
            }
        }
        let recovered = scanner.finish();
        let limit = self.server().limits().max_request_size;
        let error = too_large("request_size", limit, recovered.bytes, "bytes");
        let refusal = too_long(recovered, error);
        self.answer(refusal, (modern, caller), StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// Rejects a message that rmcp could not parse.
    pub(super) fn refuse(&self, body: &[u8], sender: (bool, Option<&Principal>)) -> Response {
        let refusal = match decode_message(body) {
            Message::Refused(refusal) => refusal,
            Message::Call(ToolCall { id, arguments, .. }) => {
                let limits = self.server().limits();
                let outcome = parse(arguments.unwrap_or("{}").as_bytes(), limits);
                let fault = outcome.err().map_or(Fault::Form, Fault::Call);
                Refusal { id: Some(id.to_owned()), fault }
            }
            Message::Request(_)
            | Message::Answer { .. }
            | Message::Cancelled { .. }
            | Message::Ignored => Refusal { id: IdScanner::of(body).id, fault: Fault::Form },
            Message::Batch(_) | Message::Blank => Refusal { id: None, fault: Fault::Form },
        };
        self.answer(refusal, sender, StatusCode::BAD_REQUEST)
    }

    /// Responds with a tool result if the protocol defines an error for this rejection. Otherwise responds with a
    /// JSON-RPC error and this status.
    fn answer(
        &self,
        refusal: Refusal,
        (modern, caller): (bool, Option<&Principal>),
        status: StatusCode,
    ) -> Response {
        let Refusal { id, fault } = refusal;
        let mut body = Vec::new();
        let status = match id {
            Some(id) => {
                let answer = self.server().refuse_message(fault, caller);
                self.server().write_answer(&mut body, &id, &answer, modern);
                if answer.is_ok() { StatusCode::OK } else { status }
            }
            None => {
                let (code, message) = fault.code();
                fail_with(&mut body, None, code, &message);
                status
            }
        };
        (status, json(), body).into_response()
    }
}
