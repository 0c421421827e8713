//! Handles calls that need the approval of a person, through a channel of the safety loop.
//!
//! The person at the prompt cannot approve the call by agreeing. The call waits until a channel reports the approval,
//! or until the person enters the code that a channel shows.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql_core::internal::response::ErrorDetail;
use mcp_aql_core::{Adapter, Error, OperationError, Result, Session};
use mcp_aql_protocol::ErrorCode;
use mcp_aql_safety::operator::OperatorAccess as _;
use mcp_aql_safety::safety_loop::{ApprovalStatus, SafetyCore};
use serde_json::{Map, Value, json};

use super::prompt::Prompt;
use super::render::plain;
use super::request;

/// The interval between two checks of the request's status.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// The environment variables that set the mode of the safety loop.
const MODE_VARIABLES: [&str; 2] = ["MCPAQL_SAFETY_LOOP", "MCP_AQL_SAFETY_LOOP"];

/// The decider in the audit log if the caller gives up waiting.
const AUDIT_NAME: &str = "command line";

/// Returns the environment variables that change the mode of the adapter's safety loop.
pub(super) fn mode_variables(adapter: &Adapter) -> &'static [&'static str] {
    if mcp_aql_safety::safety_core(adapter).is_some() { &MODE_VARIABLES } else { &[] }
}

/// The approval request of a rejected call.
pub(super) struct Approval<'a> {
    safety: &'a SafetyCore,
    id: &'a str,
    error: &'a ErrorDetail,
    /// A console for this call only. It runs while the call waits.
    _console: Option<mcp_aql_safety::console::Console>,
}

/// An event that ends or interrupts the wait.
enum Event {
    Decided(ApprovalStatus),
    Said(String),
    /// The person pressed Ctrl-C.
    Interrupted,
}

impl<'a> Approval<'a> {
    /// Returns the approval request that the error refers to. Returns `None` if it refers to none, or if the adapter
    /// has no safety loop.
    pub(super) async fn of(adapter: &'a Adapter, error: &'a ErrorDetail) -> Result<Option<Self>> {
        let Some(safety) = mcp_aql_safety::safety_core(adapter) else { return Ok(None) };
        let id = error.details.get("request_id").and_then(Value::as_str);
        let Some(id) = id.filter(|_| error.code == ErrorCode::PermissionDenied.as_str()) else {
            return Ok(None);
        };
        // An error of the operation itself may have a detail with the same name.
        if safety.approval_status(id).await.map_err(Error::other)?.is_none() {
            return Ok(None);
        }
        let (console, is_elsewhere) = match mcp_aql_safety::console::start_console(safety).await {
            Ok(console) => (console, false),
            Err(error) => {
                // Another process with the same store may already run a console on this port.
                tracing::warn!(%error, "cannot start a console for this call");
                (None, true)
            }
        };
        let approval = Self { safety, id, error, _console: console };
        if is_elsewhere || safety.can_ask() {
            return Ok(Some(approval));
        }
        approval.give_up(adapter).await?;
        Ok(None)
    }

