//! The store in memory that both implementations share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The fields that every kind of record has.
pub trait Record: Clone {
    /// The name of the kind, for messages.
    const KIND: &'static str;

    /// Returns the version. It increases with every change.
    fn version(&mut self) -> &mut u64;
    /// Returns the flag for archived records. It is `true` if the record is archived.
    fn archived(&mut self) -> &mut bool;
}

/// Records of one kind, in memory.
#[derive(Debug)]
pub struct Store<T>(Mutex<BTreeMap<u64, T>>);

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// The reason why an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No record has this number.
    Missing {
        /// The kind of record.
        kind: &'static str,
        /// The number.
        id: u64,
    },
    /// The version differs from the expected one.
    Changed {
        /// The version that the caller expected.
        expected: u64,
        /// The stored version.
        actual: u64,
    },
    /// The record is not newer than the given version.
    Unchanged(u64),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { kind, id } => write!(formatter, "there is no {kind} {id}"),
            Self::Changed { expected, actual } => {
                write!(formatter, "version {expected} was expected, but it has {actual} by now")
            }
            Self::Unchanged(version) => write!(formatter, "it still has version {version}"),
        }
    }
}

impl<T: Record> Store<T> {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record. `make` creates it from the next number.
    pub fn add(&self, make: impl FnOnce(u64) -> T) -> T {
        let mut records = self.open();
        let id = records.last_key_value().map_or(1, |(last, _)| last + 1);
        let record = make(id);
        records.insert(id, record.clone());
        record
    }

    /// Returns a record. Archived records, or records not newer than `newer_than`, are errors.
    pub fn get(&self, id: u64, archived: bool, newer_than: Option<u64>) -> Result<T, Fault> {
        let mut records = self.open();
        let record = find(&mut records, id)?;
        if *record.archived() && !archived {
            return Err(Fault::Missing { kind: T::KIND, id });
        }
        match newer_than {
            Some(known) if *record.version() <= known => Err(Fault::Unchanged(known)),
            _ => Ok(record.clone()),
        }
    }

    /// Returns at most `limit` records that pass the filter, sorted by number.
    pub fn list(&self, archived: bool, limit: usize, passes: impl Fn(&T) -> bool) -> Vec<T> {
        self.open()
            .values_mut()
            .filter_map(|record| {
                let shown = archived || !*record.archived();
                (shown && passes(record)).then(|| record.clone())
            })
            .take(limit)
            .collect()
    }

    /// Changes a record.
    pub fn update(
        &self,
        id: u64,
        if_match: Option<u64>,
        change: impl FnOnce(&mut T),
    ) -> Result<T, Fault> {
        let mut records = self.open();
        let record = matching(&mut records, id, if_match)?;
        change(record);
        *record.version() += 1;
        Ok(record.clone())
    }

    /// Removes or archives a record.
    pub fn delete(&self, id: u64, if_match: Option<u64>, archive: bool) -> Result<T, Fault> {
        let mut records = self.open();
        let record = matching(&mut records, id, if_match)?;
        if archive {
            *record.archived() = true;
            *record.version() += 1;
            return Ok(record.clone());
        }
        let record = record.clone();
        records.remove(&id);
        Ok(record)
    }
}

fn find<T: Record>(records: &mut BTreeMap<u64, T>, id: u64) -> Result<&mut T, Fault> {
    records.get_mut(&id).ok_or(Fault::Missing { kind: T::KIND, id })
}

fn matching<T: Record>(
    records: &mut BTreeMap<u64, T>,
    id: u64,
    if_match: Option<u64>,
) -> Result<&mut T, Fault> {
    let record = find(records, id)?;
    match (if_match, *record.version()) {
        (Some(expected), actual) if expected != actual => Err(Fault::Changed { expected, actual }),
        _ => Ok(record),
    }
}
