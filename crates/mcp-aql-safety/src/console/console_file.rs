//! The file of a running console, with its port and the key of its links. The owner of the state directory
//! uses it to sign in.

use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql_core::internal::config::{
    ForbiddenAccess, exposures, is_private, private_file, private_folder,
};
use serde::{Deserialize, Serialize};

use super::login_link::{Key, ON_DEMAND_TTL};
use crate::human_channel::OperatorName;

/// The file names: one file for each console, by port. Several processes may share a state directory.
const PREFIX: &str = "console-";
const SUFFIX: &str = ".json";

/// A one-time login link to a running console.
///
/// `Debug` omits the link, which allows signing in.
#[non_exhaustive]
pub struct ConsoleLink {
    /// The link, valid for two minutes and one use.
    pub url: String,
    /// The process of the console.
    pub process: u32,
    /// When the console was started.
    pub started_at: DateTime<Utc>,
}

impl std::fmt::Debug for ConsoleLink {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ConsoleLink")
            .field("process", &self.process)
            .finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
struct Content {
    port: u16,
    secret: String,
    process: u32,
    started_at: DateTime<Utc>,
}

/// The file of a running console, removed when this is dropped.
pub(super) struct ConsoleFile(PathBuf);

impl ConsoleFile {
    pub(super) fn write(folder: &Path, port: u16, key: &Key) -> io::Result<Self> {
        private_folder().create(folder)?;
        for problem in exposures(folder, ForbiddenAccess::Write) {
            tracing::warn!("the operator console is not safe from other users: {problem}");
        }
        let content = Content {
            port,
            secret: key.to_text(),
            process: std::process::id(),
            started_at: Utc::now(),
        };
        let text = serde_json::to_string(&content)?;
        // A new file, so that no other process has it open. It is renamed when it is complete.
        let made = folder.join(mcp_aql_core::internal::vocab::new_id("new"));
        let path = folder.join(format!("{PREFIX}{port}{SUFFIX}"));
        let written = private_file()
            .write(true)
            .create_new(true)
            .open(&made)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&made, &path));
        if written.is_err() {
            // The first error is reported.
            let _ = fs::remove_file(&made);
        }
        written.map(|()| Self(path))
    }
}

impl Drop for ConsoleFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::debug!(%error, "the console's file cannot be removed");
        }
    }
}

/// Returns links to the consoles that run with this state directory, newest first.
pub(super) fn links(folder: &Path, operator: &OperatorName) -> io::Result<Vec<ConsoleLink>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut links = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let ours =
            name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if ours && let Some(link) = link(&entry.path(), operator)? {
            links.push(link);
        }
    }
    links.sort_by_key(|link| std::cmp::Reverse(link.started_at));
    Ok(links)
}

/// Returns a link to the console of this file. Removes the file if its process has ended.
fn link(path: &Path, operator: &OperatorName) -> io::Result<Option<ConsoleLink>> {
    let is_private = match is_private(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        is_private => is_private?,
    };
    // Another user who can write to the file could send the operator to a console of their own.
    if !is_private {
        let problem = format!(
            "`{}` is not a file that only you can read and change: remove it, and start its adapter anew",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    let text = match fs::read_to_string(path) {
        // The console has just ended.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let content: Content = serde_json::from_str(&text)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, content.port));
    if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
        fs::remove_file(path)?;
        return Ok(None);
    }
    let key = Key::from_text(&content.secret)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its secret is damaged"))?;
    let url = key.link(content.port, Utc::now(), ON_DEMAND_TTL, operator);
    let url = url.map_err(io::Error::other)?;
    Ok(Some(ConsoleLink { url, process: content.process, started_at: content.started_at }))
}
