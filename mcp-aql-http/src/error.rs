//! Why there is no client, and why there is no reply.

use std::error::Error;

/// Why a URL cannot be asked. Its text goes on where `the URL … ` begins, and holds nothing of the URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// It is none of HTTP.
    #[error("does not begin with http:// or https://")]
    NotHttp,
    /// It is too long, or has characters that HTTP does not know there: why.
    #[error("cannot be asked: {0}")]
    Uri(String),
    /// This build has no TLS.
    #[error("needs TLS, which is not built in: build with the cargo feature `tls`")]
    NoTls,
    /// The proxy that the environment names is of another kind.
    #[error(
        "would go through the proxy that the environment names, and only proxies with http:// can be used"
    )]
    Proxy,
    /// There is nothing to trust: why, where the system says so.
    #[error(
        "needs certificates to trust, and there are none on this machine{}: set SSL_CERT_FILE to a PEM \
         file with the certificate of the CA",
        .0.as_ref().map(|why| format!(" ({why})")).unwrap_or_default()
    )]
    NoCertificates(Option<String>),
    /// There is no TLS to be had.
    #[error("cannot be asked: {0}")]
    Tls(String),
}

/// What an [`HttpError`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// There is no connection: nobody listens, who listens speaks another protocol, or the URL is not of
    /// that server.
    Connect,
    /// There is no connection, for the server's certificate is not trusted.
    Certificate,
    /// The connection broke, or what came is no HTTP.
    Broken,
}

/// Why there is no reply, or no more of it: in the system's words, and with what to do where that is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct HttpError {
    kind: HttpErrorKind,
    why: String,
}

impl HttpError {
    pub(crate) fn new(kind: HttpErrorKind, error: &(dyn Error + 'static)) -> Self {
        Self { kind, why: told(error) }
    }

    pub(crate) const fn told(kind: HttpErrorKind, why: String) -> Self {
        Self { kind, why }
    }

    /// What it is about.
    #[must_use]
    pub const fn kind(&self) -> HttpErrorKind {
        self.kind
    }

    /// Whether there was no connection to begin with: nothing was sent.
    #[must_use]
    pub const fn is_connect(&self) -> bool {
        matches!(self.kind, HttpErrorKind::Connect | HttpErrorKind::Certificate)
    }
}

/// An error with what caused it.
fn told(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    // The first says no more than where in the client it was.
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
