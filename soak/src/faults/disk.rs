//! Fills the disk while calls of all kinds are running, and frees it again.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::client::Kind;
use super::moment::Moment;
use super::server::Server;
use super::suite::Suite;
use crate::Fault;

/// Maximum number of changes until one must fail. One page of the file system holds the entries of a hundred changes.
const MAX_CHANGES: usize = 500;

/// A small disk for the adapter's files.
pub(super) enum Disk {
    /// A mounted file system of 1 MiB.
    FileSystem(PathBuf),
    /// A limit on the size of files, for systems where the program may not mount.
    FileSizes,
}

impl Disk {
    /// Mounts a file system in this folder, if permitted.
    pub(super) fn at(folder: &Path) -> Self {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m,mode=700", "none"]).arg(folder);
        match mount.stdout(Stdio::null()).stderr(Stdio::null()).status() {
            Ok(status) if status.success() => Self::FileSystem(folder.to_owned()),
            _ => Self::FileSizes,
        }
    }

    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::FileSystem(_) => "a file system of 1 MiB",
            Self::FileSizes => "a limit of file sizes",
        }
    }

    fn fill(&self, server: &Server) -> Result<(), Fault> {
        let Self::FileSystem(folder) = self else {
            return server.limit_files(Some(1));
        };
        let mut filler =
            OpenOptions::new().create(true).append(true).open(folder.join("filler"))?;
        for size in [4096, 1] {
            while filler.write_all(&vec![0; size]).is_ok() {}
        }
        Ok(())
    }

    fn free(&self, server: &Server) -> Result<(), Fault> {
        match self {
            Self::FileSystem(folder) => Ok(std::fs::remove_file(folder.join("filler"))?),
            Self::FileSizes => server.limit_files(None),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Self::FileSystem(folder) = self {
            // Unmount lazily, because the sockets of the points may still be open. If this fails, only an empty file
            // system in a temporary folder is left.
            let _ = Command::new("umount").arg("-l").arg(folder).stderr(Stdio::null()).status();
        }
    }
}

pub(super) async fn run(suite: &mut Suite, disk: &Disk) -> Result<(), Fault> {
    for moment in Moment::OF_OPERATIONS {
        let server = suite.start().await?;
        let all = suite.reach_all(&server, moment).await?;
        disk.fill(&server)?;
        let mut answered = Vec::new();
        for pending in all {
            answered.push(pending.answered().await?);
        }
        for kind in [Kind::Execution, Kind::Read, Kind::Session] {
            answered.push(suite.reach(&server, kind, Moment::Answered).await?.answered().await?);
        }
        let mut changes = 0;
        while answered.last().is_some_and(|last| last.is_acknowledged()) {
            changes += 1;
            if changes > MAX_CHANGES {
                return Err("the disk does not become full".into());
            }
            let pending = suite.reach(&server, Kind::Stateless, Moment::Answered).await?;
            answered.push(pending.answered().await?);
        }
        disk.free(&server)?;
        for answered in answered {
            suite.settle(answered, &server).await?;
        }
        suite.works(&server).await?;
        suite.finish_executions(&server, true).await?;
        server.kill().await?;
        suite.check_store();
    }
    Ok(())
}
