//! Points: named positions in the adapter's code where the suite can pause it, to inject a failure exactly there.
//!
//! At each point, the adapter sends the point's name over a Unix socket and waits until the suite closes the
//! connection. The suite closes it at once, unless it wants the adapter to stop at this point.
//!
//! ```text
//! adapter → suite: entered call-7
//! suite:           injects the failure, then closes the connection
//! adapter:         continues, if it is still running
//! ```

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::Fault;

/// Maximum time to wait until the adapter reaches a point.
const POINT_TIMEOUT: Duration = Duration::from_secs(60);

/// The points of an operation. Each name is followed by the call's id.
pub(super) const ENTERED: &str = "entered";
pub(super) const BETWEEN_ENTRIES: &str = "between the entries";
pub(super) const AFTER_ENTRIES: &str = "after the entries";
/// The points of the store.
pub(super) const BEFORE_WRITE: &str = "before a write of the store";
pub(super) const AFTER_WRITE: &str = "after a write of the store";

/// The adapter's end of the socket.
#[derive(Debug, Clone)]
pub(super) struct Points(PathBuf);

impl Points {
    pub(super) fn of(folder: &Path) -> Self {
        Self(folder.join("points"))
    }

    /// Waits until the suite lets the adapter continue. Without a suite, returns at once.
    ///
    /// To add a point, call this in your code with a new name, and add a [`Moment`](super::moment::Moment) for it.
    pub(super) async fn pass(&self, name: &str) {
        let passed = async {
            let mut stream = UnixStream::connect(&self.0).await?;
            stream.write_all(format!("{name}\n").as_bytes()).await?;
            stream.read_to_end(&mut Vec::new()).await
        };
        // This fails if the suite has ended. The adapter then continues.
        let _ = passed.await;
    }
}

/// The suite's end of the socket.
pub(super) struct PointServer {
    armed: Arc<Mutex<Vec<Armed>>>,
    accepting: tokio::task::JoinHandle<()>,
}

/// A point at which the adapter shall stop.
struct Armed {
    name: String,
    /// Number of times to let the adapter pass the point before.
    skipped: usize,
    reached: oneshot::Sender<Reached>,
}

/// A reached point. The adapter waits there until you drop this value.
pub(super) struct Reached(#[expect(dead_code, reason = "closed when it is dropped")] UnixStream);

/// A point that the adapter will reach.
pub(super) struct Expected(oneshot::Receiver<Reached>);

impl Expected {
    /// Waits until the adapter reaches the point.
    pub(super) async fn reached(self) -> Result<Reached, Fault> {
        let reached = timeout(POINT_TIMEOUT, self.0).await;
        Ok(reached.map_err(|_| "the adapter did not reach a point")??)
    }
}

impl PointServer {
    /// Listens in the adapter's folder.
    pub(super) fn listen(folder: &Path) -> Result<Self, Fault> {
        let listener = UnixListener::bind(Points::of(folder).0)?;
        let armed = Arc::<Mutex<Vec<Armed>>>::default();
        let shared = Arc::clone(&armed);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(passed(stream, Arc::clone(&shared)));
            }
        });
        Ok(Self { armed, accepting })
    }

    /// Requests that the adapter stops at a point, after it passed the point `skipped` times.
    pub(super) fn stop_at(&self, name: &str, skipped: usize) -> Expected {
        let (reached, expected) = oneshot::channel();
        let armed = Armed { name: name.to_owned(), skipped, reached };
        let mut all = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|armed| !armed.reached.is_closed());
        all.push(armed);
        drop(all);
        Expected(expected)
    }
}

impl Drop for PointServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn passed(stream: UnixStream, armed: Arc<Mutex<Vec<Armed>>>) {
    let mut stream = BufReader::new(stream);
    let mut name = String::new();
    if stream.read_line(&mut name).await.is_err() {
        return;
    }
    if let Some(point) = take(&armed, name.trim_end()) {
        // If the suite no longer waits, sending fails and drops the connection. The adapter then continues.
        let _ = point.reached.send(Reached(stream.into_inner()));
    }
}

/// Removes the first request for this point, if the adapter shall stop now.
fn take(armed: &Mutex<Vec<Armed>>, name: &str) -> Option<Armed> {
    let mut armed = armed.lock().unwrap_or_else(PoisonError::into_inner);
    let place = armed.iter().position(|point| point.name == name)?;
    let point = armed.get_mut(place)?;
    if point.skipped > 0 {
        point.skipped -= 1;
        return None;
    }
    Some(armed.remove(place))
}
