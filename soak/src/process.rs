//! The adapter's process, and the resources that it uses.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};

use crate::Fault;

/// A running adapter. Keep it as long as you need the process, because dropping it kills the process.
pub(crate) struct Process {
    pub(crate) child: Child,
    id: u32,
}

impl Process {
    /// Starts this program as an adapter.
    pub(crate) fn start(arguments: &[String]) -> Result<Self, Fault> {
        let child = Command::new(std::env::current_exe()?)
            .arg("adapter")
            .args(arguments)
            .env("RUST_BACKTRACE", "0")
            // Without these settings, glibc's allocator keeps more and more freed memory, depending on the length of
            // strings. But the measurement shall show the memory in use.
            .env("MALLOC_MMAP_THRESHOLD_", "131072")
            .env("MALLOC_TRIM_THRESHOLD_", "131072")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The adapter would print thousands of intentional panics.
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let id = child.id().ok_or("the adapter exited immediately")?;
        Ok(Self { child, id })
    }

    /// Starts the adapter over HTTP and returns its address. The adapter exits when the pipe is closed.
    pub(crate) async fn http(
        arguments: &[String],
    ) -> Result<(Self, ChildStdin, std::net::SocketAddr), Fault> {
        let mut process = Self::start(arguments)?;
        let input = process.child.stdin.take().ok_or("no standard input")?;
        let output = process.child.stdout.take().ok_or("no standard output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).await?;
        Ok((process, input, line.trim().parse()?))
    }

    /// Returns the resident memory, in KiB.
    pub(crate) fn memory(&self) -> Result<u64, Fault> {
        self.status("VmRSS:")
    }

    /// Returns the peak resident memory, in KiB.
    pub(crate) fn peak(&self) -> Result<u64, Fault> {
        self.status("VmHWM:")
    }

    fn status(&self, field: &str) -> Result<u64, Fault> {
        status(&self.id.to_string(), field)
    }

    /// Returns the number of open file descriptors.
    pub(crate) fn descriptors(&self) -> Result<usize, Fault> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.id))?.count())
    }
}

/// Returns the resident memory of a process, in KiB. Use `self` for this process.
pub(crate) fn memory(process: &str) -> Result<u64, Fault> {
    status(process, "VmRSS:")
}

fn status(process: &str, field: &str) -> Result<u64, Fault> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let value = status.lines().find_map(|line| line.strip_prefix(field));
    let number = value.and_then(|value| value.split_whitespace().next());
    Ok(number.ok_or("no such field")?.parse()?)
}
