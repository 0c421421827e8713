use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::record::ExecutionRecord;
use super::state::Status;
use crate::audit::AuditEntry;
use crate::clock::after;
use crate::services::Services;
use crate::store::{Change, Expected, NewRecord, Record, StoreError};

/// The collection of the store that holds the executions.
const COLLECTION: &str = "executions";
/// Records that are read at a time.
const CHUNK: usize = 256;

/// The records of executions. Each change is made to what was read last, or not at all.
pub(crate) struct Ledger {
    pub(crate) services: Arc<Services>,
    pub(crate) adapter: String,
    pub(crate) keep: Duration,
}

/// What a change of a record comes to.
pub(crate) enum Verdict<T> {
    /// Keep the changed record.
    Write(T),
    /// Leave it as it was.
    Leave(T),
}

/// How a ledger knows the executions that run in this process.
pub(crate) type RunsHere<'a> = &'a (dyn Fn(&str, u32) -> bool + Send + Sync);

impl Ledger {
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.services.time.now()
    }

    /// Adds a record.
    pub(crate) async fn insert(
        &self,
        id: &str,
        record: &ExecutionRecord,
    ) -> Result<(), StoreError> {
        let change = Change::put(COLLECTION, id, Expected::Absent, self.kept(record)?);
        match self.services.store().await?.write(vec![change]).await? {
            true => Ok(()),
            false => Err(StoreError::Unreadable("an execution id came twice".to_owned())),
        }
    }

    /// An execution of this adapter. One whose owner is gone has ended.
    pub(crate) async fn get(
        &self,
        id: &str,
        runs_here: RunsHere<'_>,
    ) -> Result<Option<ExecutionRecord>, StoreError> {
        let found = self.services.store().await?.get(COLLECTION, id).await?;
        match found {
            Some(found) => self.settled(found, runs_here).await,
            None => Ok(None),
        }
    }

    /// Changes a record. `None` where there is none of this adapter.
    pub(crate) async fn update<T>(
        &self,
        id: &str,
        mut change: impl FnMut(&mut ExecutionRecord, DateTime<Utc>) -> Verdict<T> + Send,
    ) -> Result<Option<T>, StoreError> {
        let store = self.services.store().await?;
        loop {
            let Some(found) = store.get(COLLECTION, id).await? else { return Ok(None) };
            let mut record = read(&found)?;
            if record.adapter != self.adapter {
                return Ok(None);
            }
            let told = match change(&mut record, self.now()) {
                Verdict::Leave(told) => return Ok(Some(told)),
                Verdict::Write(told) => told,
            };
            let expected = Expected::Version(found.version);
            let change = Change::put(COLLECTION, id, expected, self.kept(&record)?);
            if store.write(vec![change]).await? {
                return Ok(Some(told));
            }
            // Somebody else was faster, who has got on by that.
            tokio::task::yield_now().await;
        }
    }

    /// Visits the executions of a session, or those without one, behind `after`: the newest first,
    /// until `visit` breaks.
    pub(crate) async fn visit(
        &self,
        session: Option<&str>,
        after: Option<&str>,
        mut visit: impl FnMut(String, ExecutionRecord) -> ControlFlow<()> + Send,
        runs_here: RunsHere<'_>,
    ) -> Result<(), StoreError> {
        let group = self.group(session);
        let mut after = after.map(str::to_owned);
        loop {
            let store = self.services.store().await?;
            let chunk = store.list(COLLECTION, Some(&group), after.as_deref(), CHUNK).await?;
            let last = chunk.len() < CHUNK;
            after = chunk.last().map(|record| record.key.clone());
            for found in chunk {
                let id = found.key.clone();
                let Some(record) = self.settled(found, runs_here).await? else { continue };
                if visit(id, record).is_break() {
                    return Ok(());
                }
            }
            if last {
                return Ok(());
            }
        }
    }

    /// Ends all executions of this adapter whose owner is gone, whoever it was. Tells until when others may still
    /// count on theirs.
    pub(crate) async fn sweep(
        &self,
        runs_here: RunsHere<'_>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let store = self.services.store().await?;
        let (mut after, mut until) = (None::<String>, None::<DateTime<Utc>>);
        loop {
            let chunk = store.list(COLLECTION, None, after.as_deref(), CHUNK).await?;
            let last = chunk.len() < CHUNK;
            after = chunk.last().map(|record| record.key.clone());
            for found in chunk {
                let id = found.key.clone();
                let record = match read(&found) {
                    Ok(record) if record.adapter == self.adapter => record,
                    Ok(_) => continue,
                    Err(error) => {
                        tracing::error!(%error, execution = id, "a record cannot be read");
                        continue;
                    }
                };
                let ours = runs_here(&id, record.attempt);
                if !record.status.is_final() && !ours && !record.is_orphaned(self.now()) {
                    until = until.max(Some(record.lease_until));
                }
                self.settled(found, runs_here).await?;
            }
            if last {
                return Ok(until);
            }
        }
    }

    /// A record as it is to be read: one that has expired is gone, one whose owner is gone has ended.
    async fn settled(
        &self,
        found: Record,
        runs_here: RunsHere<'_>,
    ) -> Result<Option<ExecutionRecord>, StoreError> {
        let record = read(&found)?;
        let now = self.now();
        if record.adapter != self.adapter || found.expires_at.is_some_and(|at| at < now) {
            return Ok(None);
        }
        // After a long sleep of the machine its own leases look old, and are about to be renewed.
        if !record.is_orphaned(now) || runs_here(&found.key, record.attempt) {
            return Ok(Some(record));
        }
        let ended = self.update(&found.key, |record, now| {
            let ended = record.is_orphaned(now) && record.abandon(now).is_ok();
            let told = (record.clone(), ended);
            if ended { Verdict::Write(told) } else { Verdict::Leave(told) }
        });
        let Some((record, ended)) = ended.await? else { return Ok(None) };
        if ended {
            let owner = &*record.owner;
            tracing::warn!(execution = found.key, owner, "the owner of an execution is gone");
            let event = match record.status {
                Status::Cancelled => "EXECUTION_CANCELLED",
                _ => "EXECUTION_FAILED",
            };
            self.note(event, &found.key, &record, (Some("interrupted"), None)).await;
        }
        Ok(Some(record))
    }

    /// Writes to the audit log what became of an execution (REQ-LIF-11).
    pub(crate) async fn note(
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
            session: record.session.as_deref(),
            execution_id: Some(id),
            ..AuditEntry::default()
        };
        self.services.audit.record(&entry).await;
    }

    fn kept(&self, record: &ExecutionRecord) -> Result<NewRecord, StoreError> {
        let text = serde_json::to_string(record).map_err(StoreError::failed)?;
        let kept = NewRecord::new(text).group(self.group(record.session.as_deref()));
        Ok(match record.finished_at.filter(|_| record.status.is_final()) {
            Some(at) => kept.expires_at(after(at, self.keep)),
            None => kept,
        })
    }

    /// What executions are listed by.
    fn group(&self, session: Option<&str>) -> String {
        format!("{}/{}", self.adapter, session.unwrap_or("-"))
    }
}

fn read(found: &Record) -> Result<ExecutionRecord, StoreError> {
    serde_json::from_str(&found.value).map_err(StoreError::failed)
}

/// A new id: 128 random bits behind the time, which is written so that newer ones come first.
pub(crate) fn new_id(now: DateTime<Utc>) -> Result<String, StoreError> {
    /// 45 bits of milliseconds last for a thousand years.
    const TIME_BITS: u32 = 45;
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| StoreError::failed(error.to_string()))?;
    let last = (1_u64 << TIME_BITS) - 1;
    let left = last.saturating_sub(u64::try_from(now.timestamp_millis()).unwrap_or_default());
    let time = base32(u128::from(left), TIME_BITS);
    Ok(format!("exec_{time}{}", base32(u128::from_be_bytes(random), u128::BITS)))
}

/// Digits and letters in the order of their values, without those that look like others.
fn base32(value: u128, bits: u32) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
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
        assert_ne!(new_id(now).unwrap().split_off(14), old.clone().split_off(14));
        assert_eq!(base32(0, 10), "00");
        assert_eq!(base32(1023, 10), "zz");
        assert_eq!(base32(u128::MAX, 128), format!("7{}", "z".repeat(25)));
    }
}
