//! TLS for the client: trusted certificates, and advice on certificate errors.

use std::error::Error;
use std::io;
use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use rustls::{CertificateError, ClientConfig, RootCertStore};

use super::connect::ProxyConnector;
use super::error::{ClientError, HttpError, HttpErrorKind};

/// A connector that uses TLS if the URL requires it.
pub(super) type Connector = HttpsConnector<ProxyConnector>;

/// Adds TLS to a connector. Certificates are only loaded if `is_wanted`.
///
/// # Errors
///
/// Returns an error if TLS is required and no certificate is trusted.
pub(super) fn connector(
    connector: ProxyConnector,
    is_wanted: bool,
) -> Result<Connector, ClientError> {
    let mut trusted = RootCertStore::empty();
    if is_wanted {
        let found = rustls_native_certs::load_native_certs();
        trusted.add_parsable_certificates(found.certs);
        if trusted.is_empty() {
            let why: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
            return Err(ClientError::NoCertificates((!why.is_empty()).then(|| why.join("; "))));
        }
    }
    // The provider is passed here instead of being installed for the whole program, because the
    // program may install its own.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ClientError::Tls(error.to_string()))?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector))
}

/// Returns the error of a failed TLS handshake, with advice, or `None` for other errors.
pub(super) fn handshake_error(error: &(dyn Error + 'static)) -> Option<HttpError> {
    // Only a handshake fails with an `io::Error` here. An `io::Error` around another one does not
    // return it from `source`, so the innermost one is found by downcasting.
    let mut fault: &io::Error = error.source()?.downcast_ref()?;
    while let Some(inner) = fault.get_ref().and_then(|inner| inner.downcast_ref()) {
        fault = inner;
    }
    match fault.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidMessage(_)) => {
            let why = "the server does not speak TLS: if it has none, write http://".to_owned();
            Some(HttpError::with_message(HttpErrorKind::Connect, why))
        }
        Some(rustls::Error::InvalidCertificate(why)) => {
            let advice = match why {
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    ": if it is from a CA of your own, set SSL_CERT_FILE to a PEM file with the \
                     certificate of that CA"
                }
                // `openssl req -x509` creates such a certificate by default. The verifier's error
                // type is not public, so its message is compared.
                CertificateError::Other(other)
                    if other.to_string().contains("CaUsedAsEndEntity") =>
                {
                    ": it belongs to a CA itself; use a certificate that a CA signed, or one created \
                     with `basicConstraints=CA:FALSE`, and set SSL_CERT_FILE to its PEM file"
                }
                _ => "",
            };
            let why = format!("the certificate of the server is not trusted ({why}){advice}");
            Some(HttpError::with_message(HttpErrorKind::Certificate, why))
        }
        Some(_) => None,
        None => {
            let why =
                format!("the TLS handshake failed, {fault}: if the server has none, write http://");
            Some(HttpError::with_message(HttpErrorKind::Connect, why))
        }
    }
}
