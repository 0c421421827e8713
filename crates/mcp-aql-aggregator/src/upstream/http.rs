//! Streamable HTTP: each message is a POST, answered with JSON or an event stream.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{AbortHandle, AbortRegistration, Abortable};
use mcp_aql_client::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    LOCATION, USER_AGENT,
};
use mcp_aql_client::http::{
    Client, ClientError, HttpError, HttpErrorKind, Method, Reply, StatusCode, authorization,
    is_local,
};
use mcp_aql_core::internal::util::lock;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use url::Url;

use super::Failure;
use super::message_filter::MessageFilter;
use super::stats::Stats;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(super) const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Time for which a stream is still read after the answer, so that its connection can be reused.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_millis(50);
/// Time limit for ending a session.
pub(super) const END_SESSION_TIMEOUT: Duration = Duration::from_millis(500);
/// Time limit for delivering a notification or a reply.
pub(super) const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of redirects within the server.
pub(super) const MAX_REDIRECTS: usize = 3;
/// Maximum number of concurrent replies to requests of the server.
pub(super) const MAX_REPLIES: usize = 8;

/// A server reached over HTTP.
#[derive(Debug, Clone)]
pub(super) struct HttpServer {
    pub(super) client: Client,
    pub(super) headers: HeaderMap,
}

impl HttpServer {
    /// Creates a server at this URL. `note` receives the cause of a failure if more is known.
    ///
    /// # Errors
    ///
    /// Returns the reason why the server cannot or must not be called.
    pub(super) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        may_be_plain: impl Fn(&str) -> bool,
        note: impl FnOnce(&str),
    ) -> Result<(Self, Url), Failure> {
        let mut url = Url::parse(url).map_err(|_| Failure::FailedToStart)?;
        let host = url.host_str().unwrap_or_default();
        if url.scheme() == "http" && !is_local(&url) && !may_be_plain(host) {
            return Err(Failure::Plain);
        }
        let mut all = HeaderMap::new();
        let agent = concat!("mcp-aql-aggregator/", env!("CARGO_PKG_VERSION"));
        all.insert(USER_AGENT, HeaderValue::from_static(agent));
        all.extend(authorization(&mut url).map(|value| (AUTHORIZATION, value)));
        url.set_fragment(None);
        for (name, value) in headers {
            let name = HeaderName::try_from(name).map_err(|_| Failure::FailedToStart)?;
            let mut value = HeaderValue::try_from(value).map_err(|_| Failure::FailedToStart)?;
            value.set_sensitive(true);
            all.insert(name, value);
        }
        // The transport sets these headers itself.
        for name in [SESSION, VERSION, ACCEPT, CONTENT_TYPE, CONTENT_LENGTH] {
            all.remove(name);
        }
        let client = Client::new(&url).map_err(|unusable| {
            note(&format!("the URL {unusable}"));
            match unusable {
                ClientError::NoCertificates(_) => Failure::Untrusted,
                _ => Failure::FailedToStart,
            }
        })?;
        Ok((Self { client, headers: all }, url))
    }
}

/// A connection with one session.
pub(super) struct HttpTransport {
    link: Arc<HttpSession>,
    inbox: mpsc::UnboundedReceiver<ServerJsonRpcMessage>,
}

pub(super) struct HttpSession {
    pub(super) server: HttpServer,
    pub(super) filter: Arc<MessageFilter>,
    pub(super) state: Mutex<SessionState>,
    // The channel is unbounded, but holds at most one message per pending request.
    pub(super) answers: mpsc::UnboundedSender<ServerJsonRpcMessage>,
    pub(super) replies: tokio::sync::Semaphore,
}

pub(super) struct SessionState {
    pub(super) url: Url,
    pub(super) session: Option<HeaderValue>,
    /// Requests currently being sent or answered.
    pub(super) running: HashMap<i64, AbortHandle>,
}

