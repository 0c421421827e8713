//! A store that keeps records in the memory of the process.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard};

use chrono::{DateTime, Utc};

use super::{Change, Expected, StateRecord, StateStore, StoreError};
use crate::util::BoxFuture;
use crate::util::lock;

/// Keeps records in memory until the process ends. This is the default store of an adapter. If you need records that
/// survive a restart, choose another store from the table in the module [`store`](crate::store).
#[derive(Debug, Default)]
pub struct MemoryState(Mutex<Records>);

#[derive(Debug, Default)]
struct Records {
    collections: BTreeMap<String, Collection>,
    /// The last assigned version.
    version: u64,
}

#[derive(Debug, Default)]
struct Collection {
    records: BTreeMap<String, StateRecord>,
    /// The group and the key of each record with a group. It allows listing a group without reading others.
    groups: BTreeSet<(String, String)>,
}

impl Collection {
    fn insert(&mut self, record: StateRecord) {
        self.remove(&record.key);
        if let Some(group) = &record.group {
            self.groups.insert((group.clone(), record.key.clone()));
        }
        self.records.insert(record.key.clone(), record);
    }

    fn remove(&mut self, key: &str) {
        if let Some(StateRecord { group: Some(group), key, .. }) = self.records.remove(key) {
            self.groups.remove(&(group, key));
        }
    }

    fn list(&self, group: Option<&str>, after: Option<&str>, limit: usize) -> Vec<StateRecord> {
        let Some(group) = group else {
            let start = after.map_or(Bound::Unbounded, Bound::Excluded);
            let found = self.records.range::<str, _>((start, Bound::Unbounded));
            return found.map(|(_, record)| record).take(limit).cloned().collect();
        };
        let start = (group.to_owned(), after.unwrap_or_default().to_owned());
        let start = if after.is_some() { Bound::Excluded(start) } else { Bound::Included(start) };
        let found = self.groups.range((start, Bound::Unbounded));
        let keys = found.take_while(|(found, _)| found == group).map(|(_, key)| key);
        keys.filter_map(|key| self.records.get(key)).take(limit).cloned().collect()
    }
}

impl Records {
    fn get(&self, collection: &str, key: &str) -> Option<&StateRecord> {
        self.collections.get(collection)?.records.get(key)
    }

    fn allows(&self, change: &Change) -> bool {
        let found = self.get(&change.collection, &change.key);
        match change.expected {
            Expected::Absent => found.is_none(),
            Expected::Version(version) => found.is_some_and(|record| record.version == version),
            Expected::Any => true,
        }
    }

    fn apply(&mut self, change: Change) {
        match change.record {
            Some(record) => {
                self.version += 1;
                let record = StateRecord {
                    key: change.key,
                    value: record.value,
                    version: self.version,
                    group: record.group,
                    expires_at: record.expires_at.map(micros),
                };
                self.collections.entry(change.collection).or_default().insert(record);
            }
            None => {
                if let Entry::Occupied(mut collection) = self.collections.entry(change.collection) {
                    collection.get_mut().remove(&change.key);
                    if collection.get().records.is_empty() {
                        collection.remove();
                    }
                }
            }
        }
    }
}

/// Truncates an instant to microseconds, because every store does so.
fn micros(at: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(at.timestamp_micros()).unwrap_or(at)
}

impl MemoryState {
    fn records(&self) -> MutexGuard<'_, Records> {
        lock(&self.0)
    }
}

impl StateStore for MemoryState {
    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        Box::pin(async move { Ok(self.records().get(collection, key).cloned()) })
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>> {
        Box::pin(async move {
            let records = self.records();
            let collection = records.collections.get(collection);
            Ok(collection.map(|found| found.list(group, after, limit)).unwrap_or_default())
        })
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            Change::check(&changes)?;
            let mut records = self.records();
            let allowed = changes.iter().all(|change| records.allows(change));
            if allowed {
                for change in changes {
                    records.apply(change);
                }
            }
            Ok(allowed)
        })
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let now = micros(now);
            let mut records = self.records();
            let mut purged = 0;
            for Collection { records, groups } in records.collections.values_mut() {
                records.retain(|key, record| {
                    let stays = record.expires_at.is_none_or(|at| at >= now);
                    if !stays {
                        purged += 1;
                        let group = record.group.take();
                        groups.remove(&(group.unwrap_or_default(), key.clone()));
                    }
                    stays
                });
            }
            records.collections.retain(|_, collection| !collection.records.is_empty());
            Ok(purged)
        })
    }

    fn is_fleeting(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewRecord;

    fn put(key: &str, expected: Expected) -> Change {
        Change::put("a", key, expected, NewRecord::new(format!("\"{key}\"")))
    }

    #[tokio::test]
    async fn all_changes_are_made_or_none() {
        let store = MemoryState::default();
        assert!(store.write(vec![put("1", Expected::Absent)]).await.unwrap());
        let both = vec![put("2", Expected::Absent), put("1", Expected::Absent)];
        assert!(!store.write(both).await.unwrap());
        assert_eq!(store.get("a", "2").await.unwrap(), None);
        let found = store.get("a", "1").await.unwrap().unwrap();
        assert!(store.write(vec![put("1", Expected::Version(found.version))]).await.unwrap());
        assert!(!store.write(vec![put("1", Expected::Version(found.version))]).await.unwrap());
        assert!(store.write(vec![Change::remove("a", "1", Expected::Any)]).await.unwrap());
        assert!(!store.write(vec![put("1", Expected::Version(found.version))]).await.unwrap());
    }

    #[tokio::test]
    async fn records_are_listed_by_group_and_in_pages() {
        let store = MemoryState::default();
        for (key, group) in [("1", "x"), ("2", "y"), ("3", "x"), ("4", "x")] {
            let record = NewRecord::new("0").group(group);
            let change = Change::put("a", key, Expected::Absent, record);
            assert!(store.write(vec![change]).await.unwrap());
        }
        let listed = store.list("a", Some("x"), Some("1"), 1).await.unwrap();
        assert_eq!(listed.iter().map(|record| &*record.key).collect::<Vec<_>>(), ["3"]);
        assert_eq!(store.list("a", None, None, 9).await.unwrap().len(), 4);
        assert!(store.list("b", None, None, 9).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_has_expired_is_forgotten() {
        // REQ-TOK-13
        let store = MemoryState::default();
        let now = Utc::now();
        for (key, at) in [("old", now - chrono::TimeDelta::seconds(1)), ("new", now)] {
            let record = NewRecord::new("0").expires_at(at).group("x");
            store.write(vec![Change::put("a", key, Expected::Any, record)]).await.unwrap();
        }
        assert_eq!(store.purge(now).await.unwrap(), 1);
        assert_eq!(store.list("a", None, None, 9).await.unwrap().len(), 1);
        assert_eq!(store.records().collections["a"].groups.len(), 1);
    }
}
