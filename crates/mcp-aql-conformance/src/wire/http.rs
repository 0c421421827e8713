//! Connects to adapters over streamable HTTP: a POST for each message, with JSON or an event stream as the reply.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcp_aql_client::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use mcp_aql_client::http::{Client, Events, HttpError, Method, Reply, StatusCode, authorization};
use mcp_aql_client::secrets::{PossibleSecret, percent_decoded};
use serde_json::Value;
use tokio::sync::Semaphore;
use url::Url;

use super::inbox::{Inbox, MAX_MESSAGE_BYTES};
use super::{Link, NoResponse, Outgoing, Tap, Target, sealed::Transport};
use crate::category::Mode;
use crate::config::ConfigError;
use crate::secrets::certain;
use crate::sync::lock;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Size up to which replies are read concurrently, in bytes. Longer ones are read one at a time to limit the memory.
const CONCURRENT_REPLY_BYTES: usize = 256 << 10;
/// Time for reading the end of a stream after the response. A stream read to its end leaves its connection reusable.
const STREAM_GRACE_PERIOD: Duration = Duration::from_millis(200);
/// Time limit for deleting the session.
const SESSION_DELETE_TIMEOUT: Duration = Duration::from_secs(2);
/// Minimum length of a query value that counts as a secret under any name.
const MIN_KEY_BYTES: usize = 8;
/// Maximum reported length of a reply without an MCP message, in characters.
const REPORTED_CHARS: usize = 200;

/// An adapter over streamable HTTP.
///
/// Redirects are not followed. For servers on the local machine, the proxy of the environment is not used.
///
/// An https:// URL requires the feature `tls`. The certificates of the system are trusted, unless you name a PEM file
/// in the environment variable `SSL_CERT_FILE`.
///
/// ```
/// use mcp_aql_conformance::UrlTarget;
///
/// let target = UrlTarget::new("http://127.0.0.1:8080/mcp")?.header("Authorization", "Bearer …")?;
/// # Ok::<(), mcp_aql_conformance::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct UrlTarget {
    client: Client,
    /// URL without credentials.
    url: Url,
    headers: HeaderMap,
    /// Secrets in the original URL.
    secrets: Vec<String>,
}

impl fmt::Debug for UrlTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("UrlTarget").field("url", &self.describe()).finish_non_exhaustive()
    }
}

impl UrlTarget {
    /// Creates a target with the URL of the MCP endpoint.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::Wrong`] if the URL is invalid or unsupported.
    pub fn new(url: &str) -> Result<Self, ConfigError> {
        // The message must not contain the URL, because it may contain secrets.
        let mut parsed = Url::parse(url)
            .map_err(|error| ConfigError::Wrong(format!("the URL is invalid: {error}")))?;
        parsed.set_fragment(None);
        let secrets = secrets_of(&parsed);
        let agent = concat!("mcp-aql-conformance/", env!("CARGO_PKG_VERSION"));
        let mut headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(agent))]);
        headers.extend(authorization(&mut parsed).map(|value| (AUTHORIZATION, value)));
        let client = Client::new(&parsed).map_err(|unusable| {
            ConfigError::Wrong(format!("the URL `{}` {unusable}", shown(&parsed)))
        })?;
        Ok(Self { client, url: parsed, headers, secrets })
    }

    /// Sends this header with every request. It replaces an earlier header with the same name.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::Wrong`] if the header is invalid or reserved.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, ConfigError> {
        let wrong = |why: &str| ConfigError::Wrong(format!("the header `{name}` {why}"));
        let parsed = HeaderName::try_from(name).map_err(|_| wrong("has an invalid name"))?;
        if [SESSION, VERSION, ACCEPT, CONTENT_TYPE].contains(&parsed) {
            return Err(wrong("is set by the runner itself"));
        }
        // The message must not contain the value, because it may be a secret.
        let mut value = HeaderValue::try_from(value).map_err(|_| wrong("has an invalid value"))?;
        value.set_sensitive(true);
        self.headers.insert(parsed, value);
        Ok(self)
    }
}

impl Target for UrlTarget {}

