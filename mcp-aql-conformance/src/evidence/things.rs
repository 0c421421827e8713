//! Things that are created, read and changed for the evidence.

use serde_json::Value;

use super::Collector;
use crate::cases::Cases;

/// What things that were created for it show.
#[derive(Default)]
pub(super) struct Things {
    pub(super) round_trips: Vec<Value>,
    pub(super) preserved: Vec<Value>,
    pub(super) refused: Vec<Value>,
    pub(super) defaults: Vec<Value>,
    pub(super) made: Cases,
    pub(super) updated: Cases,
}

impl Collector<'_> {
    pub(super) async fn things(&mut self) -> Things {
        Things::default()
    }
}
