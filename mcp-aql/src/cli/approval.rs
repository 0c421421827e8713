//! Calls that a person has to approve through a channel of the safety loop. Whoever calls is not that
//! person: the call waits, and the approval comes from the channel, or as the code that it shows.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql_protocol::ErrorCode;
use serde_json::{Map, Value, json};

use super::call;
use super::person::Person;
use super::render::plain;
use crate::adapter::Adapter;
use crate::error::OperationError;
use crate::main_error::{Error, Result};
use crate::response::ErrorDetail;
use crate::safety_loop::{ApprovalStatus, SafetyCore};
use crate::session::Session;

/// How often the approval is looked for.
const PACE: Duration = Duration::from_millis(300);

/// What the audit log calls whoever gives up.
const NAME: &str = "command line";

/// The approval that a refused call waits for.
pub(super) struct Approval<'a> {
    safety: &'a SafetyCore,
    id: &'a str,
    error: &'a ErrorDetail,
    /// Its own, as long as it is waited for.
    #[cfg(feature = "console")]
    _console: Option<crate::operator::Console>,
}

/// What has happened while it was waited for.
enum Event {
    Decided(ApprovalStatus),
    Said(String),
    /// Ctrl-C.
    Interrupted,
}

impl<'a> Approval<'a> {
    /// What this refusal asks for, if that is an approval, and there is somebody who can give it.
    pub(super) async fn of(adapter: &'a Adapter, error: &'a ErrorDetail) -> Result<Option<Self>> {
        let Some(safety) = adapter.inner.safety.as_deref() else { return Ok(None) };
        let id = error.details.get("request_id").and_then(Value::as_str);
        let Some(id) = id.filter(|_| error.code == ErrorCode::PermissionDenied.as_str()) else {
            return Ok(None);
        };
        // An operation may have such a detail of its own.
        if safety.approval_status(id).await.map_err(Error::other)?.is_none() {
            return Ok(None);
        }
        #[cfg(feature = "console")]
        let (console, is_elsewhere) = match adapter.start_console().await {
            Ok(console) => (console, false),
            Err(error) => {
                // Another process with the same store may have one.
                tracing::warn!(%error, "this call has no console of its own");
                (None, true)
            }
        };
        #[cfg(not(feature = "console"))]
        let is_elsewhere = false;
        let approval = Self {
            safety,
            id,
            error,
            #[cfg(feature = "console")]
            _console: console,
        };
        if is_elsewhere || safety.can_ask() {
            return Ok(Some(approval));
        }
        approval.give_up(adapter).await?;
        Ok(None)
    }

