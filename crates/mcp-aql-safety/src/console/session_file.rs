//! The file with the signed-in browsers, so that they stay signed in after a restart of the console.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use mcp_aql_core::internal::config::{is_private, private_file};
use serde::{Deserialize, Serialize};

/// A signed-in browser. Cookie and token are hashes, so the file is not enough to sign in.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredSession {
    pub(super) cookie: [u8; 32],
    pub(super) token: [u8; 32],
    pub(super) operator: String,
    pub(super) used_at: DateTime<Utc>,
}

/// The file of one console, named by its port, because a browser sends its cookie and token to this port only.
pub(super) struct SessionFile(PathBuf);

impl SessionFile {
    pub(super) fn new(folder: &Path, port: u16) -> Self {
        Self(folder.join(format!("signed-in-{port}.json")))
    }

    /// Returns the stored sessions. An unreadable file, or one that other users can change, counts as empty.
    pub(super) fn read(&self) -> Vec<StoredSession> {
        match self.stored() {
            Ok(sessions) => sessions,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                let file = self.0.display();
                tracing::warn!(%error, %file, "operators must sign in again: cannot read who is signed in");
                Vec::new()
            }
        }
    }

    fn stored(&self) -> io::Result<Vec<StoredSession>> {
        if !is_private(&self.0)? {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "other users can read or change the file",
            ));
        }
        Ok(serde_json::from_slice(&fs::read(&self.0)?)?)
    }

    /// Replaces the stored sessions.
    pub(super) fn write(&self, sessions: &[StoredSession]) {
        if let Err(error) = self.replace(sessions) {
            let file = self.0.display();
            tracing::warn!(%error, %file, "operators must sign in after a restart: cannot store who is signed in");
        }
    }

    fn replace(&self, sessions: &[StoredSession]) -> io::Result<()> {
        let text = serde_json::to_vec(sessions)?;
        let folder = self.0.parent().unwrap_or(Path::new(""));
        let made = folder.join(mcp_aql_core::internal::vocab::new_id("new"));
        let written = private_file()
            .write(true)
            .create_new(true)
            .open(&made)
            .and_then(|mut file| file.write_all(&text))
            .and_then(|()| fs::rename(&made, &self.0));
        if written.is_err() {
            // Only the first error is reported.
            let _ = fs::remove_file(&made);
        }
        written
    }
}
