use std::io::{IsTerminal as _, Read as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::Ended;
use super::render::{Output, plain};
use crate::adapter::Adapter;
use crate::error::ErrorCode;
use crate::introspection::Source as _;
use crate::main_error::{Error, Result};
use crate::operation::{BoxFuture, CallScope, ProgressSink, Session};
use crate::response::{OperationResult, Reply};
use crate::router::Endpoint;

/// The exit code that shells expect of an interrupted program.
const INTERRUPTED: i32 = 130;

/// Runs one operation, as one client's only call.
pub(super) async fn run(
    adapter: &Adapter,
    output: &Output,
    operation: &str,
    params: Option<&str>,
    named: &[String],
    yes: bool,
) -> Result<Ended> {
    let mut given = parameters(params)?;
    for one in named {
        let (name, text) = one
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| Error::Usage(format!("--param {one}: write NAME=VALUE")))?;
        let value = typed(adapter, operation, name, text);
        if given.insert(name.to_owned(), value).is_some() {
            return Err(Error::Usage(format!("parameter '{name}' is given twice")));
        }
    }
    let mut arguments = Map::new();
    arguments.insert("operation".to_owned(), operation.into());
    arguments.insert("params".to_owned(), given.into());
    let session = Session::new();
    let mut answer = handle_in(adapter, arguments.clone(), &session).await;
    let asks = [
        (ErrorCode::ConfirmationRequired, "_confirmation"),
        (ErrorCode::RateLimitQuotaPause, "_quota_continue"),
    ];
    let asks_now =
        |answer: &Answer| asks.iter().find(|(code, _)| answer.result.code() == Some(code.as_str()));
    if let Some((_, member)) = asks_now(&answer)
        && let Some(token) = confirmed(&answer.result, yes)?
        && let Some(Value::Object(params)) = arguments.get_mut("params")
    {
        params.insert((*member).to_owned(), token.into());
        answer = handle_in(adapter, arguments, &session).await;
    }
    session.end();
    adapter.end_executions().await;
    let ended = output.result(&answer)?;
    if asks_now(&answer).is_some() {
        writeln!(std::io::stderr(), "Nothing has run. Run the command again with --yes to agree.")?;
    }
    // An execution that came to no good end is a success of the call, and none of the command.
    let failed = matches!(status_of(&answer.text).as_deref(), Some("failed" | "cancelled"));
    Ok(if begins(adapter, operation) && failed { Ended::Unsuccessful } else { ended })
}

/// The token of a call that has to be confirmed, if the person says so: with `--yes`, or when asked.
fn confirmed(result: &OperationResult, yes: bool) -> Result<Option<String>> {
    let Some(error) = result.error() else { return Ok(None) };
    let text = |key: &str| error.details.get(key).and_then(Value::as_str);
    let Some(token) = text("confirmation_token") else { return Ok(None) };
    let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !yes && !asks {
        return Ok(None);
    }
    if !yes {
        let mut terminal = std::io::stderr();
        let reasons = error.details.get("reasons").and_then(Value::as_array);
        for reason in reasons.into_iter().flatten().filter_map(Value::as_str) {
            writeln!(terminal, "{}", plain(reason))?;
        }
        let question = text("confirmation_message").map_or_else(
            || match text("metric") {
                Some(metric) => format!("Quota '{metric}' pauses. Go on?"),
                None => format!(
                    "Run '{}' ({})?",
                    text("operation").unwrap_or_default(),
                    text("danger_level").unwrap_or_default()
                ),
            },
            plain,
        );
        write!(terminal, "{question} [y/N] ")?;
        terminal.flush()?;
        let mut said = String::new();
        std::io::stdin().read_line(&mut said)?;
        if !matches!(said.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
            return Ok(None);
        }
    }
    Ok(Some(token.to_owned()))
}

/// Whether calls of the operation become executions, or make one run again.
fn begins(adapter: &Adapter, operation: &str) -> bool {
    operation == "retry_execution"
        || adapter.operations().any(|spec| spec.name == operation && spec.lifecycle.is_some())
}

/// The status of the execution that a reply tells of.
fn status_of(reply: &str) -> Option<String> {
    let reply: Value = serde_json::from_str(reply).ok()?;
    Some(reply.pointer("/data/status")?.as_str()?.to_owned())
}

/// Waits for the end of the execution that a reply tells of; Ctrl-C cancels it.
async fn until_over(
    adapter: &Adapter,
    begun: Reply,
    session: &Session,
    progress: Option<Arc<dyn ProgressSink>>,
) -> Reply {
    let id = serde_json::from_str(&begun.text).unwrap_or(Value::Null);
    let id = id.pointer("/data/execution_id").cloned().unwrap_or_default();
    let mut reply = begun;
    while matches!(status_of(&reply.text).as_deref(), Some("pending" | "running")) {
        let mut arguments = Map::new();
        arguments.insert("operation".to_owned(), "get_execution".into());
        arguments.insert(
            "params".to_owned(),
            serde_json::json!({ "execution_id": id, "wait_seconds": 60 }),
        );
        let scope = CallScope {
            session: Some(session.clone()),
            progress: progress.clone(),
            ..CallScope::default()
        };
        tokio::select! {
            now = adapter.handle(Endpoint::Unified, arguments, scope) => reply = now,
            () = crate::stop::told_to_stop() => {
                if session.has_ended() {
                    std::process::exit(INTERRUPTED);
                }
                session.end();
            }
        }
    }
    reply
}

