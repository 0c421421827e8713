//! Tests confirmations by elicitation: the client asks its user.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql::auth::Principal;
use mcp_aql::operator::MemoryChannel;
use mcp_aql::prelude::*;
use mcp_aql::safety_loop::SafetyLoop;
use mcp_aql::store::MemoryState;
use mcp_aql::testing::TimeSource;
use mcp_aql::transport::{
    AskUser, CallScope, Elicitation, Endpoint, RepeatedCall, Reply, UserAnswer,
};
use mcp_aql::{Adapter, AdapterBuilder, BoxFuture, Policy, Session, operations};
use serde_json::{Value, json};

use crate::support::AuditLines;

/// The deleted beds and trees.
#[derive(Clone, Default)]
struct Garden(Arc<Mutex<Vec<(char, u32)>>>);

#[operations]
impl Garden {
    /// Delete a bed.
    #[operation(category = "DELETE", danger(level = "destructive"))]
    fn delete_bed(
        &self,
        /// The bed.
        id: u32,
    ) {
        self.0.lock().unwrap().push(('b', id));
    }

    /// Delete a tree.
    #[operation(category = "DELETE", danger(level = "destructive"))]
    fn delete_tree(
        &self,
        /// The tree.
        id: u32,
    ) {
        self.0.lock().unwrap().push(('t', id));
    }
}

impl Garden {
    fn deleted(&self) -> Vec<(char, u32)> {
        self.0.lock().unwrap().clone()
    }
}

/// A user who gives these answers in order.
struct User(Mutex<VecDeque<UserAnswer>>);

impl AskUser for User {
    fn ask(&self, _question: String) -> BoxFuture<'_, Option<UserAnswer>> {
        let answer = self.0.lock().unwrap().pop_front().expect("the user is not asked again");
        Box::pin(async move { Some(answer) })
    }
}

struct Fixture {
    adapter: Adapter,
    garden: Garden,
    lines: AuditLines,
}

impl Fixture {
    fn new(configure: impl FnOnce(AdapterBuilder) -> AdapterBuilder) -> Self {
        let (garden, lines) = (Garden::default(), AuditLines::default());
        let builder = Adapter::builder("garden").operations(garden.clone()).without_config();
        let adapter = configure(builder.audit_sink(lines.clone())).build().unwrap();
        Self { adapter, garden, lines }
    }

    async fn call(&self, operation: &str, id: u32, scope: CallScope) -> Reply {
        let call = json!({ "operation": operation, "params": { "id": id } });
        self.adapter.handle(Endpoint::Unified, call.as_object().cloned().unwrap(), scope).await
    }

    /// Returns the audited events with their reasons.
    fn audited(&self) -> Vec<(String, Option<String>)> {
        let text = |line: &Value, name: &str| line[name].as_str().map(str::to_owned);
        let lines = self.lines.0.lock().unwrap();
        lines.iter().map(|line| (text(line, "event").unwrap(), text(line, "reason"))).collect()
    }
}

fn asking(session: &Session, answers: &[UserAnswer]) -> CallScope {
    let user = User(Mutex::new(answers.iter().copied().collect()));
    let elicitation = Some(Elicitation::Waiting(Arc::new(user)));
    CallScope { session: Some(session.clone()), elicitation, ..CallScope::default() }
}

fn error(reply: &Reply) -> Value {
    serde_json::from_str::<Value>(&reply.text).unwrap()["error"].take()
}

#[tokio::test]
async fn the_answer_of_a_user_is_never_the_approval_of_a_person() {
    // REQ-AUT-16
    let fixture = Fixture::new(|builder| {
        builder
            .store(MemoryState::default())
            .safety_loop(SafetyLoop::new().channel(MemoryChannel::default()))
            .policy(Policy::confirm("delete_bed").by_operator())
    });
    let session = Session::new();
    // A person must approve, so the user of the client is not asked.
    let reply = fixture.call("delete_bed", 1, asking(&session, &[])).await;
    assert!(error(&reply)["details"]["request_id"].is_string(), "{}", reply.text);
    // For the other operation, the answer of the client's user is enough.
    let reply = fixture.call("delete_tree", 1, asking(&session, &[UserAnswer::Accepted])).await;
    assert_eq!(reply.code, None, "{}", reply.text);
    assert_eq!(fixture.garden.deleted(), [('t', 1)]);
}

#[tokio::test]
async fn an_accepted_question_confirms_for_the_session() {
    // REQ-GATE-08
    let minute = Duration::from_secs(60);
    let fixture =
        Fixture::new(|builder| builder.policy(Policy::confirm("delete_bed").for_session(minute)));
    let session = Session::new();
    for answers in [&[UserAnswer::Accepted][..], &[], &[]] {
        let reply = fixture.call("delete_bed", 1, asking(&session, answers)).await;
        assert_eq!(reply.code, None, "{}", reply.text);
    }
    let other = asking(&Session::new(), &[UserAnswer::Declined]);
    assert!(fixture.call("delete_bed", 1, other).await.code.is_some());
    assert_eq!(fixture.garden.deleted().len(), 3);
}

