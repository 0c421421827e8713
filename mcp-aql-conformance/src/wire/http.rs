//! Streamable HTTP: a POST for each message, answered with JSON or a stream of events.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcp_aql_http::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use mcp_aql_http::http::{Method, StatusCode};
use mcp_aql_http::{Client, Events, HttpError, Reply, authorization};
use serde_json::Value;
use tokio::sync::Semaphore;
use url::Url;

use super::sealed::Way;
use super::{Inbox, LONGEST_MESSAGE, Link, Lost, Outgoing, Tap, Target};
use crate::config::ConfigError;
use crate::learn::Mode;
use crate::secrets::{decoded, is_secret};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Many replies may grow so far at the same time; beyond that, one after the other.
const SMALL: usize = 256 << 10;
/// How long a stream is read on after it has given the answer, so that its connection can be used again.
const AFTER_THE_ANSWER: Duration = Duration::from_millis(200);
/// How long leaving may take at most.
const GOOD_BYE: Duration = Duration::from_secs(2);
/// What a query gives is a secret if it is so long, whatever it is called.
const SHORTEST_KEY: usize = 8;
/// So much of a reply that is no MCP is told.
const TOLD: usize = 200;

/// An adapter that speaks MCP over streamable HTTP.
///
/// Redirects are not followed, and a server on this machine is spoken to without the proxy that the
/// environment may name.
///
/// An https:// URL needs the feature `tls`. What the system trusts is trusted; the variable `SSL_CERT_FILE`
/// names a PEM file of certificates that are trusted instead.
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
    /// As it is asked: without what it said about who asks.
    url: Url,
    headers: HeaderMap,
    /// What it said about that.
    secret: Option<String>,
}

impl fmt::Debug for UrlTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("UrlTarget").field("url", &self.describe()).finish_non_exhaustive()
    }
}

impl UrlTarget {
    /// The URL of the MCP endpoint.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`] when it is no URL that can be asked.
    pub fn new(url: &str) -> Result<Self, ConfigError> {
        // A URL may have secrets in it, and what is wrong is told in logs that are kept.
        let mut parsed = Url::parse(url)
            .map_err(|error| ConfigError::Wrong(format!("the URL is no URL: {error}")))?;
        parsed.set_fragment(None);
        // Without a password, the name may be a token.
        let secret = parsed.password().unwrap_or_else(|| parsed.username()).to_owned();
        let secret = Some(secret).filter(|secret| !secret.is_empty());
        let agent = concat!("mcp-aql-conformance/", env!("CARGO_PKG_VERSION"));
        let mut headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(agent))]);
        headers.extend(authorization(&mut parsed).map(|value| (AUTHORIZATION, value)));
        let client = Client::new(&parsed).map_err(|unusable| {
            ConfigError::Wrong(format!("the URL `{}` {unusable}", shown(&parsed)))
        })?;
        Ok(Self { client, url: parsed, headers, secret })
    }

    /// Sends this header with every request, in place of another of that name.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`] when it is no header, or one that is not yours to set.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, ConfigError> {
        let wrong = |why: &str| ConfigError::Wrong(format!("the header `{name}` {why}"));
        let parsed =
            HeaderName::try_from(name).map_err(|_| wrong("has a name that no header can have"))?;
        if [SESSION, VERSION, ACCEPT, CONTENT_TYPE].contains(&parsed) {
            return Err(wrong("is set by the runner itself"));
        }
        // The value may be a secret, and is not told.
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| wrong("has a value that no header can have"))?;
        value.set_sensitive(true);
        self.headers.insert(parsed, value);
        Ok(self)
    }
}

impl Target for UrlTarget {}

impl Way for UrlTarget {
    fn open(&self, _mode: Option<Mode>, tap: Arc<Tap>) -> BoxFuture<'_, Result<Link, Lost>> {
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

    /// A server that runs already serves as it was started.
    fn offers(&self, _mode: Mode) -> bool {
        false
    }

    fn describe(&self) -> String {
        shown(&self.url)
    }

    fn secrets(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut add = |text: &str| found.extend([text.to_owned(), decoded(text)]);
        add(self.secret.as_deref().unwrap_or_default());
        let query = self.url.query().unwrap_or_default();
        add(query);
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            // `true` is none, and reports are full of it.
            if is_secret(name) || value.len() >= SHORTEST_KEY {
                add(value);
            }
        }
        let headers = self.headers.iter().filter(|(name, _)| is_secret(name.as_str()));
        for value in headers.filter_map(|(_, value)| value.to_str().ok()) {
            // `Bearer …`: the words before it are none.
            found.extend(value.split_whitespace().next_back().map(str::to_owned));
            found.push(value.to_owned());
        }
        found
    }
}

/// What a connection has learned.
#[derive(Default)]
struct State {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

struct Http {
    target: UrlTarget,
    inbox: Arc<Inbox>,
    state: Mutex<State>,
    /// Whoever reads a long reply has it.
    room_for_long: Arc<Semaphore>,
}

impl Http {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = self.target.headers.clone();
        let state = self.lock();
        headers.extend(state.session.clone().map(|session| (SESSION, session)));
        headers.extend(state.version.clone().map(|version| (VERSION, version)));
        headers
    }

