//! Parameters that are too sensitive for the store, kept in memory for retries.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::record::ExecutionRecord;
use super::status::Status;
use crate::clock::after;
use crate::sync::lock;

/// The sensitive parameters of executions, for retries in this process.
#[derive(Default)]
pub(crate) struct SensitiveParams(Mutex<HashMap<String, RetainedParams>>);

struct RetainedParams {
    params: Map<String, Value>,
    /// When they expire. Set once the execution has failed.
    until: Option<DateTime<Utc>>,
}

impl SensitiveParams {
    fn retained(&self) -> MutexGuard<'_, HashMap<String, RetainedParams>> {
        lock(&self.0)
    }

    pub(crate) fn keep(&self, id: &str, params: Map<String, Value>, now: DateTime<Utc>) {
        let mut kept = self.retained();
        kept.retain(|_, kept| kept.until.is_none_or(|until| until >= now));
        kept.insert(id.to_owned(), RetainedParams { params, until: None });
    }

    pub(crate) fn get(&self, id: &str) -> Option<Map<String, Value>> {
        self.retained().get(id).map(|kept| kept.params.clone())
    }

    /// Updates the parameters of an execution that has ended. Only a failed execution can be retried, and
    /// only as long as it can be read.
    pub(crate) fn ended(&self, id: &str, record: &ExecutionRecord, keep: Duration) {
        let mut kept = self.retained();
        match (record.status, record.finished_at) {
            (Status::Failed, Some(at)) => {
                if let Some(kept) = kept.get_mut(id) {
                    kept.until = Some(after(at, keep));
                }
            }
            _ => {
                kept.remove(id);
            }
        }
    }
}