    /// Waits for the decision. Returns `None` if the call was approved, and otherwise the reason why it was not run.
    pub(super) async fn wait(
        &self,
        adapter: &Adapter,
        prompt: &dyn Prompt,
        session: &Session,
        yes: bool,
    ) -> Result<Option<&'static str>> {
        self.announce(prompt, yes)?;
        loop {
            let event = tokio::select! {
                biased;
                standing = self.decided() => Event::Decided(standing.map_err(Error::other)?),
                said = prompt.read_answer("Enter its code, or an empty line to cancel:"), if prompt.is_interactive() => {
                    Event::Said(said?)
                }
                () = mcp_aql_server::stop::shutdown_signal() => Event::Interrupted,
            };
            match event {
                Event::Said(said) if !said.trim().is_empty() => {
                    match confirm(adapter, session, said.trim()).await {
                        Some(problem) => prompt.print_line(&plain(&problem))?,
                        None if self.is_approved().await? => {
                            return prompt.print_line("Approved.").map(|()| None);
                        }
                        None => prompt.print_line("This is the code of another request.")?,
                    }
                }
                Event::Said(_) => return self.give_up(adapter).await,
                Event::Interrupted => {
                    prompt.print_line("")?;
                    return self.give_up(adapter).await;
                }
                Event::Decided(standing) => {
                    if prompt.is_interactive() {
                        // This ends the line with the unanswered question.
                        prompt.print_line("")?;
                    }
                    return match standing {
                        ApprovalStatus::Approved => prompt.print_line("Approved.").map(|()| None),
                        ApprovalStatus::Expired => {
                            Ok(Some("The request was not approved in time. Nothing has run."))
                        }
                        _ => Ok(Some("The request was denied. Nothing has run.")),
                    };
                }
            }
        }
    }

    fn announce(&self, prompt: &dyn Prompt, yes: bool) -> Result {
        let text = |key: &str| self.error.details.get(key).and_then(Value::as_str);
        request::print_reasons(prompt, self.error)?;
        if let Some(message) = text("confirmation_message") {
            prompt.print_line(&plain(message))?;
        }
        let channels = match &*self.safety.channels_that_can_ask() {
            [] => "the console of another process".to_owned(),
            channels => channels.join(", "),
        };
        let until = text("expires_at").and_then(|at| at.parse::<DateTime<Utc>>().ok());
        let until = until.map(|at| at.format(", until %H:%M:%S UTC").to_string());
        prompt.print_line(&format!(
            "A person has to approve this call through: {}. Waiting for request {}{}.",
            plain(&channels),
            plain(self.id),
            until.unwrap_or_default()
        ))?;
        if yes {
            prompt.print_line("--yes has no effect here: the caller cannot approve this call.")?;
        }
        Ok(())
    }

    async fn is_approved(&self) -> Result<bool> {
        let standing = self.safety.approval_status(self.id).await.map_err(Error::other)?;
        Ok(standing == Some(ApprovalStatus::Approved))
    }

    /// Waits until the request has been decided or has expired.
    async fn decided(&self) -> std::result::Result<ApprovalStatus, OperationError> {
        loop {
            match self.safety.approval_status(self.id).await? {
                Some(ApprovalStatus::Open) => tokio::time::sleep(POLL_INTERVAL).await,
                Some(decided) => return Ok(decided),
                None => return Ok(ApprovalStatus::Expired),
            }
        }
    }

    /// Withdraws the request, so that no operator sees a request whose call no longer waits.
    async fn give_up(&self, adapter: &Adapter) -> Result<Option<&'static str>> {
        if let Some(operator) = adapter.operator()
            && let Err(error) = operator.deny(self.id, AUDIT_NAME).await
        {
            tracing::debug!(%error, "the request has already been answered");
        }
        Ok(Some("Nothing has run."))
    }
}

/// Submits a code. Returns the error message if the code is rejected.
async fn confirm(adapter: &Adapter, session: &Session, code: &str) -> Option<String> {
    let mut arguments = Map::new();
    arguments.insert("operation".to_owned(), "confirm_operation".into());
    arguments.insert("params".to_owned(), json!({ "confirmation_token": code }));
    let answer = request::handle_in(adapter, arguments, session, None).await;
    answer.result.error().map(|error| error.message.clone())
}

