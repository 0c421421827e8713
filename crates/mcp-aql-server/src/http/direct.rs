//! Answers plain tool calls over HTTP without rmcp. For each call, rmcp would start a service or wake a session, and
//! open an event stream.
//!
//! This module rejects nothing. Requests with unusual headers or bodies are passed to rmcp, because it implements the
//! rest of MCP. In a session, only READs that need no confirmation are answered here: clients must be able to resume
//! the reply to a change, and only rmcp can ask their user.
//!
//! For example, the following is a plain call of MCP 2026-07-28:
//!
//! ```text
//! POST /mcp HTTP/1.1
//! Host: localhost:8787
//! Accept: application/json, text/event-stream
//! Content-Type: application/json
//! Content-Length: 302
//! MCP-Protocol-Version: 2026-07-28
//! Mcp-Method: tools/call
//! Mcp-Name: mcp_aql_read
//! ```

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use mcp_aql_core::internal::caller::{CallOrigin, Principal};
use mcp_aql_core::internal::operation::{CallScope, Cancellation};
use mcp_aql_core::internal::request::Arguments;
use mcp_aql_core::internal::util::erased;
use mcp_aql_core::transport::Extensions;
use tokio_util::sync::CancellationToken;

use super::authentication::Challenge;
use super::cancellation::{CancelOnDrop, run_cancellable};
use super::direct_reply::{DirectReply, respond};
use super::options::ENDPOINT_PATH;
use super::request_origin::add_call;
use super::rmcp::kept_reply::SessionReply;
use super::rmcp::open_session::{OpenSession, SessionCall};
use super::rmcp::original_message::OriginalMessage;
use super::rmcp::sessions::Sessions;
use crate::mcp::admission::RequestMeta;
use crate::mcp::batch_budget::BatchBudget;
use crate::mcp::connection::Connection;
use crate::mcp::elicitation;
use crate::mcp::message::ToolCall;
use crate::mcp::request_id::canonical_id;
use crate::mcp::server::{Server, ServerState};
use crate::mcp::service::CallProperties;
use crate::mcp::version::{MCP_VERSIONS, NEWEST, WITH_BATCHES, is_modern};

/// Header with the id of a session.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Answers plain calls.
pub(super) struct DirectCalls {
    shared: Arc<ServerState>,
    /// The server for requests without a session.
    server: Arc<Server>,
    sessions: Arc<Sessions>,
    hosts: Vec<String>,
    keeps_sessions: bool,
    stop: Arc<CancellationToken>,
}

/// The form of a plain request, according to its headers.
pub(super) enum PlainForm {
    /// A stateless request of MCP 2026-07-28 with the name of the called tool.
    Stateless(HeaderValue),
    /// A request of a session, as in earlier versions.
    InSession(Arc<OpenSession>),
}

impl DirectCalls {
    pub(super) fn new(
        shared: Arc<ServerState>,
        sessions: Arc<Sessions>,
        hosts: Vec<String>,
        keeps_sessions: bool,
        stop: CancellationToken,
    ) -> Self {
        let server = Arc::new(Server::new(Arc::clone(&shared), Arc::new(Connection::default())));
        Self { shared, server, sessions, hosts, keeps_sessions, stop: Arc::new(stop) }
    }

    /// Returns the server for requests without a session.
    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// Returns `true` if the client may send JSON-RPC batches. Only MCP 2025-03-26 supports batches. The version is the
    /// one negotiated by the session. If the server keeps no sessions, it is the one in the request's header; a missing
    /// header stands for 2025-03-26.
    pub(super) fn takes_batches(&self, headers: &HeaderMap) -> bool {
        if let Some(id) = headers.get(SESSION_ID) {
            let session = id.to_str().ok().and_then(|id| self.sessions.get(id));
            let connection = session.and_then(|session| session.connection());
            return connection.is_some_and(|connection| connection.takes_batches());
        }
        let earlier = headers
            .get(VERSION)
            .is_none_or(|version| version.as_bytes() == WITH_BATCHES.as_bytes());
        !self.keeps_sessions && earlier
    }

