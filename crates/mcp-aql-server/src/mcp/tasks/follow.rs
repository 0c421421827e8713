//! Notifies the client about a task, from its start to its end.

use std::sync::Arc;

use mcp_aql_core::internal::operation::CallScope;
use tokio_util::sync::CancellationToken;

use super::related_task;
use super::task_id::TaskId;
use crate::mcp::admission::ProgressToken;
use crate::mcp::progress::{Notifier, progress};
use crate::mcp::server::Server;

/// Sends the progress and the final state of a task to a client of MCP 2025-11-25.
pub(super) struct Follower {
    pub(super) server: Arc<Server>,
    pub(super) id: TaskId,
    /// The progress token of the call. It stays valid until the task has ended.
    pub(super) token: Option<ProgressToken>,
    pub(super) notifier: Arc<dyn Notifier>,
    /// The scope of the call without its cancellation, because the request of the call is already answered.
    pub(super) scope: CallScope,
}

impl Follower {
    /// Follows the task until it ends. If the session ends first, it cancels the execution and thereby ends the task.
    pub(super) async fn run(self) {
        let Some(source) = self.server.service().tasks() else { return };
        let execution = || self.id.execution.clone();
        match self.token {
            Some(token) => {
                let (sink, sender) = progress(&*self.notifier, token);
                let sender = sender.with_meta(related_task(&self.id.to_string()));
                let scope = CallScope { progress: Some(Arc::new(sink)), ..self.scope.clone() };
                let done = CancellationToken::new();
                let waiting = async {
                    source.wait(execution(), scope).await;
                    done.cancel();
                };
                tokio::join!(waiting, sender.run(&done));
            }
            None => source.wait(execution(), self.scope.clone()).await,
        }
        let task = self.server.task(&self.id, self.scope).await;
        if let Ok((_, task)) = task
            && let Ok(task) = serde_json::to_value(task.of_utility())
        {
            self.notifier.notify_task(task).await;
        }
    }
}
