//! Stands in for approvals through the safety loop if the feature `safety` is off.

use mcp_aql_core::internal::response::ErrorDetail;
use mcp_aql_core::{Adapter, Result, Session};

use super::prompt::Prompt;

/// An approval request, of which there is none.
pub(super) enum Approval {}

impl Approval {
    /// Returns `None`: there is no safety loop.
    pub(super) async fn of(_: &Adapter, _: &ErrorDetail) -> Result<Option<Self>> {
        Ok(None)
    }

    /// Cannot be called.
    pub(super) async fn wait(
        &self,
        _: &Adapter,
        _: &dyn Prompt,
        _: &Session,
        _: bool,
    ) -> Result<Option<&'static str>> {
        match *self {}
    }
}

/// Returns no environment variables: there is no safety loop.
pub(super) fn mode_variables(_: &Adapter) -> &'static [&'static str] {
    &[]
}
