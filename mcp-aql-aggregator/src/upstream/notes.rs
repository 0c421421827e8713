//! Causes of failures in full, also in a server's own words: for the terminal of whoever checks the
//! configuration, and for no answer and no log.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::secrets::Secrets;

/// So many are kept,
const MOST: usize = 10;
/// and so many characters of each.
const LONGEST: usize = 1000;

/// The last causes of failures, without the secrets that the server was given.
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

    /// Keeps a cause, unless it is known.
    pub(super) fn add(&self, note: &str) {
        // As it stands, and once it is clean: secrets may have blanks in them, or come in pieces.
        let hidden = self.secrets.hidden(note);
        let note = crate::text::clean(&hidden);
        let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
        let note: String = self.secrets.hidden(&note).chars().take(LONGEST).collect();
        let mut notes = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
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
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_cut_before_it_is_hidden() {
        let secrets = Secrets::new(["tok-0123456789", "two words"].map(str::to_owned));
        let notes = Notes::new(Arc::new(secrets));
        notes.add(&format!("{} tok-0123456789", "x".repeat(LONGEST - 11)));
        notes.add("two \u{200b}words, two\n words");
        let all = notes.all();
        assert!(all[0].ends_with("x ***"), "{all:?}");
        assert_eq!(all[1], "***, ***");
    }

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
