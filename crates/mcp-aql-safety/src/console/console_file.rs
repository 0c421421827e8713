//! The file of a running console. It contains the port and the key of the login links, so that the owner of the state
//! directory can sign in.
//!
//! ```json
//! { "port": 8686, "secret": "…", "process": 4711, "started_at": "2031-05-06T07:00:00Z" }
//! ```

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

/// Each console has its own file, named by its port, because several processes may share a state directory.
const PREFIX: &str = "console-";
const SUFFIX: &str = ".json";

/// A one-time login link to a running console.
///
/// `Debug` omits the link, because it is enough to sign in.
#[non_exhaustive]
pub struct ConsoleLink {
    /// The link. It is valid for two minutes and can be used once.
    pub url: String,
    /// The process id of the console.
    pub process: u32,
    /// Time at which the console was started.
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

/// The file of a running console. Dropping this value removes the file.
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
        // A new file is written first, because no other process can have it open. It is renamed when it is complete.
        let made = folder.join(mcp_aql_core::internal::vocab::new_id("new"));
        let path = folder.join(format!("{PREFIX}{port}{SUFFIX}"));
        let written = private_file()
            .write(true)
            .create_new(true)
            .open(&made)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&made, &path));
        if written.is_err() {
            // Only the first error is reported.
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

/// Returns links to the running consoles with this state directory, from newest to oldest.
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

/// Returns a link to the console of this file. If the process has ended, the file is removed.
fn link(path: &Path, operator: &OperatorName) -> io::Result<Option<ConsoleLink>> {
    let is_private = match is_private(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        is_private => is_private?,
    };
    // If another user could write to this file, its link might lead the operator to a console of that user.
    if !is_private {
        let problem = format!(
            "`{}` is not a private file of your user: remove it, and restart its adapter",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    let text = match fs::read_to_string(path) {
        // The console has ended in the meantime.
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
