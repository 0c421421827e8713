//! Stand-in for servers over HTTP if the feature `http` is off.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;

use super::Failure;
use super::message_filter::MessageFilter;

/// A server over HTTP. It cannot be created in this build.
pub(super) struct HttpServer(Infallible);

impl HttpServer {
    /// Returns an error, because HTTP is not available.
    pub(super) fn new(
        _: &str,
        _: &BTreeMap<String, String>,
        _: impl Fn(&str) -> bool,
        _: impl FnOnce(&str),
    ) -> Result<(Self, Infallible), Failure> {
        Err(Failure::FailedToStart)
    }
}

/// A connection over HTTP. It cannot be created in this build.
pub(super) struct HttpTransport(Infallible);

impl HttpTransport {
    pub(super) fn new(server: HttpServer, _: Infallible, _: Arc<MessageFilter>) -> Self {
        match server.0 {}
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = Failure;

    fn send(
        &mut self,
        _: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        match self.0 {}
        #[expect(unreachable_code, reason = "the return type needs a future")]
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        match self.0 {}
    }

    async fn close(&mut self) -> Result<(), Failure> {
        match self.0 {}
    }
}
