//! Stand-in for approvals through the safety loop if the feature `safety` is off.

use mcp_aql_core::internal::response::ErrorDetail;
use mcp_aql_core::{Adapter, Result, Session};

use super::prompt::Prompt;

/// An approval request. Without the feature, no value of this type exists.
pub(super) enum Approval {}

impl Approval {
    /// Returns `None`, because there is no safety loop.
    pub(super) async fn of(_: &Adapter, _: &ErrorDetail) -> Result<Option<Self>> {
        Ok(None)
    }

    /// Never called, because there is no value of this type.
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

/// Returns no variables, because there is no safety loop.
pub(super) fn mode_variables(_: &Adapter) -> &'static [&'static str] {
    &[]
}