impl HttpTransport {
    pub(super) fn new(server: HttpServer, url: Url, filter: Arc<MessageFilter>) -> Self {
        let (answers, inbox) = mpsc::unbounded_channel();
        let state = Mutex::new(SessionState { url, session: None, running: HashMap::new() });
        let replies = tokio::sync::Semaphore::new(MAX_REPLIES);
        Self { link: Arc::new(HttpSession { server, filter, state, answers, replies }), inbox }
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = Failure;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        let link = Arc::clone(&self.link);
        let told = described(&message);
        let body = link.filter.outgoing(&message);
        if let ClientJsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(rmcp::model::NumberOrString::Number(id)) = cancelled.params.request_id
            && let Some(running) = link.state().running.remove(&id)
        {
            running.abort();
        }
        // The request is registered at once, because it may be canceled before it starts.
        let asked = body.as_ref().and_then(|(_, asked)| *asked).map(|id| {
            let (abort, registration) = AbortHandle::new_pair();
            link.state().running.insert(id, abort);
            (id, registration)
        });
        async move {
            let (body, _) = body.ok_or(Failure::Protocol)?;
            match asked {
                Some((id, registration)) => link.ask(body, told, id, registration).await,
                None => match tokio::time::timeout(DELIVERY_TIMEOUT, link.post(body, told, None))
                    .await
                {
                    Ok(noted) => noted,
                    Err(_) => Err(Failure::Timeout(DELIVERY_TIMEOUT)),
                },
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        tokio::select! {
            biased;
            message = self.inbox.recv() => message,
            // Answers that arrived before the end are delivered first.
            _ = self.link.filter.ended() => None,
        }
    }

    async fn close(&mut self) -> Result<(), Failure> {
        let (url, session) = {
            let mut state = self.link.state();
            state.running.drain().for_each(|(_, running)| running.abort());
            (state.url.clone(), state.session.take())
        };
        if let Some(session) = session {
            let mut headers = self.link.headers();
            headers.insert(SESSION, session);
            let server = self.link.server.clone();
            let leaving =
                async move { server.client.send(&url, Method::DELETE, headers, Vec::new()).await };
            // Servers may reject the request.
            let _ = tokio::time::timeout(END_SESSION_TIMEOUT, leaving).await;
        }
        Ok(())
    }
}

/// Returns the headers that describe a message to servers of newer revisions.
///
/// ```text
/// mcp-method: tools/call
/// mcp-name: search_docs
/// mcp-protocol-version: 2026-07-28
/// ```
fn described(message: &ClientJsonRpcMessage) -> Vec<(HeaderName, HeaderValue)> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return Vec::new();
    };
    let mut headers: Vec<_> = HeaderValue::from_str(request.request.method())
        .map(|method| (METHOD, method))
        .into_iter()
        .collect();
    if let ClientRequest::CallToolRequest(call) = &request.request {
        headers.extend(HeaderValue::from_str(&call.params.name).map(|name| (NAME, name)));
    }
    let version = rmcp::model::GetMeta::get_meta(&request.request).protocol_version();
    if let Some(version) = version {
        headers.extend(HeaderValue::from_str(version.as_str()).map(|version| (VERSION, version)));
    }
    headers
}

