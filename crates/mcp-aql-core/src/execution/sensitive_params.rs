//! Keeps parameters in memory for retries, if they are too sensitive for the store.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::options::ExecutionOptions;
use super::output_budget::{MIN_RECORD_BYTES, OutputBudget};
use super::record::ExecutionRecord;
use super::status::Status;
use crate::util::clock::after;
use crate::util::lock;

/// The sensitive parameters of executions, for retries in this process. They have the same limits as outputs in the
/// store.
pub(crate) struct SensitiveParams {
    /// Parameters by execution id. Newer ids sort first.
    retained: Mutex<BTreeMap<String, RetainedParams>>,
    budget: OutputBudget,
}

struct RetainedParams {
    params: Map<String, Value>,
    /// Size of the parameters as JSON, at least [`MIN_RECORD_BYTES`].
    bytes: u64,
    caller: Option<String>,
    /// Time of their expiry. Set once the execution has failed.
    until: Option<DateTime<Utc>>,
}

impl SensitiveParams {
    pub(crate) fn new(options: &ExecutionOptions) -> Self {
        Self { retained: Mutex::default(), budget: OutputBudget::new(options) }
    }

    fn retained(&self) -> MutexGuard<'_, BTreeMap<String, RetainedParams>> {
        lock(&self.retained)
    }

    /// Keeps the parameters of a starting execution, and drops older parameters beyond the budget.
    pub(crate) fn keep(
        &self,
        id: &str,
        caller: Option<&str>,
        params: Map<String, Value>,
        now: DateTime<Utc>,
    ) {
        let bytes = serde_json::to_string(&params).map_or(0, |text| text.len() as u64);
        let bytes = bytes.max(MIN_RECORD_BYTES);
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

    /// Updates the parameters of an ended execution. They are kept only if it has failed, because only failed
    /// executions can be retried, and only until its record expires.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_small_parameters_is_limited() {
        let options = ExecutionOptions::new().keep_bytes_per_caller(1 << 20);
        let retained = SensitiveParams::new(&options);
        // Newer ids sort first.
        let id = |number: usize| format!("exec_{:04}", 9_999 - number);
        for number in 0..400 {
            retained.keep(&id(number), None, Map::new(), Utc::now());
        }
        assert!(retained.retained().len() <= 256 + 32);
        assert!(retained.get(&id(0)).is_none() && retained.get(&id(399)).is_some());
    }
}
