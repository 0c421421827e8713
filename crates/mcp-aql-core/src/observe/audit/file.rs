//! Writes the audit log to a file, and follows rotations of the file.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::AuditSink;
use super::file_identity::{FileIdentity, is_deleted};
use crate::config::file_access::{SettingPath, open_regular, private_file};
use crate::util::BoxFuture;

/// An append-only file. A separate thread writes it, so that a slow disk does not block the threads of the runtime.
/// They block only if [`MAX_QUEUED_LINES`](Self::MAX_QUEUED_LINES) lines are already queued. An append completes once
/// its line is in the file.
pub(crate) struct AuditFile {
    /// Queue of the thread. `None` once the file is being dropped.
    queue: Option<SyncSender<Command>>,
    thread: Option<JoinHandle<()>>,
}

/// A command for the thread.
enum Command {
    Write(Line),
    Reopen,
}

/// A queued line.
struct Line {
    text: String,
    /// Receives the result of the write. The receiver may have been dropped.
    written: oneshot::Sender<io::Result<()>>,
}

impl AuditFile {
    /// Maximum number of queued lines. Appending a further line blocks the calling thread until the queue has space.
    /// This bounds memory use without losing entries.
    const MAX_QUEUED_LINES: usize = 1_024;

    /// Opens the file. A new file is readable only by its owner.
    pub(crate) fn open(path: &SettingPath) -> io::Result<Self> {
        Self::to(RotatedFile::open(path)?)
    }

    fn to(target: impl Target) -> io::Result<Self> {
        let (queue, commands) = sync_channel(Self::MAX_QUEUED_LINES);
        let thread = std::thread::Builder::new()
            .name("mcp-aql-audit".to_owned())
            .spawn(move || run_all(target, &commands))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }
}

impl AuditSink for AuditFile {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
        let ended = || io::Error::other("the audit log's thread has ended");
        let (written, outcome) = oneshot::channel();
        let line = Line { text: line.to_owned(), written };
        // Queue the line here and not in the future, so that it is written even if the caller drops the future. Blocks
        // while the queue is full.
        let sent = match &self.queue {
            Some(queue) => queue.send(Command::Write(line)).map_err(|_| ended()),
            None => Err(ended()),
        };
        Box::pin(async move {
            sent?;
            outcome.await.map_err(|_| ended())?
        })
    }

    fn reopen(&self) {
        if let Some(queue) = &self.queue {
            // If the queue is full, the next line detects a rotation anyway.
            let _ = queue.try_send(Command::Reopen);
        }
    }
}

impl Drop for AuditFile {
    /// Waits until all queued lines are written.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the audit log's thread panicked");
        }
    }
}

/// Runs the commands in order, until the log is dropped and the queue is empty.
fn run_all(mut target: impl Target, commands: &Receiver<Command>) {
    let mut lost = 0_u64;
    while let Ok(command) = commands.recv() {
        let Line { text, written } = match command {
            Command::Write(line) => line,
            Command::Reopen => {
                if let Err(error) = target.reopen() {
                    tracing::error!(%error, "the audit log cannot be opened again");
                }
                continue;
            }
        };
        // Write each line with a single write, so that the lines of several processes do not mix. A failed write may
        // have left part of a line in the file, so the next line then starts with a line break.
        let start = if lost > 0 { "\n" } else { "" };
        let outcome = target.append(format!("{start}{text}\n").as_bytes());
        match &outcome {
            Ok(()) if lost > 0 => {
                tracing::error!(
                    lost,
                    "the audit log can be written again; some entries are missing"
                );
                lost = 0;
            }
            Ok(()) => {}
            Err(_) => lost += 1,
        }
        if let Err(Err(error)) = written.send(outcome) {
            // The caller no longer waits, so log the error here.
            tracing::error!(%error, entry = %text, "cannot write to the audit log");
        }
    }
}

/// The file written by the thread. Tests replace it.
trait Target: Send + 'static {
    /// Appends bytes, with a single write if the system allows it.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Opens the file again.
    fn reopen(&mut self) -> io::Result<()>;
}

/// A file that reopens itself after it was renamed or deleted, when its path refers to another file or to none.
struct RotatedFile {
    path: SettingPath,
    file: File,
    identity: FileIdentity,
}

impl RotatedFile {
    fn open(path: &SettingPath) -> io::Result<Self> {
        let file = open_regular(&path.without_links()?, private_file().append(true).create(true))?;
        let identity = FileIdentity::of(&file.metadata()?);
        Ok(Self { path: path.clone(), file, identity })
    }

