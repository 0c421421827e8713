//! The command line: what is asked for, and how the process ends.

mod arguments;
mod check;
mod output;
mod serve;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use mcp_aql_aggregator::{Aggregator, Config, Query, QueryError, ServerStatus};

use arguments::{Arguments, Command, Configured};

/// After this it is told who is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// All is as it should be.
    Well,
    /// Servers could not be asked.
    Failed,
    /// What was asked for cannot be done.
    Refused,
    /// Somebody wanted it to stop.
    Interrupted,
}

impl Ended {
    const fn code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::Failed => 1,
            Self::Refused => 3,
            // As shells have it.
            Self::Interrupted => 130,
        }
    }
}

/// Does what the process was started for.
pub(crate) fn main() -> ExitCode {
    let ended = match Arguments::try_parse() {
        Ok(arguments) => run(arguments.command).unwrap_or_else(|why| {
            output::tell(&format!("error: {why}"));
            Ended::Refused
        }),
        Err(error) => {
            // Help and version are no faults, and go to standard output. Nobody reads when this fails.
            let _ = error.print();
            if error.use_stderr() { Ended::Refused } else { Ended::Well }
        }
    };
    ExitCode::from(ended.code())
}

/// Errors are for whoever typed the command.
fn run(command: Command) -> Result<Ended, String> {
    output::log_to_stderr();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let ended = runtime.block_on(work(command));
    // A thread that reads standard input does not end before that does.
    runtime.shutdown_timeout(Duration::from_millis(100));
    ended
}

async fn work(command: Command) -> Result<Ended, String> {
    match command {
        #[cfg(feature = "http")]
        Command::Serve { configured, face, http } => {
            let stop = told_to_stop();
            serve::serve(&start(&configured)?, face, http, stop).await
        }
        #[cfg(not(feature = "http"))]
        Command::Serve { configured, face } => {
            let stop = told_to_stop();
            serve::serve(&start(&configured)?, face, stop).await
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

fn start(configured: &Configured) -> Result<Aggregator, String> {
    let config = Config::from_file(&configured.config).map_err(|error| error.to_string())?;
    Ok(Aggregator::start(config))
}

/// Starts the servers, works with them, and ends them, also when somebody wants it to stop.
async fn once(
    configured: &Configured,
    work: impl AsyncFnOnce(&Aggregator) -> Result<Ended, String>,
) -> Result<Ended, String> {
    let stop = told_to_stop();
    let aggregator = start(configured)?;
    let ended = tokio::select! {
        ended = work(&aggregator) => ended,
        () = stop => {
            output::tell("interrupted");
            Ok(Ended::Interrupted)
        }
    };
    aggregator.close().await;
    ended
}

async fn ask(aggregator: &Aggregator, query: Query, json: bool) -> Result<Ended, String> {
    // Nobody has used these servers before: they are given the time that they need to start.
    let settled = told_of_waiting(aggregator, aggregator.settled_for(&query)).await;
    settled.map_err(|error| error.to_string())?;
    match aggregator.query(query).await {
        Ok(answer) if json => {
            let text = serde_json::to_string_pretty(&answer);
            output::write_json(&text.map_err(|error| format!("cannot write JSON: {error}"))?)?;
            Ok(Ended::Well)
        }
        Ok(answer) => {
            output::write(&table::answer(&answer, output::width()))?;
            Ok(Ended::Well)
        }
        Err(QueryError::AllFailed { errors, .. } | QueryError::NoServer { errors }) => {
            output::tell("no server answered");
            for error in errors {
                output::tell(&format!("  {error}"));
            }
            output::tell("`check`, with the same configuration, tells why");
            Ok(Ended::Failed)
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Waits for work on servers, and tells which ones are still starting where it takes longer.
async fn told_of_waiting<T>(aggregator: &Aggregator, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(PATIENCE) => {}
    }
    let states = aggregator.servers().into_iter();
    let starting: Vec<_> = states
        .filter(|server| server.state == ServerStatus::Starting)
        .map(|server| server.name)
        .collect();
    if !starting.is_empty() {
        output::tell(&format!("still starting: {}", starting.join(", ")));
    }
    work.await
}

/// Waits for Ctrl-C, or the wish that the process end. It is heard from the call on, not only once somebody
/// waits: what comes while the servers start ends them too.
fn told_to_stop() -> impl Future<Output = ()> + Send + 'static {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let wish = |kind| {
            let heard = signal(kind);
            async move {
                match heard {
                    Ok(mut signal) => {
                        signal.recv().await;
                    }
                    // Where signals cannot be heard, the system's own way is left.
                    Err(_) => std::future::pending().await,
                }
            }
        };
        let by_hand = wish(SignalKind::interrupt());
        let politely = wish(SignalKind::terminate());
        // The terminal is gone, and with it whoever would end the servers.
        let alone = wish(SignalKind::hangup());
        async move {
            tokio::select! {
                () = by_hand => {}
                () = politely => {}
                () = alone => {}
            }
        }
    }
    #[cfg(not(unix))]
    async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