#[tokio::test]
async fn questions_and_answers_are_audited() {
    // REQ-GATE-09
    let fixture = Fixture::new(|builder| builder);
    let session = Session::new();
    for answer in [UserAnswer::Accepted, UserAnswer::Declined] {
        fixture.call("delete_bed", 1, asking(&session, &[answer])).await;
    }
    let asked = ("CONFIRMATION_REQUIRED", "the user of the client is asked");
    let expected = [
        asked,
        ("CONFIRMATION_GRANTED", "the user of the client has accepted"),
        asked,
        ("OPERATION_DENIED", "the user was asked and has declined this call"),
    ];
    let expected = expected.map(|(event, reason)| (event.to_owned(), Some(reason.to_owned())));
    assert_eq!(fixture.audited(), expected);
}

#[tokio::test]
async fn a_session_has_a_limited_number_of_questions() {
    // REQ-TOK-17
    let fixture = Fixture::new(|builder| builder.confirmations_per_minute(2));
    let session = Session::new();
    for answers in [&[UserAnswer::Declined][..], &[UserAnswer::Accepted], &[]] {
        fixture.call("delete_bed", 1, asking(&session, answers)).await;
    }
    let reply = fixture.call("delete_bed", 1, asking(&session, &[])).await;
    assert_eq!(error(&reply)["code"], "RATE_LIMIT_EXCEEDED");
    let denied = ("OPERATION_DENIED".to_owned(), Some("RATE_LIMIT_EXCEEDED".to_owned()));
    assert_eq!(fixture.audited().pop(), Some(denied));
    assert_eq!(fixture.garden.deleted().len(), 1);
}

/// A user who accepts, but only after something else has happened.
struct Meanwhile<F>(F);

impl<F: Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static> AskUser for Meanwhile<F> {
    fn ask(&self, _question: String) -> BoxFuture<'_, Option<UserAnswer>> {
        let happens = (self.0)();
        Box::pin(async move {
            happens.await;
            Some(UserAnswer::Accepted)
        })
    }
}

#[tokio::test]
async fn the_gates_look_again_at_a_call_whose_user_has_taken_time() {
    // REQ-AUT-16: an agent begins to execute in the session while the user decides.
    let fixture = Fixture::new(|builder| {
        let safety_loop = SafetyLoop::new().channel(MemoryChannel::default());
        builder.store(MemoryState::default()).safety_loop(safety_loop)
    });
    let session = Session::new();
    let (adapter, of_agent) = (fixture.adapter.clone(), session.clone());
    let begin = move || -> BoxFuture<'static, ()> {
        let (adapter, session) = (adapter.clone(), of_agent.clone());
        Box::pin(async move {
            let call =
                json!({ "operation": "execute_agent", "params": { "element_name": "gardener" } });
            let scope = CallScope { session: Some(session), ..CallScope::default() };
            let call = call.as_object().cloned().unwrap();
            let begun = adapter.handle(Endpoint::Unified, call, scope).await;
            assert_eq!(begun.code, None, "{}", begun.text);
        })
    };
    let elicitation = Some(Elicitation::Waiting(Arc::new(Meanwhile(begin))));
    let scope = CallScope { session: Some(session), elicitation, ..CallScope::default() };
    let reply = fixture.call("delete_bed", 1, scope).await;
    assert!(error(&reply)["details"]["request_id"].is_string(), "{}", reply.text);
    assert!(fixture.garden.deleted().is_empty());
}

#[tokio::test]
async fn revoked_confirmations_include_those_that_are_being_given() {
    // REQ-TOK-12
    let fixture = Fixture::new(|builder| builder);
    let adapter = fixture.adapter.clone();
    let revoke = move || -> BoxFuture<'static, ()> {
        let adapter = adapter.clone();
        Box::pin(async move { adapter.revoke_confirmations().await.unwrap() })
    };
    let elicitation = Some(Elicitation::Waiting(Arc::new(Meanwhile(revoke))));
    let scope = CallScope { elicitation, ..CallScope::default() };
    let reply = fixture.call("delete_bed", 1, scope).await;
    assert_eq!(error(&reply)["details"]["user_answer"], "outdated", "{}", reply.text);
    assert!(fixture.garden.deleted().is_empty());
}

#[tokio::test]
async fn a_client_that_cannot_ask_gets_as_many_tokens_as_another() {
    // REQ-TOK-17
    struct Fails;
    impl AskUser for Fails {
        fn ask(&self, _question: String) -> BoxFuture<'_, Option<UserAnswer>> {
            Box::pin(std::future::ready(None))
        }
    }
    let fixture = Fixture::new(|builder| builder.confirmations_per_minute(2));
    let scope = || CallScope {
        elicitation: Some(Elicitation::Waiting(Arc::new(Fails))),
        ..CallScope::default()
    };
    for code in ["CONFIRMATION_REQUIRED", "CONFIRMATION_REQUIRED", "RATE_LIMIT_EXCEEDED"] {
        let reply = fixture.call("delete_bed", 1, scope()).await;
        assert_eq!(error(&reply)["code"], code, "{}", reply.text);
    }
}

