//! The command `call`: runs one operation. Confirmation, approval and progress use the terminal.

use std::io::Read as _;
use std::time::Duration;

use mcp_aql_core::internal::request::{Loss, ParsedObject, read, read_value};
use mcp_aql_core::internal::response::ErrorDetail;
use mcp_aql_core::{Adapter, Error, Result, Session};
use mcp_aql_protocol::{ErrorCode, is_public_name};
use serde_json::{Map, Value};

use super::Exit;
use super::prompt::Prompt;
use super::render::{Answer, Output, plain};
use super::request::{ProgressPrinter, handle_in, print_reasons, starts_execution, status_of};
use super::safety::Approval;

/// The arguments of the command `call`.
pub(super) struct CallArgs {
    pub(super) operation: String,
    pub(super) params: Option<String>,
    pub(super) named: Vec<String>,
    /// If `true`, confirms every operation that needs a confirmation.
    pub(super) yes: bool,
}

impl CallArgs {
    /// Builds the request that a client would send:
    ///
    /// ```json
    /// { "operation": "create_task", "params": { "title": "Ship it" } }
    /// ```
    fn arguments(&self, adapter: &Adapter) -> Result<Map<String, Value>> {
        let mut given = parameters(self.params.as_deref())?;
        for one in &self.named {
            let (name, text) =
                one.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                    Error::Usage(format!("`--param {one}` is not an assignment: write NAME=VALUE"))
                })?;
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

/// The reason why a valid call was not run.
enum NotRun {
    /// The call needs a confirmation, and standard input is not a terminal.
    Unconfirmed,
    /// The call was denied or not decided in time. The string is the message for the person.
    Refused(&'static str),
}

/// Runs one operation, as a client that makes a single call.
pub(super) async fn run(
    adapter: &Adapter,
    output: &Output,
    prompt: &dyn Prompt,
    args: CallArgs,
) -> Result<Exit> {
    let arguments = args.arguments(adapter)?;
    let session = Session::new();
    let called = call(adapter, prompt, arguments, &session, args.yes).await;
    session.end();
    adapter.end_sessions().await;
    let (answer, not_run) = called?;
    match not_run {
        None => {
            let exit = output.result(&answer)?;
            // A failed execution is a successful call, but the command must fail.
            let failed = matches!(status_of(&answer.text).as_deref(), Some("failed" | "cancelled"));
            let failed = failed && starts_execution(adapter, &args.operation);
            Ok(if failed { Exit::Failure } else { exit })
        }
        Some(NotRun::Unconfirmed) => {
            output.result(&answer)?;
            prompt.print_line("Nothing has run. To agree, run the command again with --yes.")?;
            Ok(Exit::Failure)
        }
        Some(NotRun::Refused(why)) => {
            if output.json() {
                output.result(&answer)?;
            }
            prompt.print_line(why)?;
            Ok(Exit::Failure)
        }
    }
}

/// Makes the call, and repeats it with the required confirmation or approval. The repeated call contains the token:
///
/// ```json
/// { "operation": "delete_task", "params": { "task_id": "t-1", "_confirmation": "…" } }
/// ```
async fn call(
    adapter: &Adapter,
    prompt: &dyn Prompt,
    mut arguments: Map<String, Value>,
    session: &Session,
    yes: bool,
) -> Result<(Answer, Option<NotRun>)> {
    let progress = ProgressPrinter::for_terminal();
    loop {
        let answer = handle_in(adapter, arguments.clone(), session, progress.as_ref()).await;
        let Some(error) = answer.result.error() else { return Ok((answer, None)) };
        if let Some(cooldown) = cooldown(error) {
            prompt.print_line(&format!("Waiting {} s for the cooldown.", cooldown.as_secs()))?;
            tokio::select! {
                () = tokio::time::sleep(cooldown) => continue,
                () = mcp_aql_server::stop::shutdown_signal() => {
                    return Ok((answer, Some(NotRun::Refused("Nothing has run."))));
                }
            }
        }
        if let Some(approval) = Approval::of(adapter, error).await? {
            match approval.wait(adapter, prompt, session, yes).await? {
                None => continue,
                Some(why) => return Ok((answer, Some(NotRun::Refused(why)))),
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
        // If a token was sent and rejected, no second token is requested. Otherwise this loop might not end.
        let Some(token) = token.filter(|_| !params.contains_key(member)) else {
            return Ok((answer, Some(NotRun::Unconfirmed)));
        };
        if !yes {
            if !prompt.is_interactive() {
                return Ok((answer, Some(NotRun::Unconfirmed)));
            }
            if !is_confirmed(prompt, error).await? {
                return Ok((answer, Some(NotRun::Refused("Nothing has run."))));
            }
        }
        params.insert(member.to_owned(), token.into());
    }
}

/// Returns the rest of the cooldown, for a call that is confirmed but may not run yet.
fn cooldown(error: &ErrorDetail) -> Option<Duration> {
    let codes = [ErrorCode::ConfirmationRequired, ErrorCode::PermissionDenied];
    codes.iter().find(|code| error.code == code.as_str())?;
    error.details.get("not_before")?;
    error.details.get("retry_after_seconds")?.as_u64().map(Duration::from_secs)
}

/// Asks the person whether a call may run that needs a confirmation.
async fn is_confirmed(prompt: &dyn Prompt, error: &ErrorDetail) -> Result<bool> {
    let text = |key: &str| error.details.get(key).and_then(Value::as_str);
    print_reasons(prompt, error)?;
    let question = text("confirmation_message").map_or_else(
        || match text("metric") {
            Some(metric) => format!("Quota '{metric}' pauses. Continue?"),
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
        said = prompt.read_answer(&question) => said?,
        () = mcp_aql_server::stop::shutdown_signal() => {
            prompt.print_line("")?;
            String::new()
        }
    };
    Ok(matches!(said.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Returns the parameters from the command line or from standard input.
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
        Ok(Ok(ParsedObject { members, losses, .. })) => complete(members, losses),
        Ok(Err(_)) => Err(Error::Usage(
            "the parameters must be a JSON object, as in '{\"title\":\"Ship it\"}'".to_owned(),
        )),
        Err(_) if is_assignment(&text) => {
            Err(Error::Usage(format!("'{}' is one parameter: write `-p {0}`", plain(&text))))
        }
        Err(error) => Err(Error::Usage(format!(
            "the parameters are not JSON ({error}); write an object, as in '{{\"title\":\"Ship it\"}}'"
        ))),
    }
}

/// Returns `true` if a string has the form of an option for one parameter: `title=Ship`.
fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| is_public_name(name))
}

/// Returns the parsed value, or an error if parsing lost data, such as a repeated member.
fn complete<T>(read: T, losses: Vec<Loss>) -> Result<T> {
    match losses.into_iter().next() {
        None => Ok(read),
        Some(loss) => Err(Error::Usage(loss.error.message().to_owned())),
    }
}

/// Parses a value from the command line according to the parameter's type. The value of a string parameter is not
/// parsed.
fn typed(adapter: &Adapter, operation: &str, name: &str, text: &str) -> Result<Value> {
    let details = adapter.operation_details(operation);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};

    use mcp_aql_core::table::{LifecycleSpec, OperationEntry, OperationSpec};
    use mcp_aql_core::{BoxFuture, OperationError, Operations, SemanticCategory};

    use super::super::request::{PROGRESS_INTERVAL, line};
    use super::*;

    #[derive(Clone, Default)]
    struct Works {
        deleted: Arc<AtomicU32>,
    }

    impl Operations for Works {
        const OPERATIONS: &'static [OperationEntry<Self>] = &[
            OperationEntry::new(
                OperationSpec::new("execute_export", SemanticCategory::Execute, "Export it.")
                    .lifecycle(LifecycleSpec::new(false, true, true)),
                |_, call| {
                    Box::pin(async move {
                        let execution = call.execution()?;
                        match execution.attempt() {
                            1 => Err(OperationError::not_found("export", "e-1")),
                            _ => {
                                execution.progress(36.66, 110.0, "exporting").await;
                                tokio::time::sleep(2 * PROGRESS_INTERVAL).await;
                                call.reply(())
                            }
                        }
                    })
                },
            ),
            OperationEntry::new(
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
    async fn waits_for_a_retry_as_for_the_first_run() {
        // REQ-LIF-02, REQ-LIF-04
        let adapter = adapter(&Works::default());
        let session = Session::new();
        let (sender, printed) = std::sync::mpsc::channel();
        let printer = ProgressPrinter::new(move |line| sender.send(line.to_owned()).unwrap());
        let text = async |arguments: Value| {
            let Value::Object(arguments) = arguments else { return String::new() };
            handle_in(&adapter, arguments, &session, Some(&printer)).await.text
        };
        let failed = text(serde_json::json!({ "operation": "execute_export" })).await;
        assert_eq!(status_of(&failed).as_deref(), Some("failed"));
        let failed: Value = serde_json::from_str(&failed).unwrap();
        let params = serde_json::json!({ "execution_id": failed["data"]["execution_id"] });
        let again =
            text(serde_json::json!({ "operation": "retry_execution", "params": params })).await;
        assert_eq!(status_of(&again).as_deref(), Some("completed"));
        // Progress is shown in the function's own numbers, and no line is repeated.
        assert_eq!(printed.try_iter().collect::<Vec<_>>(), ["36.7 of 110 exporting"]);
    }

    #[test]
    fn progress_has_at_most_one_decimal() {
        for (done, total, message, expected) in [
            (Some(36.666_666), Some(100.0), "exporting", "36.7 of 100 exporting"),
            (Some(3.0), Some(7.0), "", "3 of 7"),
            (Some(0.04), None, "a\u{1b}b", "0 a<U+001B>b"),
            (None, None, "waits", "waits"),
        ] {
            assert_eq!(line(done, total, message), expected);
        }
    }

    /// Gives the same answer to each question.
    struct ScriptedPrompt {
        answer: Option<&'static str>,
        output: Mutex<Vec<String>>,
    }

    impl Prompt for ScriptedPrompt {
        fn is_interactive(&self) -> bool {
            self.answer.is_some()
        }

        fn print_line(&self, line: &str) -> Result {
            self.output.lock().unwrap().push(line.to_owned());
            Ok(())
        }

        fn read_answer<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Result<String>> {
            self.output.lock().unwrap().push(question.to_owned());
            Box::pin(async { Ok(self.answer.unwrap_or_default().to_owned()) })
        }
    }

    #[tokio::test]
    async fn unconfirmed_calls_do_not_run() {
        const QUESTION: &str = "Run 'delete_bed' (destructive)? [y/N]";
        const AGAIN: &str = "Nothing has run. To agree, run the command again with --yes.";
        let works = Works::default();
        let adapter = adapter(&works);
        for (answer, yes, json, exit, shown, printed) in [
            (Some("y"), false, false, Exit::Success, &[QUESTION][..], "done\n"),
            (Some("n"), false, false, Exit::Failure, &[QUESTION, "Nothing has run."], ""),
            (Some(""), false, false, Exit::Failure, &[QUESTION, "Nothing has run."], ""),
            (Some("n"), false, true, Exit::Failure, &[QUESTION, "Nothing has run."], "{"),
            (None, false, false, Exit::Failure, &[AGAIN], ""),
            (None, true, false, Exit::Success, &[], "done\n"),
        ] {
            let before = works.deleted.load(Ordering::Relaxed);
            let prompt = ScriptedPrompt { answer, output: Mutex::default() };
            let args = CallArgs {
                operation: "delete_bed".to_owned(),
                params: None,
                named: Vec::new(),
                yes,
            };
            let output = Output::captured(json);
            assert_eq!(run(&adapter, &output, &prompt, args).await.unwrap(), exit, "{answer:?}");
            assert_eq!(*prompt.output.lock().unwrap(), shown, "{answer:?}");
            let text = output.text();
            assert!(text.starts_with(printed) && text.is_empty() == printed.is_empty(), "{text}");
            let ran = works.deleted.load(Ordering::Relaxed) - before;
            assert_eq!(ran == 1, exit == Exit::Success, "{answer:?}");
        }
    }
}
