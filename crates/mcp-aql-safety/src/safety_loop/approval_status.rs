//! Read-only views of approvals and channels for the command line.

use std::sync::Arc;

use mcp_aql_core::OperationError;

use super::approval_record::{APPROVALS, Approval};
use super::channels::can_present;
use super::records::{Target, read};
use super::runtime::SafetyCore;
use crate::human_channel::HumanChannel;

/// The state of the approval request for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalStatus {
    /// No person has answered yet.
    Open,
    /// A person has approved the call.
    Approved,
    /// A person has denied the call.
    Denied,
    /// The request has expired without an answer.
    Expired,
}

impl SafetyCore {
    /// Returns the state of the request with this id. Returns `None` if no call made the request.
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

    /// Returns the names of the channels now able to show a request.
    pub fn channels_that_can_ask(&self) -> Vec<&str> {
        let can = |channel: &&Arc<dyn HumanChannel>| can_present(&***channel);
        self.channels.iter().filter(can).map(|channel| channel.name()).collect()
    }
}
