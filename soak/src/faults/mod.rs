//! Runs faults against an adapter, and compares what its operations wrote with what it acknowledged.

mod adapter;
mod client;
mod clock;
mod disk;
mod faulty_store;
mod kill;
mod ledger;
mod model;
mod outage;
mod points;
mod server;
mod stall;
mod suite;

use std::path::Path;
use std::time::Instant;

use mcp_aql::cli::clap::{self, ValueEnum};
use mcp_aql_tests_databases::postgres;

use self::disk::Disk;
use self::server::Place;
use self::suite::Suite;
use crate::Fault;
use crate::report::Report;

pub(crate) use self::adapter::{AdapterArguments, run as serve};

/// The variable with the address of a PostgreSQL server, which `scripts/postgres.sh` sets.
const POSTGRES: &str = "MCP_AQL_TEST_POSTGRES";

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
    /// SIGSTOP for longer than the leases, then SIGCONT, beside a second process
    Stall,
    /// A store that refuses every access, that loses the answers to writes, or that another process has locked
    Outage,
    /// A file system of 8 MiB without space; where none can be mounted, a limit of file sizes
    FullDisk,
    /// A clock that is moved by an hour and by a day, and back
    ClockJump,
}

/// Where the adapter keeps its state.
#[derive(Debug, Clone, Copy)]
enum Database {
    Sqlite,
    Postgres,
}

/// Runs the faults with a store in SQLite, and in PostgreSQL if there is a server.
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
    let mut suite = Suite::new(place(folder.path(), database).await?, arguments.seed)?;
    for _ in 0..arguments.rounds {
        match (fault, &disk) {
            (FaultKind::FullDisk, Some(disk)) => disk::run(&mut suite, disk).await?,
            (FaultKind::Stall, _) => stall::run(&mut suite).await?,
            (FaultKind::Outage, _) => outage::run(&mut suite).await?,
            (FaultKind::ClockJump, _) => clock::run(&mut suite).await?,
            _ => kill::run(&mut suite).await?,
        }
    }
    suite.finish().await?;
    show(report, &suite, start);
    Ok(())
}

fn show(report: &mut Report, suite: &Suite, start: Instant) {
    let (tally, violations) = suite.check();
    report.note("moments of calls", suite.moments);
    report.note("calls", tally.calls);
    report.check("acknowledged, none lost", tally.acknowledged, tally.acknowledged > 0);
    report.note("refused, none ran", tally.refused);
    report.note("failed, with a line in the log", tally.failed);
    report.note("cut off, with a line in the log", tally.cut_off);
    report.note("without an answer, because of a kill", tally.lost);
    report.note("with one entry of two", tally.halves);
    report.note("executions that completed", tally.completed);
    report.note("seconds", format!("{:.1}", start.elapsed().as_secs_f64()));
    report.check("violations", violations.len(), violations.is_empty());
    for violation in violations.iter().take(5) {
        report.detail(violation);
    }
}

async fn place(folder: &Path, database: Database) -> Result<Place, Fault> {
    let schema = match database {
        Database::Sqlite => None,
        Database::Postgres => {
            let client = postgres::connect().await.ok_or("no PostgreSQL")?;
            client.batch_execute("DROP SCHEMA IF EXISTS soak_faults CASCADE").await?;
            Some("soak_faults".to_owned())
        }
    };
    Ok(Place { folder: folder.to_owned(), schema })
}
