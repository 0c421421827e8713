//! Causes of failures in full, also in a server's own words: for the terminal of whoever checks the
//! configuration, and for no answer and no log.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// So many are kept,
const MOST: usize = 10;
/// and so many characters of each.
const LONGEST: usize = 1000;

/// The last causes of failures.
#[derive(Default)]
pub(super) struct Notes(Mutex<VecDeque<String>>);

impl fmt::Debug for Notes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Notes").finish_non_exhaustive()
    }
}

impl Notes {
    /// Keeps a cause, unless it is known.
    pub(super) fn add(&self, note: &str) {
        let note: String = note.chars().take(LONGEST).collect();
        let note = crate::text::clean(&note);
        let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if note.is_empty() || notes.contains(&note) {
            return;
        }
        if notes.len() == MOST {
            notes.pop_front();
        }
        notes.push_back(note);
    }

    /// All of them, the last one last.
    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_short_clean_notes_are_kept_once_each() {
        let notes = Notes::default();
        (0..20).for_each(|n| notes.add(&format!("HTTP\u{1b}[31m  status\n{n}\u{202e}")));
        notes.add("HTTP status 19");
        notes.add(" \u{200b}");
        notes.add(&"é".repeat(5000));
        let all = notes.all();
        assert_eq!(all.len(), MOST);
        assert_eq!(all[MOST - 2], "HTTP status 19");
        assert_eq!(all[MOST - 1].chars().count(), LONGEST);
        assert!(!format!("{notes:?}").contains("status"));
    }
}
