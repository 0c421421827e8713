//! Kills an adapter again and again at random moments. Checks that acknowledged state survives.

mod client;
mod model;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_aql::operator::OperatorAccess as _;
use mcp_aql::store::{SqliteState, StateStore};
use mcp_aql::transport::ServeStdio as _;
use mcp_aql_tests_databases::gated::{self, Folder, LEASE};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::Fault;
use crate::process::Process;
use crate::report::Report;
use client::Client;
use model::Model;

/// Maximum number of rounds per session. A session may make 30 requests per minute. A round makes three requests to
/// people and one block, and the checks before it make more.
const MAX_ROUNDS_PER_SESSION: u32 = 6;
/// Expected duration of a round on a fast disk.
const ROUND_DURATION: Duration = Duration::from_millis(300);

/// Serves the adapter that will be killed.
pub(crate) async fn serve(folder: &Path) -> Result<(), Fault> {
    let store = gated::store(folder, None)?;
    Ok(gated::adapter(store, folder, 0)?.serve_stdio().await?)
}

/// Kills the adapter `kills` times. Returns `true` if all checks hold.
pub(crate) async fn run(kills: u64, seed: u64) -> Result<bool, Fault> {
    let folder = tempfile::tempdir()?;
    let mut model = Model::new(Folder::new(folder.path()), seed);
    let mut report = Report::default();
    report.part(&format!("killed while agents are blocked and released, seed {seed}"));
    let start = Instant::now();
    let pace = Durations::measured().await?;
    let mut early = 0;
    for number in 0..kills {
        let before = model.count.cycles + model.count.still_blocked;
        life(&mut model, folder.path(), &pace, number).await?;
        model.killed();
        early += u64::from(before == model.count.cycles + model.count.still_blocked);
        // After every other kill, this process opens the file before the next adapter does.
        if number % 2 == 0 {
            check_file(&folder)?;
        }
    }
    last(&mut model, folder.path()).await?;
    check_file(&folder)?;
    let left = settled(folder.path()).await?;
    let count = &model.count;
    let seconds = start.elapsed().as_secs_f64();
    report.note("kills", format!("{kills} in {seconds:.0} s"));
    report.note("kills before a round was complete", early);
    report.check("complete rounds", count.cycles, count.cycles > 0);
    report.check("blocks, none lost", count.blocks, count.blocks > 0);
    report.check("agents still blocked after a kill", count.still_blocked, count.still_blocked > 0);
    report.note("released, each once", count.verified);
    report.note("released, but killed before the answer", count.cut_off);
    report.check("codes used again, none accepted", count.second_tries, count.second_tries > 0);
    report.check("deletions by token, each once", count.deletions, count.deletions > 0);
    report.check("tokens used again, none accepted", count.used_again, count.used_again > 0);
    report.check("deletions that a person approved", count.approved, count.approved > 0);
    report.check("executions, all ended", count.executions, count.executions > 0);
    report.check("executions that failed because of a kill", count.failed, count.failed > 0);
    report.check("agents with an unfinished execution", left.agents, left.agents == 0);
    report.check("unfinished executions", left.executions, left.executions == 0);
    report.check("file", "sound", true);
    report.note("records in the file", left.records);
    Ok(report.end())
}

/// Measured durations. They determine how long a process lives until it is killed.
struct Durations {
    start: Duration,
    round: Duration,
}

impl Durations {
    async fn measured() -> Result<Self, Fault> {
        let folder = tempfile::tempdir()?;
        let begun = Instant::now();
        let mut process = client::start(folder.path())?;
        let mut client = Client::of(&mut process)?;
        client.connect().await?;
        let start = begun.elapsed();
        let begun = Instant::now();
        Model::new(Folder::new(folder.path()), 1).cycle(&mut client).await?;
        let round = ROUND_DURATION.max(begun.elapsed() * 3 / 2);
        kill(process).await?;
        Ok(Self { start, round })
    }
}

