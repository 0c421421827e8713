//! Calls that wait for the approval of a person, for the gatekeeper (REQ-GATE-10).
//!
//! An approval admits one call of one operation, with the same parameters and in the same session.

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_core::internal::gatekeeper::{ApprovalClaim, ApprovalRequest, Approvals};
use mcp_aql_core::store::{Change, StateStore, StoreError};
use mcp_aql_core::{BoxFuture, OperationError, Session};

use super::agent_state::AgentState;
use super::approval_record::{APPROVALS, Approval, OPEN, change, new_approval};
use super::caller::CallerIds;
use super::code::{RequestCredentials, same};
use super::directive::{AgentNotification, LoopMode, NotificationType};
use super::records::{INDEX, Target, answered, call_key, expected, indexed, read, target};
use super::runtime::{MAX_CLOCK_DIFFERENCE_SECONDS, PAGE_SIZE, SafetyCore};
use super::transition::{Event, Rejection};
use crate::human_channel::Decider;

/// The maximum number of calls of one agent that can wait for people. The limit exists because each step of the agent
/// returns a notification for each of them.
pub(super) const MAX_WAITING_CALLS: usize = 50;

/// The prefix of the subjects of notifications on approvals.
const SUBJECT_PREFIX: &str = "approval ";

pub(super) fn subject(id: &str) -> String {
    format!("{SUBJECT_PREFIX}{id}")
}

impl Approvals for SafetyCore {
    fn supervises<'a>(
        &'a self,
        session: Option<&'a Session>,
    ) -> BoxFuture<'a, Result<bool, OperationError>> {
        Box::pin(async move {
            Ok(self.mode() == LoopMode::Enforcing && self.is_executing(session).await?)
        })
    }

    fn can_ask(&self) -> bool {
        Self::can_ask(self)
    }

    fn request_approval<'a>(
        &'a self,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Result<String, OperationError>> {
        Box::pin(self.request_approval(request))
    }

    fn approval<'a>(
        &'a self,
        operation: &'a str,
        params_hash: &'a str,
        session: Option<&'a Session>,
    ) -> BoxFuture<'a, Result<Option<ApprovalClaim>, OperationError>> {
        Box::pin(self.approval(operation, params_hash, session))
    }
}

impl SafetyCore {
    /// Returns `true` if an agent executes in this session.
    pub(crate) async fn is_executing(
        &self,
        session: Option<&Session>,
    ) -> Result<bool, OperationError> {
        Ok(!self.executing(session).await?.is_empty())
    }

