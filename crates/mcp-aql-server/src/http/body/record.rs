//! The bytes of a request's body that were read.

use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use mcp_aql_core::internal::util::lock;

use super::super::original_message::OriginalText;
use super::budget::BodyShare;

/// The part of a body that was read, and the rest of the body once rmcp no longer reads it.
#[derive(Debug, Default)]
pub(super) struct BodyRecord {
    pub(super) pieces: Vec<Bytes>,
    pub(super) rest: Option<Body>,
    pub(super) ended: bool,
    pub(super) late: bool,
    /// Set when the body was cut off or has an invalid form, as chunks can have.
    pub(super) is_broken: bool,
    /// Set when the request was aborted to make space for another one.
    pub(super) is_aborted: bool,
    /// The request's share of the byte budget.
    pub(super) _share: Option<Arc<BodyShare>>,
}

impl BodyRecord {
    /// The bytes read so far.
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
