//! MCP sessions, as operations see them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::caller::principal::Principal;
use crate::util::lock;

/// The connection of one client. It has an id of its own, and state that lives as long as the connection.
///
/// A session opens with the first request of a connection, and ends when the connection closes or is lost. A client
/// that connects again gets a new session.
///
/// A client without connections of its own, for example over stateless HTTP, has no session:
/// [`Context::session`](crate::Context::session) returns `None`. If such a client is authenticated, its principal has
/// one session for all requests to the process.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use mcp_aql::Session;
///
/// let session = Session::new();
/// session.state::<AtomicU32>().fetch_add(1, Ordering::Relaxed);
/// assert_eq!(session.state::<AtomicU32>().load(Ordering::Relaxed), 1);
/// assert!(!session.has_ended());
/// ```
///
/// Source: MCP-AQL §2.3 (REQ-SES-01, REQ-SES-02, REQ-SES-06).
#[derive(Clone)]
pub struct Session(Arc<SessionData>);

struct SessionData {
    id: Box<str>,
    /// Id of the session in MCP, for the log.
    mcp_id: OnceLock<Box<str>>,
    is_of_principal: bool,
    ended: CancellationToken,
    state: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    client: OnceLock<Box<str>>,
}

/// Maximum number of stored characters of a client's name.
const MAX_CLIENT_CHARS: usize = 100;

impl Session {
    /// Opens a session. Adapters do this for you. Call it to test an operation.
    #[expect(clippy::new_without_default, reason = "every session is another one")]
    pub fn new() -> Self {
        Self::with_id(crate::vocab::new_id("s").into(), false)
    }

    /// Opens the session of a principal without connections of its own. Every process gives it the same id, so that a
    /// confirmation token from one process is valid in another.
    #[doc(hidden)]
    pub fn of_principal(principal: &Principal) -> Self {
        Self::with_id(principal.account().into(), true)
    }

    fn with_id(id: Box<str>, is_of_principal: bool) -> Self {
        let (ended, state) = (CancellationToken::new(), Mutex::default());
        let (client, mcp_id) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(SessionData { id, mcp_id, is_of_principal, ended, state, client }))
    }

    /// Returns `true` if other processes may have the same session. Its tokens then outlive this process.
    pub(crate) fn is_of_principal(&self) -> bool {
        self.0.is_of_principal
    }

    /// Returns `true` if a call or an execution uses the session.
    #[doc(hidden)]
    pub fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Returns the session's id. Use it as a label in logs and replies, never as a credential.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns the name and version of the client, for example `cursor 1.7.2`. Returns `None` if it has not
    /// introduced itself.
    ///
    /// The client chooses this string, and it is cut after 100 characters. Show it to people, but never use it as an
    /// identity.
    pub fn client(&self) -> Option<&str> {
        self.0.client.get().map(|client| &**client)
    }

    /// Records the client's introduction. Only the first one is kept.
    #[doc(hidden)]
    pub fn introduce(&self, client: &str) {
        let known = || client.chars().take(MAX_CLIENT_CHARS).collect::<String>().into();
        if !client.is_empty() {
            self.0.client.get_or_init(known);
        }
    }

    /// Returns the id of the session in MCP. Over HTTP, it is the header `Mcp-Session-Id`. Requests with this id
    /// belong to the session, so do not show it to other clients.
    pub fn mcp_id(&self) -> Option<&str> {
        self.0.mcp_id.get().map(|id| &**id)
    }

    /// Records the id of the session in MCP. Only the first one is kept.
    #[doc(hidden)]
    pub fn set_mcp_id(&self, id: &str) {
        self.0.mcp_id.get_or_init(|| id.into());
    }

    /// Returns the session's state of type `T`. It is created on first use and dropped when the session ends. The state
    /// is shared, so you need atomics or a lock inside `T` to change it.
    pub fn state<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let known = |states: &HashMap<_, Arc<dyn Any + Send + Sync>>| {
            states.get(&TypeId::of::<T>()).map(Arc::clone)?.downcast::<T>().ok()
        };
        let states = || lock(&self.0.state);
        if let Some(state) = known(&states()) {
            return state;
        }
        // The lock is not held here, because `T::default` may use this session.
        let made = Arc::new(T::default());
        let mut states = states();
        if let Some(state) = known(&states) {
            return state;
        }
        // An ended session keeps no state.
        if !self.has_ended() {
            states.insert(TypeId::of::<T>(), Arc::<T>::clone(&made));
        }
        made
    }

    /// Returns `true` if the connection has ended.
    pub fn has_ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// Waits for the end of the connection.
    pub async fn ended(&self) {
        self.0.ended.cancelled().await;
    }

    /// Ends the session. Wakes all tasks that wait for the end, and drops the session's state.
    #[doc(hidden)]
    pub fn end(&self) {
        self.0.ended.cancel();
        let states = std::mem::take(&mut *lock(&self.0.state));
        drop(states);
    }
}

impl PartialEq for Session {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Session {}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Session({})", self.0.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_ends_with_the_session() {
        // REQ-SES-02
        let session = Session::new();
        let state = session.state::<Mutex<u32>>();
        *state.lock().unwrap() = 7;
        let kept = Arc::downgrade(&state);
        drop(state);
        session.end();
        assert!(session.has_ended());
        assert!(kept.upgrade().is_none(), "the state outlived its session");
    }

    #[test]
    fn every_session_has_an_id_of_its_own() {
        // REQ-SES-01, REQ-SES-06
        let (first, second) = (Session::new(), Session::new());
        assert_ne!(first.id(), second.id());
        assert_ne!(first, second);
    }
}