    /// Returns `true` if the path refers to another file, or to none.
    fn was_rotated(&self) -> bool {
        match std::fs::metadata(self.path.path()) {
            Ok(found) => FileIdentity::of(&found) != self.identity,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Reopens the file after a rotation. If this fails but the old file still has a name, the old file is kept.
    fn follow_rotation(&mut self) -> io::Result<()> {
        let Err(error) = self.reopen() else { return Ok(()) };
        if is_deleted(&self.file)? {
            return Err(error);
        }
        tracing::warn!(%error, "the audit log was renamed and cannot be created again; its old file is still written");
        Ok(())
    }
}

impl Target for RotatedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.was_rotated() {
            self.follow_rotation()?;
        }
        self.file.write_all(bytes)?;
        // The file may have been deleted after the check above.
        if is_deleted(&self.file)? {
            self.reopen()?;
            self.file.write_all(bytes)?;
        }
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        *self = Self::open(&self.path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A temporary folder, deleted at the end of the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            let folder = std::env::temp_dir().join(crate::vocab::new_id("audit"));
            std::fs::create_dir(&folder).unwrap();
            Self(folder)
        }

        fn setting(&self, name: &str) -> SettingPath {
            SettingPath::new(&self.0, name)
        }

        fn file(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn read(&self, name: &str) -> String {
            std::fs::read_to_string(self.file(name)).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn entries_follow_a_rotation() {
        // REQ-GATE-09
        let folder = Folder::new();
        let log = AuditFile::open(&folder.setting("log")).unwrap();
        log.append("first").await.unwrap();
        std::fs::rename(folder.file("log"), folder.file("log.1")).unwrap();
        log.append("second").await.unwrap();
        std::fs::remove_file(folder.file("log")).unwrap();
        log.append("third").await.unwrap();
        // Another file replaces the log.
        std::fs::rename(folder.file("log"), folder.file("log.2")).unwrap();
        std::fs::write(folder.file("log"), "other\n").unwrap();
        log.append("fourth").await.unwrap();
        assert_eq!(
            (folder.read("log.1").as_str(), folder.read("log.2").as_str()),
            ("first\n", "third\n")
        );
        assert_eq!(folder.read("log"), "other\nfourth\n");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn an_entry_without_a_file_is_reported() {
        // REQ-GATE-09
        let folder = Folder::new();
        std::fs::create_dir(folder.file("logs")).unwrap();
        let log = AuditFile::open(&folder.setting("logs/log")).unwrap();
        // The old file still has a name, so its entries can be found.
        std::fs::rename(folder.file("logs"), folder.file("moved")).unwrap();
        log.append("first").await.unwrap();
        assert_eq!(folder.read("moved/log"), "first\n");
        std::fs::remove_dir_all(folder.file("moved")).unwrap();
        let error = log.append("second").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        std::fs::create_dir(folder.file("logs")).unwrap();
        log.append("third").await.unwrap();
        assert_eq!(folder.read("logs/log").trim(), "third");
    }

    #[test]
    fn a_file_that_is_deleted_while_it_is_written_is_written_again() {
        // REQ-GATE-09
        let folder = Folder::new();
        let mut log = RotatedFile::open(&folder.setting("log")).unwrap();
        // Simulates a deletion after the check in `append`.
        let deleted = folder.file("deleted");
        log.file = private_file().append(true).create(true).open(&deleted).unwrap();
        std::fs::remove_file(&deleted).unwrap();
        log.append(b"first\n").unwrap();
        if cfg!(unix) {
            assert_eq!(folder.read("log"), "first\n");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_log_is_a_regular_file() {
        let folder = Folder::new();
        let pipe = std::process::Command::new("mkfifo").arg(folder.file("pipe")).status();
        assert!(pipe.unwrap().success());
        std::fs::create_dir(folder.file("folder")).unwrap();
        for path in [folder.file("pipe"), folder.file("folder"), "/dev/null".into()] {
            // Opening the pipe would wait for its reader.
            let error = AuditFile::open(&SettingPath::new(&folder.0, &path)).err().unwrap();
            assert_eq!(error.to_string(), "it is not a regular file", "{}", path.display());
        }
    }

    #[test]
    fn the_file_is_created_again_on_demand() {
        let folder = Folder::new();
        let log = AuditFile::open(&folder.setting("log")).unwrap();
        std::fs::rename(folder.file("log"), folder.file("log.1")).unwrap();
        log.reopen();
        // Waits for the thread.
        drop(log);
        assert_eq!(folder.read("log"), "");
    }

    /// Simulates a slow disk. It can become full.
    #[derive(Clone, Default)]
    struct Disk {
        text: Arc<Mutex<String>>,
        full: Arc<AtomicBool>,
        /// While this is locked, writes block.
        busy: Arc<Mutex<()>>,
    }

    impl io::Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _waited = self.busy.lock().unwrap();
            let mut text = self.text.lock().unwrap();
            if !self.full.load(Ordering::Relaxed) {
                text.push_str(std::str::from_utf8(bytes).unwrap());
                return Ok(bytes.len());
            }
            // The disk has space for a part of a line.
            if text.ends_with('\n') {
                text.push_str(std::str::from_utf8(&bytes[..4]).unwrap());
                return Ok(4);
            }
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Target for Disk {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            io::Write::write_all(self, bytes)
        }

        fn reopen(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_full_disk_is_told_and_spoils_no_other_line() {
        // REQ-GATE-09
        let disk = Disk::default();
        let file = AuditFile::to(disk.clone()).unwrap();
        file.append("first").await.unwrap();
        disk.full.store(true, Ordering::Relaxed);
        let error = file.append("second").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        file.append("third").await.unwrap_err();
        disk.full.store(false, Ordering::Relaxed);
        file.append("fourth").await.unwrap();
        file.append("fifth").await.unwrap();
        assert_eq!(*disk.text.lock().unwrap(), "first\nseco\nfourth\nfifth\n");
    }

    #[tokio::test]
    async fn a_slow_disk_keeps_no_thread_and_loses_nothing() {
        // REQ-GATE-09
        let disk = Disk::default();
        let file = AuditFile::to(disk.clone()).unwrap();
        let busy = disk.busy.lock().unwrap();
        let waits = file.append("0");
        for number in 1..500 {
            // The caller does not wait for the result.
            drop(file.append(&number.to_string()));
        }
        drop(busy);
        waits.await.unwrap();
        drop(file);
        let expected: String = (0..500).map(|number| format!("{number}\n")).collect();
        assert_eq!(*disk.text.lock().unwrap(), expected);
    }
}
