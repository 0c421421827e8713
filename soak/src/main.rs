//! Load test of an adapter. You need Linux for it, because it reads `/proc`:
//!
//! ```console
//! $ cargo run --release -p mcp-aql-soak
//! $ cargo run --release -p mcp-aql-soak -- crash --kills 100
//! ```
//!
//! The program starts itself as an adapter and loads it over the loopback interface with many sessions, calls and
//! misbehaving clients. It checks every reply and the remaining resources. It prints a table and exits with 1 if a
//! check fails.

#![expect(clippy::indexing_slicing, reason = "a `Value` that has no such member gives null")]

mod adapter;
mod crash;
mod faults;
mod flood;
mod hostile;
mod http;
mod load;
mod process;
mod random;
mod report;
mod retries;
mod stdio;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_aql::cli::clap::{self, Parser, Subcommand};
use serde_json::{Value, json};

use hostile::{HABITS, wanted};
use http::Connection;
use load::{Calls, Sessions};
use process::Process;
use report::Report;

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Runs load tests against an adapter.
#[derive(Debug, Parser)]
struct Arguments {
    /// Concurrent sessions
    #[arg(long, default_value_t = 10_000)]
    sessions: usize,
    /// Total number of calls
    #[arg(long, default_value_t = 1_000_000)]
    calls: u64,
    /// Connections that make the calls
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Clients of each kind of misbehaviour
    #[arg(long, default_value_t = 100)]
    hostile: usize,
    /// Warm-up rounds, with the same sessions and a tenth of the calls
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Time limit of the run in seconds
    #[arg(long, default_value_t = 3600)]
    seconds: u64,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Kill an adapter while agents are blocked and released, and check its persistent state
    Crash {
        /// Number of kills
        #[arg(long, default_value_t = 1_000)]
        kills: u64,
        /// Seed of the random moments
        #[arg(long, default_value_t = 5)]
        seed: u64,
    },
    /// Stop, kill, stall and starve an adapter at every point of its calls, and compare the entries that it wrote with
    /// the calls that it acknowledged
    Faults(faults::Arguments),
    /// Report too many actions under too many names, and guess codes
    Flood {
        /// Number of names
        #[arg(long, default_value_t = 10_000)]
        names: usize,
    },
    /// Send each confirmation token many times concurrently
    Retries {
        /// Number of tokens
        #[arg(long, default_value_t = 1_000)]
        rounds: u64,
        /// Number of calls per token
        #[arg(long, default_value_t = 64)]
        at_once: usize,
    },
    /// Run the adapter under load
    #[command(subcommand, hide = true)]
    Adapter(Transport),
}

#[derive(Debug, Subcommand)]
enum Transport {
    /// Over HTTP
    Http { sessions: usize },
    /// Over standard input and output
    Stdio,
    /// With gates, over standard input and output
    Gated { folder: PathBuf },
    /// With gates, over HTTP
    GatedHttp { folder: PathBuf },
    /// With points at which it waits, by the adapter's own command line
    Faults(faults::AdapterArguments),
}

/// The adapter's client timeout. It is short, because the run has to wait for it.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time until ended sessions and calls are cleaned up. After a session is closed, rmcp gives its calls five
/// more seconds.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum increase of memory between the last two rounds, in KiB. This detects a leak of 2 KiB per session with ten
/// thousand sessions, or of 24 bytes per call with a million calls.
const MAX_MEMORY_INCREASE_KIB: u64 = 24 << 10;

