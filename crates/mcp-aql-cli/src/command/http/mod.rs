//! The HTTP options of the command `serve`.

#[cfg_attr(not(unix), path = "without_service_manager.rs")]
mod service_manager;
mod settings;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::builder::RangedI64ValueParser;
use mcp_aql_core::internal::adapter::HttpTable;
use mcp_aql_core::{Adapter, BuildError, Error, Result};
use mcp_aql_server::stop::on_signal;
use mcp_aql_server::{HttpOptions, ServeHttp as _, bind};

use self::service_manager::notify;
use super::Exit;
use super::process_report::{announce, log_state};
use super::stdio::serve_stdio;

/// The options for serving MCP over HTTP.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "HTTP")]
#[non_exhaustive]
pub struct HttpArgs {
    /// Listen here: a port of this machine, such as 8787, or 127.0.0.1:8787; the endpoint is /mcp [default: the configured
    /// address]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub http: Option<SocketAddr>,
    /// Serve on standard input and output, although an address is configured
    #[arg(long, conflicts_with = "http")]
    pub stdio: bool,
    /// Allow requests to this host
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Allow requests from pages of this origin: scheme, host and port
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// Listen on an address that other machines reach
    #[arg(long)]
    pub allow_remote: bool,
    /// Let everybody who reaches the address call every operation
    #[arg(long)]
    pub insecure_anonymous: bool,
    /// Keep no sessions
    #[arg(long)]
    pub stateless: bool,
    /// Keep at most this many sessions; a further one evicts the idle one that is unused for longest [default: 1000]
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "stateless",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(HttpTable::COUNTS),
    )]
    pub max_sessions: Option<usize>,
    /// Keep at most this many sessions of one authenticated caller; a further one evicts an idle one of the caller
    /// [default: 100]
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "stateless",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(HttpTable::COUNTS),
    )]
    pub max_sessions_per_principal: Option<usize>,
    /// End a session that is unused for this long [default: 1800]
    #[arg(
        long,
        value_name = "SECONDS",
        conflicts_with = "stateless",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<u64>::new().range(HttpTable::SESSION_SECONDS),
    )]
    pub session_timeout: Option<u64>,
    /// After the signal to stop, serve calls for this long, while `/readyz` is 503 [default: 0]
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<u64>::new().range(HttpTable::STOP_SECONDS),
    )]
    pub stop_delay: Option<u64>,
    /// Close a client that sends or reads nothing for this long [default: 30]
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<u64>::new().range(HttpTable::CLIENT_SECONDS),
    )]
    pub client_timeout: Option<u64>,
    /// Keep at most this many connections; a further one closes the one that is idle for longest [default: 1000]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(HttpTable::COUNTS),
    )]
    pub max_connections: Option<usize>,
    /// Hold at most this much of incomplete requests; beyond it the oldest gets 503 [default: 64]
    #[arg(
        long,
        value_name = "MIB",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(HttpTable::COUNTS),
    )]
    pub max_inflight: Option<usize>,
    /// Keep the reply to a finished call for this long, for a client that has lost its connection [default: 300]
    #[arg(
        long,
        value_name = "SECONDS",
        conflicts_with = "stateless",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<u64>::new().range(HttpTable::REPLY_SECONDS),
    )]
    pub reply_retention: Option<u64>,
    /// Keep at most this much of such replies; beyond it the oldest are dropped [default: 16]
    #[arg(
        long,
        value_name = "MIB",
        conflicts_with = "stateless",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(HttpTable::REPLY_SIZES),
    )]
    pub max_kept_replies: Option<usize>,
    /// Keep at most this much of such replies of one session [default: 4]
    #[arg(
        long,
        value_name = "MIB",
        conflicts_with = "stateless",
        allow_negative_numbers = true,
        value_parser = RangedI64ValueParser::<usize>::new().range(HttpTable::REPLY_SIZES),
    )]
    pub max_kept_replies_per_session: Option<usize>,
}

/// Parses an address with a port. `8787` and `localhost:8787` are ports on the loopback interface.
fn address(text: &str) -> std::result::Result<SocketAddr, String> {
    let local = |port: &str| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().ok()?)));
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    local(port).or_else(|| text.parse().ok()).ok_or_else(|| {
        "write a port, such as 8787, or an address with a port, such as 127.0.0.1:8787".to_owned()
    })
}

impl HttpArgs {
    pub(super) async fn serve(self, adapter: &Adapter) -> Result<Exit> {
        match self.address(adapter)? {
            Some(address) => {
                let options = self.checked_options(adapter, address)?;
                serve(adapter, address, options).await
            }
            None => serve_stdio(adapter).await,
        }
    }

