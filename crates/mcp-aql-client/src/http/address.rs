//! Reads the credentials and the host of URLs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

/// Removes the credentials from a URL and returns them as a value for the header `Authorization`.
/// The value is marked as sensitive.
///
/// ```
/// let mut url = url::Url::parse("https://me:s%3acret@example.com/mcp")?;
/// let value = mcp_aql_client::http::authorization(&mut url).unwrap();
/// assert_eq!(value, "Basic bWU6czpjcmV0");
/// assert_eq!(url.as_str(), "https://example.com/mcp");
/// assert_eq!(mcp_aql_client::http::authorization(&mut url), None);
/// # Ok::<(), url::ParseError>(())
/// ```
#[must_use]
pub fn authorization(url: &mut Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut who: Vec<u8> = percent_decode_str(url.username()).collect();
    who.push(b':');
    who.extend(percent_decode_str(url.password().unwrap_or_default()));
    // These calls fail only for URLs without a host, and those have no credentials.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(who))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Returns `true` if the host of a URL is this machine. Names below `localhost` do not count,
/// because they are resolved like any other name.
///
/// ```
/// let is_local = |url: &str| url::Url::parse(url).map(|url| mcp_aql_client::http::is_local(&url));
/// assert_eq!(is_local("http://127.0.0.3:80/mcp"), Ok(true));
/// assert_eq!(is_local("http://[::1]/"), Ok(true));
/// assert_eq!(is_local("http://localhost./"), Ok(true));
/// assert_eq!(is_local("http://localhost.example.com/"), Ok(false));
/// assert_eq!(is_local("http://10.0.0.1/"), Ok(false));
/// ```
#[must_use]
pub fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => matches!(name, "localhost" | "localhost."),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
