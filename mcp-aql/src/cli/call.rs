use std::convert::Infallible;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_aql_protocol::ErrorCode;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::Ended;
#[cfg(feature = "safety")]
use super::approval;
use super::person::Person;
use super::render::{Output, plain};
use crate::adapter::Adapter;
use crate::future::BoxFuture;
use crate::introspection::Source as _;
use crate::main_error::{Error, Result};
use crate::operation::{CallScope, ProgressSink};
use crate::request::{Arguments, Loss, read, read_value};
use crate::response::{ErrorDetail, OperationResult, Reply};
use crate::router::Endpoint;
use crate::session::Session;
use crate::sync::lock;

/// The exit code that shells expect of an interrupted program.
const INTERRUPTED: i32 = 130;

/// How often an execution is asked how far it is.
const PACE: Duration = Duration::from_millis(200);

/// What `call` was told.
pub(super) struct Asked {
    pub(super) operation: String,
    pub(super) params: Option<String>,
    pub(super) named: Vec<String>,
    /// Agrees to whatever has to be confirmed.
    pub(super) yes: bool,
}

impl Asked {
    /// The request, as a client sends it.
    fn arguments(&self, adapter: &Adapter) -> Result<Map<String, Value>> {
        let mut given = parameters(self.params.as_deref())?;
        for one in &self.named {
            let (name, text) = one
                .split_once('=')
                .filter(|(name, _)| !name.is_empty())
                .ok_or_else(|| Error::Usage(format!("--param {one}: write NAME=VALUE")))?;
            let value = typed(adapter, &self.operation, name, text)?;
            if given.insert(name.to_owned(), value).is_some() {
                return Err(Error::Usage(format!("parameter '{name}' is given twice")));
            }
        }
        let mut arguments = Map::new();
        arguments.insert("operation".to_owned(), self.operation.as_str().into());
        arguments.insert("params".to_owned(), given.into());
        Ok(arguments)
    }
}

