//! The caller of an operation of the safety loop.

use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::{Context, Session};

/// The caller of an operation of the safety loop.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) session: Option<&'a Session>,
    /// Id of the authenticated caller.
    pub(super) principal: Option<&'a str>,
}

/// The session and the principal in an audit entry.
#[derive(Clone, Copy, Default)]
pub(super) struct CallerIds<'a> {
    pub(super) session: Option<&'a str>,
    pub(super) principal: Option<&'a str>,
}

impl<'a> Caller<'a> {
    pub(super) fn ids(self) -> CallerIds<'a> {
        CallerIds { session: self.session.map(Session::id), principal: self.principal }
    }
}

impl<'a> From<&'a Context> for Caller<'a> {
    fn from(context: &'a Context) -> Self {
        let principal = context.principal().map(Principal::id);
        Self { session: context.session(), principal }
    }
}

impl<'a> From<Option<&'a Session>> for Caller<'a> {
    fn from(session: Option<&'a Session>) -> Self {
        Self { session, principal: None }
    }
}
