//! Drives an adapter process with rmcp's client.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest,
    ProgressNotificationParam, Tool,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::program::program;

/// Maximum time to wait for a response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A connected client and the adapter process.
pub(crate) struct Mcp {
    service: RunningService<RoleClient, Listener>,
    log: tokio::task::JoinHandle<String>,
}

/// Records the progress notifications of the adapter.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<ProgressNotificationParam>>>);

impl ClientHandler for Listener {
    async fn on_progress(
        &self,
        report: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.lock().unwrap().push(report);
    }
}

impl Mcp {
    /// Starts an example with these arguments and environment variables, and initializes MCP.
    pub(crate) async fn start(
        example: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new(program(example));
        command.args(arguments).envs(variables.iter().copied());
        Self::run(command).await
    }

    /// Like [`start`](Self::start), with a command that starts the example.
    pub(crate) async fn run(command: Command) -> Self {
        let (process, stderr) =
            TokioChildProcess::builder(command).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = stderr.unwrap();
        let log = tokio::spawn(async move {
            let mut text = String::new();
            stderr.read_to_string(&mut text).await.unwrap();
            text
        });
        let service = Listener::default().serve(process).await.unwrap();
        Self { service, log }
    }

    pub(crate) async fn tools(&self) -> Vec<Tool> {
        self.service.list_all_tools().await.unwrap()
    }

    /// Calls an operation through a tool. Returns the reply and MCP's `isError`. Confirms the call if necessary.
    pub(crate) async fn call(
        &self,
        tool: &str,
        operation: &str,
        mut params: Value,
    ) -> (Value, bool) {
        let (reply, is_error) = self.call_once(tool, operation, params.clone()).await;
        if reply["error"]["code"] != "CONFIRMATION_REQUIRED" {
            return (reply, is_error);
        }
        params["_confirmation"] = reply["error"]["details"]["confirmation_token"].clone();
        self.call_once(tool, operation, params).await
    }

    /// Like [`call`](Self::call), without the confirmation.
    pub(crate) async fn call_once(
        &self,
        tool: &str,
        operation: &str,
        params: Value,
    ) -> (Value, bool) {
        let answer = self.service.call_tool(request(tool, operation, params));
        reply(&tokio::time::timeout(ANSWER_TIMEOUT, answer).await.expect("an answer").unwrap())
    }

    /// Like [`call`](Self::call), but returns `data` and panics if the call fails.
    pub(crate) async fn data(&self, tool: &str, operation: &str, params: Value) -> Value {
        let (mut reply, is_error) = self.call(tool, operation, params).await;
        assert_eq!((&reply["success"], is_error), (&json!(true), false), "{operation}: {reply}");
        reply["data"].take()
    }

    /// Like [`call`](Self::call), but returns `error` and panics if the call succeeds. Checks that `isError` is only
    /// set for errors that no other call can avoid.
    pub(crate) async fn error(&self, tool: &str, operation: &str, params: Value) -> Value {
        let (mut reply, is_error) = self.call(tool, operation, params).await;
        assert_eq!(reply["success"], false, "{operation}: {reply}");
        assert_eq!(is_error, reply["error"]["code"] == "INTERNAL_ERROR", "{operation}: {reply}");
        reply["error"].take()
    }

    /// Sends a call without waiting. You can cancel or await the returned handle.
    pub(crate) async fn begin(
        &self,
        tool: &str,
        operation: &str,
        params: Value,
    ) -> RequestHandle<RoleClient> {
        let request = CallToolRequest::new(request(tool, operation, params));
        let request = ClientRequest::CallToolRequest(request);
        self.service
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await
            .unwrap()
    }

    /// Returns the progress notifications so far.
    pub(crate) fn progress(&self) -> Vec<ProgressNotificationParam> {
        self.service.service().0.lock().unwrap().clone()
    }

    /// Closes the connection. Returns the process's output on standard error.
    pub(crate) async fn close(self) -> String {
        self.service.cancel().await.unwrap();
        self.log.await.unwrap()
    }
}

fn request(tool: &str, operation: &str, params: Value) -> CallToolRequestParams {
    let arguments = json!({"operation": operation, "params": params});
    CallToolRequestParams::new(tool.to_owned())
        .with_arguments(arguments.as_object().unwrap().clone())
}

fn reply(result: &CallToolResult) -> (Value, bool) {
    let text = &result.content[0].as_text().unwrap().text;
    (serde_json::from_str(text).unwrap(), result.is_error == Some(true))
}