/// Why a call has not run, although nothing was wrong with it.
enum Unrun {
    /// It waits for a yes, and nobody was there to ask.
    Unasked,
    /// Somebody has decided so, or did not decide in time; says who.
    Refused(&'static str),
}

/// Runs one operation, as one client's only call.
pub(super) async fn run(
    adapter: &Adapter,
    output: &Output,
    person: &dyn Person,
    asked: Asked,
) -> Result<Ended> {
    let arguments = asked.arguments(adapter)?;
    let session = Session::new();
    let called = call(adapter, person, arguments, &session, asked.yes).await;
    session.end();
    adapter.end_executions().await;
    let (answer, unrun) = called?;
    match unrun {
        None => {
            let ended = output.result(&answer)?;
            // An execution that came to no good end is a success of the call, and none of the command.
            let failed = matches!(status_of(&answer.text).as_deref(), Some("failed" | "cancelled"));
            let failed = failed && begins(adapter, &asked.operation);
            Ok(if failed { Ended::Unsuccessful } else { ended })
        }
        Some(Unrun::Unasked) => {
            output.result(&answer)?;
            person.tell("Nothing has run. Run the command again with --yes to agree.")?;
            Ok(Ended::Unsuccessful)
        }
        Some(Unrun::Refused(why)) => {
            if output.json() {
                output.result(&answer)?;
            }
            person.tell(why)?;
            Ok(Ended::Unsuccessful)
        }
    }
}

/// Makes the call, and makes it again with whatever it has to have: a yes, or a person's approval.
async fn call(
    adapter: &Adapter,
    person: &dyn Person,
    mut arguments: Map<String, Value>,
    session: &Session,
    yes: bool,
) -> Result<(Answer, Option<Unrun>)> {
    let progress = Told::on_terminal();
    loop {
        let answer = handle_in(adapter, arguments.clone(), session, progress.as_ref()).await;
        let Some(error) = answer.result.error() else { return Ok((answer, None)) };
        #[cfg(feature = "safety")]
        if let Some(approval) = approval::Approval::of(adapter, error).await? {
            match approval.wait(adapter, person, session, yes).await? {
                None => continue,
                Some(why) => return Ok((answer, Some(Unrun::Refused(why)))),
            }
        }
        let member = match &*error.code {
            code if code == ErrorCode::ConfirmationRequired.as_str() => "_confirmation",
            code if code == ErrorCode::RateLimitQuotaPause.as_str() => "_quota_continue",
            _ => return Ok((answer, None)),
        };
        let token = error.details.get("confirmation_token").and_then(Value::as_str);
        let Some(Value::Object(params)) = arguments.get_mut("params") else {
            return Ok((answer, None));
        };
        // One that was given and did not do is not asked for twice.
        let Some(token) = token.filter(|_| !params.contains_key(member)) else {
            return Ok((answer, Some(Unrun::Unasked)));
        };
        if !yes {
            if !person.is_there() {
                return Ok((answer, Some(Unrun::Unasked)));
            }
            if !agreed(person, error).await? {
                return Ok((answer, Some(Unrun::Refused("Nothing has run."))));
            }
        }
        params.insert(member.to_owned(), token.into());
    }
}

/// Asks whether a call that has to be confirmed may run.
async fn agreed(person: &dyn Person, error: &ErrorDetail) -> Result<bool> {
    let text = |key: &str| error.details.get(key).and_then(Value::as_str);
    reasons(person, error)?;
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
    let question = format!("{question} [y/N]");
    let said = tokio::select! {
        said = person.ask(&question) => said?,
        () = crate::stop::told_to_stop() => {
            person.tell("")?;
            String::new()
        }
    };
    Ok(matches!(said.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Tells why a call has to be agreed to.
pub(super) fn reasons(person: &dyn Person, error: &ErrorDetail) -> Result {
    let reasons = error.details.get("reasons").and_then(Value::as_array);
    let mut reasons = reasons.into_iter().flatten().filter_map(Value::as_str);
    reasons.try_for_each(|reason| person.tell(&plain(reason)))
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
    progress: Option<&Arc<Told>>,
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
            never = follow(adapter, id, progress) => match never {},
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

/// Tells how far an execution is, in its function's own numbers, as its state has them, and not on the
/// scale of MCP's notifications.
async fn follow(adapter: &Adapter, id: &str, progress: Option<&Arc<Told>>) -> Infallible {
    let Some(told) = progress else { return std::future::pending().await };
    loop {
        if let Ok(Some(record)) = adapter.inner.executions.get(id).await
            && !record.status.is_final()
            && let Some(progress) = &record.progress
        {
            let (done, total) = progress.numbers().unzip();
            told.tell(done, total, progress.message().unwrap_or_default());
        }
        tokio::time::sleep(PACE).await;
    }
}

/// Hands a request to the adapter, with a session of its own, and cancels it on Ctrl-C.
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
    progress: Option<&Arc<Told>>,
) -> Answer {
    let cancellation = CancellationToken::new();
    let operation = arguments.get("operation").and_then(Value::as_str).unwrap_or_default();
    let begins = begins(adapter, operation);
    let waits = operation == "get_execution";
    let id = arguments.get("params").and_then(|params| params.get("execution_id"));
    let id = id.and_then(Value::as_str).unwrap_or_default().to_owned();
    let watched = progress.filter(|_| waits);
    let reports = progress.filter(|_| !begins && !waits);
    let scope = CallScope {
        session: Some(session.clone()),
        cancellation: Some(cancellation.clone()),
        progress: reports.map(|told| Arc::clone(told) as Arc<dyn ProgressSink>),
        label: None,
    };
    let work = adapter.handle(Endpoint::Unified, arguments, scope);
    tokio::pin!(work);
    let mut reply = tokio::select! {
        reply = &mut work => reply,
        never = follow(adapter, &id, watched) => match never {},
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
    match read(&text) {
        Ok(Ok(Arguments { members, losses })) => complete(members, losses),
        Ok(Err(_)) => Err(Error::Usage(
            "the parameters must be a JSON object, as in '{\"title\":\"Ship it\"}'".to_owned(),
        )),
        Err(error) => Err(Error::Usage(format!(
            "the parameters are not JSON ({error}); write an object, as in '{{\"title\":\"Ship it\"}}'"
        ))),
    }
}

/// Returns the value that was read, unless some of it was lost.
fn complete<T>(read: T, losses: Vec<Loss>) -> Result<T> {
    match losses.into_iter().next() {
        None => Ok(read),
        Some(loss) => Err(Error::Usage(loss.error.message().to_owned())),
    }
}

/// A value from the command line, as the parameter's type reads it: text stays text.
fn typed(adapter: &Adapter, operation: &str, name: &str, text: &str) -> Result<Value> {
    let details = adapter.inner.in_full(operation);
    let details: Value =
        details.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let parameters = details.pointer("/operation/parameters").and_then(Value::as_array);
    let is = |parameter: &Value, key: &str, wanted: &str| {
        parameter.get(key).and_then(Value::as_str) == Some(wanted)
    };
    if let Some(parameter) = parameters.into_iter().flatten().find(|it| is(it, "name", name))
        && is(parameter, "type", "string")
    {
        return Ok(text.into());
    }
    match read_value(text, Some(name)) {
        Ok((value, losses)) => complete(value, losses),
        Err(_) => Ok(text.into()),
    }
}

/// Progress for the person who waits.
pub(super) struct Told {
    /// What was told last; it is not told twice.
    last: Mutex<String>,
    write: Box<dyn Fn(&str) + Send + Sync>,
}

impl Told {
    /// Where standard error is a terminal.
    fn on_terminal() -> Option<Arc<Self>> {
        let write = |line: &str| {
            let _ = writeln!(std::io::stderr(), "{line}");
        };
        std::io::stderr().is_terminal().then(|| Self::by(write))
    }

    fn by(write: impl Fn(&str) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { last: Mutex::default(), write: Box::new(write) })
    }

    fn tell(&self, done: Option<f64>, total: Option<f64>, message: &str) {
        let line = line(done, total, message);
        let mut last = lock(&self.last);
        if *last != line {
            (self.write)(&line);
            *last = line;
        }
    }
}

impl ProgressSink for Told {
    fn report<'a>(
        &'a self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> BoxFuture<'a, ()> {
        self.tell(Some(done), total, &message.unwrap_or_default());
        Box::pin(std::future::ready(()))
    }
}

/// Progress in a line: `36.7 of 100 exporting`.
fn line(done: Option<f64>, total: Option<f64>, message: &str) -> String {
    let short = |number: f64| ((number * 10.0).round() / 10.0).to_string();
    let done = done.map(short);
    let total = total.map(|total| format!("of {}", short(total)));
    let message = Some(plain(message)).filter(|message| !message.is_empty());
    done.into_iter().chain(total).chain(message).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::{
        LifecycleSpec, Method, OperationError, OperationSpec, Operations, SemanticCategory,
    };

    #[derive(Clone, Default)]
    struct Works {
        deleted: Arc<AtomicU32>,
    }

    impl Operations for Works {
        const OPERATIONS: &'static [Method<Self>] = &[
            Method::new(
                OperationSpec::new("execute_export", SemanticCategory::Execute, "Export it.")
                    .lifecycle(LifecycleSpec::new(false, true, true)),
                |_, call| {
                    Box::pin(async move {
                        let execution = call.execution()?;
                        match execution.attempt() {
                            1 => Err(OperationError::not_found("export", "e-1")),
                            _ => {
                                execution.progress(36.66, 110.0, "exporting").await;
                                tokio::time::sleep(2 * PACE).await;
                                call.reply(())
                            }
                        }
                    })
                },
            ),
            Method::new(
                OperationSpec::new("delete_bed", SemanticCategory::Delete, "Delete it."),
                |works: &Self, call| {
                    Box::pin(async move {
                        works.deleted.fetch_add(1, Ordering::Relaxed);
                        call.reply(())
                    })
                },
            ),
        ];
    }

    fn adapter(works: &Works) -> Adapter {
        Adapter::builder("works").operations(works.clone()).without_config().build().unwrap()
    }

    #[tokio::test]
    async fn a_retry_is_waited_for_like_what_it_runs_again() {
        // REQ-LIF-02, REQ-LIF-04
        let adapter = adapter(&Works::default());
        let session = Session::new();
        let (tell, told) = std::sync::mpsc::channel();
        let told_to = Told::by(move |line| tell.send(line.to_owned()).unwrap());
        let text = async |arguments: Value| {
            let Value::Object(arguments) = arguments else { return String::new() };
            handle_in(&adapter, arguments, &session, Some(&told_to)).await.text
        };
        let failed = text(serde_json::json!({ "operation": "execute_export" })).await;
        assert_eq!(status_of(&failed).as_deref(), Some("failed"));
        let failed: Value = serde_json::from_str(&failed).unwrap();
        let params = serde_json::json!({ "execution_id": failed["data"]["execution_id"] });
        let again =
            text(serde_json::json!({ "operation": "retry_execution", "params": params })).await;
        assert_eq!(status_of(&again).as_deref(), Some("completed"));
        // In the function's own numbers, and each line once.
        assert_eq!(told.try_iter().collect::<Vec<_>>(), ["36.7 of 110 exporting"]);
    }

    #[test]
    fn progress_has_one_decimal_and_no_more() {
        for (done, total, message, expected) in [
            (Some(36.666_666), Some(100.0), "exporting", "36.7 of 100 exporting"),
            (Some(3.0), Some(7.0), "", "3 of 7"),
            (Some(0.04), None, "a\u{1b}b", "0 a<U+001B>b"),
            (None, None, "waits", "waits"),
        ] {
            assert_eq!(line(done, total, message), expected);
        }
    }

    /// Says the same whatever is asked.
    struct Says {
        answer: Option<&'static str>,
        told: Mutex<Vec<String>>,
    }

    impl Person for Says {
        fn is_there(&self) -> bool {
            self.answer.is_some()
        }

        fn tell(&self, line: &str) -> Result {
            self.told.lock().unwrap().push(line.to_owned());
            Ok(())
        }

        fn ask<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Result<String>> {
            self.told.lock().unwrap().push(question.to_owned());
            Box::pin(async { Ok(self.answer.unwrap_or_default().to_owned()) })
        }
    }

    #[tokio::test]
    async fn what_is_not_agreed_to_does_not_run_and_is_no_error() {
        const QUESTION: &str = "Run 'delete_bed' (destructive)? [y/N]";
        const AGAIN: &str = "Nothing has run. Run the command again with --yes to agree.";
        let works = Works::default();
        let adapter = adapter(&works);
        for (answer, yes, json, ended, told, printed) in [
            (Some("y"), false, false, Ended::Well, &[QUESTION][..], "done\n"),
            (Some("n"), false, false, Ended::Unsuccessful, &[QUESTION, "Nothing has run."], ""),
            (Some(""), false, false, Ended::Unsuccessful, &[QUESTION, "Nothing has run."], ""),
            (Some("n"), false, true, Ended::Unsuccessful, &[QUESTION, "Nothing has run."], "{"),
            (None, false, false, Ended::Unsuccessful, &[AGAIN], ""),
            (None, true, false, Ended::Well, &[], "done\n"),
        ] {
            let before = works.deleted.load(Ordering::Relaxed);
            let person = Says { answer, told: Mutex::default() };
            let asked =
                Asked { operation: "delete_bed".to_owned(), params: None, named: Vec::new(), yes };
            let output = Output::kept(json);
            assert_eq!(run(&adapter, &output, &person, asked).await.unwrap(), ended, "{answer:?}");
            assert_eq!(*person.told.lock().unwrap(), told, "{answer:?}");
            let text = output.text();
            assert!(text.starts_with(printed) && text.is_empty() == printed.is_empty(), "{text}");
            let ran = works.deleted.load(Ordering::Relaxed) - before;
            assert_eq!(ran == 1, ended == Ended::Well, "{answer:?}");
        }
    }
}