impl Transport for UrlTarget {
    fn open(&self, _mode: Option<Mode>, tap: Arc<Tap>) -> BoxFuture<'_, Result<Link, NoResponse>> {
        Box::pin(async move {
            let inbox = Inbox::new(tap);
            let outgoing = Http {
                target: self.clone(),
                inbox: Arc::clone(&inbox),
                state: Mutex::default(),
                room_for_long: Arc::new(Semaphore::new(1)),
            };
            Ok(Link { outgoing: Arc::new(outgoing), inbox })
        })
    }

    /// Returns `false`, because a running server cannot be started in another mode.
    fn offers(&self, _mode: Mode) -> bool {
        false
    }

    fn describe(&self) -> String {
        shown(&self.url)
    }

    fn secrets(&self) -> Vec<String> {
        let mut found = self.secrets.clone();
        for (name, value) in &self.headers {
            if let Ok(value) = value.to_str() {
                found.extend(certain(PossibleSecret::of_header(name.as_str(), value)));
            }
        }
        found
    }
}

/// The state of a session.
#[derive(Default)]
struct State {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

struct Http {
    target: UrlTarget,
    inbox: Arc<Inbox>,
    state: Mutex<State>,
    /// Limits long replies to one at a time.
    room_for_long: Arc<Semaphore>,
}

impl Http {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = self.target.headers.clone();
        let state = self.lock();
        headers.extend(state.session.clone().map(|session| (SESSION, session)));
        headers.extend(state.version.clone().map(|version| (VERSION, version)));
        headers
    }

    /// Posts a message and reads the reply until the response arrives or the reply ends.
    async fn post(&self, message: &[u8]) -> Result<(), NoResponse> {
        let asked = asked(message);
        let mut headers = self.headers();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        let sent =
            self.target.client.send(&self.target.url, Method::POST, headers, message.to_vec());
        let response = sent.await.map_err(|error| self.failed(&error))?;
        let status = response.status();
        if let Some(session) = response.headers().get(SESSION)
            && status.is_success()
        {
            self.lock().session.get_or_insert_with(|| session.clone());
        }
        if status.is_redirection() {
            let to =
                response.headers().get(LOCATION).map(|to| String::from_utf8_lossy(to.as_bytes()));
            let to: String = to.unwrap_or_default().chars().take(REPORTED_CHARS).collect();
            return Err(NoResponse::Redirected(status.as_u16(), to));
        }
        if status == StatusCode::NOT_FOUND && self.lock().session.is_some() {
            let gone =
                NoResponse::Closed("HTTP status 404: the session no longer exists".to_owned());
            self.inbox.end(gone.clone());
            return Err(gone);
        }
        self.read(response, asked.as_deref()).await?;
        match asked {
            Some(id) if self.inbox.waits_for(&id) => Err(match status.as_u16() {
                200 => NoResponse::Unfit("the reply ended without a response".to_owned()),
                other => NoResponse::Status(other),
            }),
            None if !status.is_success() => Err(NoResponse::Status(status.as_u16())),
            _ => Ok(()),
        }
    }

    async fn read(&self, response: Reply, asked: Option<&str>) -> Result<(), NoResponse> {
        match response.content_type().as_str() {
            "application/json" => {
                let body = self.whole(response).await?;
                let text = body.trim_ascii();
                if !text.is_empty() {
                    self.inbox.take(text);
                }
                Ok(())
            }
            "text/event-stream" => self.events(response, asked).await,
            // The status is sufficient, and replies to notifications are ignored.
            _ if response.status() != StatusCode::OK || asked.is_none() => Ok(()),
            other => {
                let other: String = other.chars().take(REPORTED_CHARS).collect();
                let body = self.beginning(response).await;
                Err(NoResponse::Unfit(format!("content type `{other}`, {body}")))
            }
        }
    }

    /// Reads a whole body with one message.
    async fn whole(&self, mut response: Reply) -> Result<Vec<u8>, NoResponse> {
        let mut body = Vec::new();
        let mut long = None;
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            if body.len() + chunk.len() > MAX_MESSAGE_BYTES {
                return Err(self.flooded(NoResponse::TooLong(MAX_MESSAGE_BYTES)));
            }
            if body.len() + chunk.len() > CONCURRENT_REPLY_BYTES && long.is_none() {
                long = self.room_for_long.acquire().await.ok();
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Returns the beginning of an unexpected reply, for an error message.
    async fn beginning(&self, mut response: Reply) -> String {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let text = String::from_utf8_lossy(&chunk);
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                format!("`{}`", text.chars().take(REPORTED_CHARS).collect::<String>())
            }
            Ok(None) => "without a body".to_owned(),
            Err(error) => self.failed(&error).to_string(),
        }
    }