/// Returns `true` if the allocator returns freed memory to the system. Only then [`MAX_MEMORY_INCREASE_KIB`] is
/// checked.
///
/// glibc's allocator does not: it keeps freed memory between used blocks. To run with jemalloc, set
/// `LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0`.
fn returns_memory() -> bool {
    std::env::var_os("LD_PRELOAD").is_some()
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        Some(Command::Adapter(Transport::Http { sessions })) => {
            adapter::serve_http(*sessions, CLIENT_TIMEOUT).await.map(|()| true).map_err(Fault::from)
        }
        Some(Command::Adapter(Transport::Stdio)) => {
            adapter::serve_stdio().await.map(|()| true).map_err(Fault::from)
        }
        Some(Command::Adapter(Transport::Gated { folder })) => {
            crash::serve(folder).await.map(|()| true)
        }
        Some(Command::Adapter(Transport::GatedHttp { folder })) => {
            retries::serve(folder).await.map(|()| true)
        }
        Some(Command::Adapter(Transport::Faults(arguments))) => {
            faults::serve(arguments).await.map(|()| true)
        }
        command => {
            let work = async {
                match command {
                    Some(Command::Crash { kills, seed }) => crash::run(*kills, *seed).await,
                    Some(Command::Faults(arguments)) => faults::run(arguments).await,
                    Some(Command::Flood { names }) => flood::run(*names).await,
                    Some(Command::Retries { rounds, at_once }) => {
                        retries::run(*rounds, *at_once).await
                    }
                    _ => soak(&arguments).await,
                }
            };
            tokio::time::timeout(Duration::from_secs(arguments.seconds), work)
                .await
                .unwrap_or_else(|_| Err("it took too long".into()))
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

async fn soak(arguments: &Arguments) -> Result<bool, Fault> {
    let mut report = Report::default();
    let most = arguments.sessions + arguments.hostile;
    let (process, _input, address) = Process::http(&["http".into(), most.to_string()]).await?;
    let base = ResourceUsage::of(address, &process).await?;
    let mut warm = base.memory;
    for number in 1..=arguments.rounds {
        report.part(&format!("HTTP, warming up {number}: a tenth of the calls"));
        round(&mut report, arguments, arguments.calls / 10, address, &process, &base).await?;
        report.note("resident memory before (MiB)", warm >> 10);
        warm = process.memory()?;
        report.note("resident memory after (MiB)", warm >> 10);
    }
    report.part("HTTP");
    round(&mut report, arguments, arguments.calls, address, &process, &base).await?;
    let after = process.memory()?;
    report.note("peak memory (MiB)", process.peak()? >> 10);
    if returns_memory() {
        report.check(
            "resident memory after (MiB)",
            after >> 10,
            after <= warm + MAX_MEMORY_INCREASE_KIB,
        );
    } else {
        report.note("resident memory after (MiB), not checked", after >> 10);
    }
    stdio::run(&mut report).await?;
    Ok(report.end())
}

async fn round(
    report: &mut Report,
    arguments: &Arguments,
    count: u64,
    address: SocketAddr,
    process: &Process,
    base: &ResourceUsage,
) -> Result<(), Fault> {
    let start = Instant::now();
    let sessions = Sessions::open(address, arguments.connections, arguments.sessions).await?;
    let open = ResourceUsage::of(address, process).await?;
    let all = arguments.sessions;
    report.check("sessions open at once", open.sessions, usize::try_from(open.sessions)? == all);
    report.check("sessions with an id of their own", sessions.ids(), sessions.ids() == all);
    report.note("resident memory with them open (MiB)", process.memory()? >> 10);
    report.note("opened in (s)", format!("{:.1}", start.elapsed().as_secs_f64()));

    let start = Instant::now();
    let calls = Arc::new(Calls::default());
    let hostile = tokio::spawn(hostile::all(address, arguments.hostile));
    sessions.call(count, &calls).await?;
    let seconds = start.elapsed().as_secs_f64();
    report.check("calls, each reply checked", calls.all(), calls.all() == count);
    report.note("in sessions + without + panicking", calls.summary());
    report.note("calls per second, with hostile clients", format!("{:.0}", count as f64 / seconds));
    let counted = sessions.counted();
    report.check("sessions that counted each call once", counted, counted == all);
    for (treated, (habit, name)) in hostile.await??.into_iter().zip(HABITS) {
        let clients = wanted(habit, arguments.hostile);
        report.check(name, format!("{treated} of {clients}"), treated == clients);
    }

    let evicted = one_too_many(address, arguments.hostile).await? + sessions.close().await?;
    report.check("one session too many: evicts an idle one", evicted, evicted == 1);
    let start = Instant::now();
    let mut left = ResourceUsage::of(address, process).await?;
    while !left.is_back_to(base) && start.elapsed() < CLEANUP_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(200)).await;
        left = ResourceUsage::of(address, process).await?;
    }
    report.check("sessions left", left.sessions, left.sessions == 0);
    report.check("operations left", left.waiting, left.waiting == 0);
    let was = |now: usize, then: usize| format!("{now}, before {then}");
    report.check("tasks left", was(left.tasks, base.tasks), left.tasks <= base.tasks);
    let (now, then) = (left.descriptors, base.descriptors);
    report.check("file descriptors left", was(now, then), now <= then);
    report.note("cleaned up in (s)", format!("{:.1}", start.elapsed().as_secs_f64()));
    Ok(())
}

/// Opens as many sessions as allowed and one more, makes a call without a session, and closes all. Returns the number
/// of evicted sessions.
async fn one_too_many(address: SocketAddr, places: usize) -> Result<usize, Fault> {
    let mut connection = Connection::open(address).await?;
    let mut names = Vec::new();
    for _ in 0..=places {
        names.push(connection.open_session().await?);
    }
    let reply = connection.call(None, 1, "get_echo", json!({ "nonce": "x" })).await?;
    if reply["success"] != true {
        return Err(format!("a call without a session failed: {reply}").into());
    }
    let mut evicted = 0;
    for name in names {
        evicted += usize::from(!connection.close_session(&name).await?);
    }
    Ok(evicted)
}

/// The resources in use by the adapter.
struct ResourceUsage {
    sessions: i64,
    waiting: i64,
    tasks: usize,
    descriptors: usize,
    memory: u64,
}

impl ResourceUsage {
    /// Requests them from the adapter. This takes a separate connection, so every result includes it.
    async fn of(address: SocketAddr, process: &Process) -> Result<Self, Fault> {
        let mut connection = Connection::open(address).await?;
        let reply = connection.call(None, 1, "get_left", json!({})).await?;
        let count =
            |name: &str| reply["data"]["left"].get(name).and_then(Value::as_i64).ok_or("no count");
        Ok(Self {
            sessions: count("sessions")?,
            waiting: count("waiting")?,
            tasks: usize::try_from(count("tasks")?)?,
            descriptors: process.descriptors()?,
            memory: process.memory()?,
        })
    }

    fn is_back_to(&self, base: &Self) -> bool {
        self.sessions == 0
            && self.waiting == 0
            && self.tasks <= base.tasks
            && self.descriptors <= base.descriptors
    }
}
