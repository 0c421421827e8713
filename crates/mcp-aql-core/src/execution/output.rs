//! Stores the outputs of ended executions: results, and parameters for a retry. Outputs can be large, so they have
//! separate records. Lists of executions do not read these records.
//!
//! A budget limits the total size of the outputs, and with the same limits that of the executions' own records.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Executions;
use super::execution_store::{COLLECTION, ExecutionStore, READ_BATCH_SIZE, RecordUpdate};
use super::output_budget::{MIN_RECORD_BYTES, OutputSelection};
use super::record::ExecutionRecord;
use crate::store::{Change, Expected, StateRecord, StoreError};

/// Collection of the store for outputs.
const OUTPUTS: &str = "execution_outputs";
/// Collection with the sizes of each ended execution. Its keys sort the newest first, so the executions are counted
/// without reading them.
const SIZES: &str = "execution_sizes";

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

/// The sizes of an ended execution, in bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Sizes {
    /// Adapter of the execution. Several adapters may share a store.
    adapter: String,
    record: u64,
    /// 0 if there is no output.
    output: u64,
}

/// The part of an ended execution to drop.
#[derive(Debug, Clone, Copy)]
pub(super) enum DropScope {
    /// Everything.
    Execution,
    Output,
}

impl ExecutionStore {
    /// Returns the key for the sizes of an execution, if it has ended. Executions that ended later have smaller keys.
    pub(super) fn size_key(id: &str, record: &ExecutionRecord) -> Option<String> {
        let ended = record.finished_at.filter(|_| record.status.is_final())?;
        let ended = u64::MAX - u64::try_from(ended.timestamp_micros()).unwrap_or_default();
        Some(format!("{ended:020} {id}"))
    }

    /// Returns the changes that remove what is kept of an ended execution in addition to its record.
    pub(super) fn removal(id: &str, size_key: Option<&str>) -> Vec<Change> {
        let kept = [(OUTPUTS, id)].into_iter().chain(size_key.map(|key| (SIZES, key)));
        kept.map(|(collection, key)| Change::remove(collection, key, Expected::Any)).collect()
    }

    /// Moves the output of an ended execution into a separate record, or removes its earlier output. Returns the
    /// changes, including that of the execution's own record. `before` is the key for its earlier sizes.
    pub(super) fn changes(
        &self,
        id: &str,
        record: &mut ExecutionRecord,
        before: Option<&str>,
        expected: Expected,
    ) -> Result<Vec<Change>, StoreError> {
        let key = Self::size_key(id, record);
        let mut changes = Vec::new();
        if key.is_some() && (record.result.is_some() || record.params.is_some()) {
            let output = Output { result: record.result.take(), params: record.params.take() };
            let text = serde_json::to_string(&output).map_err(StoreError::failed)?;
            record.output_bytes = text.len() as u64;
            changes.push(Change::put(OUTPUTS, id, Expected::Any, self.kept_with(record, text)));
        } else if before.is_some() {
            changes = Self::removal(id, before.filter(|_| key.is_none()));
        }
        let text = serde_json::to_string(record).map_err(StoreError::failed)?;
        if let Some(key) = key {
            let sizes = Sizes {
                adapter: self.adapter.clone(),
                record: text.len() as u64,
                output: record.output_bytes,
            };
            let sizes = serde_json::to_string(&sizes).map_err(StoreError::failed)?;
            changes.push(Change::put(SIZES, key, Expected::Any, self.kept_with(record, sizes)));
        }
        changes.push(Change::put(COLLECTION, id, expected, self.kept_with(record, text)));
        Ok(changes)
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

    /// Drops executions and outputs beyond the budget, if enough has been written since the last check.
    pub(crate) async fn enforce_budget(&self) {
        if !self.budget.is_due() {
            return;
        }
        for scope in [DropScope::Execution, DropScope::Output] {
            if let Err(error) = self.drop_oldest(scope).await {
                // Makes the next execution try again.
                self.budget.count(self.budget.per_caller);
                if error.outage().is_none() {
                    tracing::warn!(%error, "cannot count the ended executions");
                }
            }
        }
    }

    /// Drops what is oldest of each caller that exceeds its share. If this is not enough, drops what is oldest of the
    /// callers that use the most.
    async fn drop_oldest(&self, scope: DropScope) -> Result<(), StoreError> {
        let mut kept = self.budget.selection();
        self.drop_unselected(scope, &mut kept).await?;
        match self.budget.selection_of_all(&kept) {
            Some(mut kept) => self.drop_unselected(scope, &mut kept).await,
            None => Ok(()),
        }
    }

    async fn drop_unselected(
        &self,
        scope: DropScope,
        kept: &mut OutputSelection,
    ) -> Result<(), StoreError> {
        let mut after = None::<String>;
        loop {
            let store = self.services.store().await?;
            let chunk = store.list(SIZES, None, after.as_deref(), READ_BATCH_SIZE).await?;
            let last = chunk.len() < READ_BATCH_SIZE;
            after = chunk.last().map(|record| record.key.clone());
            for StateRecord { key, value, group, .. } in chunk {
                let Ok(sizes) = serde_json::from_str::<Sizes>(&value) else { continue };
                let bytes = match scope {
                    DropScope::Execution => sizes.record.max(MIN_RECORD_BYTES),
                    DropScope::Output => sizes.output,
                };
                if bytes > 0 && sizes.adapter == self.adapter && !kept.keeps(group, bytes) {
                    self.drop_ended(&key, scope).await?;
                }
            }
            if last {
                return Ok(());
            }
        }
    }

    /// Drops the execution whose sizes have this key, or its output. The execution's record says that its output was
    /// dropped.
    pub(super) async fn drop_ended(
        &self,
        size_key: &str,
        scope: DropScope,
    ) -> Result<(), StoreError> {
        let id = size_key.split_once(' ').map_or(size_key, |(_, id)| id);
        let done = self.update(id, |record, _| {
            // After a retry, the execution has newer sizes under another key.
            if Self::size_key(id, record).as_deref() != Some(size_key) {
                return RecordUpdate::Leave(false);
            }
            match scope {
                DropScope::Execution => RecordUpdate::Remove(true),
                DropScope::Output => {
                    record.drop_output();
                    RecordUpdate::Write(true)
                }
            }
        });
        let removed = match done.await {
            Ok(Some(true)) => {
                tracing::debug!(execution = id, ?scope, "an execution exceeds the budget");
                return Ok(());
            }
            // Only remove the outdated sizes, because the output may be the newer one.
            Ok(_) => vec![Change::remove(SIZES, size_key, Expected::Any)],
            Err(error) if error.is_unreadable() => {
                tracing::error!(%error, execution = id, "cannot read an execution's record");
                Self::removal(id, Some(size_key))
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
