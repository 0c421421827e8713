//! The interface of the transports: a target opens links.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::inbox::Inbox;
use super::{NoResponse, Tap};

/// A way to reach an adapter: a command, a URL, or memory. Every connection is a separate session.
///
/// The trait is sealed and cannot be implemented outside this crate.
pub trait Target: sealed::Transport {}

pub(super) mod sealed {
    use std::fmt;
    use std::sync::Arc;

    use futures_util::future::BoxFuture;

    use super::{Link, NoResponse, Tap};
    use crate::category::Mode;

    /// The operations of a target.
    pub trait Transport: Send + Sync + fmt::Debug {
        /// Opens a connection without the MCP handshake. With a mode, the adapter is asked to serve in that
        /// mode.
        fn open(
            &self,
            mode: Option<Mode>,
            tap: Arc<Tap>,
        ) -> BoxFuture<'_, Result<Link, NoResponse>>;

        /// Whether [`open`](Self::open) can select that mode.
        fn offers(&self, mode: Mode) -> bool;

        /// The description in reports: the command or the URL.
        fn describe(&self) -> String;

        /// The secrets that reports must not contain.
        fn secrets(&self) -> Vec<String> {
            Vec::new()
        }
    }
}

/// An open connection: the sender of messages, which keeps the other side alive. Received messages go to
/// the [`Tap`]'s inbox.
pub struct Link {
    pub(crate) outgoing: Arc<dyn Outgoing>,
    pub(crate) inbox: Arc<Inbox>,
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Link").finish_non_exhaustive()
    }
}

/// The sending half of a connection. Dropping it closes the connection and ends processes started for it.
pub(crate) trait Outgoing: Send + Sync {
    /// Sends a message as a line or as the body of a request.
    fn send<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<(), NoResponse>>;

    /// Closes standard input or deletes the session within this time limit.
    fn close(&self, limit: Duration) -> BoxFuture<'_, ()>;

    /// Sets the negotiated MCP version for transports that repeat it.
    fn agreed(&self, _version: &str) {}
}