    /// Requests a person's approval of a call, and notifies the agents of its session.
    ///
    /// Returns the id of the request. Repeated calls return the same id while the request is open.
    pub(crate) async fn request_approval(
        &self,
        pending: ApprovalRequest<'_>,
    ) -> Result<String, OperationError> {
        let store = self.store().await?;
        let session = pending.session.map(Session::id);
        let agents = self.executing(pending.session).await?;
        let key = call_key(pending.operation, pending.params_hash, session);
        loop {
            let now = self.now();
            let record = store.get(APPROVALS, &key).await?;
            let old = record.as_ref().map(read::<Approval>).transpose()?;
            let news = AgentNotification::of_waiting_call(&pending, now);
            if let Some(known) = &old
                && known.ask.is_open(now)
            {
                // The first caller may have been canceled before it had notified all agents.
                self.notify_agents(store, &key, &known.ask.id, &known.agents, &news, None).await?;
                return Ok(known.ask.id.clone());
            }
            // A person has approved the call in the meantime, so the repeated call will be admitted.
            if let Some(known) = old.as_ref().filter(|old| self.is_valid(old, now)) {
                return Ok(known.ask.id.clone());
            }
            self.reject_excess(store, &pending, &agents, old.as_ref()).await?;
            let fresh = RequestCredentials::new()?;
            let approval = new_approval(&pending, &fresh, agents.clone(), now);
            let (id, code) = (fresh.id, fresh.code);
            let target = Target::Approval { key: key.clone(), id: id.clone() };
            let mut changes = vec![change(&key, record.as_ref(), &approval)?];
            changes.extend(indexed(&approval.ask, &target)?);
            if store.write(changes).await? {
                let event = Event::new("CHALLENGE_ISSUED", "issued").request(&approval.ask);
                let (agent, caller) = (agents.first().map(String::as_str), approval.caller());
                self.record(&event, agent, caller, None, Some(pending.operation)).await;
                self.present(approval.ask.clone(), (agent, caller), code).await;
                // Agents are notified last. If the store fails here, the request exists nevertheless, and the next call
                // notifies them.
                let before = old.as_ref().map(|old| old.ask.id.as_str());
                self.notify_agents(store, &key, &id, &agents, &news, before).await?;
                return Ok(id);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Rejects a call if too many calls of its session wait for people, or if its session made too many requests in the
    /// last minute.
    async fn reject_excess(
        &self,
        store: &dyn StateStore,
        pending: &ApprovalRequest<'_>,
        agents: &[String],
        old: Option<&Approval>,
    ) -> Result<(), OperationError> {
        let now = self.now();
        let session = pending.session.map(Session::id);
        let (reason, error) = if self.has_too_many_waiting(store, agents, old).await? {
            let reason = "too many calls of this session wait for a person: send one of them again, or end the \
                          execution";
            let error = OperationError::permission_denied(reason);
            ("too many calls wait", error.with_detail("limit", MAX_WAITING_CALLS))
        } else if self.is_request_limit_reached(now, session) {
            let error = super::rejection::error(Rejection::TooMany(60), "", now);
            ("too many requests in one minute", error)
        } else {
            return Ok(());
        };
        let event = Event::new("CHALLENGE_ISSUED", "refused").reason(reason).action(pending.action);
        let agent = agents.first().map(String::as_str);
        let caller = CallerIds { session, principal: pending.principal };
        self.record(&event, agent, caller, None, Some(pending.operation)).await;
        Err(error)
    }

    /// Returns a person's approval of this call, if there is one. Of several concurrent callers, the first to write the
    /// change uses the approval.
    pub(crate) async fn approval(
        &self,
        operation: &str,
        params_hash: &str,
        session: Option<&Session>,
    ) -> Result<Option<ApprovalClaim>, OperationError> {
        let key = call_key(operation, params_hash, session.map(Session::id));
        let found = self.store().await?.get(APPROVALS, &key).await?;
        let Some(record) = found else { return Ok(None) };
        let approval: Approval = read(&record)?;
        let valid = approval.approved_at.filter(|_| self.is_valid(&approval, self.now()));
        let Some(approved_at) = valid else { return Ok(None) };
        let not_before = approved_at + approval.cooldown();
        let change = Change::remove(APPROVALS, key, expected(Some(&record)));
        let by = approval.approved_by;
        Ok(Some(ApprovalClaim {
            change,
            request_id: approval.ask.id,
            not_before,
            decided_by: by.as_ref().map(|by| by.channel().to_owned()),
            operator: by.as_ref().and_then(|by| by.name().map(str::to_owned)),
        }))
    }

    /// Returns `true` if the call is approved and the approval has not expired.
    fn is_valid(&self, approval: &Approval, now: DateTime<Utc>) -> bool {
        // Setting the clock back must not extend the approval.
        let left = approval.ask.expires_at - now;
        let lasts = left > TimeDelta::zero()
            && left
                <= self.timeout
                    + approval.cooldown()
                    + TimeDelta::seconds(MAX_CLOCK_DIFFERENCE_SECONDS);
        approval.approved_at.is_some() && lasts
    }

    /// Applies an answer to the request of a call. `hash` is the hash of a code. It is `None` if an operator answers.
    pub(super) async fn answer_approval(
        &self,
        key: &str,
        id: &str,
        hash: Option<&str>,
        (approve, by): (bool, &Decider),
    ) -> Result<Result<(), Rejection>, StoreError> {
        let store = self.store().await?;
        loop {
            let now = self.now();
            let Some(record) = store.get(APPROVALS, key).await? else {
                return Ok(Err(Rejection::Invalid));
            };
            let mut approval: Approval = read(&record)?;
            if approval.ask.id != id || hash.is_some_and(|hash| !same(&approval.ask.hash, hash)) {
                return Ok(Err(Rejection::Invalid));
            }
            if let Some(at) = approval.approved_at {
                return Ok(Err(Rejection::Used { at }));
            }
            if !approval.ask.is_open(now) {
                let at = approval.ask.expires_at;
                return Ok(Err(match hash {
                    Some(_) if now >= at => Rejection::Expired { at },
                    _ => Rejection::Invalid,
                }));
            }
            approval.ask.closed = true;
            let change = if approve {
                approval.approved_at = Some(now);
                approval.approved_by = Some(by.clone());
                approval.ask.expires_at = now + approval.cooldown() + self.timeout;
                change(key, Some(&record), &approval)?
            } else {
                Change::remove(APPROVALS, key, expected(Some(&record)))
            };
            if store.write(vec![change, answered(id, now)?]).await? {
                self.announce_answer(store, &approval, approve, by).await;
                return Ok(Ok(()));
            }
            tokio::task::yield_now().await;
        }
    }

    /// Records an answer, withdraws the request from the channels, and notifies the waiting agents.
    async fn announce_answer(
        &self,
        store: &dyn StateStore,
        approval: &Approval,
        approve: bool,
        by: &Decider,
    ) {
        let (id, operation) = (&approval.ask.id, &approval.operation);
        let (word, event, outcome) = match approve {
            true => ("approved", "CHALLENGE_VERIFIED", "confirmed"),
            false => ("denied", "REQUEST_DENIED", "denied"),
        };
        let message = format!("A person has {word} operation '{operation}'");
        let notice = AgentNotification::new(NotificationType::Status, message, None, self.now());
        let event = Event::new(event, outcome).request(&approval.ask).by(by);
        let agent = approval.agents.first().map(String::as_str);
        self.record(&event, agent, approval.caller(), None, Some(operation)).await;
        self.withdraw(id).await;
        let tell = |state: &mut AgentState, _| {
            state.clear(&subject(id));
            state.notify("status", notice.clone());
        };
        for agent in &approval.agents {
            // The decision is already stored. An agent that cannot be notified now is notified with its next step.
            if let Err(error) = self.update_agent(store, agent, None, &tell).await {
                tracing::warn!(agent, %error, "cannot notify an agent of an answer yet");
            }
        }
    }

    /// Issues a new code for the request.
    pub(super) async fn renew_approval(
        &self,
        key: &str,
        id: &str,
        by: &Decider,
    ) -> Result<Result<(), Rejection>, StoreError> {
        let store = self.store().await?;
        loop {
            let Some(record) = store.get(APPROVALS, key).await? else {
                return Ok(Err(Rejection::Invalid));
            };
            let mut approval: Approval = read(&record)?;
            if approval.ask.id != id || approval.approved_at.is_some() {
                return Ok(Err(Rejection::Invalid));
            }
            let fresh = RequestCredentials::new().map_err(StoreError::failed)?;
            approval.ask.hash.clone_from(&fresh.hash);
            approval.ask.expires_at = self.now() + self.timeout;
            let mut changes = vec![change(key, Some(&record), &approval)?];
            let target = Target::Approval { key: key.to_owned(), id: id.to_owned() };
            changes.extend(indexed(&approval.ask, &target)?);
            if store.write(changes).await? {
                self.withdraw(id).await;
                let event = Event::new("CHALLENGE_ISSUED", "issued").request(&approval.ask).by(by);
                let (caller, operation) = (approval.caller(), Some(&*approval.operation));
                self.record(&event, None, caller, None, operation).await;
                let agent = approval.agents.first().map(String::as_str);
                self.present(approval.ask.clone(), (agent, caller), fresh.code).await;
                return Ok(Ok(()));
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns the subjects for which an agent still waits although they have been answered.
    pub(super) async fn answered(
        &self,
        store: &dyn StateStore,
        state: &AgentState,
    ) -> Result<Vec<String>, StoreError> {
        let mut answered = Vec::new();
        for queued in &state.queue {
            let Some(id) = queued.about.strip_prefix(SUBJECT_PREFIX) else { continue };
            // An unknown request has expired without an answer.
            if store.get(INDEX, &format!("answered {id}")).await?.is_some()
                || target(store, &format!("id {id}")).await?.is_none()
            {
                answered.push(queued.about.clone());
            }
        }
        Ok(answered)
    }

    /// Returns the open approvals, and the keys of unreadable records.
    pub(super) async fn open_approvals(&self) -> Result<(Vec<Approval>, Vec<String>), StoreError> {
        let (store, now) = (self.store().await?, self.now());
        let mut unreadable = Vec::new();
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = store.list(APPROVALS, Some(OPEN), after.as_deref(), PAGE_SIZE).await?;
            for record in &page {
                match read::<Approval>(record) {
                    Ok(approval) if approval.ask.is_open(now) => all.push(approval),
                    Ok(_) => {}
                    Err(_) => unreadable.push(record.key.clone()),
                }
            }
            after = page.last().map(|record| record.key.clone());
            if page.len() < PAGE_SIZE {
                return Ok((all, unreadable));
            }
        }
    }
}
