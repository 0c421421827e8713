//! Tests of the runner and of its command, with small adapters, hostile servers and TLS.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may panic"
)]

mod book;
#[cfg(all(feature = "cli", feature = "http"))]
mod command;
#[cfg(all(feature = "cli", feature = "http"))]
mod hostile;
mod learning;
#[cfg(feature = "cli")]
mod options;
#[cfg(feature = "cli")]
mod support;
#[cfg(all(feature = "cli", feature = "tls"))]
mod tls;
