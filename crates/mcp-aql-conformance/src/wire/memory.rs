//! Connects to adapters in this process.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::io::DuplexStream;

use super::lines::Lines;
use super::{Link, NoResponse, Tap, Target, sealed::Transport};
use crate::category::Mode;

/// Buffer size in each direction, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

type Serve = dyn Fn(Option<Mode>, DuplexStream) + Send + Sync;

/// An adapter in this process, with one message per line in both directions. Use it to test your adapter without
/// starting a process.
///
/// ```
/// use mcp_aql_conformance::{MemoryTarget, Mode};
/// use tokio::io::DuplexStream;
///
/// # async fn serve(stream: DuplexStream, single: bool) {}
/// let target = MemoryTarget::new("mine", |mode, stream| {
///     tokio::spawn(serve(stream, mode == Some(Mode::Single)));
/// });
/// ```
#[derive(Clone)]
pub struct MemoryTarget {
    name: String,
    serve: Arc<Serve>,
    takes_modes: bool,
}

impl MemoryTarget {
    /// Creates a target. The runner calls `serve` for each connection. The function must spawn a task that serves it.
    pub fn new(
        name: impl Into<String>,
        serve: impl Fn(Option<Mode>, DuplexStream) + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), serve: Arc::new(serve), takes_modes: true }
    }

    /// Keeps the adapter in its own mode. Call this if `serve` ignores the requested mode.
    #[must_use]
    pub fn as_it_is(mut self) -> Self {
        self.takes_modes = false;
        self
    }
}

impl fmt::Debug for MemoryTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryTarget").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Target for MemoryTarget {}

impl Transport for MemoryTarget {
    fn open(&self, mode: Option<Mode>, tap: Arc<Tap>) -> BoxFuture<'_, Result<Link, NoResponse>> {
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(BUFFER_BYTES);
            (self.serve)(mode, theirs);
            let (read, write) = tokio::io::split(ours);
            Ok(Lines::new(read, write, tap, None).into_link())
        })
    }

    fn offers(&self, _mode: Mode) -> bool {
        self.takes_modes
    }

    fn describe(&self) -> String {
        self.name.clone()
    }
}
