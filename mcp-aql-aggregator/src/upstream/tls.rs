//! TLS for the client: what it trusts.

use std::error::Error;
use std::io;
use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use rustls::{ClientConfig, RootCertStore};

use super::Failure;
use super::client::Dial;

/// Adds TLS to connections.
///
/// # Errors
/// When it is wanted, and there is nothing that could be trusted.
pub(super) fn connector(dial: Dial, is_wanted: bool) -> Result<HttpsConnector<Dial>, Failure> {
    let mut trusted = RootCertStore::empty();
    if is_wanted {
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if trusted.is_empty() {
            return Err(Failure::Untrusted);
        }
    }
    // Given here, and not installed for the whole program, which may have its own.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| Failure::FailedToStart)?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(dial))
}

/// Whether there is no connection because the server's certificate is not trusted.
pub(super) fn is_of_certificate(error: &(dyn Error + 'static)) -> bool {
    // Only the handshake fails with an `io::Error` at this place; what wraps another hides it from `source`.
    let Some(mut fault) = error.source().and_then(|error| error.downcast_ref::<io::Error>()) else {
        return false;
    };
    while let Some(inner) = fault.get_ref().and_then(|inner| inner.downcast_ref()) {
        fault = inner;
    }
    let inner = fault.get_ref().and_then(|inner| inner.downcast_ref());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}
