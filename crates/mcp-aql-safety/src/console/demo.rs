//! An operator backend with invented agents, for tests and for `scripts/console.py`.

use std::io::Read as _;
use std::sync::Mutex;

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_core::OperationError;
use mcp_aql_core::internal::util::lock;
use serde_json::{Value, json};

use super::*;
use crate::human_channel::{
    AgentView, BlockView, Code, Decider, Operator, OperatorBackend, Overview, RequestKind,
    RequestView, VoidReason,
};

/// The state of the demo. Decisions change it.
pub(super) struct DemoBackend {
    state: Mutex<Overview>,
    /// If `true`, every query fails. Tests set this.
    pub(super) broken: std::sync::atomic::AtomicBool,
}

pub(super) const CODE: &str = "K7QP-2M4X-9TRD-0HZ3-WWA8-6NJE-51VC-PYBG-F4S2-QX7M-K0D9-8RTH-3ZNA";

pub(super) const HOSTILE: &str = "<img src=x onerror=\"document.title='owned'\"><script>alert(1)</script> \
    \u{202e}gpj.exe\u{202c} &amp; 'quoted'";

impl DemoBackend {
    pub(super) fn new(now: DateTime<Utc>) -> Arc<Self> {
        let broken = std::sync::atomic::AtomicBool::new(false);
        Arc::new(Self { state: Mutex::new(state(now)), broken })
    }

    pub(super) fn operator(self: &Arc<Self>) -> Operator {
        Operator(Arc::clone(self) as Arc<dyn OperatorBackend>)
    }

    fn lock(&self) -> Result<std::sync::MutexGuard<'_, Overview>, OperationError> {
        if self.broken.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(OperationError::internal(io::Error::other("the disk is full")));
        }
        Ok(lock(&self.state))
    }

    fn log(state: &mut Overview, event: &str, outcome: &str, agent: Option<&str>, by: &Decider) {
        let by = Some(by.name().unwrap_or_default());
        let entry = entry(Utc::now(), event, outcome, agent, "An operator decided.", by);
        state.audit.insert(0, entry);
    }
}

impl OperatorBackend for DemoBackend {
    fn overview(&self) -> BoxFuture<'_, Result<Overview, OperationError>> {
        Box::pin(async { self.lock().map(|state| state.clone()) })
    }

    fn code<'a>(&'a self, id: &'a str, _: Option<&'a Decider>) -> BoxFuture<'a, Option<Code>> {
        Box::pin(async move {
            let state = self.lock().ok()?;
            let request = state.requests.iter().find(|request| request.id == id)?;
            request.has_code.then(|| Code::new(CODE.to_owned()))
        })
    }

    fn decide<'a>(
        &'a self,
        id: &'a str,
        approve: bool,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(async move {
            let mut state = self.lock()?;
            let place = state.requests.iter().position(|request| request.id == id);
            let place = place.ok_or_else(|| OperationError::not_found("request", id))?;
            let request = state.requests.remove(place);
            if approve && request.kind == RequestKind::Block {
                state.blocks.retain(|block| Some(&block.agent) != request.agent.as_ref());
            }
            let outcome = if approve { "approved" } else { "denied" };
            Self::log(&mut state, "REQUEST_DECIDED", outcome, request.agent.as_deref(), &by);
            Ok(())
        })
    }

    fn stop<'a>(
        &'a self,
        agent: &'a str,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(async move {
            let mut state = self.lock()?;
            let running = state.agents.iter().find(|view| view.agent == agent).cloned();
            let running =
                running.ok_or_else(|| OperationError::not_found("running agent", agent))?;
            state.blocks.push(BlockView {
                stopped: true,
                reason: "An operator has stopped the agent".to_owned(),
                ..block(agent, running.last_action.as_deref().unwrap_or_default(), Utc::now())
            });
            Self::log(&mut state, "AGENT_BLOCKED", "denied", Some(agent), &by);
            Ok(())
        })
    }

    fn unblock<'a>(
        &'a self,
        agent: &'a str,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(async move {
            let mut state = self.lock()?;
            let blocked = state.blocks.len();
            state.blocks.retain(|block| block.agent != agent);
            if state.blocks.len() == blocked {
                return Err(OperationError::not_found("block", agent));
            }
            state.requests.retain(|request| {
                request.kind != RequestKind::Block || request.agent.as_deref() != Some(agent)
            });
            Self::log(&mut state, "AGENT_UNBLOCKED", "approved", Some(agent), &by);
            Ok(())
        })
    }

    fn renew_code<'a>(
        &'a self,
        id: &'a str,
        by: Decider,
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(async move {
            let mut state = self.lock()?;
            let request = state.requests.iter_mut().find(|request| request.id == id);
            let request = request.ok_or_else(|| OperationError::not_found("request", id))?;
            request.has_code = true;
            request.void = None;
            request.expires_at = Utc::now() + TimeDelta::minutes(5);
            let agent = request.agent.clone();
            Self::log(&mut state, "CHALLENGE_ISSUED", "issued", agent.as_deref(), &by);
            Ok(())
        })
    }
}

fn entry(
    at: DateTime<Utc>,
    event: &str,
    outcome: &str,
    agent: Option<&str>,
    reason: &str,
    by: Option<&str>,
) -> Value {
    let mut entry = json!({
        "timestamp": mcp_aql_core::internal::util::clock::text(at), "adapter_name": "guard", "adapter_trust": "trusted",
        "event": event, "outcome": outcome, "reason": reason, "result": outcome,
    });
    if let Some(agent) = agent {
        entry["agent"] = agent.into();
    }
    if let Some(by) = by {
        entry["decided_by"] = "console".into();
        entry["operator"] = by.into();
    }
    entry
}

