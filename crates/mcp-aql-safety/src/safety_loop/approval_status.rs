//! What the command line shows about the request of a call.

use std::sync::Arc;

use mcp_aql_core::OperationError;

use super::approvals::{APPROVALS, Approval};
use super::channels::can_present;
use super::core::SafetyCore;
use super::records::{Target, read};
use crate::human_channel::HumanChannel;

/// The state of a call's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalStatus {
    /// The request is unanswered.
    Open,
    /// The call is approved.
    Approved,
    /// The call is denied.
    Denied,
    /// The request expired unanswered.
    Expired,
}

impl SafetyCore {
    /// Returns the state of the request with this id; `None` if it is not the request of a call.
    pub async fn approval_status(
        &self,
        id: &str,
    ) -> Result<Option<ApprovalStatus>, OperationError> {
        let Some(Target::Approval { key, .. }) = self.target_of_id(id).await? else {
            return Ok(None);
        };
        let record = self.store().await?.get(APPROVALS, &key).await?;
        let approval: Option<Approval> = record.as_ref().map(read).transpose()?;
        Ok(Some(match approval.filter(|approval| approval.ask.id == id) {
            None => ApprovalStatus::Denied,
            Some(approval) if approval.approved_at.is_some() => ApprovalStatus::Approved,
            Some(approval) if approval.ask.is_open(self.now()) => ApprovalStatus::Open,
            Some(_) => ApprovalStatus::Expired,
        }))
    }

    /// Returns the names of the channels that can show a request now.
    pub fn channels_that_can_ask(&self) -> Vec<&str> {
        let can = |channel: &&Arc<dyn HumanChannel>| can_present(&***channel);
        self.channels.iter().filter(can).map(|channel| channel.name()).collect()
    }
}
