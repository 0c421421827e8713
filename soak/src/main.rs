//! What an adapter survives: `cargo run --release -p mcp-aql-soak`.
//!
//! Starts itself as an adapter, loads it over loopback with many sessions, many calls and clients
//! that misbehave, and checks every reply and what is left of it all. Prints a table; ends with 1
//! when something does not hold. Reads `/proc`, so it needs Linux.

#![expect(clippy::indexing_slicing, reason = "a `Value` that has no such member gives null")]

mod adapter;
mod crash;
mod flood;
mod hostile;
mod http;
mod load;
mod process;
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
use http::{Connection, initialize};
use load::{Calls, Sessions};
use process::Process;
use report::Report;

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Loads an adapter and tells what it survives.
#[derive(Debug, Parser)]
struct Arguments {
    /// Sessions that are open at once
    #[arg(long, default_value_t = 10_000)]
    sessions: usize,
    /// Calls in all
    #[arg(long, default_value_t = 1_000_000)]
    calls: u64,
    /// Connections that make them
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Clients of each bad habit
    #[arg(long, default_value_t = 100)]
    hostile: usize,
    /// Rounds to warm up, with the same sessions and a tenth of the calls
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Gives up after so many seconds
    #[arg(long, default_value_t = 3600)]
    seconds: u64,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Kill an adapter while agents are blocked and released, and check what it kept
    Crash {
        /// So many times
        #[arg(long, default_value_t = 1_000)]
        kills: u64,
        /// Chooses the moments
        #[arg(long, default_value_t = 5)]
        seed: u64,
    },
    /// Report too much, under too many names, and guess
    Flood {
        /// So many names
        #[arg(long, default_value_t = 10_000)]
        names: usize,
    },
    /// Send one confirmation token many times at once
    Retries {
        /// So many tokens
        #[arg(long, default_value_t = 1_000)]
        rounds: u64,
        /// So many times each
        #[arg(long, default_value_t = 64)]
        at_once: usize,
    },
    /// Be the adapter under load
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
}

/// How long the adapter waits for a client. Short, so that the run need not wait for it long.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it may take until what ended has been cleared away: rmcp gives calls five seconds when
/// their session is closed.
const CLEARED: Duration = Duration::from_secs(60);
/// How much more memory may be in use after the last round than after the one before, in KiB. With
/// ten thousand sessions a leak of 2 KiB each shows, with a million calls one of 24 bytes each.
const MORE: u64 = 24 << 10;

/// Whether [`MORE`] is held. Held only with an allocator that was loaded to give freed memory back. glibc's keeps freed pages
/// between others, up to the most that was ever in use:
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
        command => {
            let work = async {
                match command {
                    Some(Command::Crash { kills, seed }) => crash::run(*kills, *seed).await,
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
    let base = Left::of(address, &process).await?;
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
    report.note("most memory at any time (MiB)", process.peak()? >> 10);
    if returns_memory() {
        report.check("resident memory after (MiB)", after >> 10, after <= warm + MORE);
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
    base: &Left,
) -> Result<(), Fault> {
    let start = Instant::now();
    let sessions = Sessions::open(address, arguments.connections, arguments.sessions).await?;
    let open = Left::of(address, process).await?;
    let all = arguments.sessions;
    report.check("sessions open at once", open.sessions, usize::try_from(open.sessions)? == all);
    report.check("sessions with an id of their own", sessions.ids(), sessions.ids() == all);
    report.note("resident memory with them open (MiB)", process.memory()? >> 10);
    report.note("opened in (s)", format!("{:.1}", start.elapsed().as_secs_f64()));

    let refused = one_too_many(address, arguments.hostile).await?;
    report.check("one session too many: 503 and -32000", refused, refused);

    let start = Instant::now();
    let calls = Arc::new(Calls::default());
    let hostile = tokio::spawn(hostile::all(address, arguments.hostile));
    sessions.call(count, &calls).await?;
    let seconds = start.elapsed().as_secs_f64();
    report.check("calls, each reply checked", calls.all(), calls.all() == count);
    report.note("in sessions + without + panicking", calls.told());
    report.note("calls a second, beside bad clients", format!("{:.0}", count as f64 / seconds));
    let counted = sessions.counted();
    report.check("sessions that saw their calls, once each", counted, counted == all);
    for (treated, (habit, name)) in hostile.await??.into_iter().zip(HABITS) {
        let clients = wanted(habit, arguments.hostile);
        report.check(name, format!("{treated} of {clients}"), treated == clients);
    }

    sessions.close().await?;
    let start = Instant::now();
    let mut left = Left::of(address, process).await?;
    while !left.is_back_to(base) && start.elapsed() < CLEARED {
        tokio::time::sleep(Duration::from_millis(200)).await;
        left = Left::of(address, process).await?;
    }
    report.check("sessions left", left.sessions, left.sessions == 0);
    report.check("operations left", left.waiting, left.waiting == 0);
    let was = |now: usize, then: usize| format!("{now}, before {then}");
    report.check("tasks left", was(left.tasks, base.tasks), left.tasks <= base.tasks);
    let (now, then) = (left.descriptors, base.descriptors);
    report.check("file descriptors left", was(now, then), now <= then);
    report.note("cleared away in (s)", format!("{:.1}", start.elapsed().as_secs_f64()));
    Ok(())
}

/// Fills the last places, and sees one more session refused and a call without one served.
async fn one_too_many(address: SocketAddr, places: usize) -> Result<bool, Fault> {
    let mut connection = Connection::open(address).await?;
    let mut names = Vec::new();
    for _ in 0..places {
        names.push(connection.open_session().await?);
    }
    let answer = connection.send(&initialize(address)).await?;
    let refused = answer.status == 503 && answer.message()?["error"]["code"] == -32000;
    let reply = connection.call(None, 1, "get_echo", json!({ "nonce": "x" })).await?;
    for name in names {
        connection.close_session(&name).await?;
    }
    Ok(refused && reply["success"] == true)
}

/// What the adapter holds.
struct Left {
    sessions: i64,
    waiting: i64,
    tasks: usize,
    descriptors: usize,
    memory: u64,
}

impl Left {
    /// Asked over a connection of its own, which so is part of every figure.
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
