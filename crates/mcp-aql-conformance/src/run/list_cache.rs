//! Caches whole lists, so that several checks can share them while the data stay unchanged.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::json_size::weight;
use crate::sync::lock;

/// Maximum memory of all cached lists, in bytes.
const MAX_KEPT_BYTES: usize = 12 << 20;

/// A cached list. While one check reads it, the lock makes the others wait.
type KeptList = Arc<tokio::sync::Mutex<Option<Arc<Vec<Value>>>>>;

/// The lists read since the last change. The cache is closed while checks change data on purpose.
#[derive(Debug, Default)]
pub(crate) struct ListCache {
    state: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    is_open: bool,
    /// Number of calls with a possible change of data.
    changes: u64,
    bytes: usize,
    lists: BTreeMap<String, KeptList>,
}

/// The slot of one list in the cache, valid until the next change.
#[derive(Debug)]
pub(crate) struct CacheEntry {
    changes: u64,
    list: KeptList,
}

impl ListCache {
    /// Opens or closes the cache. Both clear it.
    pub(crate) fn set_open(&self, is_open: bool) {
        let mut state = lock(&self.state);
        state.forget();
        state.is_open = is_open;
    }

    /// Clears the cache, because a call may have changed the lists.
    pub(crate) fn note_change(&self) {
        lock(&self.state).forget();
    }

    /// Returns the slot for the list returned by this call, or `None` if the cache is closed.
    pub(crate) fn entry(&self, call: &Value) -> Option<CacheEntry> {
        let mut state = lock(&self.state);
        let changes = state.changes;
        let is_open = state.is_open;
        is_open.then(|| CacheEntry {
            changes,
            list: Arc::clone(state.lists.entry(call.to_string()).or_default()),
        })
    }

    /// Returns a cached list, or reads and caches it.
    ///
    /// Other callers that need the same list wait. The list is not cached if the data changed in the meantime or if it
    /// is too large. In that case, it is returned with the memory that `read` reserved for it.
    pub(crate) async fn get_or_read<R, E>(
        &self,
        entry: CacheEntry,
        read: impl Future<Output = Result<(Vec<Value>, R), E>>,
    ) -> Result<(Arc<Vec<Value>>, Option<R>), E> {
        let mut kept = entry.list.lock().await;
        if let Some(list) = kept.as_ref().filter(|_| self.is_current(&entry)) {
            return Ok((Arc::clone(list), None));
        }
        let (list, room) = read.await?;
        let list = Arc::new(list);
        if !self.reserve(&entry, list.iter().map(weight).sum()) {
            return Ok((list, Some(room)));
        }
        *kept = Some(Arc::clone(&list));
        Ok((list, None))
    }

    fn is_current(&self, entry: &CacheEntry) -> bool {
        lock(&self.state).changes == entry.changes
    }

    /// Reserves memory for a list. Returns `false` if it cannot be cached.
    fn reserve(&self, entry: &CacheEntry, bytes: usize) -> bool {
        let mut state = lock(&self.state);
        let fits = state.changes == entry.changes && state.bytes + bytes <= MAX_KEPT_BYTES;
        if fits {
            state.bytes += bytes;
        }
        fits
    }
}

impl CacheState {
    fn forget(&mut self) {
        self.changes += 1;
        self.bytes = 0;
        self.lists.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads a list through the cache. Returns `true` if the cache did not contain it.
    async fn is_read(cache: &ListCache, items: Vec<Value>) -> bool {
        let mut was_read = false;
        let read = async {
            was_read = true;
            Ok::<_, ()>((items, ()))
        };
        let entry = cache.entry(&json!("list_beds")).unwrap();
        cache.get_or_read(entry, read).await.unwrap();
        was_read
    }

    #[tokio::test]
    async fn lists_are_read_once_until_something_changes() {
        let cache = ListCache::default();
        assert!(cache.entry(&json!("list_beds")).is_none());
        cache.set_open(true);
        assert!(is_read(&cache, vec![json!(1)]).await);
        assert!(!is_read(&cache, vec![json!(1)]).await);
        cache.note_change();
        assert!(is_read(&cache, vec![json!(1)]).await);
    }

    #[tokio::test]
    async fn lists_that_change_while_they_are_read_are_not_kept() {
        let cache = ListCache::default();
        cache.set_open(true);
        let entry = cache.entry(&json!("list_beds")).unwrap();
        let read = async {
            cache.note_change();
            Ok::<_, ()>((vec![json!(1)], ()))
        };
        cache.get_or_read(entry, read).await.unwrap();
        assert!(is_read(&cache, vec![json!(2)]).await);
    }

    #[tokio::test]
    async fn large_lists_are_not_kept() {
        let cache = ListCache::default();
        cache.set_open(true);
        let large = vec![json!("x".repeat(MAX_KEPT_BYTES))];
        assert!(is_read(&cache, large.clone()).await);
        assert!(is_read(&cache, large).await);
    }
}