    /// Returns the form of a plain request. Returns `None` if rmcp must handle the request.
    pub(super) fn form(&self, request: &Request, longest: usize) -> Option<PlainForm> {
        let headers = request.headers();
        let length: usize = only(headers, &CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
        let plain = length <= longest
            && request.uri().path() == ENDPOINT_PATH
            && request.uri().authority().is_none()
            && !headers.contains_key(ORIGIN)
            && only(headers, &CONTENT_TYPE)? == "application/json"
            && takes_both(only(headers, &ACCEPT)?)
            && self.is_host(only(headers, &HOST)?);
        if !plain {
            return None;
        }
        let version = match headers.contains_key(VERSION) {
            true => Some(only(headers, &VERSION)?.to_str().ok()?),
            false => None,
        };
        if headers.contains_key(SESSION_ID) {
            let is_earlier = |version| MCP_VERSIONS.contains(&version) && !is_modern(version);
            if !version.is_none_or(is_earlier) {
                return None;
            }
            let id = only(headers, &SESSION_ID)?.to_str().ok()?;
            return self.sessions.get(id).map(PlainForm::InSession);
        }
        let is_plain = version? == NEWEST
            && only(headers, &METHOD)? == "tools/call"
            && !headers.keys().any(|name| name.as_str().starts_with("mcp-param-"));
        is_plain.then(|| only(headers, &NAME).cloned().map(PlainForm::Stateless)).flatten()
    }

    /// Returns `true` if a `Host` header names an allowed host.
    fn is_host(&self, host: &HeaderValue) -> bool {
        let Ok(host) = host.to_str() else { return false };
        let (name, port) = host.split_once(':').unwrap_or((host, "80"));
        // Names allowed only with a certain port and names in brackets are left to rmcp.
        port.parse::<u16>().is_ok()
            && !name.is_empty()
            && self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }

    /// Returns `true` if a request names the session of another principal.
    pub(super) fn is_foreign(&self, request: &Request) -> bool {
        let ids = request.headers().get_all(SESSION_ID).iter();
        let principal = request.extensions().get::<Principal>();
        ids.filter_map(|id| id.to_str().ok()).any(|id| self.sessions.is_foreign(id, principal))
    }

    /// Answers a plain call and takes the extensions of its request. Returns `None` if rmcp must handle the call.
    pub(super) fn answer(
        &self,
        form: &PlainForm,
        call: ToolCall<'_>,
        extensions: &mut Extensions,
        budget: Option<&BatchBudget>,
    ) -> Option<impl Future<Output = Response> + Send + use<>> {
        let tool = self.server.tools().index(&call.name)?;
        add_call(self.server.service(), extensions, call.id, &call.name);
        let meta = RequestMeta::read(call.meta).ok()?;
        let elicitation = elicitation::of_call(&call, &meta).ok()?;
        let mut arguments = match call.index {
            Some(index) => Arguments::from(index),
            None => Arguments::read(call.arguments, self.server.limits()).ok()?,
        };
        // The answers to a batch share a size limit. It applies to the plain form.
        if budget.is_none() {
            arguments = arguments.for_quoted_reply();
        }
        let modern = matches!(form, PlainForm::Stateless(_));
        let operation = arguments.operation();
        let is_task = call.task.is_some()
            || self.server.task_protocol(None, &meta, modern, operation).is_some();
        if is_task || meta.progress_token(&arguments).is_some() {
            return None;
        }
        let CallProperties { is_read, may_need_confirmation, missing_scope: missing } =
            self.server.service().properties(&arguments, extensions);
        // A call rejected because of its scope does not change anything either.
        let reads = missing.is_some() || is_read;
        let challenge = extensions.get::<Challenge>().cloned().zip(missing);
        let (id, budget) = (call.id.into(), budget.cloned());
        let work = match form {
            PlainForm::Stateless(name) => {
                let fits = *name == *call.name && is_newest(&meta);
                fits.then(|| {
                    let extensions = take_extensions(extensions);
                    let scope = CallScope { extensions, elicitation, ..CallScope::default() };
                    let call = DecodedCall { tool, arguments, meta, id, budget, scope };
                    self.run_stateless(call, reads)
                })?
            }
            // In sessions, only READs are answered here. Clients that lose the connection can fetch replies from rmcp
            // later, and they need this for calls with effects.
            PlainForm::InSession(session) => {
                let connection = session.connection()?;
                // Only rmcp can send a question to the client.
                let asks = connection.takes_questions() && may_need_confirmation;
                let fits = reads && !asks && meta.protocol_version().is_none();
                let (running, cancellation) = fits.then(|| begin_call(session, &id)).flatten()?;
                let extensions = take_extensions(extensions);
                let scope = CallScope { extensions, ..CallScope::default() };
                let call = DecodedCall { tool, arguments, meta, id, budget, scope };
                self.run_in_session(running, cancellation, connection, call)
            }
        };
        Some(respond(work, challenge))
    }

    fn run_stateless(&self, call: DecodedCall<'_>, reads: bool) -> DirectReply {
        let cancellation = Cancellation::default();
        let cancels = CancelOnDrop(cancellation.clone());
        let work = call.start(Arc::clone(&self.server), cancellation.clone(), true);
        let stop = Arc::clone(&self.stop);
        let reply = async move { Some(run_cancellable(work, &stop, &cancellation).await) };
        // Run changes in a separate task, so that they finish even if the client disconnects.
        let reply = match reads {
            true => erased(reply),
            false => {
                let task = tokio::spawn(reply);
                erased(async { task.await.ok().flatten() })
            }
        };
        DirectReply { reply, _cancels: cancels, kept: None }
    }

    fn run_in_session(
        &self,
        running: SessionCall,
        cancellation: Cancellation,
        connection: Arc<Connection>,
        call: DecodedCall<'_>,
    ) -> DirectReply {
        let server = Arc::new(Server::new(Arc::clone(&self.shared), connection));
        let cancels = CancelOnDrop(cancellation.clone());
        // Do not keep replies to batches: clients that send batches do not resume streams.
        let kept = call.budget.is_none().then(|| SessionReply::of(&running));
        let sessions = Arc::clone(&self.sessions);
        let work = call.start(server, cancellation, false);
        let reply = async move {
            let reply = sessions.during(running.session(), work).await;
            running.end().then_some(reply)
        };
        DirectReply { reply: erased(reply), _cancels: cancels, kept }
    }
}

/// A decoded call.
struct DecodedCall<'a> {
    tool: usize,
    arguments: Arguments<'a>,
    meta: RequestMeta,
    /// The request's id, in its original spelling.
    id: Box<str>,
    /// The remaining size budget of the batch, if the request belongs to one.
    budget: Option<BatchBudget>,
    /// The scope without its cancellation.
    scope: CallScope,
}