    /// Waits until it is given: nothing then, and else why the call has not run.
    pub(super) async fn wait(
        &self,
        adapter: &Adapter,
        person: &dyn Person,
        session: &Session,
        yes: bool,
    ) -> Result<Option<&'static str>> {
        self.announce(person, yes)?;
        loop {
            let event = tokio::select! {
                biased;
                standing = self.decided() => Event::Decided(standing.map_err(Error::other)?),
                said = person.ask("Its code, or nothing to give up:"), if person.is_there() => {
                    Event::Said(said?)
                }
                () = crate::stop::told_to_stop() => Event::Interrupted,
            };
            match event {
                Event::Said(said) if !said.trim().is_empty() => {
                    match confirm(adapter, session, said.trim()).await {
                        Some(problem) => person.tell(&plain(&problem))?,
                        None if self.is_approved().await? => {
                            return person.tell("Approved.").map(|()| None);
                        }
                        None => person.tell("This is the code of another request.")?,
                    }
                }
                Event::Said(_) => return self.give_up(adapter).await,
                Event::Interrupted => {
                    person.tell("")?;
                    return self.give_up(adapter).await;
                }
                Event::Decided(standing) => {
                    if person.is_there() {
                        // The question stands there without an answer.
                        person.tell("")?;
                    }
                    return match standing {
                        ApprovalStatus::Approved => person.tell("Approved.").map(|()| None),
                        ApprovalStatus::Expired => {
                            Ok(Some("Nobody has approved it in time. Nothing has run."))
                        }
                        _ => Ok(Some("A person has denied it. Nothing has run.")),
                    };
                }
            }
        }
    }

    fn announce(&self, person: &dyn Person, yes: bool) -> Result {
        let text = |key: &str| self.error.details.get(key).and_then(Value::as_str);
        call::reasons(person, self.error)?;
        if let Some(message) = text("confirmation_message") {
            person.tell(&plain(message))?;
        }
        let channels = match &*self.safety.channels_that_can_ask() {
            [] => "the console of another process".to_owned(),
            channels => channels.join(", "),
        };
        let until = text("expires_at").and_then(|at| at.parse::<DateTime<Utc>>().ok());
        let until = until.map(|at| at.format(", until %H:%M:%S UTC").to_string());
        person.tell(&format!(
            "A person has to approve this call, and is asked through: {}. Waiting for request {}{}.",
            plain(&channels),
            plain(self.id),
            until.unwrap_or_default()
        ))?;
        if yes {
            person.tell("--yes does not count here: it is not the caller who agrees.")?;
        }
        Ok(())
    }

    async fn is_approved(&self) -> Result<bool> {
        let standing = self.safety.approval_status(self.id).await.map_err(Error::other)?;
        Ok(standing == Some(ApprovalStatus::Approved))
    }

    /// Waits until it is open no longer.
    async fn decided(&self) -> std::result::Result<ApprovalStatus, OperationError> {
        loop {
            match self.safety.approval_status(self.id).await? {
                Some(ApprovalStatus::Open) => tokio::time::sleep(PACE).await,
                Some(decided) => return Ok(decided),
                None => return Ok(ApprovalStatus::Expired),
            }
        }
    }

    /// Takes the request back: nobody is to approve what nobody waits for.
    async fn give_up(&self, adapter: &Adapter) -> Result<Option<&'static str>> {
        if let Some(operator) = adapter.operator()
            && let Err(error) = operator.deny(self.id, NAME).await
        {
            tracing::debug!(%error, "the request was answered just now");
        }
        Ok(Some("Nothing has run."))
    }
}

