//! The connection to the adapter: JSON-RPC over lines or HTTP, with statistics of all messages.
//!
//! The crate has its own implementation, because a client library would hide violations: unknown members, lines that
//! are not JSON, and unexpected responses.

mod command;
mod connection;
#[cfg(feature = "http")]
mod http;
mod inbox;
mod lines;
mod memory;
mod modes;
mod no_response;
mod tap;
mod trace;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

pub use command::CommandTarget;
pub(crate) use connection::{Answer, Connection};
#[cfg(feature = "http")]
pub use http::UrlTarget;
use inbox::Inbox;
pub use memory::MemoryTarget;
pub use modes::PerMode;
pub(crate) use no_response::NoResponse;
pub(crate) use tap::{MessageStatistics, Samples, Tap};
pub(crate) use trace::{Trace, TraceDirection};

/// A target to test: a command, a URL, or an adapter in memory. Every connection is a separate session.
///
/// Pass one of the implementations to [`Runner::new`](crate::Runner::new).
///
/// The trait is sealed and cannot be implemented outside this crate.
pub trait Target: sealed::Transport {}

mod sealed {
    use std::fmt;
    use std::sync::Arc;

    use futures_util::future::BoxFuture;

    use super::{Link, NoResponse, Tap};
    use crate::category::Mode;

    /// The transport of a target.
    pub trait Transport: Send + Sync + fmt::Debug {
        /// Opens a connection without the MCP handshake. If a mode is given, asks the adapter to serve in that mode.
        fn open(
            &self,
            mode: Option<Mode>,
            tap: Arc<Tap>,
        ) -> BoxFuture<'_, Result<Link, NoResponse>>;

        /// Returns `true` if [`open`](Self::open) can select that mode.
        fn offers(&self, mode: Mode) -> bool;

        /// Returns the description for reports: the command or the URL.
        fn describe(&self) -> String;

        /// Returns the secrets that reports must not contain.
        fn secrets(&self) -> Vec<String> {
            Vec::new()
        }
    }
}

/// An open connection. It sends messages and keeps the other side alive. Received messages go to the inbox
/// of the [`Tap`].
pub struct Link {
    pub(crate) outgoing: Arc<dyn Outgoing>,
    pub(crate) inbox: Arc<Inbox>,
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Link").finish_non_exhaustive()
    }
}

/// The sending half of a connection. Dropping it closes the connection and ends the process started for it.
pub(crate) trait Outgoing: Send + Sync {
    /// Sends a message as a line or as the body of a request.
    fn send<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<(), NoResponse>>;

    /// Closes standard input or deletes the session, within this time limit.
    fn close(&self, limit: Duration) -> BoxFuture<'_, ()>;

    /// Sets the negotiated MCP version for transports that repeat it in every request.
    fn agreed(&self, _version: &str) {}
}
