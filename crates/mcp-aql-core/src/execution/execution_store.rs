//! Reads and writes the records of executions, with optimistic concurrency.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::output_budget::{MIN_RECORD_BYTES, OutputBudget};
use super::record::ExecutionRecord;
use super::status::Status;
use crate::observe::audit::AuditEntry;
use crate::services::Services;
use crate::store::{Change, Expected, NewRecord, StateRecord, StoreError};
use crate::util::clock::after;

/// The collection of the store for executions.
pub(super) const COLLECTION: &str = "executions";
/// Number of records read at a time.
pub(super) const READ_BATCH_SIZE: usize = 256;

/// How long expired leases are ignored after a failure of the store. The owner of an execution may not have been able
/// to renew its lease during the failure, and may be writing its outcome now.
const OUTAGE_MARGIN: Duration = Duration::from_secs(10);

/// Stores the records of executions. Each change applies only to the version of the record read for it.
pub(crate) struct ExecutionStore {
    pub(crate) services: Arc<Services>,
    pub(crate) adapter: String,
    pub(crate) keep: Duration,
    pub(crate) budget: OutputBudget,
}

/// Returned by a closure that changes a record.
pub(crate) enum RecordUpdate<T> {
    /// Write the changed record.
    Write(T),
    /// Remove the record, with everything else that is kept of the execution.
    Remove(T),
    /// Discard the change.
    Leave(T),
}

/// Returns `true` if this process runs the given attempt of an execution.
pub(crate) type RunsHere<'a> = &'a (dyn Fn(&str, u32) -> bool + Send + Sync);

