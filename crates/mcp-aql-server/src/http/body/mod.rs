//! Limits the size and the time of request bodies, and records their bytes.

pub(crate) mod budget;
pub(crate) mod recorded_body;
pub(crate) mod refusal;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use mcp_aql_core::internal::util::lock;
use tokio::time::Instant;

use self::budget::{BodyBudget, BodyShare};
use self::recorded_body::RecordedBody;
use self::refusal::refuse_unfinished;
use super::rmcp::original_message::OriginalText;

/// Middleware that rejects requests with bodies that exceed the time limit or the budget.
pub(crate) async fn within_bounds(
    State((client_timeout, budget)): State<(Duration, Arc<BodyBudget>)>,
    request: Request,
    next: Next,
) -> Response {
    let until = Instant::now() + client_timeout;
    let (request, seen) = RecordedBody::request(request, 0, until, &budget);
    let response = next.run(request).await;
    let seen = std::mem::take(&mut *lock(&seen));
    refuse_unfinished(&seen).unwrap_or(response)
}

/// The recorded part of a body, and the unread rest, once the reader has dropped the body.
#[derive(Debug, Default)]
pub(crate) struct BodyRecord {
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) rest: Option<Body>,
    pub(crate) ended: bool,
    pub(crate) late: bool,
    /// If `true`, the body ended early or is malformed, for example because of invalid chunks.
    pub(crate) is_broken: bool,
    /// If `true`, the request was aborted in favor of another one.
    pub(crate) is_aborted: bool,
    /// The request's share of the size budget.
    pub(crate) _share: Option<Arc<BodyShare>>,
}

impl BodyRecord {
    /// Returns the bytes read so far.
    pub(crate) fn read(&self) -> Bytes {
        match &*self.pieces {
            [whole] => whole.clone(),
            pieces => pieces.concat().into(),
        }
    }
}

impl OriginalText for Mutex<BodyRecord> {
    fn read(&self) -> Bytes {
        lock(self).read()
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *lock(self)).read().into()
    }
}