    /// Checks the configuration and the options for serving. Returns the address.
    pub(super) fn check(&self, adapter: &Adapter) -> Result<Option<SocketAddr>> {
        let address = self.address(adapter)?;
        match address {
            Some(address) => self.checked_options(adapter, address).map(drop)?,
            // The tables are checked without an address, too, because a program with a router of its own reads them.
            None => HttpOptions::new().configured(adapter).map(drop)?,
        }
        Ok(address)
    }

    /// Returns the address to listen on: from the command line, or else from the configuration.
    fn address(&self, adapter: &Adapter) -> Result<Option<SocketAddr>> {
        let configured = adapter.settings().http.address.filter(|_| !self.stdio);
        let address = self.http.or(configured);
        if address.is_none()
            && let Some(flag) = self.flags().into_iter().find(|flag| flag.value.is_some())
        {
            return Err(Error::Usage(format!(
                "{} belongs to serving over HTTP: add --http <ADDRESS>, or configure `http.address`",
                flag.name
            )));
        }
        Ok(address)
    }

    /// Returns the options for serving on this address.
    ///
    /// # Errors
    /// [`Error::Usage`] for an error in the command line, and [`Error::Build`] for an error in the configuration.
    fn checked_options(&self, adapter: &Adapter, address: SocketAddr) -> Result<HttpOptions> {
        let stateless = adapter.settings().http.stateless == Some(true);
        if let Some(flag) = self.flags().iter().find(|flag| stateless && flag.needs_sessions()) {
            return Err(Error::Usage(format!(
                "{} belongs to sessions, but `http.stateless` is true: change one of them",
                flag.name
            )));
        }
        let options = self.options(HttpOptions::new().configured(adapter)?);
        options.check(address.ip()).map_err(|error| match error {
            Error::Usage(problem) if self.http.is_none() => BuildError::of(problem).into(),
            other => other,
        })?;
        Ok(options)
    }

    /// Applies the options of the command line to the configured ones.
    fn options(&self, mut options: HttpOptions) -> HttpOptions {
        fn set<T>(
            options: HttpOptions,
            value: Option<T>,
            set: fn(HttpOptions, T) -> HttpOptions,
        ) -> HttpOptions {
            match value {
                Some(value) => set(options, value),
                None => options,
            }
        }
        let seconds = |value: Option<u64>| value.map(Duration::from_secs);
        options = set(options, self.allow_remote.then_some(true), HttpOptions::allow_remote);
        let anonymous = self.insecure_anonymous.then_some(true);
        options = set(options, anonymous, HttpOptions::insecure_anonymous);
        options = set(options, self.stateless.then_some(false), HttpOptions::sessions);
        options = set(options, self.max_sessions, HttpOptions::max_sessions);
        let per_principal = self.max_sessions_per_principal;
        options = set(options, per_principal, HttpOptions::max_sessions_per_principal);
        options = set(options, seconds(self.session_timeout), HttpOptions::session_timeout);
        options = set(options, seconds(self.client_timeout), HttpOptions::client_timeout);
        options = set(options, self.max_connections, HttpOptions::max_connections);
        options = set(options, seconds(self.stop_delay), HttpOptions::stop_delay);
        let bytes = |mib: Option<usize>| mib.map(|mib| mib.saturating_mul(1 << 20));
        options = set(options, bytes(self.max_inflight), HttpOptions::max_inflight_bytes);
        options = set(options, seconds(self.reply_retention), HttpOptions::reply_retention);
        let (kept, of_session) = (self.max_kept_replies, self.max_kept_replies_per_session);
        options = set(options, bytes(kept), HttpOptions::max_kept_reply_bytes);
        options = set(options, bytes(of_session), HttpOptions::max_kept_reply_bytes_per_session);
        options = self.allow_host.iter().cloned().fold(options, HttpOptions::allow_host);
        self.allow_origin.iter().cloned().fold(options, HttpOptions::allow_origin)
    }
}

async fn serve(adapter: &Adapter, address: SocketAddr, options: HttpOptions) -> Result<Exit> {
    let listener = bind(address).await?;
    // With port 0, the system has chosen a port.
    let address = listener.local_addr()?;
    let report = move || {
        announce(&format!("MCP on http://{address}/mcp, Ctrl-C to stop"));
        notify(&format!("READY=1\nSTATUS=MCP on http://{address}/mcp"));
    };
    let stop = on_signal().reporting(report, || {
        log_state("shutting down");
        notify("STOPPING=1\nSTATUS=Shutting down");
    });
    adapter.serve_listener(listener, options, stop).await?;
    Ok(Exit::Success)
}