impl ExecutionStore {
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.services.time.now()
    }

    /// Adds a record.
    pub(crate) async fn insert(
        &self,
        id: &str,
        record: &ExecutionRecord,
    ) -> Result<(), StoreError> {
        let text = serde_json::to_string(record).map_err(StoreError::failed)?;
        let change = Change::put(COLLECTION, id, Expected::Absent, self.kept_with(record, text));
        match self.services.store().await?.write(vec![change]).await? {
            true => Ok(()),
            false => Err(StoreError::Unreadable("an execution id was generated twice".to_owned())),
        }
    }

    /// Returns an execution of this adapter. Ends it first if its owner is gone.
    pub(crate) async fn get(
        &self,
        id: &str,
        runs_here: RunsHere<'_>,
    ) -> Result<Option<ExecutionRecord>, StoreError> {
        let found = self.services.store().await?.get(COLLECTION, id).await?;
        match found {
            Some(found) => self.end_if_orphaned(found, runs_here).await,
            None => Ok(None),
        }
    }

    /// Changes a record. Repeats the change if another writer was faster. Returns `None` if this adapter has no such
    /// record.
    pub(crate) async fn update<T>(
        &self,
        id: &str,
        mut change: impl FnMut(&mut ExecutionRecord, DateTime<Utc>) -> RecordUpdate<T> + Send,
    ) -> Result<Option<T>, StoreError> {
        let store = self.services.store().await?;
        loop {
            let Some(found) = store.get(COLLECTION, id).await? else { return Ok(None) };
            let mut record = read(&found)?;
            if record.adapter != self.adapter {
                return Ok(None);
            }
            let before = Self::size_key(id, &record);
            let expected = Expected::Version(found.version);
            let (outcome, changes) = match change(&mut record, self.now()) {
                RecordUpdate::Leave(outcome) => return Ok(Some(outcome)),
                RecordUpdate::Write(outcome) => {
                    (outcome, self.changes(id, &mut record, before.as_deref(), expected)?)
                }
                RecordUpdate::Remove(outcome) => {
                    let mut changes = Self::removal(id, before.as_deref());
                    changes.push(Change::remove(COLLECTION, id, expected));
                    (outcome, changes)
                }
            };
            if store.write(changes).await? {
                if before.is_none() && record.status.is_final() {
                    self.budget.count(record.output_bytes + MIN_RECORD_BYTES);
                }
                return Ok(Some(outcome));
            }
            // Another writer has changed the record in the meantime, so read it again.
            tokio::task::yield_now().await;
        }
    }

    /// Visits the executions of one owner, newest first, starting after the key `after`, until `visit` breaks. The
    /// owner is the account of a principal, or a session. `None` stands for all callers with neither.
    pub(crate) async fn visit(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        mut visit: impl FnMut(String, ExecutionRecord) -> ControlFlow<()> + Send,
        runs_here: RunsHere<'_>,
    ) -> Result<(), StoreError> {
        let group = self.group(owner);
        let mut after = after.map(str::to_owned);
        loop {
            let store = self.services.store().await?;
            let chunk =
                store.list(COLLECTION, Some(&group), after.as_deref(), READ_BATCH_SIZE).await?;
            let last = chunk.len() < READ_BATCH_SIZE;
            after = chunk.last().map(|record| record.key.clone());
            for found in chunk {
                let id = found.key.clone();
                let Some(record) = self.end_if_orphaned(found, runs_here).await? else { continue };
                if visit(id, record).is_break() {
                    return Ok(());
                }
            }
            if last {
                return Ok(());
            }
        }
    }

    /// Ends all executions of this adapter whose owner is gone. Returns the expiry of the latest lease held by another
    /// process, so that the caller can check again at that time.
    pub(crate) async fn sweep(
        &self,
        runs_here: RunsHere<'_>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let store = self.services.store().await?;
        let (mut after, mut until) = (None::<String>, None::<DateTime<Utc>>);
        loop {
            let chunk = store.list(COLLECTION, None, after.as_deref(), READ_BATCH_SIZE).await?;
            let last = chunk.len() < READ_BATCH_SIZE;
            after = chunk.last().map(|record| record.key.clone());
            for found in chunk {
                let id = found.key.clone();
                let record = match read(&found) {
                    Ok(record) if record.adapter == self.adapter => record,
                    Ok(_) => continue,
                    Err(error) => {
                        tracing::error!(%error, execution = id, "cannot read an execution's record");
                        continue;
                    }
                };
                let ours = runs_here(&id, record.attempt);
                let now = self.now();
                if !record.status.is_final() && !ours && !self.is_orphaned(&record, now) {
                    let outage = record
                        .is_orphaned(now)
                        .then(|| crate::util::clock::after(now, OUTAGE_MARGIN));
                    until = until.max(Some(record.lease_until)).max(outage);
                }
                self.end_if_orphaned(found, runs_here).await?;
            }
            if last {
                return Ok(until);
            }
        }
    }

    /// Returns `true` if the owner of an execution is gone.
    fn is_orphaned(&self, record: &ExecutionRecord, now: DateTime<Utc>) -> bool {
        record.is_orphaned(now) && !self.services.store.has_failed_within(OUTAGE_MARGIN)
    }

    /// Parses a stored record, and ends its execution if the owner is gone. Returns `None` for an expired record or one
    /// of another adapter.
    async fn end_if_orphaned(
        &self,
        found: StateRecord,
        runs_here: RunsHere<'_>,
    ) -> Result<Option<ExecutionRecord>, StoreError> {
        let record = read(&found)?;
        let now = self.now();
        if record.adapter != self.adapter || found.expires_at.is_some_and(|at| at < now) {
            return Ok(None);
        }
        // After the machine was suspended, the leases of this process look expired until they are renewed.
        if !self.is_orphaned(&record, now) || runs_here(&found.key, record.attempt) {
            return Ok(Some(record));
        }
        let ended = self.update(&found.key, |record, now| {
            let ended = record.is_orphaned(now) && record.abandon(now).is_ok();
            let outcome = (record.clone(), ended);
            if ended { RecordUpdate::Write(outcome) } else { RecordUpdate::Leave(outcome) }
        });
        let Some((record, ended)) = ended.await? else { return Ok(None) };
        if ended {
            let owner = &*record.owner;
            tracing::warn!(execution = found.key, owner, "an execution has lost its owner");
            let event = match record.status {
                Status::Cancelled => "EXECUTION_CANCELLED",
                _ => "EXECUTION_FAILED",
            };
            self.audit(event, &found.key, &record, (Some("interrupted"), None)).await;
        }
        Ok(Some(record))
    }

    /// Records a change of an execution's state in the audit log (REQ-LIF-11).
    pub(crate) async fn audit(
        &self,
        event: &str,
        id: &str,
        record: &ExecutionRecord,
        (reason, params): (Option<&str>, Option<Value>),
    ) {
        let entry = AuditEntry {
            event,
            operation: Some(&record.operation),
            outcome: record.status.as_str(),
            reason,
            params,
            principal: record.principal.as_deref(),
            session: record.session.as_deref(),
            execution_id: Some(id),
            ..AuditEntry::default()
        };
        self.services.audit.record(&entry).await;
    }

    /// Creates a record for data of an execution. It is listed and expires like the execution's own record.
    pub(super) fn kept_with(&self, record: &ExecutionRecord, text: String) -> NewRecord {
        let kept = NewRecord::new(text).group(self.group(record.listed_for()));
        match record.finished_at.filter(|_| record.status.is_final()) {
            Some(at) => kept.expires_at(after(at, self.keep)),
            None => kept,
        }
    }

    /// Returns the group that lists the executions of a principal or a session.
    fn group(&self, owner: Option<&str>) -> String {
        format!("{}/{}", self.adapter, owner.unwrap_or("-"))
    }
}

