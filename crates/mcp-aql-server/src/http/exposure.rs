//! Decides which hosts and origins are accepted, and whether a server may listen on an address.

use std::net::IpAddr;

use mcp_aql_core::{Error, Result};

use super::options::HttpOptions;

impl HttpOptions {
    /// Checks that the options allow a server to listen on this address.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`] if other machines could reach the address and the options do not allow that. It also
    /// returns this error if a number is out of range, or if an allowed host or origin is invalid, such as
    /// `https://tasks.example.org` as a host.
    ///
    /// ```
    /// use std::net::IpAddr;
    ///
    /// use mcp_aql::HttpOptions;
    ///
    /// assert!(HttpOptions::new().check(IpAddr::from([127, 0, 0, 1])).is_ok());
    /// assert!(HttpOptions::new().check(IpAddr::from([0, 0, 0, 0])).is_err());
    /// ```
    pub fn check(&self, address: IpAddr) -> Result {
        self.check_numbers()?;
        if let Some(host) = self.settings.allow_hosts.iter().find(|host| !is_host(host)) {
            return Err(Error::Usage(format!(
                "'{host}' is not a host: write it without scheme and path, such as `tasks.example.org`"
            )));
        }
        let is_origin = |origin: &&String| {
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            *origin == "null" || authority.is_some_and(is_host)
        };
        if let Some(origin) = self.settings.allow_origins.iter().find(|origin| !is_origin(origin)) {
            return Err(Error::Usage(format!(
                "'{origin}' is not an origin: write scheme, host and port, such as `https://app.example.org`"
            )));
        }
        if address.is_loopback() {
            return Ok(());
        }
        if self.settings.allow_remote && !self.settings.allow_hosts.is_empty() {
            return match self.authenticator.is_some() || self.settings.insecure_anonymous {
                true => Ok(()),
                false => Err(Error::Usage(format!(
                    "{address} can be reached from other machines, and nothing authenticates callers: configure it \
                     (`authenticator`, the table `auth` of the configuration), or let everybody call every operation \
                     (`insecure_anonymous`, `--insecure-anonymous`)"
                ))),
            };
        }
        let missing = if self.settings.allow_remote {
            "name the hosts by which it is called (`allow_hosts`, `--allow-host`)"
        } else {
            "allow that (`allow_remote`, `--allow-remote`) and name the hosts by which it is called \
             (`allow_hosts`, `--allow-host`)"
        };
        Err(Error::Usage(format!("{address} can be reached from other machines: {missing}")))
    }

    /// Checks the ranges of numbers.
    pub(super) fn check_numbers(&self) -> Result {
        let problems = self.settings.problems();
        if problems.is_empty() { Ok(()) } else { Err(Error::Usage(problems.join("; "))) }
    }

    /// Returns the accepted hosts: loopback, and those [allowed](Self::allow_host).
    pub fn allowed_hosts(&self) -> Vec<String> {
        let hosts = ["localhost", "127.0.0.1", "::1"].into_iter().map(str::to_owned);
        hosts.chain(self.settings.allow_hosts.iter().cloned()).collect()
    }

    /// Returns the accepted origins: loopback, and those [allowed](Self::allow_origin).
    pub fn allowed_origins(&self) -> Vec<String> {
        let origins = ["localhost", "127.0.0.1", "[::1]"].into_iter().flat_map(|host| {
            ["http", "https"].into_iter().map(move |scheme| format!("{scheme}://{host}:*"))
        });
        origins.chain(self.settings.allow_origins.iter().cloned()).collect()
    }
}

/// Returns `true` if a string can be a host, with or without a port.
fn is_host(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', '@', '?', '#']) && !text.contains(char::is_whitespace)
}