/// Hands a request to the adapter, with a session of its own, and cancels it on Ctrl-C.
pub(super) async fn handle(adapter: &Adapter, arguments: Map<String, Value>) -> Answer {
    let session = Session::new();
    let answer = handle_in(adapter, arguments, &session).await;
    session.end();
    answer
}

async fn handle_in(adapter: &Adapter, arguments: Map<String, Value>, session: &Session) -> Answer {
    let cancellation = CancellationToken::new();
    let progress: Option<Arc<dyn ProgressSink>> =
        if std::io::stderr().is_terminal() { Some(Arc::new(ToTerminal::default())) } else { None };
    let scope = CallScope {
        session: Some(session.clone()),
        cancellation: Some(cancellation.clone()),
        progress: progress.clone(),
        label: None,
    };
    let operation = arguments.get("operation").and_then(Value::as_str).unwrap_or_default();
    let begins = begins(adapter, operation);
    let work = adapter.handle(Endpoint::Unified, arguments, scope);
    tokio::pin!(work);
    let mut reply = tokio::select! {
        reply = &mut work => reply,
        () = crate::stop::told_to_stop() => {
            cancellation.cancel();
            if begins {
                session.end();
            }
            // What writes runs to its end unless it watches for this; who asks twice means it.
            tokio::select! {
                reply = &mut work => reply,
                () = crate::stop::told_to_stop() => std::process::exit(INTERRUPTED),
            }
        }
    };
    if begins {
        reply = until_over(adapter, reply, session, progress).await;
    }
    Answer { result: OperationResult::from_json(&reply.text), text: reply.text }
}

/// A reply, as it came and as it reads.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) result: OperationResult,
}

/// The parameters from the command line or from standard input.
fn parameters(params: Option<&str>) -> Result<Map<String, Value>> {
    let text = match params {
        None => return Ok(Map::new()),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
        Some(text) => text.to_owned(),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(params)) => Ok(params),
        Ok(_) => Err(Error::Usage(
            "the parameters must be a JSON object, as in '{\"title\":\"Ship it\"}'".to_owned(),
        )),
        Err(error) => Err(Error::Usage(format!(
            "the parameters are not JSON ({error}); write an object, as in '{{\"title\":\"Ship it\"}}'"
        ))),
    }
}

/// A value from the command line, as the parameter's type reads it: text stays text.
fn typed(adapter: &Adapter, operation: &str, name: &str, text: &str) -> Value {
    let details = adapter.inner.in_full(operation);
    let details: Value =
        details.and_then(|entry| serde_json::from_str(&entry.text).ok()).unwrap_or_default();
    let parameters = details.pointer("/operation/parameters").and_then(Value::as_array);
    let is = |parameter: &Value, key: &str, wanted: &str| {
        parameter.get(key).and_then(Value::as_str) == Some(wanted)
    };
    if let Some(parameter) = parameters.into_iter().flatten().find(|it| is(it, "name", name))
        && is(parameter, "type", "string")
    {
        return text.into();
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Progress for the person who waits.
#[derive(Default)]
struct ToTerminal {
    /// What was told last; it is not told twice.
    last: Mutex<String>,
}

impl ProgressSink for ToTerminal {
    fn report<'a>(
        &'a self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> BoxFuture<'a, ()> {
        let total = total.map(|total| format!(" of {total}")).unwrap_or_default();
        let message = super::render::plain(&message.unwrap_or_default());
        let line = format!("{done}{total} {message}");
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != line {
            let _ = writeln!(std::io::stderr(), "{line}");
            *last = line;
        }
        drop(last);
        Box::pin(std::future::ready(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        LifecycleSpec, Method, OperationError, OperationSpec, Operations, SemanticCategory,
    };

    struct Works;

    impl Operations for Works {
        const OPERATIONS: &'static [Method<Self>] = &[Method::new(
            OperationSpec::new("execute_export", SemanticCategory::Execute, "Export all of it.")
                .lifecycle(LifecycleSpec::new(false, true, false)),
            |_, call| {
                Box::pin(async move {
                    match call.execution()?.attempt() {
                        1 => Err(OperationError::not_found("export", "e-1")),
                        _ => {
                            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                            call.reply(())
                        }
                    }
                })
            },
        )];
    }

    #[tokio::test]
    async fn a_retry_is_waited_for_like_what_it_runs_again() {
        // REQ-LIF-02, REQ-LIF-04
        let adapter = Adapter::builder("works").operations(Works).without_config().build().unwrap();
        let session = Session::new();
        let text = async |arguments: Value| {
            let Value::Object(arguments) = arguments else { return String::new() };
            handle_in(&adapter, arguments, &session).await.text
        };
        let failed = text(serde_json::json!({ "operation": "execute_export" })).await;
        assert_eq!(status_of(&failed).as_deref(), Some("failed"));
        let failed: Value = serde_json::from_str(&failed).unwrap();
        let params = serde_json::json!({ "execution_id": failed["data"]["execution_id"] });
        let again =
            text(serde_json::json!({ "operation": "retry_execution", "params": params })).await;
        assert_eq!(status_of(&again).as_deref(), Some("completed"));
    }
}