fn read(found: &StateRecord) -> Result<ExecutionRecord, StoreError> {
    serde_json::from_str(&found.value).map_err(|error| {
        StoreError::Unreadable(format!("the record of an execution cannot be read: {error}"))
    })
}

/// Bits for the time in milliseconds. 45 bits last for a thousand years.
const TIME_BITS: u32 = 45;
/// The last time that fits into an id.
const LAST_TIME: u64 = (1 << TIME_BITS) - 1;
/// Digits of ids, sorted by value. Letters that look like digits are excluded.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Generates an id: the time, encoded so that newer ids sort first, and 128 random bits.
///
/// ```text
/// exec_ + 9 digits of time + 26 random digits
/// ```
pub(crate) fn new_id(now: DateTime<Utc>) -> Result<String, StoreError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| StoreError::failed(error.to_string()))?;
    let time = u64::try_from(now.timestamp_millis()).unwrap_or_default();
    let time = base32(u128::from(LAST_TIME.saturating_sub(time)), TIME_BITS);
    Ok(format!("exec_{time}{}", base32(u128::from_be_bytes(random), u128::BITS)))
}

/// Returns the time in an id, or `None` if the string is not an id.
pub fn created_at(id: &str) -> Option<DateTime<Utc>> {
    let digits = id.strip_prefix("exec_")?.get(..TIME_BITS.div_ceil(5) as usize)?;
    let remaining = digits.bytes().try_fold(0, |value: u64, digit| {
        let digit = DIGITS.iter().position(|known| *known == digit)?;
        Some(value << 5 | digit as u64)
    })?;
    DateTime::from_timestamp_millis(LAST_TIME.checked_sub(remaining)?.try_into().ok()?)
}

/// Encodes a number with the digits of ids.
fn base32(value: u128, bits: u32) -> String {
    (0..bits.div_ceil(5))
        .rev()
        .map(|place| {
            let digit = usize::try_from((value >> (place * 5)) & 31).unwrap_or_default();
            DIGITS.get(digit).copied().map_or('0', char::from)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_and_newer_ones_come_first() {
        // REQ-LIF-04
        let now = Utc::now();
        let (old, new) =
            (new_id(now).unwrap(), new_id(after(now, Duration::from_secs(1))).unwrap());
        assert_eq!((old.len(), new.len()), (40, 40));
        assert!(new < old, "{new} {old}");
        let millisecond = now.timestamp_millis();
        assert_eq!(created_at(&old).map(|at| at.timestamp_millis()), Some(millisecond));
        for text in ["", "exec_", "exec_0000", "exec_iiiiiiiii0", "task_y7n44vbkz352"] {
            assert_eq!(created_at(text), None, "{text}");
        }
        assert_ne!(new_id(now).unwrap().split_off(14), old.clone().split_off(14));
        assert_eq!(base32(0, 10), "00");
        assert_eq!(base32(1023, 10), "zz");
        assert_eq!(base32(u128::MAX, 128), format!("7{}", "z".repeat(25)));
    }
}
