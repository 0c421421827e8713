//! The ledger: the entries that operations write, as evidence of what really ran. The file is append-only and
//! independent of the store and the runtime.
//!
//! A finished call has two entries, an interrupted one only the first:
//!
//! ```text
//! begin call-1 .
//! end call-1 .
//! ```

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The file with the entries.
#[derive(Debug, Clone)]
pub(super) struct Ledger(PathBuf);

/// How often a call wrote each of its two entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entries {
    pub(super) begun: u32,
    pub(super) ended: u32,
}

impl Entries {
    /// The entries of a call that ran once, and to its end.
    pub(super) const WHOLE: Self = Self { begun: 1, ended: 1 };
    /// The entries of a call that never ran.
    pub(super) const NONE: Self = Self { begun: 0, ended: 0 };

    /// Returns `true` if the call ran at most once.
    pub(super) fn is_single(self) -> bool {
        self.begun <= 1 && self.ended <= self.begun
    }

    /// Returns `true` if the call was interrupted between its entries.
    pub(super) fn is_half(self) -> bool {
        self.begun > self.ended
    }
}

impl Ledger {
    pub(super) fn of(folder: &Path) -> Self {
        Self(folder.join("ledger"))
    }

    /// Appends an entry for a call.
    pub(super) fn write(&self, entry: &str, id: &str) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0)?;
        // A full disk may cut an entry off. Each entry starts on a new line and only counts with its end marker, so a
        // partial entry cannot spoil the next one.
        file.write_all(format!("\n{entry} {id} .\n").as_bytes())
    }

    /// Returns the entries of each call.
    pub(super) fn read(&self) -> HashMap<String, Entries> {
        let text = std::fs::read(&self.0).unwrap_or_default();
        let mut all = HashMap::<_, Entries>::new();
        for line in String::from_utf8_lossy(&text).lines() {
            let mut words = line.split(' ');
            let (Some(entry), Some(id), Some(".")) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let entries = all.entry(id.to_owned()).or_default();
            match entry {
                "begin" => entries.begun += 1,
                "end" => entries.ended += 1,
                _ => {}
            }
        }
        all
    }
}