#[cfg(test)]
mod tests {
    use mcp_aql_safety::{ByOperator as _, WithSafetyLoop as _};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};

    use mcp_aql_core::internal::util::clock::TimeSource;
    use mcp_aql_core::store::MemoryState;
    use mcp_aql_core::table::{Call, DangerSpec, OperationEntry, OperationSpec, Outcome};
    use mcp_aql_core::{BoxFuture, DangerLevel, Operations, Policy, SemanticCategory};
    use mcp_aql_safety::operator::{ChannelError, HumanChannel, HumanRequest, MemoryChannel};
    use mcp_aql_safety::safety_loop::SafetyLoop;

    use super::super::Exit;
    use super::super::call::{CallArgs, run};
    use super::super::render::Output;
    use super::*;

    #[derive(Clone, Default)]
    struct Garden {
        watered: Arc<AtomicU32>,
    }

    impl Operations for Garden {
        const OPERATIONS: &'static [OperationEntry<Self>] = &[
            OperationEntry::new(
                OperationSpec::new("water_bed", SemanticCategory::Execute, "Water a bed."),
                water,
            ),
            OperationEntry::new(
                OperationSpec::new("flood_bed", SemanticCategory::Execute, "Flood a bed.")
                    .danger(DangerSpec::new(DangerLevel::Dangerous).cooldown_seconds(3600)),
                water,
            ),
        ];
    }

    fn water(garden: &Garden, call: Call) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            garden.watered.fetch_add(1, Ordering::Relaxed);
            call.reply(())
        })
    }

    /// A channel that cannot present requests.
    struct UnreachableChannel;

    impl HumanChannel for UnreachableChannel {
        fn name(&self) -> &'static str {
            "broken"
        }

        fn present<'a>(
            &'a self,
            _: &'a HumanRequest,
        ) -> BoxFuture<'a, std::result::Result<(), ChannelError>> {
            Box::pin(async { Err(ChannelError("there is nobody".into())) })
        }

        fn can_present(&self) -> bool {
            false
        }
    }

    /// Answers questions in their order.
    struct ScriptedPrompt {
        answers: Option<Box<dyn Fn(usize) -> String + Send + Sync>>,
        questions: AtomicU32,
        output: Mutex<Vec<String>>,
    }

    impl ScriptedPrompt {
        fn answering(answers: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
            Self { answers: Some(Box::new(answers)), ..Self::empty() }
        }

        fn empty() -> Self {
            Self { answers: None, questions: AtomicU32::new(0), output: Mutex::default() }
        }

        fn printed(&self, part: &str) -> bool {
            self.output.lock().unwrap().iter().any(|line| line.contains(part))
        }
    }

    impl Prompt for ScriptedPrompt {
        fn is_interactive(&self) -> bool {
            self.answers.is_some()
        }

        fn print_line(&self, line: &str) -> Result {
            self.output.lock().unwrap().push(line.to_owned());
            Ok(())
        }

        fn read_answer<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<String>> {
            Box::pin(async {
                let number = self.questions.fetch_add(1, Ordering::Relaxed) as usize;
                Ok(self.answers.as_ref().map(|answers| answers(number)).unwrap_or_default())
            })
        }
    }

    fn adapter(garden: &Garden, channel: impl HumanChannel) -> Adapter {
        Adapter::builder("garden")
            .operations(garden.clone())
            .policy(Policy::confirm("water_bed").by_operator().reason("it is the only one"))
            .safety_loop(SafetyLoop::new().channel(channel))
            .store(MemoryState::default())
            .without_config()
            .build()
            .unwrap()
    }

    async fn call(adapter: &Adapter, prompt: &ScriptedPrompt, output: &Output) -> Exit {
        call_of("water_bed", adapter, prompt, output).await
    }

    async fn call_of(
        operation: &str,
        adapter: &Adapter,
        prompt: &ScriptedPrompt,
        output: &Output,
    ) -> Exit {
        let args = CallArgs {
            operation: operation.to_owned(),
            params: None,
            named: Vec::new(),
            yes: true,
        };
        run(adapter, output, prompt, args).await.unwrap()
    }

    #[tokio::test]
    async fn the_channels_code_approves_the_call() {
        // REQ-GATE-10, REQ-AUT-16
        let (garden, people) = (Garden::default(), MemoryChannel::default());
        let adapter = adapter(&garden, people.clone());
        let prompt = ScriptedPrompt::answering(move |number| match number {
            0 => "0000-0000".to_owned(),
            _ => people.last_code().unwrap(),
        });
        assert_eq!(call(&adapter, &prompt, &Output::captured(false)).await, Exit::Success);
        assert_eq!(garden.watered.load(Ordering::Relaxed), 1);
        for part in ["it is the only one", "through: memory", "--yes", "Invalid", "Approved."] {
            assert!(prompt.printed(part), "{part}: {:?}", prompt.output);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_confirmed_call_waits_for_its_cooldown() {
        // REQ-DNG-10
        for by_operator in [false, true] {
            let (garden, people) = (Garden::default(), MemoryChannel::default());
            let start = tokio::time::Instant::now();
            let time = TimeSource::new(move || DateTime::UNIX_EPOCH + start.elapsed());
            let mut builder = Adapter::builder("garden")
                .operations(garden.clone())
                .time_source(time)
                .safety_loop(SafetyLoop::new().channel(people.clone()))
                .store(MemoryState::default())
                .without_config();
            if by_operator {
                builder = builder.policy(Policy::confirm("flood_bed").by_operator());
            }
            let adapter = builder.build().unwrap();
            let prompt = ScriptedPrompt::answering(move |_| people.last_code().unwrap());
            let output = Output::captured(false);
            assert_eq!(call_of("flood_bed", &adapter, &prompt, &output).await, Exit::Success);
            assert!(prompt.printed("Waiting 3600 s for the cooldown."), "{:?}", prompt.output);
            assert_eq!(prompt.printed("Approved."), by_operator);
            assert_eq!(garden.watered.load(Ordering::Relaxed), 1);
        }
    }

    #[tokio::test]
    async fn a_script_waits_for_the_decision() {
        // REQ-GATE-10
        let (garden, people) = (Garden::default(), MemoryChannel::default());
        let adapter = adapter(&garden, people.clone());
        for (approve, exit, line) in [
            (true, Exit::Success, "Approved."),
            (false, Exit::Failure, "The request was denied. Nothing has run."),
        ] {
            let (prompt, output) = (ScriptedPrompt::empty(), Output::captured(true));
            let deciding = async {
                let operator = adapter.operator().unwrap();
                loop {
                    if let [request] = &*operator.overview().await.unwrap().requests {
                        return match approve {
                            true => operator.approve(&request.id, "test").await.unwrap(),
                            false => operator.deny(&request.id, "test").await.unwrap(),
                        };
                    }
                    tokio::task::yield_now().await;
                }
            };
            let (found, ()) = tokio::join!(call(&adapter, &prompt, &output), deciding);
            assert_eq!(found, exit);
            assert!(prompt.printed(line), "{:?}", prompt.output);
            assert!(output.text().starts_with(&format!("{{\"success\":{approve}")));
        }
        assert_eq!(garden.watered.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn interrupting_withdraws_the_request() {
        let (garden, people) = (Garden::default(), MemoryChannel::default());
        let adapter = adapter(&garden, people.clone());
        let (prompt, output) =
            (ScriptedPrompt::answering(|_| String::new()), Output::captured(false));
        assert_eq!(call(&adapter, &prompt, &output).await, Exit::Failure);
        assert!(prompt.printed("Nothing has run.") && output.text().is_empty());
        assert_eq!(people.withdrawn().len(), 1);
        assert!(adapter.operator().unwrap().overview().await.unwrap().requests.is_empty());
        assert_eq!(garden.watered.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn does_not_wait_without_a_reachable_channel() {
        let garden = Garden::default();
        let adapter = adapter(&garden, UnreachableChannel);
        let (prompt, output) = (ScriptedPrompt::empty(), Output::captured(true));
        assert_eq!(call(&adapter, &prompt, &output).await, Exit::Failure);
        assert!(output.text().contains("no channel of this adapter reaches"), "{}", output.text());
        assert!(!output.text().contains("has been asked"), "{}", output.text());
        assert!(adapter.operator().unwrap().overview().await.unwrap().requests.is_empty());
        assert_eq!(garden.watered.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn introspection_shows_that_a_person_confirms() {
        // REQ-DNG-04, REQ-GATE-10
        let adapter = adapter(&Garden::default(), MemoryChannel::default());
        let reply = adapter.call("introspect", json!({ "query": "danger" })).await;
        let operations = reply.data()["operations"].as_array().unwrap();
        let by_operator: Vec<_> =
            operations.iter().filter(|each| each["by_operator"] == true).collect();
        assert_eq!(by_operator.len(), 1, "{operations:?}");
        assert_eq!(
            (&by_operator[0]["name"], &by_operator[0]["permission"]),
            (&json!("water_bed"), &json!("confirm"))
        );
    }
}
