//! Checks the URLs of servers.

/// Checks a URL. The error does not quote it, because it may contain a password or a token.
pub(super) fn check_url(url: &str, http_hosts: &[String]) -> Result<(), String> {
    let parsed = url::Url::parse(url).map_err(|error| {
        format!("this is not a valid URL ({error}): write for example \"https://example.com/mcp\"")
    })?;
    let Some(host) = parsed.host() else {
        return Err("it contains no host: write for example \"https://example.com/mcp\"".to_owned());
    };
    match parsed.scheme() {
        "https" => Ok(()),
        "http" => {
            let is_local = mcp_aql_client::http::is_local(&parsed);
            let host = host.to_string();
            if is_local || http_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(&host)) {
                Ok(())
            } else {
                Err("plain HTTP to another machine is not encrypted: write https, or name \
                     its host in `aggregator.allowHttpHosts`"
                    .to_owned())
            }
        }
        _ => {
            Err("only http and https are supported: write for example \"https://example.com/mcp\""
                .to_owned())
        }
    }
}