impl HttpSession {
    pub(super) fn state(&self) -> std::sync::MutexGuard<'_, SessionState> {
        lock(&self.state)
    }

    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = self.server.headers.clone();
        if let Some(session) = &self.state().session {
            headers.insert(SESSION, session.clone());
        }
        let version = self.filter.version().map(|version| HeaderValue::from_str(version.as_str()));
        if let Some(Ok(version)) = version {
            headers.insert(VERSION, version);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        headers
    }

    /// Sends a request and handles its answer, unless it is canceled.
    pub(super) async fn ask(
        self: Arc<Self>,
        body: Vec<u8>,
        told: Vec<(HeaderName, HeaderValue)>,
        id: i64,
        registration: AbortRegistration,
    ) -> Result<(), Failure> {
        let answered = Abortable::new(self.post(body, told, Some(id)), registration).await;
        self.state().running.remove(&id);
        let answered = match answered {
            Ok(Ok(())) if self.filter.waits_for(id) => {
                self.filter.note_of(Some(id), "the reply does not contain the answer");
                Err(Failure::Protocol)
            }
            Ok(answered) => answered,
            // The request was canceled, so its result is not needed.
            Err(_) => Ok(()),
        };
        if answered.is_err() {
            self.filter.forget(id);
        }
        answered
    }

    pub(super) async fn post(
        self: &Arc<Self>,
        body: Vec<u8>,
        told: Vec<(HeaderName, HeaderValue)>,
        asked: Option<i64>,
    ) -> Result<(), Failure> {
        let mut headers = self.headers();
        headers.extend(told);
        let mut url = self.state().url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let length = body.len();
            let sent = self.server.client.send(&url, Method::POST, headers.clone(), body.clone());
            let reply = sent.await.map_err(|error| self.failed(&error, asked))?;
            Stats::count(&self.filter.stats.bytes_out, length);
            match self.redirected(&url, &reply)? {
                Some(next) => url = next,
                None => return self.take(reply, asked).await,
            }
        }
        Err(Failure::Redirected)
    }

    /// Converts an HTTP error to a failure and notes it.
    pub(super) fn failed(&self, error: &HttpError, asked: Option<i64>) -> Failure {
        self.filter.note_of(asked, &error.to_string());
        match error.kind() {
            HttpErrorKind::Certificate => Failure::Untrusted,
            HttpErrorKind::Connect => Failure::Refused,
            _ => Failure::Exited,
        }
    }

    /// Returns the URL that a reply redirects to within the server.
    pub(super) fn redirected(&self, from: &Url, reply: &Reply) -> Result<Option<Url>, Failure> {
        if !reply.status().is_redirection() {
            return Ok(None);
        }
        // The other redirects would turn the request into a GET.
        let keeps = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT];
        let location = reply.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let to = location.and_then(|location| from.join(location).ok());
        // Another server must not receive the headers.
        let is_fit = |to: &Url| to.origin() == from.origin() && keeps.contains(&reply.status());
        let Some(to) = to.clone().filter(is_fit) else {
            let host = to.as_ref().and_then(Url::host_str).unwrap_or("an unknown host");
            let status = reply.status();
            self.filter.note_of(
                None,
                &format!(
                    "HTTP status {status} to {host}: write the target URL in the configuration"
                ),
            );
            return Err(Failure::Redirected);
        };
        self.state().url = to.clone();
        Ok(Some(to))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{
        CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
        RequestId,
    };

    use super::*;

    #[tokio::test]
    async fn a_request_cancelled_before_its_start_is_not_sent() {
        // The listener never accepts a connection.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (server, url) = HttpServer::new(&url, &BTreeMap::new(), |_| false, |_| {}).unwrap();
        let mut http = HttpTransport::new(server, url, MessageFilter::new(Arc::default()));
        let call = CallToolRequest::new(CallToolRequestParams::new("search"));
        let id = RequestId::Number(7);
        let request = ClientRequest::CallToolRequest(call);
        let sent = http.send(ClientJsonRpcMessage::request(request, id.clone()));
        let cancelled = CancelledNotification::new(CancelledNotificationParam::new(Some(id), None));
        drop(http.send(ClientJsonRpcMessage::notification(
            ClientNotification::CancelledNotification(cancelled),
        )));
        // Without the cancellation the request would never finish.
        let ended = tokio::time::timeout(Duration::from_secs(60), sent).await;
        assert_eq!(ended.unwrap(), Ok(()));
        assert!(http.link.state().running.is_empty());
    }

    #[test]
    fn plain_http_is_only_allowed_to_this_machine_and_configured_hosts() {
        let new = |url: &str| {
            HttpServer::new(url, &BTreeMap::new(), |host| host == "inside", |_| {})
                .map(|(_, url)| url.to_string())
        };
        for url in
            ["http://127.0.0.1:1/mcp", "http://[::1]/", "http://localhost:80/", "http://inside/"]
        {
            assert!(new(url).is_ok(), "{url}");
        }
        for url in ["http://example.com/", "http://10.0.0.1/", "http://localhost.example.com/"] {
            assert_eq!(new(url), Err(Failure::Plain), "{url}");
        }
        assert_eq!(new("http://me:s3cret@127.0.0.1/mcp#x").unwrap(), "http://127.0.0.1/mcp");
        assert_eq!(new("no url"), Err(Failure::FailedToStart));
    }
}
