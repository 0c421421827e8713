//! Stores the outputs of ended executions: results, and parameters for a retry. Outputs can be large, so they have
//! separate records. Lists of executions do not read these records, and a budget limits their total size.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Executions;
use super::execution_store::{ExecutionStore, READ_BATCH_SIZE, RecordUpdate};
use super::output_budget::OutputSelection;
use super::record::ExecutionRecord;
use crate::store::{Change, Expected, StateRecord, StoreError};

/// Collection of the store for outputs.
const OUTPUTS: &str = "execution_outputs";
/// Collection with the size of each output. Its keys sort the newest first, so the total is computed without reading
/// outputs.
const SIZES: &str = "execution_output_sizes";

/// The large parts of an ended execution. A failed one keeps the parameters for its retry:
///
/// ```json
/// { "params": { "minutes": 5 } }
/// ```
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Output {
    /// The data of the operation, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Box<RawValue>>,
    /// The parameters for a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) params: Option<Map<String, Value>>,
}

/// The size of an output.
#[derive(Debug, Serialize, Deserialize)]
struct OutputSize {
    /// Adapter of the execution. Several adapters may share a store.
    adapter: String,
    bytes: u64,
}

/// Returns the key for the size of an output. Executions that ended later have smaller keys.
fn size_key(id: &str, record: &ExecutionRecord) -> String {
    let ended = record.finished_at.map_or(0, |at| at.timestamp_micros());
    let ended = u64::MAX - u64::try_from(ended).unwrap_or_default();
    format!("{ended:020} {id}")
}

/// Returns the changes that remove an output.
fn removal(id: &str, size_key: &str) -> Vec<Change> {
    [(OUTPUTS, id), (SIZES, size_key)]
        .map(|(collection, key)| Change::remove(collection, key, Expected::Any))
        .into()
}

impl ExecutionStore {
    /// Returns the key for the size of a record's output, if it has an output.
    pub(super) fn output_key(id: &str, record: &ExecutionRecord) -> Option<String> {
        (record.output_bytes > 0).then(|| size_key(id, record))
    }

    /// Moves the output of an ended execution into a separate record, or removes its earlier output. Returns the
    /// changes to write together with the execution's record.
    pub(super) fn output_changes(
        &self,
        id: &str,
        record: &mut ExecutionRecord,
        before: Option<&str>,
    ) -> Result<Vec<Change>, StoreError> {
        if !record.status.is_final() || (record.result.is_none() && record.params.is_none()) {
            let removed = before.filter(|_| record.output_bytes == 0);
            return Ok(removed.map(|key| removal(id, key)).unwrap_or_default());
        }
        let output = Output { result: record.result.take(), params: record.params.take() };
        let text = serde_json::to_string(&output).map_err(StoreError::failed)?;
        record.output_bytes = text.len() as u64;
        let size = OutputSize { adapter: self.adapter.clone(), bytes: record.output_bytes };
        let size = serde_json::to_string(&size).map_err(StoreError::failed)?;
        Ok(vec![
            Change::put(OUTPUTS, id, Expected::Any, self.kept_with(record, text)),
            Change::put(SIZES, size_key(id, record), Expected::Any, self.kept_with(record, size)),
        ])
    }

    /// Returns the output of an execution, if it is still stored.
    pub(crate) async fn output(&self, id: &str) -> Result<Option<Output>, StoreError> {
        let Some(found) = self.services.store().await?.get(OUTPUTS, id).await? else {
            return Ok(None);
        };
        serde_json::from_str(&found.value).map(Some).map_err(|error| {
            StoreError::Unreadable(format!("the output of an execution cannot be read: {error}"))
        })
    }

    /// Drops outputs beyond the budget, if enough has been written since the last check.
    pub(crate) async fn enforce_budget(&self) {
        if !self.budget.is_due() {
            return;
        }
        if let Err(error) = self.drop_outputs().await {
            // Makes the next output try again.
            self.budget.count(self.budget.per_caller);
            if error.outage().is_none() {
                tracing::warn!(%error, "cannot count the outputs of executions");
            }
        }
    }

    /// Drops the oldest outputs of each caller that exceeds its share. If this is not enough, drops the oldest outputs
    /// of the callers that use the most.
    async fn drop_outputs(&self) -> Result<(), StoreError> {
        let mut kept = self.budget.selection();
        self.drop_unselected(&mut kept).await?;
        match self.budget.selection_of_all(&kept) {
            Some(mut kept) => self.drop_unselected(&mut kept).await,
            None => Ok(()),
        }
    }

    async fn drop_unselected(&self, kept: &mut OutputSelection) -> Result<(), StoreError> {
        let mut after = None::<String>;
        loop {
            let store = self.services.store().await?;
            let chunk = store.list(SIZES, None, after.as_deref(), READ_BATCH_SIZE).await?;
            let last = chunk.len() < READ_BATCH_SIZE;
            after = chunk.last().map(|record| record.key.clone());
            for StateRecord { key, value, group, .. } in chunk {
                let Ok(OutputSize { adapter, bytes }) = serde_json::from_str(&value) else {
                    continue;
                };
                if adapter == self.adapter && !kept.keeps(group, bytes) {
                    self.drop_output(&key).await?;
                }
            }
            if last {
                return Ok(());
            }
        }
    }

    /// Drops the output whose size has this key, and records this in the execution's record.
    pub(super) async fn drop_output(&self, size_key: &str) -> Result<(), StoreError> {
        let id = size_key.split_once(' ').map_or(size_key, |(_, id)| id);
        let dropped = self.update(id, |record, _| {
            // After a retry, the record has a newer output under another key.
            if Self::output_key(id, record).as_deref() != Some(size_key) {
                return RecordUpdate::Leave(false);
            }
            record.drop_output();
            RecordUpdate::Write(true)
        });
        let removed = match dropped.await {
            Ok(Some(true)) => {
                tracing::debug!(execution = id, "the output of an execution is no longer stored");
                return Ok(());
            }
            // Only remove the outdated size, because the output may be the newer one.
            Ok(_) => vec![Change::remove(SIZES, size_key, Expected::Any)],
            Err(error) if error.is_unreadable() => {
                tracing::error!(%error, execution = id, "cannot read an execution's record");
                removal(id, size_key)
            }
            Err(error) => return Err(error),
        };
        self.services.store().await?.write(removed).await?;
        Ok(())
    }
}

impl Executions {
    /// Reads the result and the parameters of an ended execution into its record.
    pub(crate) async fn read_output(
        &self,
        id: &str,
        record: &mut ExecutionRecord,
    ) -> Result<(), StoreError> {
        if record.output_bytes == 0 {
            return Ok(());
        }
        match self.core.store.output(id).await? {
            Some(output) => (record.result, record.params) = (output.result, output.params),
            // The output was dropped after the record was read.
            None => record.drop_output(),
        }
        Ok(())
    }
}
