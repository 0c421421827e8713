//! Injects failures into a running adapter. Compares the effects of its operations with the acknowledged calls.
//!
//! You can repeat a single failure:
//!
//! ```console
//! $ cargo run --release -p mcp-aql-soak -- faults --only kill --rounds 5 --seed 3
//! ```

mod adapter;
mod client;
mod disk;
mod faulty_store;
mod ledger;
mod model;
mod moment;
mod outage;
mod pipes;
mod points;
mod server;
mod signals;
mod suite;
mod transport;

use std::path::Path;
use std::time::{Duration, Instant};

use mcp_aql::cli::clap::{self, ValueEnum};
use mcp_aql_tests_databases::postgres;

use self::adapter::{LEASE, LONG_LEASE, set_clock};
use self::disk::Disk;
use self::moment::Moment;
use self::server::Place;
use self::suite::Suite;
use self::transport::Transport;
use crate::Fault;
use crate::report::Report;

pub(crate) use self::adapter::{AdapterArguments, run as serve};

/// The variable with the address of a PostgreSQL server. `scripts/postgres.sh` sets it.
/// You only need a server for the second half of the run.
const POSTGRES: &str = "MCP_AQL_TEST_POSTGRES";

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

/// The size of a run.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Repetitions of each fault
    #[arg(long, default_value_t = 20)]
    rounds: u64,
    /// Seed of the random moments
    #[arg(long, default_value_t = 3)]
    seed: u64,
    /// Only these faults
    #[arg(long, value_enum)]
    only: Vec<FaultKind>,
}

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FaultKind {
    /// SIGKILL at each moment of each kind of call
    Kill,
    /// The same over standard input and output
    KillStdio,
    /// SIGTERM at each moment of each kind of call, with enough time for the call and with too little
    Terminate,
    /// The same over standard input and output
    TerminateStdio,
    /// SIGSTOP for longer than the leases, then SIGCONT, next to a second process
    Stall,
    /// A store that rejects every access, loses the answers to writes, or is locked by another process
    Outage,
    /// A file system of 1 MiB without space; where none can be mounted, a limit of file sizes
    FullDisk,
    /// A clock that is moved by an hour and by a day, and back
    ClockJump,
}

impl FaultKind {
    /// Returns the transport of the calls and the lease of executions.
    const fn setting(self) -> (Transport, Duration) {
        match self {
            Self::Kill | Self::Terminate => (Transport::Http, LONG_LEASE),
            Self::KillStdio | Self::TerminateStdio => (Transport::Stdio, LONG_LEASE),
            _ => (Transport::Http, LEASE),
        }
    }
}

/// The database with the adapter's state.
#[derive(Debug, Clone, Copy)]
enum Database {
    Sqlite,
    Postgres,
}

/// Injects the failures, with a store in SQLite, and also in PostgreSQL if a server is available.
pub(crate) async fn run(arguments: &Arguments) -> Result<bool, Fault> {
    let mut report = Report::default();
    let all = [Database::Sqlite, Database::Postgres];
    let databases = if std::env::var_os(POSTGRES).is_some() { &all[..] } else { &all[..1] };
    for database in databases {
        for fault in FaultKind::value_variants() {
            if arguments.only.is_empty() || arguments.only.contains(fault) {
                run_fault(&mut report, *fault, *database, arguments).await?;
            }
        }
    }
    Ok(report.end())
}

async fn run_fault(
    report: &mut Report,
    fault: FaultKind,
    database: Database,
    arguments: &Arguments,
) -> Result<(), Fault> {
    let folder = tempfile::tempdir()?;
    let disk = (fault == FaultKind::FullDisk).then(|| Disk::at(folder.path()));
    let name = fault.to_possible_value().map(|value| value.get_name().to_owned());
    let disk_name = disk.as_ref().map(|disk| format!(", {}", disk.as_str())).unwrap_or_default();
    report.part(&format!("{} ({database:?}{disk_name})", name.unwrap_or_default()));
    let start = Instant::now();
    let place = place(folder.path(), database, fault.setting()).await?;
    let mut suite = Suite::new(place, arguments.seed)?;
    if let Err(problem) = run_rounds(&mut suite, fault, disk.as_ref(), arguments.rounds).await {
        suite.violation(format!("the run ended early: {problem}"));
    }
    show(report, &suite, start);
    Ok(())
}

async fn run_rounds(
    suite: &mut Suite,
    fault: FaultKind,
    disk: Option<&Disk>,
    rounds: u64,
) -> Result<(), Fault> {
    for _ in 0..rounds {
        match (fault, disk) {
            (FaultKind::FullDisk, Some(disk)) => disk::run(suite, disk).await?,
            (FaultKind::Stall, _) => signals::stall(suite).await?,
            (FaultKind::Outage, _) => outage::run(suite).await?,
            (FaultKind::ClockJump, _) => jump_clock(suite).await?,
            (FaultKind::Terminate | FaultKind::TerminateStdio, _) => {
                signals::terminate(suite).await?
            }
            _ => signals::kill(suite).await?,
        }
    }
    suite.finish().await
}

/// Moves the adapter's clock forward and back while calls of all kinds are running.
async fn jump_clock(suite: &mut Suite) -> Result<(), Fault> {
    for jump in [HOUR, -HOUR, DAY, -DAY] {
        for moment in Moment::OF_OPERATIONS {
            let server = suite.start().await?;
            // Move the clock away, and back again.
            for ahead in [suite.ahead + jump, suite.ahead] {
                let all = suite.reach_all(&server, moment).await?;
                set_clock(&suite.place.folder, ahead)?;
                for pending in all {
                    suite.settle(pending.answered().await?, &server).await?;
                }
                suite.works(&server).await?;
                suite.finish_executions(&server, true).await?;
            }
            server.kill().await?;
            suite.check_store();
        }
    }
    Ok(())
}

fn show(report: &mut Report, suite: &Suite, start: Instant) {
    let (tally, violations) = suite.check();
    report.note("moments of calls", suite.moments);
    report.note("calls", tally.calls);
    report.check("acknowledged, none lost", tally.acknowledged, tally.acknowledged > 0);
    report.note("rejected, none ran", tally.refused);
    report.note("failed, with a line in the log", tally.failed);
    report.note("cut off, with a line in the log", tally.cut_off);
    report.note("without an answer: killed or not read", tally.lost);
    report.note("with one entry of two", tally.halves);
    report.note("executions that completed", tally.completed);
    report.note("integrity checks of the store's file", suite.store_checks);
    report.note("seconds", format!("{:.1}", start.elapsed().as_secs_f64()));
    report.check("violations", violations.len(), violations.is_empty());
    for violation in violations.iter().take(5) {
        report.detail(violation);
    }
}

async fn place(
    folder: &Path,
    database: Database,
    (transport, lease): (Transport, Duration),
) -> Result<Place, Fault> {
    let schema = match database {
        Database::Sqlite => None,
        Database::Postgres => {
            let client = postgres::connect().await.ok_or("no PostgreSQL")?;
            client.batch_execute("DROP SCHEMA IF EXISTS soak_faults CASCADE").await?;
            Some("soak_faults".to_owned())
        }
    };
    Ok(Place { folder: folder.to_owned(), schema, transport, lease })
}