/// Hands a code on; gives what is wrong with it.
async fn confirm(adapter: &Adapter, session: &Session, code: &str) -> Option<String> {
    let mut arguments = Map::new();
    arguments.insert("operation".to_owned(), "confirm_operation".into());
    arguments.insert("params".to_owned(), json!({ "confirmation_token": code }));
    let answer = call::handle_in(adapter, arguments, session, None).await;
    answer.result.error().map(|error| error.message.clone())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};

    use super::super::Ended;
    use super::super::call::{Asked, run};
    use super::super::render::Output;
    use super::*;
    use crate::future::BoxFuture;
    use crate::operator::{ChannelError, HumanChannel, HumanRequest, MemoryChannel};
    use crate::safety_loop::SafetyLoop;
    use crate::store::MemoryStore;
    use crate::{Method, OperationSpec, Operations, Policy, SemanticCategory};

    #[derive(Clone, Default)]
    struct Garden {
        cleared: Arc<AtomicU32>,
    }

    impl Operations for Garden {
        const OPERATIONS: &'static [Method<Self>] = &[Method::new(
            OperationSpec::new("clear_bed", SemanticCategory::Execute, "Clear a bed."),
            |garden: &Self, call| {
                Box::pin(async move {
                    garden.cleared.fetch_add(1, Ordering::Relaxed);
                    call.reply(())
                })
            },
        )];
    }

    /// A channel that reaches nobody.
    struct Broken;

    impl HumanChannel for Broken {
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

    /// Answers one question after the other.
    struct Desk {
        answers: Option<Box<dyn Fn(usize) -> String + Send + Sync>>,
        asked: AtomicU32,
        told: Mutex<Vec<String>>,
    }

    impl Desk {
        fn answering(answers: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
            Self { answers: Some(Box::new(answers)), ..Self::empty() }
        }

        fn empty() -> Self {
            Self { answers: None, asked: AtomicU32::new(0), told: Mutex::default() }
        }

        fn told(&self, part: &str) -> bool {
            self.told.lock().unwrap().iter().any(|line| line.contains(part))
        }
    }

    impl Person for Desk {
        fn is_there(&self) -> bool {
            self.answers.is_some()
        }

        fn tell(&self, line: &str) -> Result {
            self.told.lock().unwrap().push(line.to_owned());
            Ok(())
        }

        fn ask<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<String>> {
            Box::pin(async {
                let number = self.asked.fetch_add(1, Ordering::Relaxed) as usize;
                Ok(self.answers.as_ref().map(|answers| answers(number)).unwrap_or_default())
            })
        }
    }

    fn adapter(garden: &Garden, channel: impl HumanChannel) -> Adapter {
        Adapter::builder("garden")
            .operations(garden.clone())
            .policy(Policy::confirm("clear_bed").by_operator().because("it is the only one"))
            .safety_loop(SafetyLoop::new().channel(channel))
            .store(MemoryStore::default())
            .without_config()
            .build()
            .unwrap()
    }

    async fn call(adapter: &Adapter, desk: &Desk, output: &Output) -> Ended {
        let asked =
            Asked { operation: "clear_bed".to_owned(), params: None, named: Vec::new(), yes: true };
        run(adapter, output, desk, asked).await.unwrap()
    }

    #[tokio::test]
    async fn the_code_of_the_channel_lets_the_call_run() {
        // REQ-GATE-10, REQ-AUT-16
        let (garden, people) = (Garden::default(), MemoryChannel::default());
        let adapter = adapter(&garden, people.clone());
        let desk = Desk::answering(move |number| match number {
            0 => "0000-0000".to_owned(),
            _ => people.last_code().unwrap(),
        });
        assert_eq!(call(&adapter, &desk, &Output::kept(false)).await, Ended::Well);
        assert_eq!(garden.cleared.load(Ordering::Relaxed), 1);
        for part in ["it is the only one", "asked through: memory", "--yes", "Invalid", "Approved."]
        {
            assert!(desk.told(part), "{part}: {:?}", desk.told);
        }
    }

    #[tokio::test]
    async fn a_script_waits_for_the_decision_and_does_as_it_says() {
        // REQ-GATE-10
        let (garden, people) = (Garden::default(), MemoryChannel::default());
        let adapter = adapter(&garden, people.clone());
        for (approve, ended, told) in [
            (true, Ended::Well, "Approved."),
            (false, Ended::Unsuccessful, "A person has denied it. Nothing has run."),
        ] {
            let (desk, output) = (Desk::empty(), Output::kept(true));
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
            let (found, ()) = tokio::join!(call(&adapter, &desk, &output), deciding);
            assert_eq!(found, ended);
            assert!(desk.told(told), "{:?}", desk.told);
            assert!(output.text().starts_with(&format!("{{\"success\":{approve}")));
        }
        assert_eq!(garden.cleared.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn whoever_gives_up_takes_the_request_back() {
        let (garden, people) = (Garden::default(), MemoryChannel::default());
        let adapter = adapter(&garden, people.clone());
        let (desk, output) = (Desk::answering(|_| String::new()), Output::kept(false));
        assert_eq!(call(&adapter, &desk, &output).await, Ended::Unsuccessful);
        assert!(desk.told("Nothing has run.") && output.text().is_empty());
        assert_eq!(people.withdrawn().len(), 1);
        assert!(adapter.operator().unwrap().overview().await.unwrap().requests.is_empty());
        assert_eq!(garden.cleared.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn where_nobody_can_be_asked_nobody_waits() {
        let garden = Garden::default();
        let adapter = adapter(&garden, Broken);
        let (desk, output) = (Desk::empty(), Output::kept(true));
        assert_eq!(call(&adapter, &desk, &output).await, Ended::Unsuccessful);
        assert!(output.text().contains("no channel of this adapter reaches"), "{}", output.text());
        assert!(!output.text().contains("has been asked"), "{}", output.text());
        assert!(adapter.operator().unwrap().overview().await.unwrap().requests.is_empty());
        assert_eq!(garden.cleared.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn callers_are_told_that_a_person_confirms() {
        // REQ-DNG-04, REQ-GATE-10
        let adapter = adapter(&Garden::default(), MemoryChannel::default());
        let told = adapter.call("introspect", json!({ "query": "danger" })).await;
        let operations = told.data()["operations"].as_array().unwrap();
        let by_operator: Vec<_> =
            operations.iter().filter(|each| each["by_operator"] == true).collect();
        assert_eq!(by_operator.len(), 1, "{operations:?}");
        assert_eq!(
            (&by_operator[0]["name"], &by_operator[0]["permission"]),
            (&json!("clear_bed"), &json!("confirm"))
        );
    }
}
