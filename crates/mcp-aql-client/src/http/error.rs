//! Errors of creating a client and of sending a request.

use std::error::Error;

/// The error of [`Client::new`](super::Client::new): a URL cannot be used.
///
/// The message continues a sentence that begins with `the URL …`. It never quotes the URL, which
/// may contain credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The scheme is not `http` or `https`.
    #[error("does not begin with http:// or https://")]
    NotHttp,
    /// The URL is too long or contains characters that HTTP does not allow.
    #[error("cannot be used: {0}")]
    Uri(String),
    /// TLS is not built in.
    #[error("requires TLS, but this program was built without it: enable the cargo feature `tls`")]
    NoTls,
    /// The proxy named in the environment has an unsupported scheme.
    #[error(
        "requires the proxy named in the environment, but only proxies with http:// are supported"
    )]
    Proxy,
    /// No certificate is trusted. Contains the system's reason if it states one.
    #[error(
        "requires trusted certificates, but this machine has none{}: set SSL_CERT_FILE to a PEM \
         file with the certificate of the CA",
        .0.as_ref().map(|why| format!(" ({why})")).unwrap_or_default()
    )]
    NoCertificates(Option<String>),
    /// TLS could not be configured.
    #[error("cannot be used: {0}")]
    Tls(String),
}

/// The kind of an [`HttpError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// The connection could not be opened: no process listens, the server uses another protocol, or
    /// the URL belongs to another server.
    Connect,
    /// The connection could not be opened, because the server's certificate is not trusted.
    Certificate,
    /// The connection broke, or the server did not send valid HTTP.
    Broken,
}

/// The error of a request or of its reply. The message is the system's, followed by advice if there
/// is any.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct HttpError {
    kind: HttpErrorKind,
    why: String,
}

impl HttpError {
    pub(crate) fn new(kind: HttpErrorKind, error: &(dyn Error + 'static)) -> Self {
        Self { kind, why: error_chain(error) }
    }

    pub(crate) const fn with_message(kind: HttpErrorKind, why: String) -> Self {
        Self { kind, why }
    }

    /// Returns the kind of the error, in case you handle some kinds differently.
    #[must_use]
    pub const fn kind(&self) -> HttpErrorKind {
        self.kind
    }

    /// Returns `true` if the connection could not be opened. Nothing was sent then, so you can
    /// safely retry.
    #[must_use]
    pub const fn is_connect(&self) -> bool {
        matches!(self.kind, HttpErrorKind::Connect | HttpErrorKind::Certificate)
    }
}

/// Joins the messages of an error's causes with `: `.
fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    // The outermost error only names a part of the client.
    let mut cause = error.source().or(Some(error));
    while let Some(error) = cause {
        let deeper = error.to_string();
        if text.is_empty() {
            text = deeper;
        } else if !text.contains(&deeper) {
            text = format!("{text}: {deeper}");
        }
        cause = error.source();
    }
    text
}
