//! Implements operations on places twice: as an mcp-aql adapter and as discrete rmcp tools. A place contains a nested
//! object.
//!
//! The script that counts instructions uses them. They are not part of the fifty operations, so that results of those
//! stay comparable over time.

pub mod aql;
pub mod rmcp;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Places by number.
#[derive(Debug)]
pub struct Places<T>(Mutex<BTreeMap<u64, T>>);

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Places<T> {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, make: impl FnOnce(u64) -> T) -> T {
        let mut places = self.open();
        let id = places.last_key_value().map_or(1, |(last, _)| last + 1);
        let place = make(id);
        places.insert(id, place.clone());
        place
    }

    fn update(&self, id: u64, change: impl FnOnce(&mut T)) -> Option<T> {
        let mut places = self.open();
        let place = places.get_mut(&id)?;
        change(place);
        Some(place.clone())
    }

    fn remove(&self, id: u64) -> Option<T> {
        self.open().remove(&id)
    }

    fn all(&self) -> Vec<T> {
        self.open().values().cloned().collect()
    }
}