/// The life of one process: starts the adapter, checks its state, continues the work and kills it at a random moment.
async fn life(
    model: &mut Model,
    folder: &Path,
    pace: &Durations,
    number: u64,
) -> Result<(), Fault> {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    // Kill a third of the processes during start and checks, and the others during work.
    let early = model.random.below(3) == 0;
    let most = if early { pace.start * 2 } else { pace.start * 6 + pace.round };
    let limit = Duration::from_micros(model.random.below(micros(most)));
    let mut process = client::start(folder)?;
    let mut client = Client::of(&mut process)?;
    let beginning = async {
        client.connect().await?;
        model.check(&mut client, false).await
    };
    let begun = if early { timeout(limit, beginning).await } else { Ok(beginning.await) };
    if let Ok(begun) = begun {
        let goes_on = begun.map_err(|fault| format!("in life {number}: {fault}"))?;
        let going_on = async {
            let mut rounds = 0;
            while goes_on && rounds < MAX_ROUNDS_PER_SESSION && model.cycle(&mut client).await? {
                rounds += 1;
            }
            // Nothing is left to do: the session is blocked with its agent, or has reached its limit of requests to
            // people.
            sleep(limit).await;
            Ok::<_, Fault>(())
        };
        if let Ok(worked) = timeout(limit, going_on).await {
            worked.map_err(|fault| format!("in life {number}: {fault}"))?;
        }
    }
    kill(process).await
}

async fn kill(mut process: Process) -> Result<(), Fault> {
    if let Some(status) = process.child.try_wait()? {
        return Err(format!("the adapter exited unexpectedly: {status}").into());
    }
    // On Unix, this sends SIGKILL.
    process.child.kill().await?;
    Ok(())
}

/// Runs the last process and checks the complete state in it.
async fn last(model: &mut Model, folder: &Path) -> Result<(), Fault> {
    let patience = Instant::now();
    loop {
        sleep(LEASE).await;
        let mut process = client::start(folder)?;
        let mut client = Client::of(&mut process)?;
        client.connect().await?;
        model.check(&mut client, true).await?;
        kill(process).await?;
        if model.blocked.is_empty() && !model.has_open_executions() {
            return model.check_files();
        }
        if patience.elapsed() > 60 * LEASE {
            return Err("executions have not ended".into());
        }
    }
}

fn check_file(folder: &tempfile::TempDir) -> Result<(), Fault> {
    let file = Folder::new(folder.path()).state();
    if !file.exists() {
        return Ok(());
    }
    let connection = rusqlite::Connection::open(file)?;
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if sound == "ok" { Ok(()) } else { Err(format!("the file is damaged: {sound}").into()) }
}

/// The state still open after all leases expired.
struct OpenState {
    agents: usize,
    executions: usize,
    records: usize,
}

/// Opens the store like an adapter that starts one hour later.
async fn settled(folder: &Path) -> Result<OpenState, Fault> {
    let store = Arc::new(SqliteState::open(Folder::new(folder).state()));
    let adapter = gated::adapter(Arc::clone(&store), folder, 3_600)?;
    let operator = adapter.operator().ok_or("nobody operates it")?;
    operator.overview().await?;
    // Any call cleans up the state of earlier processes.
    adapter.call("list_executions", serde_json::json!({})).await;
    let open = |value: &Value| ["pending", "running"].contains(&value.as_str().unwrap_or("none"));
    let mut left = OpenState { agents: 0, executions: 0, records: 0 };
    for (collection, place) in [("safety_agents", "/execution/status"), ("executions", "/status")] {
        for record in store.list(collection, None, None, usize::MAX).await? {
            let value: Value = serde_json::from_str(&record.value)?;
            left.records += 1;
            if value.pointer(place).is_some_and(open) {
                match collection {
                    "executions" => left.executions += 1,
                    _ => left.agents += 1,
                }
            }
        }
    }
    Ok(left)
}
