//! The command line: dispatches subcommands and determines the exit code.

mod arguments;
mod check;
#[cfg(feature = "http")]
mod http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod http;
mod output;
mod serve;
#[cfg(unix)]
mod signals;
#[cfg(not(unix))]
#[path = "without_signals.rs"]
mod signals;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser as _, ValueEnum};
use mcp_aql_aggregator::{Aggregator, Config, Query, QueryError, ServerStatus};

use arguments::{Arguments, Command, ConfigArgs};
use signals::shutdown_signal;

/// Delay after which servers still starting are reported.
const STARTING_REPORT_DELAY: Duration = Duration::from_secs(2);

/// The interface that clients see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Face {
    /// The tool mcp__proxy__aggregator__query
    Plain,
    /// An MCP-AQL adapter: search_servers, list_servers, get_server
    McpAql,
}

/// The result of the command, reported as the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandOutcome {
    /// The command succeeded.
    Well,
    /// A server failed.
    Failed,
    /// The command line or the configuration is invalid.
    Refused,
    /// A signal stopped the process.
    Interrupted,
}

impl CommandOutcome {
    const fn code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::Failed => 1,
            Self::Refused => 3,
            // The shell convention for SIGINT.
            Self::Interrupted => 130,
        }
    }
}

/// Runs the command and returns its exit code.
pub(crate) fn main() -> ExitCode {
    let ended = match Arguments::try_parse() {
        Ok(arguments) => run(arguments.command).unwrap_or_else(|why| {
            output::print_message(&format!("error: {why}"));
            CommandOutcome::Refused
        }),
        Err(error) => {
            // Help and version are not errors and go to standard output. A failed write is ignored.
            let _ = error.print();
            if error.use_stderr() { CommandOutcome::Refused } else { CommandOutcome::Well }
        }
    };
    ExitCode::from(ended.code())
}

/// Runs a command. An error is a message for the user.
fn run(command: Command) -> Result<CommandOutcome, String> {
    output::log_to_stderr();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the async runtime: {error}"))?;
    let ended = runtime.block_on(work(command));
    // The thread that reads standard input only ends with the input, so the runtime cannot wait for
    // it.
    runtime.shutdown_timeout(Duration::from_millis(100));
    ended
}

async fn work(command: Command) -> Result<CommandOutcome, String> {
    match command {
        Command::Serve { configured, face, http } => {
            let stop = shutdown_signal();
            serve::serve(&start(&configured)?, face, http, stop).await
        }
        Command::Query { configured, text, max_results, servers, json } => {
            let mut query = Query::new(text);
            if let Some(count) = max_results {
                query = query.max_results(count);
            }
            let query = servers.into_iter().fold(query, Query::server);
            once(&configured, async |aggregator| ask(aggregator, query, json).await).await
        }
        Command::Check { configured, query } => {
            once(&configured, async |aggregator| check::check(aggregator, &query).await).await
        }
    }
}

fn start(configured: &ConfigArgs) -> Result<Aggregator, String> {
    let config = Config::from_file(&configured.config).map_err(|error| error.to_string())?;
    Ok(Aggregator::start(config))
}

/// Starts the servers, runs `work` with them and ends them, also after a signal.
async fn once(
    configured: &ConfigArgs,
    work: impl AsyncFnOnce(&Aggregator) -> Result<CommandOutcome, String>,
) -> Result<CommandOutcome, String> {
    let stop = shutdown_signal();
    let aggregator = start(configured)?;
    let ended = tokio::select! {
        ended = work(&aggregator) => ended,
        () = stop => {
            output::print_message("interrupted");
            Ok(CommandOutcome::Interrupted)
        }
    };
    aggregator.close().await;
    ended
}

async fn ask(aggregator: &Aggregator, query: Query, json: bool) -> Result<CommandOutcome, String> {
    // The servers have just been started, so the query waits until they are ready or have failed.
    let settled = report_slow_start(aggregator, aggregator.settled_for(&query)).await;
    settled.map_err(|error| error.to_string())?;
    match aggregator.query(query).await {
        Ok(answer) if json => {
            let text = serde_json::to_string_pretty(&answer);
            output::write_json(&text.map_err(|error| format!("cannot write JSON: {error}"))?)?;
            Ok(CommandOutcome::Well)
        }
        Ok(answer) => {
            output::write(&table::answer(&answer, output::width()))?;
            Ok(CommandOutcome::Well)
        }
        Err(QueryError::AllFailed { errors, .. } | QueryError::NoServer { errors }) => {
            output::print_message("no server answered");
            for error in errors {
                output::print_message(&format!("  {error}"));
            }
            output::print_message("run `check` with the same configuration to see the reasons");
            Ok(CommandOutcome::Failed)
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Waits for `work`. Reports the servers still starting after a delay, to explain the wait.
async fn report_slow_start<T>(aggregator: &Aggregator, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(STARTING_REPORT_DELAY) => {}
    }
    let states = aggregator.servers().into_iter();
    let starting: Vec<_> = states
        .filter(|server| server.state == ServerStatus::Starting)
        .map(|server| server.name)
        .collect();
    if !starting.is_empty() {
        output::print_message(&format!("still starting: {}", starting.join(", ")));
    }
    work.await
}
