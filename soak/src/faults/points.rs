//! Points at which an operation or a store pauses, so that a fault happens exactly there.
//!
//! The adapter names each point over a Unix socket and waits for a byte. The suite sends it at once, unless it waits for
//! this point.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::Fault;

/// The maximum time until the suite's own program reaches a point.
const POINT_TIMEOUT: Duration = Duration::from_secs(60);

/// The points of an operation. The id of the call follows.
pub(super) const ENTERED: &str = "entered";
pub(super) const BETWEEN_ENTRIES: &str = "between the entries";
pub(super) const AFTER_ENTRIES: &str = "after the entries";
/// The points of the store.
pub(super) const BEFORE_WRITE: &str = "before a write of the store";
pub(super) const AFTER_WRITE: &str = "after a write of the store";

/// The adapter's side.
#[derive(Debug, Clone)]
pub(super) struct Points(PathBuf);

impl Points {
    pub(super) fn of(folder: &Path) -> Self {
        Self(folder.join("points"))
    }

    /// Waits until the suite lets the adapter pass this point. Without a suite, the point is passed at once.
    pub(super) async fn pass(&self, name: &str) {
        let passed = async {
            let mut stream = UnixStream::connect(&self.0).await?;
            stream.write_all(format!("{name}\n").as_bytes()).await?;
            stream.read_to_end(&mut Vec::new()).await
        };
        // Fails if the suite has ended.
        let _ = passed.await;
    }
}

/// The suite's side.
pub(super) struct PointServer {
    armed: Arc<Mutex<Vec<Armed>>>,
    accepting: tokio::task::JoinHandle<()>,
}

/// The point that the suite waits for.
struct Armed {
    name: String,
    /// The number of times that it is passed before.
    skipped: usize,
    reached: oneshot::Sender<Reached>,
}

/// A reached point. The adapter waits there until this value is dropped.
pub(super) struct Reached(#[expect(dead_code, reason = "closed when it is dropped")] UnixStream);

/// A point that will be reached.
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

    /// Stops the adapter when it is about to pass the point, after it has passed it `skipped` times.
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
        // Fails if the suite no longer waits for the point, which passes it.
        let _ = point.reached.send(Reached(stream.into_inner()));
    }
}

/// Removes the first point with this name if the adapter should stop there.
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
