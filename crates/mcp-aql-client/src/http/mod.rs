//! An HTTP client for one server.
//!
//! - [`Client`]: sends requests over pooled connections, direct or through the proxy named in the
//!   environment, with TLS (feature `tls`). Errors say what to do and never quote what was sent.
//! - [`Reply`]: status, headers, and a body in parts, so that you can stop reading.
//! - [`Events`]: extracts the data of server-sent events from chunks of any size.
//! - [`authorization`] and [`is_local`]: read the credentials and the host of a URL.
//!
//! You decide on messages, credentials and size limits.
//!
//! ```no_run
//! use mcp_aql_client::http::{Client, Events, HeaderMap, Method, Url};
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

mod address;
mod client;
mod connect;
mod error;
mod events;
#[cfg_attr(not(feature = "tls"), path = "without_tls.rs")]
mod tls;

pub use address::{authorization, is_local};
pub use client::{Client, Reply};
pub use error::{ClientError, HttpError, HttpErrorKind};
pub use events::Events;
pub use hyper::body::Bytes;
pub use hyper::http::{HeaderMap, Method, StatusCode, header};
pub use url::Url;
