//! The MCP server of a set of tools, independent of the transport.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::operation::CallScope;
use mcp_aql_core::internal::request::Arguments;
use mcp_aql_core::internal::response::Reply;
use mcp_aql_core::internal::util::erased;
use mcp_aql_core::{Adapter, OperationError, Session};
use mcp_aql_protocol::SizeLimits;
use tokio_util::sync::CancellationToken;

use super::admission::RequestMeta;
use super::answer::{RpcError, respond_with, tool_result, write_error};
use super::batch_budget::{BatchBudget, FEWER_CALLS_ADVICE};
use super::connection::Connection;
use super::drain::{CallLabel, Drain, DrainEnd};
use super::elicitation::input_required;
use super::message::Fault;
use super::principal_sessions::PrincipalSessions;
use super::progress::{Notifier, progress};
use super::service::{ServerSettings, ToolAnswer, ToolDefinition, ToolService, ToolWork, caught};
use super::tool_table::ToolTable;

/// State shared by all connections of a server.
pub(crate) struct ServerState {
    service: Arc<dyn ToolService>,
    tools: ToolTable,
    settings: ServerSettings,
    /// The sessions of principals without their own connections.
    principals: PrincipalSessions,
    drain: Arc<Drain>,
}

impl ServerState {
    /// Creates the state of a server for a service with these tools.
    pub(crate) fn new(service: Arc<dyn ToolService>, tools: &[ToolDefinition]) -> Arc<Self> {
        let settings = service.settings();
        let tools = ToolTable::new(tools, service.tasks());
        let (principals, drain) = (PrincipalSessions::default(), Arc::default());
        Arc::new(Self { service, tools, settings, principals, drain })
    }

    /// Returns the description and the settings of the server.
    pub(crate) fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    pub(crate) fn service(&self) -> &dyn ToolService {
        &*self.service
    }

    /// Returns the counter of running calls.
    pub(crate) fn drain(&self) -> &Arc<Drain> {
        &self.drain
    }

    /// Stops the server: rejects new calls, and waits for running ones and the work that they have started, at most for
    /// the drain timeout.
    pub(crate) async fn stop(&self, cut_off: impl Future<Output = ()>) -> DrainEnd {
        let (timeout, running) = (self.settings.drain_timeout, self.drain.begin());
        tracing::info!(
            running,
            ?timeout,
            "stopping: new calls are rejected, and running calls finish"
        );
        let adapter = self.service.adapter();
        let background_work = async {
            if let Some(adapter) = adapter {
                adapter.executions_ended().await;
            }
        };
        let finished = self.drain.finished(background_work);
        let end = tokio::select! {
            biased;
            () = finished => return DrainEnd::Finished,
            () = cut_off => DrainEnd::CutOff,
            () = tokio::time::sleep(timeout) => DrainEnd::TimedOut,
        };
        self.drain.cut_off();
        if let Some(adapter) = adapter {
            adapter.log_cut_off_executions();
        }
        end
    }

    /// Ends the sessions of principals.
    #[cfg(feature = "http")]
    pub(crate) fn end_sessions(&self) {
        self.principals.end();
    }
}

/// The MCP server of one connection or of one stateless request.
pub(crate) struct Server {
    shared: Arc<ServerState>,
    connection: Arc<Connection>,
}

impl Server {
    pub(crate) fn new(shared: Arc<ServerState>, connection: Arc<Connection>) -> Self {
        Self { shared, connection }
    }

    /// Returns the server of another connection with the same state.
    pub(crate) fn with_connection(&self, connection: Connection) -> Self {
        Self::new(Arc::clone(&self.shared), Arc::new(connection))
    }

    /// Returns the answer to a call that could not be decoded or did not start.
    fn refuse_call(&self, error: OperationError, caller: Option<&Principal>) -> ToolAnswer {
        self.service().refuse(error, &self.scope_of(caller))
    }

    /// Returns the scope of a call without arguments.
    fn scope_of(&self, caller: Option<&Principal>) -> CallScope {
        let mut scope = CallScope { session: self.session(), ..CallScope::default() };
        if let Some(caller) = caller {
            scope.extensions.insert(caller.clone());
        }
        scope
    }

