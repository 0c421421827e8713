//! A store that fails on request.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use mcp_aql::BoxFuture;
use mcp_aql::store::{Change, StateRecord, StateStore, StoreError};

use super::points::{AFTER_WRITE, BEFORE_WRITE, Points};

/// How the store fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outage {
    /// Every access fails.
    Refuses,
    /// Writes take effect, but return an error, as if the acknowledgment was lost. Reads fail.
    LosesAnswers,
}

impl Outage {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Refuses => "refuses",
            Self::LosesAnswers => "loses answers",
        }
    }
}

/// Makes the store of the adapter in this folder fail. `None` makes it work again.
pub(super) fn set_outage(folder: &Path, outage: Option<Outage>) -> std::io::Result<()> {
    let file = folder.join("outage");
    match outage {
        Some(outage) => std::fs::write(file, outage.as_str()),
        None => std::fs::remove_file(file),
    }
}

/// The adapter's store. It passes a point before and after each write, and fails while the file `outage` exists.
pub(super) struct FaultyStore {
    store: Arc<dyn StateStore>,
    outage: PathBuf,
    points: Points,
}

impl FaultyStore {
    pub(super) fn new(store: Arc<dyn StateStore>, folder: &Path) -> Self {
        Self { store, outage: folder.join("outage"), points: Points::of(folder) }
    }

    fn outage(&self) -> Option<Outage> {
        let text = std::fs::read_to_string(&self.outage).ok()?;
        [Outage::Refuses, Outage::LosesAnswers].into_iter().find(|kind| kind.as_str() == text)
    }

    fn check(&self) -> Result<(), StoreError> {
        match self.outage() {
            None => Ok(()),
            Some(_) => Err(unreachable()),
        }
    }
}

fn unreachable() -> StoreError {
    StoreError::failed("the suite has made the store unreachable")
}

impl StateStore for FaultyStore {
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.prepare()
    }

    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        Box::pin(async move {
            self.check()?;
            self.store.get(collection, key).await
        })
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>> {
        Box::pin(async move {
            self.check()?;
            self.store.list(collection, group, after, limit).await
        })
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            self.points.pass(BEFORE_WRITE).await;
            let outage = self.outage();
            if outage == Some(Outage::Refuses) {
                return Err(unreachable());
            }
            let written = self.store.write(changes).await;
            self.points.pass(AFTER_WRITE).await;
            match outage {
                Some(_) => Err(unreachable()),
                None => written,
            }
        })
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            self.check()?;
            self.store.purge(now).await
        })
    }

    fn is_fleeting(&self) -> bool {
        self.store.is_fleeting()
    }
}
