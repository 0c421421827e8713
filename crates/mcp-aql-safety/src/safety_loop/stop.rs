//! Stops agents at an operator's request.

use mcp_aql_core::OperationError;

use super::agent_state::{AgentExecutionStatus, AgentState, Block};
use super::directive::LoopMode;
use super::runtime::SafetyCore;
use super::transition::{Effects, Env, Event, Rejection};
use crate::human_channel::{Decider, RequestKind};

impl AgentState {
    /// Blocks a running agent, as if it had reported a denied action.
    fn stop(
        &mut self,
        by: &Decider,
        env: &Env<'_>,
        effects: &mut Effects,
    ) -> Result<(), Rejection> {
        self.settle(env, effects);
        let running = self.live().filter(|live| live.status == AgentExecutionStatus::Running);
        let Some(execution) = running.filter(|_| self.block.is_none()) else {
            return Err(Rejection::NotExecuting);
        };
        let session = execution.session.clone();
        let last = execution.last_action.clone();
        let action = last.unwrap_or_else(|| "The agent has not reported an action".to_owned());
        self.drop_pause(effects);
        self.grant = None;
        let reason = "An operator has stopped the agent".to_owned();
        let asked = (action.as_str(), vec![reason.clone()]);
        let asked = self.create_request(RequestKind::Block, asked, false, env, effects);
        // The request of a block is not subject to a limit, so it always exists.
        let Some(ask) = asked else { return Err(Rejection::Invalid) };
        effects.note(Event::new("AGENT_BLOCKED", "denied").reason(&reason).request(&ask).by(by));
        // No action has the empty digest, so lifting the block does not approve an action.
        let digest = String::new();
        let since = env.now;
        self.block = Some(Block { action, digest, reason, since, session, stopped: true, ask });
        Ok(())
    }
}

impl SafetyCore {
    /// Stops a running agent. Its session can then take no actions of this adapter.
    pub(super) async fn stop(
        &self,
        agent: &str,
        by: &Decider,
    ) -> Result<Result<(), Rejection>, OperationError> {
        if self.mode() != LoopMode::Enforcing {
            let reason = "the safety loop does not enforce its decisions in this mode and therefore cannot stop an agent";
            return Err(OperationError::permission_denied(reason));
        }
        let stopped = self
            .apply_transition(agent, |state, env, effects| {
                state.stop(by, env, effects)?;
                Ok(state.clone())
            })
            .await?;
        Ok(stopped.map(|state| self.learn_block(&state)))
    }
}
