//! The entries that operations write: a file that only grows, which no store and no runtime can correct.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The file of the entries.
#[derive(Debug, Clone)]
pub(super) struct Ledger(PathBuf);

/// The entries of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entries {
    pub(super) begun: u32,
    pub(super) ended: u32,
}

impl Entries {
    /// The entries of a call that ran once, to its end.
    pub(super) const WHOLE: Self = Self { begun: 1, ended: 1 };
    /// The entries of a call that did not run.
    pub(super) const NONE: Self = Self { begun: 0, ended: 0 };

    /// Whether the call ran at most once.
    pub(super) fn is_single(self) -> bool {
        self.begun <= 1 && self.ended <= self.begun
    }

    /// Whether the call was cut off between its entries.
    pub(super) fn is_half(self) -> bool {
        self.begun > self.ended
    }
}

impl Ledger {
    pub(super) fn of(folder: &Path) -> Self {
        Self(folder.join("ledger"))
    }

    /// Appends an entry.
    pub(super) fn write(&self, entry: &str, id: &str) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0)?;
        // On a full disk only a part may be written. The next entry starts on a line of its own, and an entry counts only
        // with its end.
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