    /// Returns the answer to a message from this caller that could not be decoded.
    pub(crate) fn refuse_message(&self, fault: Fault, caller: Option<&Principal>) -> ToolAnswer {
        match fault {
            Fault::Call(error) => self.refuse_call(error, caller),
            Fault::Parameters(call) => Err(self.service().malformed_call(&call)),
            fault => {
                let (code, message) = fault.code();
                Err(RpcError::new(code, message))
            }
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the session of the connection. Connections for a single request have none.
    pub(crate) fn session(&self) -> Option<Session> {
        self.connection.session(|session| {
            if let Some(recorder) = self.service().adapter().and_then(Adapter::recorder) {
                recorder.session_opened(session);
            }
        })
    }

    /// Returns the description and the settings of the server.
    pub(crate) fn settings(&self) -> &ServerSettings {
        self.shared.settings()
    }

    /// Returns the index of the tool with this name.
    pub(crate) fn tool_index(&self, name: &str) -> Result<usize, RpcError> {
        self.tools().index(name).ok_or_else(|| self.service().unknown_tool(name))
    }

    /// Returns the table of tools.
    pub(crate) fn tools(&self) -> &ToolTable {
        &self.shared.tools
    }

    /// Returns the counter of running calls of all connections.
    #[cfg(feature = "http")]
    pub(crate) fn drain(&self) -> &Arc<Drain> {
        self.shared.drain()
    }

    /// Returns `true` if the client may send JSON-RPC batches.
    pub(crate) fn takes_batches(&self) -> bool {
        self.connection.takes_batches()
    }

    pub(crate) fn service(&self) -> &dyn ToolService {
        self.shared.service()
    }

    pub(crate) fn limits(&self) -> &SizeLimits {
        &self.settings().limits
    }

    /// Creates the size budget for the replies to a batch. It equals the size limit of a single reply.
    pub(crate) fn batch_budget(&self) -> BatchBudget {
        BatchBudget::new(self.limits().max_response_size)
    }

    /// Runs a call within the size budget of its batch. If the budget is exhausted, the call does not start. A reply
    /// that exceeds the remaining budget is replaced with an error.
    pub(crate) async fn within(
        &self,
        budget: Option<&BatchBudget>,
        caller: Option<&Principal>,
        call: Pin<&mut impl Future<Output = ToolAnswer>>,
    ) -> ToolAnswer {
        let Some(budget) = budget else { return call.await };
        if budget.is_full() {
            return self.refuse_call(budget.error(0).with_detail("operation_ran", false), caller);
        }
        match call.await {
            Ok(reply) if !budget.reserve(reply.text.len()) => {
                let error = budget.error(reply.text.len());
                // A failed call may or may not have run its operation.
                let error = match reply.code {
                    None => error.with_detail("operation_ran", true),
                    Some(_) => error,
                };
                self.service().replace_answer(error, &self.scope_of(caller))
            }
            answer => answer,
        }
    }

    /// Returns the answer to `tools/list` as JSON. `modern` selects the form of MCP 2026-07-28 and later.
    pub(crate) fn listed(
        &self,
        modern: bool,
        budget: Option<&BatchBudget>,
    ) -> Result<&str, RpcError> {
        let text = match self.connection.tasks() {
            Some(_) if !modern => self.tools().listed_with_tasks(),
            _ => self.tools().listed(modern),
        };
        match budget {
            Some(budget) if !budget.reserve(text.len()) => Err(batch_too_large()),
            _ => Ok(text),
        }
    }

    /// Runs a tool call and returns its reply. Sends progress in the meantime if the client asked for it.
    ///
    /// Arguments that could not be decoded become a failed reply. The transport must set the cancellation and the
    /// extensions of the scope.
    pub(crate) async fn reply(
        &self,
        tool: usize,
        arguments: Result<Arguments<'_>, OperationError>,
        meta: &RequestMeta,
        notifier: &dyn Notifier,
        scope: CallScope,
    ) -> ToolAnswer {
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => return self.refuse_call(error, scope.principal()),
        };
        let Some(token) = meta.progress_token(&arguments) else {
            return self.begin_call(tool, arguments, meta, scope).await;
        };
        let (sink, pump) = progress(notifier, token);
        let mut scope = self.scope(meta, &arguments, scope);
        scope.progress = Some(Arc::new(sink));
        let done = CancellationToken::new();
        let work = self.start(tool, arguments, meta, scope);
        let work = async {
            let answer = work.await;
            done.cancel();
            answer
        };
        let (answer, ()) = tokio::join!(work, pump.run(&done));
        answer
    }

    /// Reads a tool call. The returned future runs it like [`reply`](Self::reply), but without progress.
    pub(crate) fn begin_call(
        &self,
        tool: usize,
        arguments: Arguments<'_>,
        meta: &RequestMeta,
        scope: CallScope,
    ) -> ToolWork {
        let read = || {
            let scope = self.scope(meta, &arguments, scope);
            self.start(tool, arguments, meta, scope)
        };
        caught(read).unwrap_or_else(|error| erased(ready(Err(error))).into())
    }

    /// Reads and counts a tool call with a complete scope. Rejects it if the server is stopping.
    fn start(
        &self,
        tool: usize,
        arguments: Arguments<'_>,
        meta: &RequestMeta,
        scope: CallScope,
    ) -> ToolWork {
        let running = match self.shared.drain.count_call() {
            Ok(running) => running,
            Err(error) => return erased(ready(self.service().refuse(error, &scope))).into(),
        };
        let (session, client_request_id) = (scope.session.clone(), scope.client_request_id.clone());
        let work = self.service().call(tool, arguments, &meta.0, scope);
        let operation = work.operation.map(|it| (it.name, it.category));
        work.counted(running.labeled(CallLabel { operation, session, client_request_id }))
    }

    /// Completes the scope of a call with its session, the trace context in `_meta`, and the client's request id.
    fn scope(
        &self,
        meta: &RequestMeta,
        arguments: &Arguments<'_>,
        mut scope: CallScope,
    ) -> CallScope {
        if let Some(origin) = &mut scope.origin {
            meta.add_to_origin(Arc::make_mut(origin));
        }
        let client_request_id = meta.client_request_id(arguments);
        let scope = self.with_session(CallScope { client_request_id, ..scope });
        if let Some(session) = &scope.session
            && session.client().is_none()
            && let Some(client) = meta.client()
        {
            session.introduce(&client);
        }
        scope
    }

    /// Completes the scope of a request with its session.
    pub(crate) fn with_session(&self, scope: CallScope) -> CallScope {
        let of_principal = || scope.principal().map(|it| self.shared.principals.of(it));
        CallScope { session: self.session().or_else(of_principal), ..scope }
    }

    /// Writes the result of a call, or the question to the user if the call has one.
    pub(crate) fn write_result(&self, message: &mut Vec<u8>, reply: &Reply, modern: bool) {
        match &reply.question {
            Some(question) => message.extend(input_required(question).to_string().bytes()),
            None => tool_result(message, reply, modern, self.settings().has_structured_content),
        }
    }

    /// Writes a JSON-RPC message with this answer.
    pub(crate) fn write_answer(
        &self,
        message: &mut Vec<u8>,
        id: &str,
        answer: &ToolAnswer,
        modern: bool,
    ) {
        match answer {
            Ok(reply) => {
                respond_with(message, id, |message| self.write_result(message, reply, modern));
            }
            Err(error) => write_error(message, Some(id), error),
        }
    }
}

/// Returns the error for an answer, other than to a call, that exceeds the remaining budget of its batch.
pub(crate) fn batch_too_large() -> RpcError {
    RpcError::new(-32000, format!("The answers to this batch are too large: {FEWER_CALLS_ADVICE}"))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::adapter::AdapterTools;
    use mcp_aql_core::internal::response::Reply;
    use serde_json::Value;

    fn server() -> Server {
        let adapter = Adapter::builder("empty").without_config().build().unwrap();
        let service: Arc<dyn ToolService> = AdapterTools::new(&adapter);
        let tools = service.tools();
        let shared = ServerState::new(service, &tools);
        Server::new(shared, Arc::new(Connection::lasting()))
    }

    #[tokio::test]
    async fn a_call_without_room_in_its_batch_says_whether_it_ran() {
        // REQ-ENC-09, REQ-ENC-13
        let (server, budget) = (server(), BatchBudget::new(100));
        let mut runs = 0;
        let mut answers = Vec::new();
        for bytes in [60, 40, 1, 1] {
            let call = async {
                runs += 1;
                Ok(Reply::of_tool("x".repeat(bytes)))
            };
            answers.push(server.within(Some(&budget), None, pin!(call)).await.unwrap().text);
        }
        assert_eq!(runs, 3);
        assert_eq!((answers[0].len(), answers[1].len()), (60, 40));
        for (answer, ran) in answers[2..].iter().zip([true, false]) {
            let error = serde_json::from_str::<Value>(answer).unwrap()["error"].take();
            assert_eq!(error["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
            assert_eq!(error["details"]["operation_ran"], ran);
            assert_eq!(error["details"]["limit_value"], 100);
            let message = error["message"].as_str().unwrap();
            assert!(message.ends_with(FEWER_CALLS_ADVICE), "{message}");
        }
        // The budget only applies to batches.
        let call = async { Ok(Reply::of_tool("x".repeat(1_000))) };
        assert_eq!(server.within(None, None, pin!(call)).await.unwrap().text.len(), 1_000);
    }

    #[tokio::test]
    async fn a_failure_without_room_in_its_batch_does_not_say_that_it_ran() {
        let (server, budget) = (server(), BatchBudget::new(10));
        let call = async { server.refuse_call(OperationError::not_found("note", "7"), None) };
        let answer = server.within(Some(&budget), None, pin!(call)).await.unwrap().text;
        assert!(
            answer.contains(FEWER_CALLS_ADVICE) && !answer.contains("operation_ran"),
            "{answer}"
        );
    }

    #[test]
    fn lists_of_tools_take_room_in_a_batch() {
        let server = server();
        let length = server.listed(false, None).unwrap().len();
        let budget = BatchBudget::new(length);
        assert!(server.listed(false, Some(&budget)).is_ok());
        let error = server.listed(false, Some(&budget)).unwrap_err();
        assert!(error.code == -32000 && error.message.ends_with(FEWER_CALLS_ADVICE), "{error:?}");
    }
}