fn block(agent: &str, action: &str, since: DateTime<Utc>) -> BlockView {
    BlockView {
        agent: agent.to_owned(),
        action: action.to_owned(),
        reason: "The action matches a denied pattern.".to_owned(),
        since,
        session: Some("s-1f0c9a7be2d84c11".to_owned()),
        client: Some("cursor 1.7.2".to_owned()),
        stopped: false,
        challenge_id: None,
    }
}

fn state(now: DateTime<Utc>) -> Overview {
    let ago = |minutes| now - TimeDelta::minutes(minutes);
    let agent = |name: &str, status: &str, steps, action: &str, directive, minutes| AgentView {
        agent: name.to_owned(),
        execution_id: format!("ex-{}", name.len()),
        status: status.to_owned(),
        steps,
        session: Some("s-1f0c9a7be2d84c11".to_owned()),
        client: Some("cursor 1.7.2".to_owned()),
        last_action: Some(action.to_owned()),
        directive: Some(directive),
        started_at: ago(minutes),
    };
    let request =
        |id: &str, kind, agent: &str, action: &str, reasons: &[&str], seconds| RequestView {
            id: id.to_owned(),
            kind,
            agent: Some(agent.to_owned()),
            action: action.to_owned(),
            reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
            session: Some("s-1f0c9a7be2d84c11".to_owned()),
            client: Some("cursor 1.7.2".to_owned()),
            asked_at: Some(ago(3)),
            expires_at: now + TimeDelta::seconds(seconds),
            has_code: seconds > 0,
            void: None,
        };
    let deploy = "deploy_service --env production --image registry.internal/shop/checkout:2031.5.6 \
                  --replicas 12 --strategy rolling --wait";
    Overview {
        adapter: "guard".to_owned(),
        mode: "enforcing".to_owned(),
        agents: vec![
            agent(
                "release-bot",
                "running",
                41,
                deploy,
                json!({ "continue": false, "reason": "Approval is pending." }),
                34,
            ),
            agent(
                "research",
                "running",
                128,
                "search_documents 'quarterly figures'",
                json!({ "continue": true, "factors": ["low risk"] }),
                71,
            ),
            agent(
                "cleanup-7",
                "aborted",
                9,
                "rm -rf /srv/backups",
                json!({ "continue": false, "stopped": true, "reason": "The action matches 'rm -rf*'." }),
                12,
            ),
            agent(HOSTILE, "running", 3, HOSTILE, json!({ "continue": true }), 2),
        ],
        requests: vec![
            request(
                "rq-deploy",
                RequestKind::Step,
                "release-bot",
                deploy,
                &[
                    "It matches the pattern 'deploy_*', which needs approval.",
                    "Risk score 62 of 100.",
                ],
                280,
            ),
            request(
                "rq-block",
                RequestKind::Block,
                "cleanup-7",
                "rm -rf /srv/backups",
                &["It matches the denied pattern 'rm -rf*'."],
                170,
            ),
            request("rq-hostile", RequestKind::Verify, HOSTILE, HOSTILE, &[HOSTILE], 95),
            request(
                "rq-old",
                RequestKind::Operation,
                "research",
                "delete_report\n{\"id\": \"r-2031-04\", \"permanently\": true}",
                &["The operation is destructive."],
                -20,
            ),
            RequestView {
                has_code: false,
                void: Some(VoidReason::WrongCode),
                ..request(
                    "rq-tried",
                    RequestKind::Block,
                    "intern",
                    "drop_table customers",
                    &["It matches the denied pattern 'drop_*'."],
                    110,
                )
            },
        ],
        blocks: vec![
            block("cleanup-7", "rm -rf /srv/backups", ago(2)),
            block("intern", "drop_table customers", ago(4)),
        ],
        more_agents: false,
        unreadable: Vec::new(),
        audit: vec![
            entry(
                ago(1),
                "APPROVAL_REQUESTED",
                "pending",
                Some("release-bot"),
                "Pattern 'deploy_*'.",
                None,
            ),
            entry(ago(2), "AGENT_BLOCKED", "denied", Some("cleanup-7"), "Pattern 'rm -rf*'.", None),
            entry(
                ago(3),
                "OPERATION_ALLOWED",
                "allowed",
                Some("research"),
                "Pattern 'search_*'.",
                None,
            ),
            entry(
                ago(5),
                "TOKEN_CONSUMED",
                "confirmed",
                Some("release-bot"),
                "Single use.",
                Some("ada"),
            ),
            entry(ago(6), "STEP_EVALUATED", "allowed", Some(HOSTILE), HOSTILE, None),
            entry(
                ago(9),
                "OPERATION_DENIED",
                "denied",
                Some("research"),
                "The trust level is too low.",
                None,
            ),
        ],
    }
}

/// The default program of `scripts/console.py`. If `CONSOLE_DEMO` is set, it prints a link on its terminal and serves
/// until its standard input ends. Otherwise it exits immediately.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_until_it_is_left() {
    let stays = std::env::var_os("CONSOLE_DEMO").is_some();
    let folder = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("console"));
    let options =
        ConsoleOptions::new().print_login_link(stays).state_dir(&folder).operator_name("ada");
    let demo = DemoBackend::new(Utc::now());
    let console = Console::start(demo.operator(), options).await.unwrap();
    let links = Console::login_links(&folder).unwrap();
    let address = format!("http://{}/login?once=", console.address());
    assert!(matches!(&*links, [link] if link.url.starts_with(&address)), "{links:?}");
    if stays {
        let left = || std::io::stdin().read_to_end(&mut Vec::new());
        tokio::task::spawn_blocking(left).await.unwrap().unwrap();
    }
    drop(console);
    assert!(Console::login_links(&folder).unwrap().is_empty());
    std::fs::remove_dir(&folder).unwrap();
}