/// An issued request state, as the model remembers it.
struct Issued {
    call: ModelCall,
    /// The minute when it was issued.
    at: i64,
    is_used: bool,
}

/// A caller with its call.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ModelCall {
    principal: usize,
    operation: &'static str,
    id: u32,
}

/// A deterministic random number generator (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }
}

/// Returns a state for a client to send: one of the latest issued ones, or an invented one.
fn some_state(states: &[(String, Issued)], call: ModelCall, random: &mut Random) -> String {
    let last = &states[states.len().saturating_sub(30)..];
    let of_call = last.iter().rfind(|(_, issued)| issued.call == call);
    let known = match (last.len(), of_call) {
        (0, _) => "question_x",
        (_, Some((state, _))) if random.below(3) == 0 => state,
        (count, _) => &last[random.below(count)].0,
    };
    match random.below(10) {
        0 => known.chars().take(random.below(known.len())).collect(),
        1 => known.replacen("question_", "conf_", 1),
        2 => {
            let mut bytes = known.as_bytes().to_vec();
            let place = random.below(bytes.len());
            bytes[place] = b"ABCxyz019-_"[random.below(11)];
            String::from_utf8(bytes).unwrap()
        }
        _ => known.to_owned(),
    }
}

#[tokio::test]
async fn ten_thousand_random_answers_run_only_what_a_user_has_accepted() {
    // REQ-TOK-07, REQ-TOK-10, REQ-GATE-09
    let elapsed = Arc::new(AtomicI64::new(0));
    let now = Arc::clone(&elapsed);
    let start: DateTime<Utc> = "2026-11-01T00:00:00Z".parse().unwrap();
    let clock = TimeSource::new(move || start + TimeDelta::minutes(now.load(Ordering::Relaxed)));
    let fixture = Fixture::new(|builder| {
        builder
            .time_source(clock)
            .confirmations_per_minute(1_000_000)
            .clock_skew_tolerance(Duration::ZERO)
    });
    let principals: Vec<_> = ["ada", "bob", "cleo"]
        .map(|name| {
            Principal::new("https://login.example.org", name).with_scopes(["garden:delete"])
        })
        .into();
    let (mut random, mut minute) = (Random(20), 0);
    let (mut states, mut expected, mut refused) = (Vec::<(String, Issued)>::new(), Vec::new(), 0);
    for _ in 0..10_000 {
        if random.below(50) == 0 {
            minute += 1;
            elapsed.store(minute, Ordering::Relaxed);
        }
        let call = ModelCall {
            principal: random.below(3),
            operation: ["delete_bed", "delete_tree"][random.below(2)],
            id: u32::from(random.below(2) == 0),
        };
        let answer = match random.below(10) {
            0 => None,
            1 => Some(UserAnswer::Declined),
            _ => Some(UserAnswer::Accepted),
        };
        let state = (random.below(10) > 0).then(|| some_state(&states, call, &mut random));
        let issued = states.iter_mut().rfind(|(known, _)| Some(known) == state.as_ref());
        let fits = issued
            .map(|(_, issued)| issued)
            .filter(|issued| issued.call == call && !issued.is_used && minute - issued.at <= 5);
        let (runs, asks) = match (&state, fits, answer) {
            (None, ..) => (false, true),
            (Some(_), _, None) => (false, true),
            (Some(_), None, _) => (false, false),
            (Some(_), Some(issued), Some(answer)) => {
                issued.is_used = true;
                (answer == UserAnswer::Accepted, false)
            }
        };
        let repeated = Arc::new(RepeatedCall::new(state.zip(answer)));
        let elicitation = Some(Elicitation::Repeating(repeated));
        let mut scope = CallScope { elicitation, ..CallScope::default() };
        scope.extensions.insert(principals[call.principal].clone());
        let reply = fixture.call(call.operation, call.id, scope).await;
        assert_eq!(reply.code.is_none(), runs, "{}", reply.text);
        assert_eq!(reply.question.is_some(), asks, "{}", reply.text);
        if let Some(question) = reply.question {
            states.push((question.state, Issued { call, at: minute, is_used: false }));
        }
        if runs {
            expected.push((if call.operation == "delete_bed" { 'b' } else { 't' }, call.id));
        } else if !asks {
            refused += 1;
        }
    }
    assert_eq!(fixture.garden.deleted(), expected);
    let count = |event: &str| fixture.audited().iter().filter(|it| it.0 == event).count();
    assert_eq!(count("OPERATION_DENIED"), refused);
    assert_eq!(count("CONFIRMATION_GRANTED"), expected.len());
    assert_eq!(count("CONFIRMATION_REQUIRED"), states.len());
    assert!(expected.len() > 100 && refused > 5_000, "{} {refused}", expected.len());
}