    /// Posts a message, and reads until it is answered, or the reply is over.
    async fn post(&self, message: &[u8]) -> Result<(), Lost> {
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
            let to: String = to.unwrap_or_default().chars().take(TOLD).collect();
            return Err(Lost::Redirected(status.as_u16(), to));
        }
        if status == StatusCode::NOT_FOUND && self.lock().session.is_some() {
            let gone = Lost::Closed("HTTP status 404: the session is gone".to_owned());
            self.inbox.end(gone.clone());
            return Err(gone);
        }
        self.read(response, asked.as_deref()).await?;
        match asked {
            Some(id) if self.inbox.waits_for(&id) => Err(match status.as_u16() {
                200 => Lost::Unfit("the reply ended without an answer".to_owned()),
                other => Lost::Status(other),
            }),
            None if !status.is_success() => Err(Lost::Status(status.as_u16())),
            _ => Ok(()),
        }
    }

    async fn read(&self, response: Reply, asked: Option<&str>) -> Result<(), Lost> {
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
            // Whatever it is, the status says enough; and a reply to a notification is not read.
            _ if response.status() != StatusCode::OK || asked.is_none() => Ok(()),
            other => {
                let other: String = other.chars().take(TOLD).collect();
                let body = self.beginning(response).await;
                Err(Lost::Unfit(format!("content type `{other}`, {body}")))
            }
        }
    }

    /// A whole body, which is one message.
    async fn whole(&self, mut response: Reply) -> Result<Vec<u8>, Lost> {
        let mut body = Vec::new();
        let mut long = None;
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            if body.len() + chunk.len() > LONGEST_MESSAGE {
                return Err(self.flooded(Lost::TooLong(LONGEST_MESSAGE)));
            }
            if body.len() + chunk.len() > SMALL && long.is_none() {
                long = self.room_for_long.acquire().await.ok();
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The first words of what should not have come.
    async fn beginning(&self, mut response: Reply) -> String {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let text = String::from_utf8_lossy(&chunk);
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                format!("`{}`", text.chars().take(TOLD).collect::<String>())
            }
            Ok(None) => "and no body".to_owned(),
            Err(error) => self.failed(&error).to_string(),
        }
    }

    /// Events, each a message, until the one that is waited for.
    async fn events(&self, mut response: Reply, asked: Option<&str>) -> Result<(), Lost> {
        let mut events = Events::default();
        let mut long = None;
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            for byte_run in chunk.chunks(SMALL) {
                for message in events.take(byte_run) {
                    if !self.inbox.take(&message) {
                        return Err(self.inbox.ended().unwrap_or(Lost::Flooded));
                    }
                }
                if events.held() > LONGEST_MESSAGE {
                    return Err(self.flooded(Lost::TooLong(LONGEST_MESSAGE)));
                }
            }
            if events.held() > SMALL && long.is_none() {
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

    fn flooded(&self, why: Lost) -> Lost {
        self.inbox.end(why.clone());
        why
    }

    /// A server that cannot be connected to any more is gone; otherwise only this message is lost.
    fn failed(&self, error: &HttpError) -> Lost {
        let why = error.to_string();
        if !error.is_connect() {
            return Lost::Closed(why);
        }
        if self.lock().version.is_none() {
            return Lost::Unreachable(why);
        }
        let gone = Lost::Closed(why);
        self.inbox.end(gone.clone());
        gone
    }

    /// Tells the server that the session is over.
    fn good_bye(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let UrlTarget { client, url, .. } = self.target.clone();
        let headers = self.headers();
        self.lock().session.take()?;
        Some(async move {
            let told = client.send(&url, Method::DELETE, headers, Vec::new());
            // Servers may refuse to be told.
            let _ = tokio::time::timeout(GOOD_BYE, told).await;
        })
    }
}

impl Outgoing for Http {
    fn send<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<(), Lost>> {
        Box::pin(self.post(message))
    }

    fn close(&self, limit: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(good_bye) = self.good_bye() {
                let _ = tokio::time::timeout(limit, good_bye).await;
            }
        })
    }

    fn agreed(&self, version: &str) {
        self.lock().version = HeaderValue::try_from(version).ok();
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        if let (Some(good_bye), Ok(runtime)) =
            (self.good_bye(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(good_bye);
        }
    }
}

/// A URL as reports, which are shown around, may have it.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let had_query = url.query().is_some();
    url.set_query(None);
    if had_query { format!("{url}?…") } else { url.into() }
}

/// Reads what a stream has to say after the answer, for a short time.
async fn rest(mut response: Reply, mut events: Events, inbox: Arc<Inbox>) {
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let goes_on = events.take(&chunk).iter().all(|message| inbox.take(message));
            if !goes_on || events.held() > SMALL {
                return;
            }
        }
    };
    // A stream that stays open is closed from here.
    let _ = tokio::time::timeout(AFTER_THE_ANSWER, reading).await;
}

/// The id of the request that a message is, if it is one, as JSON.
fn asked(message: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(message).ok()?;
    message.get("method")?;
    message.get("id").map(Value::to_string)
}
