//! An adapter with gates, executions, limits and a safety loop, for tests that kill it.
//!
//! Its persistent state is in the store. Files record its effects and the requests to people, as evidence independent
//! of the store.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use mcp_aql::operator::{ChannelError, HumanChannel, HumanRequest};
use mcp_aql::prelude::*;
use mcp_aql::rate_limits::{ApiLimit, RateLimits};
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::store::{PostgresState, SqliteState, StateStore, StoreError};
use mcp_aql::testing::TimeSource;
use mcp_aql::transport::HttpSettings;
use mcp_aql::{BoxFuture, ExecutionContext, ExecutionOptions, HttpOptions, SemanticCategory};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum number of `update_counter` calls per minute, for all processes together.
pub const MAX_UPDATES_PER_MINUTE: u32 = 20;
/// The lease of executions. When it expires, another process takes over an execution of an unresponsive process.
pub const LEASE: Duration = Duration::from_secs(1);

/// The directory with the evidence files.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// Uses the files in this directory.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the path of the SQLite store.
    pub fn state(&self) -> PathBuf {
        self.0.join("state.db")
    }

    /// Returns the deleted things, with one entry for each deletion.
    pub fn deleted(&self) -> Vec<String> {
        self.read("deleted").lines().map(str::to_owned).collect()
    }

    /// Returns the requests shown to people, with their codes.
    pub fn shown(&self) -> Vec<Value> {
        // If the process was killed, the last line may be incomplete.
        self.read("shown").lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }

    fn append(&self, name: &str, line: &str) -> std::io::Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(self.0.join(name));
        // Write each line at once, because several processes append to the file.
        file?.write_all(format!("{line}\n").as_bytes())
    }
}

/// A channel to people that writes the requests to the file `shown`, one per line:
///
/// ```json
/// { "id": "…", "code": "…" }
/// ```
impl HumanChannel for Folder {
    fn name(&self) -> &'static str {
        "file"
    }

    fn present<'a>(&'a self, request: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
        let line = json!({ "id": request.id, "code": request.code.reveal() }).to_string();
        let written = self.append("shown", &line);
        Box::pin(async { written.map_err(|error| ChannelError(Box::new(error))) })
    }
}

/// A clock that tests can advance by seconds.
#[derive(Debug, Clone, Default)]
struct Ahead(Arc<AtomicI64>);

/// Delete a thing.
#[operation(category = "DELETE", danger(level = "destructive"))]
fn delete_thing(
    State(folder): State<Folder>,
    /// Which.
    thing: String,
) -> Result<bool, OperationError> {
    folder.append("deleted", &thing).map_err(OperationError::internal)?;
    Ok(true)
}

/// The resource that calls are counted with.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Counter {
    /// Current value.
    count: u32,
}

/// Change the counter.
#[operation(category = "UPDATE")]
fn update_counter(input: Update<Counter>) -> Counter {
    let mut counter = Counter { count: 0 };
    input.merge_into(&mut counter);
    counter
}

/// Work for some time.
#[operation(category = "EXECUTE", lifecycle(cancel, progress))]
async fn execute_work(
    execution: ExecutionContext,
    /// Duration, in steps of five milliseconds.
    steps: u32,
) -> u32 {
    for step in 1..=steps {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
            () = execution.cancelled() => return step,
        }
        execution.progress(step.into(), steps.into(), "working").await;
    }
    steps
}

/// Advance this process's clock.
#[operation(category = "EXECUTE")]
fn execute_wait(
    State(ahead): State<Ahead>,
    /// Number of seconds.
    seconds: i64,
) -> i64 {
    ahead.0.fetch_add(seconds, Ordering::Relaxed) + seconds
}

/// Builds the adapter.
///
/// # Errors
///
/// Returns the errors of [`AdapterBuilder::build`](mcp_aql::AdapterBuilder::build).
pub fn adapter(
    store: impl StateStore,
    folder: &Path,
    ahead: i64,
) -> Result<Adapter, mcp_aql::BuildError> {
    let folder = Folder::new(folder);
    let ahead = Ahead(Arc::new(AtomicI64::new(ahead)));
    let clock = ahead.clone();
    let time = TimeSource::new(move || {
        chrono::Utc::now() + chrono::TimeDelta::seconds(clock.0.load(Ordering::Relaxed))
    });
    let people = folder.clone();
    Adapter::builder("gated")
        .operation(delete_thing {})
        .operation(update_counter {})
        .operation(execute_work {})
        .operation(execute_wait {})
        .state(folder)
        .state(ahead)
        .store(store)
        .time_source(time)
        .executions(ExecutionOptions::new().lease(LEASE))
        .rate_limits(
            RateLimits::new()
                .limit(ApiLimit::category(SemanticCategory::Update, MAX_UPDATES_PER_MINUTE)),
        )
        .safety_loop(
            SafetyLoop::new()
                .deny(["drop_*"])
                .auto_approve(["read_*"])
                .challenge_timeout(Duration::from_secs(60 * 60))
                .channel(people),
        )
        .without_config()
        .build()
}

/// Opens the store. `postgres` is an address and a schema; without it, the store is a file in the directory.
///
/// # Errors
///
/// Returns an error for an invalid PostgreSQL address.
pub fn store(
    folder: &Path,
    postgres: Option<(&str, &str)>,
) -> Result<Arc<dyn StateStore>, StoreError> {
    Ok(match postgres {
        Some((address, schema)) => Arc::new(PostgresState::connect(address)?.schema(schema)),
        None => Arc::new(SqliteState::open(Folder::new(folder).state())),
    })
}

/// Serves over HTTP on a free port and prints the address. Stops when standard input is closed.
///
/// # Errors
///
/// Returns the errors of the transport.
pub async fn serve_http(adapter: Adapter) -> mcp_aql::Result {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    #[expect(clippy::print_stdout, reason = "whoever started it waits for this")]
    {
        println!("{}", listener.local_addr()?);
    }
    let options = HttpOptions::new()
        .settings(HttpSettings { max_sessions: 2_000, ..HttpSettings::default() });
    let stop = async {
        let mut input = tokio::io::stdin();
        let _ = tokio::io::copy(&mut input, &mut tokio::io::sink()).await;
    };
    adapter.serve_listener(listener, options, stop).await
}
