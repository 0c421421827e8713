//! Answers JSON-RPC batches.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use mcp_aql_core::internal::caller::Principal;
use serde_json::value::RawValue;

use super::{McpEndpoint, has_modern_version, session_not_found};
use crate::http::body::refusal::json;
use crate::http::rmcp::events::events;
use crate::http::rmcp::forward::forward_to_rmcp;
use crate::http::rmcp::original_message::OriginalMessage;
use crate::mcp::answer::fail_with;
use crate::mcp::batch_budget::BatchBudget;
use crate::mcp::message::{LONG_BATCH, MAX_BATCH_MESSAGES, Message, decode_message};

impl McpEndpoint {
    /// Answers a JSON-RPC batch as if each message had arrived in a separate request. The response is an array of
    /// answers, or a stream with all answers as events if any of the messages is answered with events.
    pub(super) async fn batch(&self, head: &Parts, messages: &[&RawValue]) -> Response {
        if messages.len() > MAX_BATCH_MESSAGES {
            let mut body = Vec::new();
            fail_with(&mut body, None, -32600, LONG_BATCH);
            return (StatusCode::BAD_REQUEST, json(), body).into_response();
        }
        let budget = self.server().batch_budget();
        let responses = messages.iter().map(|message| self.message(head, message.get(), &budget));
        let (mut answers, mut streams) = (Vec::new(), Vec::new());
        for response in join_all(responses).await {
            let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
            match (response.status(), kind) {
                (StatusCode::ACCEPTED, _) => {}
                (_, Some(b"application/json")) => {
                    // The batch's size budget already limits the answers.
                    match axum::body::to_bytes(response.into_body(), usize::MAX).await {
                        Ok(answer) => answers.push(answer),
                        Err(error) => {
                            tracing::error!(%error, "an answer of a batch cannot be read");
                            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
                        }
                    }
                }
                (StatusCode::OK, Some(b"text/event-stream")) => {
                    streams.push(response.into_body().into_data_stream().left_stream());
                }
                // The headers are invalid. All messages share them, so one response is enough.
                _ => return response,
            }
        }
        if streams.is_empty() {
            return match answers.is_empty() {
                true => StatusCode::ACCEPTED.into_response(),
                false => (json(), [b"[", &*answers.join(&b","[..]), b"]"].concat()).into_response(),
            };
        }
        streams.extend(answers.into_iter().map(|answer| {
            let event = Bytes::from([b"data: ", &*answer, b"\n\n"].concat());
            stream::once(std::future::ready(Ok(event))).right_stream()
        }));
        events(Body::from_stream(stream::select_all(streams)))
    }

    /// Answers one message of a batch.
    async fn message(&self, head: &Parts, message: &str, budget: &BatchBudget) -> Response {
        let mut request = Request::from_parts(head.clone(), Body::from(message.to_owned()));
        request.headers_mut().insert(CONTENT_LENGTH, message.len().into());
        request.extensions_mut().insert(OriginalMessage::new(message.as_bytes(), Some(budget)));
        let form = self.direct.form(&request, self.longest);
        if let Some(form) = form
            && let Message::Call(call) = decode_message(message.as_bytes())
            && let Some(answer) =
                self.direct.answer(&form, call, request.extensions_mut(), Some(budget))
        {
            return answer.await;
        }
        let sent = || Bytes::copy_from_slice(message.as_bytes());
        let (response, noticed) = forward_to_rmcp(request, &self.rmcp, sent).await;
        match response.status() {
            StatusCode::INTERNAL_SERVER_ERROR if noticed.unknown_session => session_not_found(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                let caller = head.extensions.get::<Principal>();
                self.refuse(message.as_bytes(), (has_modern_version(&head.headers), caller))
            }
            _ => response,
        }
    }
}
