//! Wraps an HTTP API as operations: an adapter for a parcel service.
//!
//! ```console
//! $ cargo run -p rest -- --help
//! $ cargo run -p rest -- call get_parcel '{"parcel_id":"p-1"}'
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `model.rs` | parcels |
//! | `operations.rs` | the operations and the requests that implement them |
//! | `api.rs` | the HTTP client of the service |
//! | `error.rs` | maps HTTP statuses to errors |
//! | `service.rs` | the parcel service itself; it runs in this process, unless `--upstream` names another one |

mod api;
mod error;
mod model;
mod operations;
mod service;

use std::time::Duration;

use api::ParcelApi;
use mcp_aql::cli::clap::{self, Parser};
use mcp_aql::prelude::*;
use mcp_aql::rate_limits::RateLimits;
use operations::Parcels;
use reqwest::Url;

/// Parcels of an HTTP service, for models and people.
#[derive(Debug, Parser)]
#[command(name = "rest", version)]
struct Arguments {
    /// URL of the service [default: a service in this process]
    #[arg(long, value_name = "URL", global = true, value_parser = api::base_url)]
    upstream: Option<Url>,
    /// Seconds that the service may take to answer
    #[arg(
        long, value_name = "SECONDS", default_value_t = 10, global = true,
        value_parser = clap::value_parser!(u64).range(1..=600),
    )]
    patience: u64,
    #[command(flatten)]
    mcp: mcp_aql::cli::Options,
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let arguments = Arguments::parse();
    if arguments.mcp.run_without_adapter::<Arguments>()? {
        return Ok(());
    }
    let upstream = match arguments.upstream {
        Some(url) => url,
        None => service::start().await?,
    };
    let api = ParcelApi::new(upstream, Duration::from_secs(arguments.patience))
        .map_err(std::io::Error::other)?;
    Adapter::builder("rest")
        .version(env!("CARGO_PKG_VERSION"))
        .operations(Parcels::new(api))
        // This declares no limits. It only makes the adapter remember and enforce the limits that the service reports.
        .rate_limits(RateLimits::new())
        .build()
        .run_command_of::<Arguments>(arguments.mcp)
        .await
}
