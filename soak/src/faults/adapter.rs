//! The adapter under test for injected failures. It runs with its usual command line, as it does for users.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mcp_aql::cli::clap;
use mcp_aql::prelude::*;
use mcp_aql::store::{PostgresState, SqliteState, StateStore};
use mcp_aql::testing::TimeSource;
use mcp_aql::{ExecutionContext, ExecutionOptions};

use super::faulty_store::FaultyStore;
use super::ledger::Ledger;
use super::points::{AFTER_ENTRIES, BETWEEN_ENTRIES, ENTERED, Points};
use crate::Fault;

/// The lease of executions. When it expires, another process takes over an execution of an unresponsive process.
pub(super) const LEASE: Duration = Duration::from_secs(1);
/// The lease for runs that hold calls at writes of the store. With the short lease, renewals would be additional
/// writes.
pub(super) const LONG_LEASE: Duration = Duration::from_secs(300);
/// Maximum time that a write waits for the lock of another process.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// The arguments of the adapter's process.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AdapterArguments {
    /// The folder of the entries, the points and the SQLite store
    folder: PathBuf,
    /// The schema in PostgreSQL, instead of the SQLite store
    #[arg(long)]
    schema: Option<String>,
    /// The lease of executions in seconds
    #[arg(long)]
    lease: u64,
    /// The arguments of the adapter's own command line
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

/// The state that the operations share.
#[derive(Debug, Clone)]
struct Work {
    ledger: Ledger,
    points: Points,
}

impl Work {
    /// Writes the two entries of a change to the ledger, with a point before, between and after them.
    async fn change(&self, id: String) -> Result<String, OperationError> {
        self.points.pass(&format!("{ENTERED} {id}")).await;
        self.ledger.write("begin", &id).map_err(OperationError::internal)?;
        self.points.pass(&format!("{BETWEEN_ENTRIES} {id}")).await;
        self.ledger.write("end", &id).map_err(OperationError::internal)?;
        self.points.pass(&format!("{AFTER_ENTRIES} {id}")).await;
        Ok(id)
    }
}

/// Write two entries.
#[operation(category = "CREATE")]
async fn create_entries(
    State(work): State<Work>,
    /// The id of the call.
    id: String,
) -> Result<String, OperationError> {
    work.change(id).await
}

/// Write two entries, once confirmed.
#[operation(category = "DELETE", danger(level = "destructive"))]
async fn delete_entries(
    State(work): State<Work>,
    /// The id of the call.
    id: String,
) -> Result<String, OperationError> {
    work.change(id).await
}

/// Read slowly.
#[operation(category = "READ")]
async fn get_slowly(
    State(work): State<Work>,
    /// The id of the call.
    id: String,
) -> String {
    work.points.pass(&format!("{ENTERED} {id}")).await;
    id
}

/// Write two entries in the background.
#[operation(category = "EXECUTE", lifecycle(progress))]
async fn execute_entries(
    execution: ExecutionContext,
    State(work): State<Work>,
    /// The id of the call.
    id: String,
) -> Result<String, OperationError> {
    execution.progress(0.0, 2.0, "working").await;
    work.change(id).await
}

/// Runs the adapter's command line.
pub(crate) async fn run(arguments: &AdapterArguments) -> Result<(), Fault> {
    let AdapterArguments { folder, schema, lease, arguments } = arguments;
    let store: Arc<dyn StateStore> = match schema {
        Some(schema) => {
            let address = std::env::var(super::POSTGRES)?;
            Arc::new(PostgresState::connect(&address)?.schema(schema.as_str()))
        }
        None => Arc::new(SqliteState::open(state_file(folder)).busy_timeout(BUSY_TIMEOUT)),
    };
    let clock = folder.join("clock");
    let time = TimeSource::new(move || {
        let ahead = std::fs::read_to_string(&clock).ok().and_then(|text| text.parse().ok());
        chrono::Utc::now() + chrono::TimeDelta::seconds(ahead.unwrap_or_default())
    });
    let adapter = Adapter::builder("faults")
        .operation(create_entries {})
        .operation(delete_entries {})
        .operation(get_slowly {})
        .operation(execute_entries {})
        .state(Work { ledger: Ledger::of(folder), points: Points::of(folder) })
        .store(FaultyStore::new(store, folder))
        .time_source(time)
        .executions(
            ExecutionOptions::new()
                .lease(Duration::from_secs(*lease))
                .grace(LEASE)
                .keep(Duration::from_secs(30 * 86_400)),
        )
        .without_config()
        .build()?;
    let program = OsString::from("faults");
    adapter.run_with_args(std::iter::once(program).chain(arguments.iter().cloned())).await?;
    Ok(())
}

/// Returns the path of the SQLite store.
pub(super) fn state_file(folder: &Path) -> PathBuf {
    folder.join("state.db")
}

/// Sets by how many seconds the adapter's clock is ahead.
pub(super) fn set_clock(folder: &Path, seconds: i64) -> std::io::Result<()> {
    // Write to a new file and rename it, so that the adapter never reads an empty file.
    let new = folder.join("clock.new");
    std::fs::write(&new, seconds.to_string())?;
    std::fs::rename(new, folder.join("clock"))
}
