//! A store for tests, where something happens before each access.

use chrono::{DateTime, Utc};

use super::{Change, MemoryStore, Record, Store, StoreError};
use crate::future::BoxFuture;

/// What a [`Hooked`] store is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Get,
    List,
    Write,
}

/// What happens before it.
pub(crate) trait Hook: Send + Sync + 'static {
    /// Held until the access is over.
    type Held: Send;

    /// An error keeps the store from being asked.
    fn before(&self, access: Access)
    -> impl Future<Output = Result<Self::Held, StoreError>> + Send;
}

/// Nothing happens.
impl Hook for () {
    type Held = ();

    async fn before(&self, _: Access) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Keeps records in memory, which it does not say. To clear up is no access.
#[derive(Debug, Default)]
pub(crate) struct Hooked<H> {
    kept: MemoryStore,
    pub(crate) hook: H,
}

impl<H> Hooked<H> {
    pub(crate) fn new(hook: H) -> Self {
        Self { kept: MemoryStore::default(), hook }
    }
}

impl<H: Hook> Store for Hooked<H> {
    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            let _held = self.hook.before(Access::Get).await?;
            self.kept.get(collection, key).await
        })
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        Box::pin(async move {
            let _held = self.hook.before(Access::List).await?;
            self.kept.list(collection, group, after, most).await
        })
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            let _held = self.hook.before(Access::Write).await?;
            self.kept.write(changes).await
        })
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.kept.purge(now)
    }
}
