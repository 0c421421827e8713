//! The HTTP options of the command `serve`.

#[cfg_attr(not(unix), path = "without_service_manager.rs")]
mod service_manager;

use std::net::SocketAddr;

use mcp_aql_core::{Adapter, BuildError, Error, Result};
use mcp_aql_server::stop::on_signal;
use mcp_aql_server::{HttpOptions, ServeHttp as _, bind};

use self::service_manager::notify;
use super::Exit;
use super::process_report::{announce, log_state};
use super::setting_flags::{SettingFlags, is_of_http};
use super::stdio::serve_stdio;

/// The options for serving MCP over HTTP, in addition to those that set keys of the configuration file.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "HTTP")]
#[non_exhaustive]
pub struct HttpArgs {
    /// Serve on standard input and output, although an address is configured
    #[arg(long, conflicts_with = "http.address")]
    pub stdio: bool,
}

impl HttpArgs {
    pub(super) async fn serve(self, adapter: &Adapter, flags: &SettingFlags) -> Result<Exit> {
        match self.address(adapter, flags)? {
            Some(address) => {
                let options = checked_options(adapter, flags, address)?;
                serve(adapter, address, options).await
            }
            None => serve_stdio(adapter).await,
        }
    }

    /// Checks the configuration and the options for serving. Returns the address.
    pub(super) fn check(
        &self,
        adapter: &Adapter,
        flags: &SettingFlags,
    ) -> Result<Option<SocketAddr>> {
        let address = self.address(adapter, flags)?;
        match address {
            Some(address) => checked_options(adapter, flags, address).map(drop)?,
            // The tables are checked without an address, too, because a program with a router of its own reads them.
            None => HttpOptions::new().configured(adapter).map(drop)?,
        }
        Ok(address)
    }

    /// Returns the address to listen on: from the command line, or else from the configuration.
    fn address(&self, adapter: &Adapter, flags: &SettingFlags) -> Result<Option<SocketAddr>> {
        let address = adapter.settings().http.address.filter(|_| !self.stdio);
        if address.is_none()
            && let Some((_, flag, _)) = flags.0.iter().find(|(key, ..)| is_of_http(key))
        {
            return Err(Error::Usage(format!(
                "{} belongs to serving over HTTP: add --http <ADDRESS>, or configure `http.address`",
                flag.name
            )));
        }
        Ok(address)
    }
}

/// Returns the options for serving on this address.
///
/// # Errors
///
/// Returns [`Error::Usage`] for an error in the command line, and [`Error::Build`] for an error in the configuration.
fn checked_options(
    adapter: &Adapter,
    flags: &SettingFlags,
    address: SocketAddr,
) -> Result<HttpOptions> {
    if adapter.settings().http.stateless
        && let Some((_, flag, _)) = flags.0.iter().find(|(_, flag, _)| flag.needs_sessions)
    {
        return Err(Error::Usage(format!(
            "{} belongs to sessions, but `http.stateless` is true: change one of them",
            flag.name
        )));
    }
    let options = HttpOptions::new().configured(adapter)?;
    let is_address_given = flags.0.iter().any(|(key, ..)| key.path == "http.address");
    options.check(address.ip()).map_err(|error| match error {
        Error::Usage(problem) if !is_address_given => BuildError::of(problem).into(),
        other => other,
    })?;
    Ok(options)
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
