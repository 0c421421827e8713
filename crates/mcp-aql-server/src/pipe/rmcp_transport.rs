//! rmcp's end of the connection, and the requests that it has to answer.

use std::collections::HashMap;
use std::future::{Future, Ready, ready};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mcp_aql_core::sync::lock;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::super::calls::Calls;
use super::super::rpc_error::RpcError;
use super::super::wire::{Outbox, respond_with, write_error};
use super::answer_target::AnswerTarget;

/// The state of the handshake, from which the client's MCP version follows.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    /// Set after `initialize`: later requests do not repeat the version.
    pub(super) done: AtomicBool,
    /// Set once a message that opens a connection was sent.
    pub(super) begun: AtomicBool,
    /// The requests that rmcp has to answer, by their numbers.
    pub(super) pending: Mutex<HashMap<i64, PendingRequest>>,
}

/// A request that rmcp has to answer.
#[derive(Debug)]
pub(super) struct PendingRequest {
    /// The request's id in canonical form.
    pub(super) id: Box<str>,
    pub(super) answers: AnswerTarget,
}

/// rmcp's end of the connection, for messages that are not handled directly.
pub(super) struct RmcpTransport {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    outbox: Outbox,
    handshake: Arc<Handshake>,
    calls: Arc<Calls>,
}

impl RmcpTransport {
    pub(super) const fn new(
        incoming: mpsc::Receiver<ClientJsonRpcMessage>,
        outbox: Outbox,
        handshake: Arc<Handshake>,
        calls: Arc<Calls>,
    ) -> Self {
        Self { incoming, outbox, handshake, calls }
    }

    /// Ends the request with this number, and returns it.
    fn end(&self, number: &RequestId) -> Option<PendingRequest> {
        let RequestId::Number(number) = number else { return None };
        let request = lock(&self.handshake.pending).remove(number)?;
        self.calls.end(&request.id, *number).then_some(request)
    }

    fn write(&self, message: ServerJsonRpcMessage) -> io::Result<()> {
        match message {
            ServerJsonRpcMessage::Response(response) => {
                if matches!(response.result, ServerResult::InitializeResult(_)) {
                    self.handshake.done.store(true, Ordering::Release);
                }
                // A cancelled request is no longer known, and gets no answer.
                let Some(request) = self.end(&response.id) else { return Ok(()) };
                let result = serde_json::to_vec(&response.result)?;
                request.answers.push(None, |line| {
                    respond_with(line, &request.id, |line| line.extend(result));
                })
            }
            ServerJsonRpcMessage::Error(mut error) if error.id.is_some() => {
                let Some(request) = error.id.take().and_then(|id| self.end(&id)) else {
                    return Ok(());
                };
                let error = RpcError {
                    code: error.error.code.0,
                    message: error.error.message,
                    data: error.error.data,
                };
                request.answers.push(None, |line| write_error(line, Some(&request.id), &error))
            }
            message => {
                let json = serde_json::to_vec(&message)?;
                self.outbox.push_last(None, |line| line.extend(json))
            }
        }
    }
}

impl Transport<RoleServer> for RmcpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let sent: Ready<_> = ready(self.write(message));
        sent
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
