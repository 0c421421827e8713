//! The recorded bytes of a request's body.

use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use mcp_aql_core::internal::util::lock;

use super::super::original_message::OriginalText;
use super::budget::BodyShare;

/// The recorded part of a body, and the rest of the body once rmcp no longer reads it.
#[derive(Debug, Default)]
pub(super) struct BodyRecord {
    pub(super) pieces: Vec<Bytes>,
    pub(super) rest: Option<Body>,
    pub(super) ended: bool,
    pub(super) late: bool,
    /// If `true`, the body ended early or is malformed, for example because of invalid chunks.
    pub(super) is_broken: bool,
    /// If `true`, the request was aborted in favor of another one.
    pub(super) is_aborted: bool,
    /// The request's share of the size budget.
    pub(super) _share: Option<Arc<BodyShare>>,
}

impl BodyRecord {
    /// Returns the bytes read so far.
    pub(super) fn read(&self) -> Bytes {
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
