//! The agents that wait for the approval of a call.

use mcp_aql_core::store::{StateStore, StoreError};

use super::agent_state::AgentState;
use super::approval_record::{APPROVALS, Approval};
use super::approvals_gate::{MAX_WAITING_CALLS, subject};
use super::directive::AgentNotification;
use super::records::{AGENTS, agent_change, readable};
use super::runtime::SafetyCore;

impl SafetyCore {
    /// Notifies agents that one of their calls waits for approval.
    pub(super) async fn notify_agents(
        &self,
        store: &dyn StateStore,
        key: &str,
        id: &str,
        agents: &[String],
        news: &AgentNotification,
        before: Option<&str>,
    ) -> Result<(), StoreError> {
        let tell = |state: &mut AgentState, waits: bool| {
            if let Some(before) = before {
                state.clear(&subject(before));
            }
            if waits && !state.queue.iter().any(|queued| queued.about == subject(id)) {
                state.notify(&subject(id), news.clone());
            }
        };
        for agent in agents {
            self.update_agent(store, agent, Some((key, id)), &tell).await?;
        }
        Ok(())
    }

    /// Changes the record of one executing agent.
    ///
    /// Each agent is changed by a write of its own, because agents that report concurrently change their records often.
    /// The approval is read after the agent's record, so that an answer in the meantime is applied after this change.
    pub(super) async fn update_agent(
        &self,
        store: &dyn StateStore,
        agent: &str,
        waits: Option<(&str, &str)>,
        change: &(dyn Fn(&mut AgentState, bool) + Sync),
    ) -> Result<(), StoreError> {
        loop {
            let Some(record) = store.get(AGENTS, agent).await? else { return Ok(()) };
            let Some(before) = readable::<AgentState>(&record) else { return Ok(()) };
            let waits = match waits {
                Some((key, id)) => {
                    let approval = store.get(APPROVALS, key).await?;
                    let approval = approval.as_ref().and_then(readable::<Approval>);
                    approval.is_some_and(|it| it.ask.id == id && it.approved_at.is_none())
                }
                None => false,
            };
            let mut state = before.clone();
            if state.live().is_some() {
                change(&mut state, waits);
            }
            if state == before {
                return Ok(());
            }
            let written = agent_change(agent, Some(&record), &state, self.now())?;
            if store.write(vec![written]).await? {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns `true` if one of these agents has reached the limit of waiting calls. The call whose request is renewed
    /// does not count.
    pub(super) async fn has_too_many_waiting(
        &self,
        store: &dyn StateStore,
        agents: &[String],
        old: Option<&Approval>,
    ) -> Result<bool, StoreError> {
        for agent in agents {
            let record = store.get(AGENTS, agent).await?;
            let state = record.as_ref().and_then(readable::<AgentState>);
            let Some(mut state) = state.filter(|state| state.live().is_some()) else { continue };
            if let Some(old) = old {
                state.clear(&subject(&old.ask.id));
            }
            if state.waiting() >= MAX_WAITING_CALLS {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
