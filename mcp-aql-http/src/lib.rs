//! HTTP as clients of MCP servers need it.
//!
//! - [`Client`]: requests over connections that are used again, direct or through the proxy that the
//!   environment names, with TLS (feature `tls`), whose errors say what to do and never what was sent;
//! - [`Reply`]: its status and headers, and its body as it comes, so that whoever reads can stop;
//! - [`Events`]: the data of server-sent events, however they are cut, and what they hold so far;
//! - [`authorization`], [`is_local`]: what a URL says about who asks, and about where the server is.
//!
//! It knows nothing of MCP itself: who asks, what, and how long an answer may be is for its users to say.
//!
//! ```no_run
//! use mcp_aql_http::http::{HeaderMap, Method};
//! use mcp_aql_http::{Client, Events, Url};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let url = Url::parse("http://127.0.0.1:8080/mcp")?;
//! let client = Client::new(&url)?;
//! let mut reply = client.send(&url, Method::POST, HeaderMap::new(), b"{}".to_vec()).await?;
//! let mut events = Events::default();
//! while let Some(part) = reply.chunk().await? {
//!     for data in events.take(&part) {
//!         println!("{}", String::from_utf8_lossy(&data));
//!     }
//!     if events.held() > 1_000_000 {
//!         break;
//!     }
//! }
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod address;
mod client;
mod error;
mod events;
#[cfg(feature = "tls")]
mod tls;

pub use address::{authorization, is_local};
pub use client::{Client, Reply};
pub use error::{HttpError, HttpErrorKind, Unusable};
pub use events::Events;
pub use hyper::body::Bytes;
pub use hyper::http;
pub use url::Url;
