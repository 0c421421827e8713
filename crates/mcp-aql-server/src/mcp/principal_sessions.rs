//! The sessions of authenticated callers without a connection of their own.

use std::collections::HashMap;
use std::sync::Mutex;

use mcp_aql_core::Session;
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::util::lock;

/// Number of sessions at which unused ones are dropped.
const MAX_UNUSED: usize = 10_000;

/// One session for each principal. It keeps the executions and confirmations of different callers apart.
#[derive(Debug, Default)]
pub(crate) struct PrincipalSessions(Mutex<HashMap<Box<str>, Session>>);

impl PrincipalSessions {
    /// Returns the session of a principal. Creates one if the principal has none, or if the last one has ended.
    pub(crate) fn of(&self, principal: &Principal) -> Session {
        let identity = principal.identity();
        let mut sessions = lock(&self.0);
        if let Some(session) = sessions.get(&*identity).filter(|it| !it.has_ended()) {
            return session.clone();
        }
        if sessions.len() >= MAX_UNUSED {
            sessions.retain(|_, session| session.is_in_use());
        }
        let session = Session::of_principal(principal);
        sessions.insert(identity.into(), session.clone());
        session
    }

    /// Ends all sessions.
    #[cfg(feature = "http")]
    pub(crate) fn end(&self) {
        let sessions = std::mem::take(&mut *lock(&self.0));
        sessions.values().for_each(Session::end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_one_session() {
        let (sessions, others) = (PrincipalSessions::default(), PrincipalSessions::default());
        let (ada, eve) = (Principal::new("a", "ada"), Principal::new("a", "eve"));
        assert_eq!(sessions.of(&ada), sessions.of(&ada));
        assert_ne!(sessions.of(&ada).id(), sessions.of(&eve).id());
        let of_tenant = ada.clone().with_claim("tenant", "north");
        assert_ne!(sessions.of(&ada).id(), sessions.of(&of_tenant).id());
        assert_eq!(sessions.of(&ada).id(), others.of(&ada).id(), "processes differ");
        assert!(!sessions.of(&ada).id().contains("ada"));
    }

    #[test]
    fn sessions_that_are_not_in_use_are_dropped() {
        let sessions = PrincipalSessions::default();
        let used = sessions.of(&Principal::new("a", "used"));
        for number in 0..=MAX_UNUSED {
            sessions.of(&Principal::new("a", &number.to_string()));
        }
        assert!(lock(&sessions.0).len() < 10);
        assert_eq!(sessions.of(&Principal::new("a", "used")), used);
    }
}
