//! Sends requests to the parcel service and reads its responses.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, ETAG, HeaderMap, HeaderName, IF_MATCH, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;

/// Maximum size of a response body, in bytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Maximum number of bytes to read of an error response, for the log.
const MAX_REFUSAL_BYTES: usize = 4096;

/// A client for the HTTP API of the parcel service.
pub(crate) struct ParcelApi {
    http: reqwest::Client,
    base: Url,
    patience: Duration,
}

/// A successful response.
pub(crate) struct Answer {
    request: String,
    /// The version of the resource, from the `ETag` header.
    pub(crate) etag: Option<String>,
    body: Vec<u8>,
}

/// The reason why a request failed. Log it, but do not show it to callers, because it quotes the service.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// The service responded with an error status.
    #[error(transparent)]
    Refused(Refusal),
    /// The response did not arrive in time.
    #[error("{request}: no answer within {} s", patience.as_secs())]
    TimedOut {
        /// Method and path.
        request: String,
        /// The time limit.
        patience: Duration,
    },
    /// The connection could not be opened, or broke.
    #[error("{request}: the service cannot be reached")]
    Unreachable {
        /// Method and path.
        request: String,
        /// The error of the HTTP client.
        source: reqwest::Error,
    },
    /// The response exceeds the size limit.
    #[error("{request}: the answer has more than {MAX_ANSWER_BYTES} bytes")]
    TooLong {
        /// Method and path.
        request: String,
    },
    /// The body does not have the documented structure.
    #[error("{request}: the answer cannot be decoded")]
    Unreadable {
        /// Method and path.
        request: String,
        /// The parse error.
        source: serde_json::Error,
    },
}

/// An error response of the service.
///
/// The log shows the body with `{:?}`, to escape it: the body may contain line breaks that would forge log lines.
#[derive(Debug, thiserror::Error)]
#[error("{request}: status {status}, {body:?}")]
pub(crate) struct Refusal {
    request: String,
    /// The HTTP status.
    pub(crate) status: u16,
    /// The current version of the resource, if the service sent one.
    pub(crate) etag: Option<String>,
    /// The value of `Retry-After`: seconds or a date.
    pub(crate) retry_after: Option<String>,
    /// The beginning of the body.
    pub(crate) body: String,
}

/// Parses the service's base URL. Returns an error for URLs that this adapter cannot use.
pub(crate) fn base_url(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|error| format!("no URL: {error}"))?;
    match url.scheme() {
        "http" if url.query().is_none() && url.fragment().is_none() => Ok(url),
        "http" => Err("the URL must not contain a query or a fragment: remove it".to_owned()),
        "https" => Err("this example is built without TLS: write an `http` URL".to_owned()),
        other => Err(format!("the scheme `{other}` is not supported: write an `http` URL")),
    }
}

impl ParcelApi {
    /// Creates a client for the API at this URL. A request without a response after `patience` fails.
    pub(crate) fn new(base: Url, patience: Duration) -> reqwest::Result<Self> {
        let http = reqwest::Client::builder()
            .timeout(patience)
            // Only the configured service may receive requests. Therefore redirects are not followed, and the proxy
            // variables of the environment are ignored.
            .redirect(Policy::none())
            .no_proxy()
            .build()?;
        Ok(Self { http, base, patience })
    }

    /// Sends a GET request.
    pub(crate) async fn get(&self, path: &[&str]) -> Result<Answer, ApiError> {
        self.send(Method::GET, path, |request| request).await
    }

    /// Sends a POST request with a JSON body.
    pub(crate) async fn post(&self, path: &[&str], body: String) -> Result<Answer, ApiError> {
        self.send(Method::POST, path, |request| {
            request.header(CONTENT_TYPE, "application/json").body(body)
        })
        .await
    }

    /// Sends a PATCH request with a JSON merge patch (RFC 7396). With `if_match`, the service only applies the patch to
    /// that version.
    pub(crate) async fn patch(
        &self,
        path: &[&str],
        patch: String,
        if_match: Option<&str>,
    ) -> Result<Answer, ApiError> {
        self.send(Method::PATCH, path, |mut request| {
            if let Some(version) = if_match {
                request = request.header(IF_MATCH, format!("\"{version}\""));
            }
            request.header(CONTENT_TYPE, "application/merge-patch+json").body(patch)
        })
        .await
    }

    /// Sends a DELETE request.
    pub(crate) async fn delete(&self, path: &[&str]) -> Result<Answer, ApiError> {
        self.send(Method::DELETE, path, |request| request).await
    }

    /// Sends a request and reads the response. If the future is dropped, the connection is closed.
    async fn send(
        &self,
        method: Method,
        path: &[&str],
        complete: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Answer, ApiError> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            // `extend` escapes each part, so a part always becomes exactly one path segment.
            segments.pop_if_empty().extend(path);
        }
        let request = format!("{method} {}", url.path());
        let failed = |source: reqwest::Error| match source.is_timeout() {
            true => ApiError::TimedOut { request: request.clone(), patience: self.patience },
            false => {
                ApiError::Unreachable { request: request.clone(), source: source.without_url() }
            }
        };
        let mut response = complete(self.http.request(method, url)).send().await.map_err(failed)?;
        let status = response.status();
        let most = if status.is_success() { MAX_ANSWER_BYTES } else { MAX_REFUSAL_BYTES };
        let (body, whole) = read(&mut response, most).await.map_err(failed)?;
        let etag = text_of(response.headers(), &ETAG).and_then(strong).map(str::to_owned);
        if status.is_success() {
            return if whole {
                Ok(Answer { request, etag, body })
            } else {
                Err(ApiError::TooLong { request })
            };
        }
        let refusal = Refusal {
            request,
            status: status.as_u16(),
            etag,
            retry_after: text_of(response.headers(), &RETRY_AFTER).map(str::to_owned),
            body: String::from_utf8_lossy(&body).into_owned(),
        };
        tracing::info!(%refusal, "the service refused");
        Err(ApiError::Refused(refusal))
    }
}

impl Answer {
    /// Deserializes the body.
    pub(crate) fn json<T: DeserializeOwned>(self) -> Result<T, ApiError> {
        serde_json::from_slice(&self.body)
            .map_err(|source| ApiError::Unreadable { request: self.request, source })
    }
}

/// Reads at most `most` bytes of the body. The flag is `true` if this is the whole body.
async fn read(response: &mut Response, most: usize) -> reqwest::Result<(Vec<u8>, bool)> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > most {
            body.truncate(most);
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

fn text_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the value between the quotes of a strong entity tag, for example `"7"` → `7`.
///
/// Weak tags (`W/"7"`) are rejected, because `If-Match` only compares strong ones (RFC 9110).
fn strong(tag: &str) -> Option<&str> {
    tag.strip_prefix('"')?.strip_suffix('"').filter(|etag| is_etag(etag))
}

/// Returns `true` if `text` may appear between the quotes of an entity tag (RFC 9110).
pub(crate) fn is_etag(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"')
}
