//! The HTTP options of the command `serve`.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use clap::builder::RangedI64ValueParser;
use mcp_aql_core::adapter::Adapter;
use mcp_aql_core::main_error::Result;
use mcp_aql_server::stop::on_signal;
use mcp_aql_server::{HttpOptions, ServeHttp as _, ServeStdio as _};
use tokio::net::TcpListener;

use super::Exit;

/// The options for serving MCP over HTTP.
#[derive(Debug, Clone, clap::Args)]
#[non_exhaustive]
pub struct HttpArgs {
    /// Listen here, for example on 127.0.0.1:8787; the endpoint is /mcp
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Also answer requests to this host
    #[arg(long, value_name = "HOST", requires = "http")]
    pub allow_host: Vec<String>,
    /// Also answer pages of this origin: scheme, host and port
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub allow_origin: Vec<String>,
    /// Listen on an address that other machines reach
    #[arg(long, requires = "http")]
    pub allow_remote: bool,
    /// Let everybody who reaches the address call every operation
    #[arg(long, requires = "http")]
    pub insecure_anonymous: bool,
    /// Keep no sessions
    #[arg(long, requires = "http")]
    pub stateless: bool,
    /// Keep at most this many sessions; a further one evicts the idle one that is unused for longest
    #[arg(
        long,
        value_name = "N",
        requires = "http",
        conflicts_with = "stateless",
        default_value_t = HttpOptions::DEFAULT_MAX_SESSIONS,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(1..=1_000_000),
    )]
    pub max_sessions: usize,
    /// Keep at most this many sessions of one authenticated caller; a further one evicts an idle one of the caller
    #[arg(
        long,
        value_name = "N",
        requires = "http",
        conflicts_with = "stateless",
        default_value_t = HttpOptions::DEFAULT_MAX_SESSIONS_PER_PRINCIPAL,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(1..=1_000_000),
    )]
    pub max_sessions_per_principal: usize,
    /// End a session that is unused for this long
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "http",
        conflicts_with = "stateless",
        default_value_t = HttpOptions::DEFAULT_SESSION_TIMEOUT_SECONDS,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<u64>::new().range(1..=2_592_000),
    )]
    pub session_timeout: u64,
    /// Close a client that sends or reads nothing for this long
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "http",
        default_value_t = HttpOptions::DEFAULT_CLIENT_TIMEOUT_SECONDS,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<u64>::new().range(1..=86_400),
    )]
    pub client_timeout: u64,
    /// Keep at most this many connections; a further one closes the one that is idle for longest
    #[arg(
        long,
        value_name = "N",
        requires = "http",
        default_value_t = HttpOptions::DEFAULT_MAX_CONNECTIONS,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(1..=1_000_000),
    )]
    pub max_connections: usize,
    /// Hold at most this much of incomplete requests; beyond it the oldest gets 503
    #[arg(
        long,
        value_name = "MIB",
        requires = "http",
        default_value_t = HttpOptions::DEFAULT_MAX_INFLIGHT_MIB,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(1..=1_000_000),
    )]
    pub max_inflight: usize,
    /// Keep the reply to a finished call for this long, for a client that has lost its connection
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "http",
        conflicts_with = "stateless",
        default_value_t = HttpOptions::DEFAULT_REPLY_RETENTION_SECONDS,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<u64>::new().range(0..=86_400),
    )]
    pub reply_retention: u64,
    /// Keep at most this much of such replies; beyond it the oldest are dropped
    #[arg(
        long,
        value_name = "MIB",
        requires = "http",
        conflicts_with = "stateless",
        default_value_t = HttpOptions::DEFAULT_MAX_KEPT_REPLY_MIB,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(0..=1_000_000),
    )]
    pub max_kept_replies: usize,
    /// Keep at most this much of such replies of one session
    #[arg(
        long,
        value_name = "MIB",
        requires = "http",
        conflicts_with = "stateless",
        default_value_t = HttpOptions::DEFAULT_MAX_KEPT_REPLY_MIB_PER_SESSION,
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(0..=1_000_000),
    )]
    pub max_kept_replies_per_session: usize,
}

impl HttpArgs {
    pub(super) async fn serve(self, adapter: &Adapter) -> Result<Exit> {
        match self.http {
            Some(address) => serve(adapter, address, self.options().configured(adapter)?).await,
            None => adapter.serve_stdio().await.map(|()| Exit::Success),
        }
    }

    fn options(self) -> HttpOptions {
        let options = HttpOptions::new()
            .allow_remote(self.allow_remote)
            .insecure_anonymous(self.insecure_anonymous)
            .sessions(!self.stateless)
            .max_sessions(self.max_sessions)
            .max_sessions_per_principal(self.max_sessions_per_principal)
            .session_timeout(Duration::from_secs(self.session_timeout))
            .client_timeout(Duration::from_secs(self.client_timeout))
            .max_connections(self.max_connections)
            .max_inflight_bytes(self.max_inflight.saturating_mul(1 << 20))
            .reply_retention(Duration::from_secs(self.reply_retention))
            .max_kept_reply_bytes(self.max_kept_replies.saturating_mul(1 << 20))
            .max_kept_reply_bytes_per_session(
                self.max_kept_replies_per_session.saturating_mul(1 << 20),
            );
        let options = self.allow_host.into_iter().fold(options, HttpOptions::allow_host);
        self.allow_origin.into_iter().fold(options, HttpOptions::allow_origin)
    }
}

async fn serve(adapter: &Adapter, address: SocketAddr, options: HttpOptions) -> Result<Exit> {
    options.check(address.ip())?;
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    // Printed after binding: with port 0, the system chooses the port.
    let _ = writeln!(std::io::stderr(), "MCP on http://{address}/mcp, Ctrl-C to stop");
    adapter.serve_listener(listener, options, on_signal()).await?;
    Ok(Exit::Success)
}
