//! The connection to the adapter: JSON-RPC over lines or HTTP, with statistics of all messages.
//!
//! The crate has its own implementation, because a client library would hide violations: unknown members, lines that
//! are not JSON, and unexpected responses.

mod command;
mod connection;
#[cfg(feature = "http")]
mod http;
mod inbox;
mod limits;
mod lines;
mod memory;
mod modes;
mod no_response;
mod tap;
mod target;
mod trace;

pub use command::CommandTarget;
pub(crate) use connection::{Answer, Connection};
#[cfg(feature = "http")]
pub use http::UrlTarget;
pub use memory::MemoryTarget;
pub use modes::PerMode;
pub(crate) use no_response::NoResponse;
pub(crate) use tap::{MessageStatistics, Samples, Tap};
pub use target::Target;
pub(crate) use trace::{Trace, TraceDirection};
