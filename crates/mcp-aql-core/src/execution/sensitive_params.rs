//! Parameters that are too sensitive for the store, kept in memory for retries.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::options::ExecutionOptions;
use super::output_budget::OutputBudget;
use super::record::ExecutionRecord;
use super::status::Status;
use crate::util::clock::after;
use crate::util::sync::lock;

/// The sensitive parameters of executions, for retries in this process. They have the same limits as the outputs in the
/// store.
pub(crate) struct SensitiveParams {
    /// By the ids of the executions. The ids of newer executions come first.
    retained: Mutex<BTreeMap<String, RetainedParams>>,
    budget: OutputBudget,
}

struct RetainedParams {
    params: Map<String, Value>,
    /// Their size as JSON.
    bytes: u64,
    caller: Option<String>,
    /// When they expire. Set once the execution has failed.
    until: Option<DateTime<Utc>>,
}

impl SensitiveParams {
    pub(crate) fn new(options: &ExecutionOptions) -> Self {
        Self { retained: Mutex::default(), budget: OutputBudget::new(options) }
    }

    fn retained(&self) -> MutexGuard<'_, BTreeMap<String, RetainedParams>> {
        lock(&self.retained)
    }

    /// Keeps the parameters of an execution that begins, and drops older ones beyond the budget.
    pub(crate) fn keep(
        &self,
        id: &str,
        caller: Option<&str>,
        params: Map<String, Value>,
        now: DateTime<Utc>,
    ) {
        let bytes = serde_json::to_string(&params).map_or(0, |text| text.len() as u64);
        let caller = caller.map(str::to_owned);
        let mut retained = self.retained();
        retained.retain(|_, kept| kept.until.is_none_or(|until| until >= now));
        retained.insert(id.to_owned(), RetainedParams { params, bytes, caller, until: None });
        self.budget.count(bytes);
        if !self.budget.is_due() {
            return;
        }
        let mut selection = self.budget.selection();
        retained.retain(|_, kept| selection.keeps(kept.caller.clone(), kept.bytes));
        if let Some(mut selection) = self.budget.selection_of_all(&selection) {
            retained.retain(|_, kept| selection.keeps(kept.caller.clone(), kept.bytes));
        }
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
