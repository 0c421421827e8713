//! Stand-in for [`tls`](super::tls) in a build without TLS.

use std::error::Error;

use super::connect::ProxyConnector;
use super::error::{ClientError, HttpError};

/// A connector without TLS.
pub(super) type Connector = ProxyConnector;

/// Returns the connector unchanged. [`Client::new`](super::Client::new) has rejected `https://`.
#[expect(clippy::unnecessary_wraps, reason = "the connector with TLS may fail")]
pub(super) fn connector(
    connector: ProxyConnector,
    _is_wanted: bool,
) -> Result<Connector, ClientError> {
    Ok(connector)
}

/// Returns `None`, because there are no handshakes.
pub(super) fn handshake_error(_error: &(dyn Error + 'static)) -> Option<HttpError> {
    None
}
