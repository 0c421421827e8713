//! Sends the requests of commands to the adapter, and waits for executions.

use std::convert::Infallible;
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_aql_core::internal::operation::{CallScope, Cancellation, ProgressSink};
use mcp_aql_core::internal::response::{ErrorDetail, Reply};
use mcp_aql_core::internal::router::Endpoint;
use mcp_aql_core::internal::util::lock;
use mcp_aql_core::{Adapter, BoxFuture, OperationResult, Result, Session};
use serde_json::{Map, Value};

use super::prompt::Prompt;
use super::render::{Answer, plain};

/// The conventional exit code of an interrupted program: 128 + SIGINT.
const INTERRUPTED_EXIT_CODE: i32 = 130;
/// The interval between queries of an execution's progress.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Prints the reasons why a call requires confirmation.
pub(super) fn print_reasons(prompt: &dyn Prompt, error: &ErrorDetail) -> Result {
    let print_reasons = error.details.get("reasons").and_then(Value::as_array);
    let mut print_reasons = print_reasons.into_iter().flatten().filter_map(Value::as_str);
    print_reasons.try_for_each(|reason| prompt.print_line(&plain(reason)))
}

/// Returns `true` if the operation starts or restarts an execution.
pub(super) fn starts_execution(adapter: &Adapter, operation: &str) -> bool {
    operation == "retry_execution"
        || adapter.operations().any(|spec| spec.name == operation && spec.lifecycle.is_some())
}

/// Returns the status of the execution in a reply.
pub(super) fn status_of(reply: &str) -> Option<String> {
    let reply: Value = serde_json::from_str(reply).ok()?;
    Some(reply.pointer("/data/status")?.as_str()?.to_owned())
}

/// Waits for the end of the execution in a reply. Ctrl-C cancels the execution.
async fn wait_for_end(
    adapter: &Adapter,
    begun: Reply,
    session: &Session,
    progress: Option<&Arc<ProgressPrinter>>,
) -> Reply {
    let id = serde_json::from_str(&begun.text).unwrap_or(Value::Null);
    let id = id.pointer("/data/execution_id").and_then(Value::as_str).unwrap_or_default();
    let mut reply = begun;
    while matches!(status_of(&reply.text).as_deref(), Some("pending" | "running")) {
        let mut arguments = Map::new();
        arguments.insert("operation".to_owned(), "get_execution".into());
        arguments.insert(
            "params".to_owned(),
            serde_json::json!({ "execution_id": id, "wait_seconds": 60 }),
        );
        let scope = CallScope { session: Some(session.clone()), ..CallScope::default() };
        tokio::select! {
            now = adapter.handle(Endpoint::Unified, arguments, scope) => reply = now,
            never = print_progress(adapter, id, progress) => match never {},
            () = mcp_aql_server::stop::shutdown_signal() => {
                if session.has_ended() {
                    std::process::exit(INTERRUPTED_EXIT_CODE);
                }
                session.end();
            }
        }
    }
    reply
}

/// Prints the progress of an execution with the numbers that its function has reported. MCP's notifications use another
/// scale.
async fn print_progress(
    adapter: &Adapter,
    id: &str,
    progress: Option<&Arc<ProgressPrinter>>,
) -> Infallible {
    let Some(printer) = progress else { return std::future::pending().await };
    loop {
        if let Ok(Some(record)) = adapter.execution_table().get(id).await
            && !record.status.is_final()
            && let Some(progress) = &record.progress
        {
            let (done, total) = progress.numbers().unzip();
            printer.print_progress(done, total, progress.message().unwrap_or_default());
        }
        tokio::time::sleep(PROGRESS_INTERVAL).await;
    }
}

/// Sends a request to the adapter in a new session. Ctrl-C cancels it.
pub(super) async fn handle(adapter: &Adapter, arguments: Map<String, Value>) -> Answer {
    let session = Session::new();
    let answer = handle_in(adapter, arguments, &session, None).await;
    session.end();
    answer
}

pub(super) async fn handle_in(
    adapter: &Adapter,
    arguments: Map<String, Value>,
    session: &Session,
    progress: Option<&Arc<ProgressPrinter>>,
) -> Answer {
    let cancellation = Cancellation::default();
    let operation = arguments.get("operation").and_then(Value::as_str).unwrap_or_default();
    let starts_execution = starts_execution(adapter, operation);
    let waits = operation == "get_execution";
    let id = arguments.get("params").and_then(|params| params.get("execution_id"));
    let id = id.and_then(Value::as_str).unwrap_or_default().to_owned();
    let printed = progress.filter(|_| waits);
    let reports = progress.filter(|_| !starts_execution && !waits);
    let scope = CallScope {
        session: Some(session.clone()),
        cancellation: Some(cancellation.clone()),
        progress: reports.map(|printer| Arc::clone(printer) as Arc<dyn ProgressSink>),
        ..CallScope::default()
    };
    let work = adapter.handle(Endpoint::Unified, arguments, scope);
    tokio::pin!(work);
    let mut reply = tokio::select! {
        reply = &mut work => reply,
        never = print_progress(adapter, &id, printed) => match never {},
        () = mcp_aql_server::stop::shutdown_signal() => {
            cancellation.cancel();
            if starts_execution {
                session.end();
            }
            // A write operation is not canceled unless its function watches for cancellation. A second Ctrl-C stops
            // waiting for it.
            tokio::select! {
                reply = &mut work => reply,
                () = mcp_aql_server::stop::shutdown_signal() => std::process::exit(INTERRUPTED_EXIT_CODE),
            }
        }
    };
    if starts_execution {
        reply = wait_for_end(adapter, reply, session, progress).await;
    }
    Answer { result: OperationResult::from_json(&reply.text), text: reply.text }
}

/// Prints progress on the terminal.
pub(super) struct ProgressPrinter {
    /// The last printed line. It is not repeated.
    last: Mutex<String>,
    write: Box<dyn Fn(&str) + Send + Sync>,
}

impl ProgressPrinter {
    /// Returns a printer if standard error is a terminal, and `None` otherwise.
    pub(super) fn for_terminal() -> Option<Arc<Self>> {
        let write = |line: &str| {
            let _ = writeln!(std::io::stderr(), "{line}");
        };
        std::io::stderr().is_terminal().then(|| Self::new(write))
    }

    pub(super) fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { last: Mutex::default(), write: Box::new(write) })
    }

    fn print_progress(&self, done: Option<f64>, total: Option<f64>, message: &str) {
        let line = line(done, total, message);
        let mut last = lock(&self.last);
        if *last != line {
            (self.write)(&line);
            *last = line;
        }
    }
}

impl ProgressSink for ProgressPrinter {
    fn report<'a>(
        &'a self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> BoxFuture<'a, ()> {
        self.print_progress(Some(done), total, &message.unwrap_or_default());
        Box::pin(std::future::ready(()))
    }
}

/// Formats progress as a line: `36.7 of 100 exporting`.
pub(super) fn line(done: Option<f64>, total: Option<f64>, message: &str) -> String {
    let short = |number: f64| ((number * 10.0).round() / 10.0).to_string();
    let done = done.map(short);
    let total = total.map(|total| format!("of {}", short(total)));
    let message = Some(plain(message)).filter(|message| !message.is_empty());
    done.into_iter().chain(total).chain(message).collect::<Vec<_>>().join(" ")
}