    /// Reads events with one message each, until the expected response arrives.
    async fn events(&self, mut response: Reply, asked: Option<&str>) -> Result<(), NoResponse> {
        let mut events = Events::default();
        let mut long = None;
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            for byte_run in chunk.chunks(CONCURRENT_REPLY_BYTES) {
                for message in events.take(byte_run) {
                    if !self.inbox.take(&message) {
                        return Err(self.inbox.ended().unwrap_or(NoResponse::Flooded));
                    }
                }
                if events.held() > MAX_MESSAGE_BYTES {
                    return Err(self.flooded(NoResponse::TooLong(MAX_MESSAGE_BYTES)));
                }
            }
            if events.held() > CONCURRENT_REPLY_BYTES && long.is_none() {
                long = self.room_for_long.acquire().await.ok();
            } else if events.held() == 0 {
                long = None;
            }
            if asked.is_some_and(|id| !self.inbox.waits_for(id)) {
                tokio::spawn(rest(response, events, Arc::clone(&self.inbox)));
                return Ok(());
            }
        }
        Ok(())
    }

    fn flooded(&self, why: NoResponse) -> NoResponse {
        self.inbox.end(why.clone());
        why
    }

    /// Converts an HTTP error. If the server rejects connections, ends the session. Otherwise only this message is
    /// lost.
    fn failed(&self, error: &HttpError) -> NoResponse {
        let why = error.to_string();
        if !error.is_connect() {
            return NoResponse::Closed(why);
        }
        if self.lock().version.is_none() {
            return NoResponse::Unreachable(why);
        }
        let gone = NoResponse::Closed(why);
        self.inbox.end(gone.clone());
        gone
    }

    /// Deletes the session on the server.
    fn delete_session(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let UrlTarget { client, url, .. } = self.target.clone();
        let headers = self.headers();
        self.lock().session.take()?;
        Some(async move {
            let reported = client.send(&url, Method::DELETE, headers, Vec::new());
            // Ignore the result, because servers may reject the request.
            let _ = tokio::time::timeout(SESSION_DELETE_TIMEOUT, reported).await;
        })
    }
}

impl Outgoing for Http {
    fn send<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<(), NoResponse>> {
        Box::pin(self.post(message))
    }

    fn close(&self, limit: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(delete_session) = self.delete_session() {
                let _ = tokio::time::timeout(limit, delete_session).await;
            }
        })
    }

    fn agreed(&self, version: &str) {
        self.lock().version = HeaderValue::try_from(version).ok();
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        if let (Some(delete_session), Ok(runtime)) =
            (self.delete_session(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(delete_session);
        }
    }
}

/// Formats a URL without secrets, for reports.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let had_query = url.query().is_some();
    url.set_query(None);
    if had_query { format!("{url}?…") } else { url.into() }
}

/// Returns the secrets in a URL: its credentials, its query, and the values in the query.
fn secrets_of(url: &Url) -> Vec<String> {
    let query = url.query().unwrap_or_default();
    // Other short values such as `true` are too common to be masked.
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    let long = values.map(|(_, value)| value).filter(|value| value.len() >= MIN_KEY_BYTES);
    let mut found = certain(PossibleSecret::of_url(url.as_str()));
    for text in long.chain([query]) {
        found.extend([text.to_owned(), percent_decoded(text)]);
    }
    found
}

/// Reads the rest of a stream after the response for a short time.
async fn rest(mut response: Reply, mut events: Events, inbox: Arc<Inbox>) {
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let goes_on = events.take(&chunk).iter().all(|message| inbox.take(message));
            if !goes_on || events.held() > CONCURRENT_REPLY_BYTES {
                return;
            }
        }
    };
    // A timeout drops the response, and this closes a stream that the server keeps open.
    let _ = tokio::time::timeout(STREAM_GRACE_PERIOD, reading).await;
}

impl Inbox {
    /// Returns `true` if the request with this id waits for its response.
    fn waits_for(&self, id: &str) -> bool {
        self.lock().waiting.contains_key(id)
    }
}

/// Returns the id of a request as JSON, or `None` for other messages.
fn asked(message: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(message).ok()?;
    message.get("method")?;
    message.get("id").map(Value::to_string)
}
