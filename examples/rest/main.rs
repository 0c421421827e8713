//! An HTTP API as operations: a parcel service, wrapped. `cargo run --example rest -- --help`.
//!
//! | file | what is in it |
//! |---|---|
//! | `model.rs` | what a parcel is |
//! | `operations.rs` | what a caller can do, and the request that does it |
//! | `api.rs` | how a request is sent, and what may come back |
//! | `error.rs` | what a status means to the caller |
//! | `service.rs` | the parcel service itself, in this process, unless `--upstream` names another |

mod api;
mod error;
mod model;
mod operations;
mod service;

use std::time::Duration;

use api::ParcelApi;
use mcp_aql::cli::clap::{self, Parser};
use mcp_aql::limits::RateLimits;
use mcp_aql::prelude::*;
use operations::Parcels;
use reqwest::Url;

/// Parcels of an HTTP service, for models and people.
#[derive(Debug, Parser)]
#[command(name = "rest", version)]
struct Arguments {
    /// Use the service that answers here; without it, one is started in this process
    #[arg(long, value_name = "URL", global = true, value_parser = api::base_url)]
    upstream: Option<Url>,
    /// How many seconds the service may take for an answer
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
    if arguments.mcp.answer_alone::<Arguments>()? {
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
        // None of our own. What the service says of its limits is remembered and kept to.
        .rate_limits(RateLimits::new())
        .build()?
        .run_command_of::<Arguments>(arguments.mcp)
        .await
}
