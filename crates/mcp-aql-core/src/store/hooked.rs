//! A store for tests. It runs a hook before each access.

use chrono::{DateTime, Utc};

use super::{Change, MemoryState, StateRecord, StateStore, StoreError};
use crate::util::BoxFuture;

/// The kinds of access to a [`Hooked`] store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookedCall {
    /// Reads one record.
    Get,
    /// Reads several records.
    List,
    /// Changes records.
    Write,
}

/// Runs before each access. Use it to delay accesses or to let them fail.
pub trait Hook: Send + Sync + 'static {
    /// A value held until the access completes.
    type Held: Send;

    /// Prepares an access. If it returns an error, the access fails without reaching the store.
    fn before(
        &self,
        access: HookedCall,
    ) -> impl Future<Output = Result<Self::Held, StoreError>> + Send;
}

/// A hook without effect.
impl Hook for () {
    type Held = ();

    async fn before(&self, _: HookedCall) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Keeps records in memory, and runs a hook before each access. Purging does not count as an access.
#[derive(Debug, Default)]
pub struct Hooked<H> {
    kept: MemoryState,
    /// Called before each access.
    pub hook: H,
}

impl<H> Hooked<H> {
    /// Creates a store in memory with a hook.
    pub fn new(hook: H) -> Self {
        Self { kept: MemoryState::default(), hook }
    }
}

impl<H: Hook> StateStore for Hooked<H> {
    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        Box::pin(async move {
            let _held = self.hook.before(HookedCall::Get).await?;
            self.kept.get(collection, key).await
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
            let _held = self.hook.before(HookedCall::List).await?;
            self.kept.list(collection, group, after, limit).await
        })
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            let _held = self.hook.before(HookedCall::Write).await?;
            self.kept.write(changes).await
        })
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.kept.purge(now)
    }
}