impl DecodedCall<'_> {
    /// Reads the call. The returned future runs the call and returns the answer as a message.
    fn start(
        self,
        server: Arc<Server>,
        cancellation: Cancellation,
        modern: bool,
    ) -> impl Future<Output = Vec<u8>> + Send + use<> {
        let Self { tool, arguments, meta, id, budget, mut scope } = self;
        let caller = budget.as_ref().and_then(|_| scope.principal().cloned());
        let origin = match server.service().records_origins() {
            true => scope.extensions.remove::<CallOrigin>(),
            false => None,
        };
        let scope =
            CallScope { cancellation: Some(cancellation), origin: origin.map(Arc::new), ..scope };
        let mut work = server.begin_call(tool, arguments, &meta, scope);
        async move {
            let answer = server.within(budget.as_ref(), caller.as_ref(), Pin::new(&mut work)).await;
            let length = answer.as_ref().map_or(0, |reply| reply.text.len());
            let mut message = Vec::with_capacity(length + length / 4 + 128);
            server.write_answer(&mut message, &id, &answer, modern);
            message
        }
    }
}

/// Starts the call of a session with this id. Returns `None` if the session was evicted.
fn begin_call(session: &Arc<OpenSession>, id: &str) -> Option<(SessionCall, Cancellation)> {
    let cancellation = Cancellation::default();
    let call = SessionCall::begin(Arc::clone(session), &canonical_id(id), cancellation.clone())?;
    Some((call, cancellation))
}

/// Takes the extensions set by the middleware of the author's server. The body and the challenge are removed, because
/// operations need neither.
fn take_extensions(extensions: &mut Extensions) -> Extensions {
    extensions.remove::<OriginalMessage>();
    extensions.remove::<Challenge>();
    std::mem::take(extensions)
}

/// Returns `true` if a request contains everything that MCP 2026-07-28 requires.
fn is_newest(meta: &RequestMeta) -> bool {
    meta.protocol_version() == Some(NEWEST) && meta.missing_members().is_empty()
}

/// Returns the value of a header. Returns `None` unless it occurs exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// Returns `true` if an `Accept` header contains exactly the two media types of MCP.
fn takes_both(accept: &HeaderValue) -> bool {
    let Some((first, second)) = accept.to_str().ok().and_then(|text| text.split_once(',')) else {
        return false;
    };
    let both = ["application/json", "text/event-stream"];
    let named = [first.trim(), second.trim()];
    named == both || named == [both[1], both[0]]
}
