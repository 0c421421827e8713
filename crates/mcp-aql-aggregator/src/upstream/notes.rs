//! The full causes of failures, including a server's own messages. Show them on the operator's
//! terminal only, not in answers and logs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::secrets::Secrets;

/// Maximum number of notes.
const MAX_NOTES: usize = 10;
/// Maximum length of a note in characters.
const MAX_NOTE_CHARS: usize = 1000;

/// The last causes of failures, without the secrets passed to the server.
#[derive(Default)]
pub(super) struct Notes {
    secrets: Arc<Secrets>,
    kept: Mutex<VecDeque<String>>,
}

impl fmt::Debug for Notes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Notes").finish_non_exhaustive()
    }
}

impl Notes {
    pub(super) fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, kept: Mutex::default() }
    }

    /// Adds a cause unless it is already recorded.
    pub(super) fn add(&self, note: &str) {
        // Secrets are masked before and after cleaning, because they may contain spaces or be split
        // by invisible characters.
        let hidden = self.secrets.hidden(note);
        let note = mcp_aql_rank::texts::clean(&hidden);
        let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
        let note: String = self.secrets.hidden(&note).chars().take(MAX_NOTE_CHARS).collect();
        let mut notes = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if note.is_empty() || notes.contains(&note) {
            return;
        }
        if notes.len() == MAX_NOTES {
            notes.pop_front();
        }
        notes.push_back(note);
    }

    /// Returns all causes, the oldest first.
    pub(super) fn all(&self) -> Vec<String> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_before_notes_are_shortened() {
        let secrets = Secrets::new(["tok-0123456789", "two words"].map(str::to_owned));
        let notes = Notes::new(Arc::new(secrets));
        notes.add(&format!("{} tok-0123456789", "x".repeat(MAX_NOTE_CHARS - 11)));
        notes.add("two \u{200b}words, two\n words");
        let all = notes.all();
        assert!(all[0].ends_with("x ***"), "{all:?}");
        assert_eq!(all[1], "***, ***");
    }

    #[test]
    fn notes_are_cleaned_shortened_and_distinct() {
        let notes = Notes::default();
        (0..20).for_each(|n| notes.add(&format!("HTTP\u{1b}[31m  status\n{n}\u{202e}")));
        notes.add("HTTP status 19");
        notes.add(" \u{200b}");
        notes.add(&"é".repeat(5000));
        let all = notes.all();
        assert_eq!(all.len(), MAX_NOTES);
        assert_eq!(all[MAX_NOTES - 2], "HTTP status 19");
        assert_eq!(all[MAX_NOTES - 1].chars().count(), MAX_NOTE_CHARS);
        assert!(!format!("{notes:?}").contains("status"));
    }
}
