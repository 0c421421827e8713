//! Progress notifications of calls.

use std::time::Duration;

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::operation::ProgressSink;
use mcp_aql_core::internal::util::erased;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::request_meta::ProgressToken;
use super::wire::Outbox;

/// Minimum interval between notifications. More frequent ones would only add load.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(50);

/// Receives the progress reports of one call (REQ-MCP-13 to REQ-MCP-16).
///
/// An operation only stores its latest report here, and [`ProgressSender`] sends it. Therefore a slow client does not
/// block an operation that reports often.
pub(super) struct Progress(watch::Sender<Option<Report>>);

#[derive(Clone)]
struct Report {
    done: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// The parameters of a progress notification.
///
/// ```json
/// { "progressToken": 7, "progress": 36.5, "total": 100.0, "message": "exporting" }
/// ```
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProgressParams {
    pub(super) progress_token: ProgressToken,
    pub(super) progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(super) meta: Option<Map<String, Value>>,
}

/// Sends notifications to the client. A disconnected client is not an error.
pub(super) trait Notifier: Send + Sync {
    /// Sends the progress of a call.
    fn notify(&self, params: ProgressParams) -> BoxFuture<'_, ()>;

    /// Sends the state of a task, in the form of MCP 2025-11-25.
    fn notify_task(&self, task: Value) -> BoxFuture<'_, ()>;
}

impl Notifier for Outbox {
    fn notify(&self, params: ProgressParams) -> BoxFuture<'_, ()> {
        erased(push_notification(self, "notifications/progress", params))
    }

    fn notify_task(&self, task: Value) -> BoxFuture<'_, ()> {
        erased(push_notification(self, TASK_STATUS_NOTIFICATION, task))
    }
}

/// Method of notifications about tasks in MCP 2025-11-25.
pub(super) const TASK_STATUS_NOTIFICATION: &str = "notifications/tasks/status";

async fn push_notification(outbox: &Outbox, method: &str, params: impl Serialize) {
    outbox.room().await;
    let pushed = outbox.push(|line| {
        line.extend(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":"#).bytes());
        // Serializing numbers and strings cannot fail, and neither can writing to a `Vec`.
        let _ = serde_json::to_writer(&mut *line, &params);
        line.push(b'}');
    });
    if let Err(error) = pushed {
        tracing::debug!(%error, "a notification could not be sent");
    }
}

/// Sends the reports stored in [`Progress`].
pub(super) struct ProgressSender<'a> {
    reports: watch::Receiver<Option<Report>>,
    notifier: &'a dyn Notifier,
    token: ProgressToken,
    /// The `_meta` of the notifications.
    meta: Option<Map<String, Value>>,
}

pub(super) fn progress(
    notifier: &dyn Notifier,
    token: ProgressToken,
) -> (Progress, ProgressSender<'_>) {
    let (sender, reports) = watch::channel(None);
    (Progress(sender), ProgressSender { reports, notifier, token, meta: None })
}

impl ProgressSink for Progress {
    fn report<'a>(
        &'a self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> BoxFuture<'a, ()> {
        // MCP requires increasing progress, so other reports and NaN are dropped.
        let grew = self.0.send_if_modified(|latest| {
            let grows = match latest {
                Some(latest) => done > latest.done,
                None => done.is_finite(),
            };
            if grows && done.is_finite() {
                let total = total.filter(|total| total.is_finite());
                *latest = Some(Report { done, total, message });
                return true;
            }
            false
        });
        Box::pin(async move {
            if grew {
                // Let the sender run even if the operation has no other await points.
                tokio::task::yield_now().await;
            }
        })
    }
}

impl ProgressSender<'_> {
    /// Adds a `_meta` to the notifications.
    pub(super) fn with_meta(self, meta: Map<String, Value>) -> Self {
        Self { meta: Some(meta), ..self }
    }

    /// Sends reports until the operation has finished. The last report is sent before the result.
    pub(super) async fn run(mut self, done: &CancellationToken) {
        while !done.is_cancelled() {
            tokio::select! {
                changed = self.reports.changed() => {
                    if changed.is_err() {
                        // The sender was dropped.
                        return;
                    }
                }
                () = done.cancelled() => break,
            }
            self.send_latest().await;
            tokio::select! {
                () = tokio::time::sleep(NOTIFICATION_INTERVAL) => {}
                () = done.cancelled() => {}
            }
        }
        if self.reports.borrow().has_changed() {
            self.send_latest().await;
        }
    }

    async fn send_latest(&mut self) {
        let Some(report) = self.reports.borrow_and_update().clone() else { return };
        let Report { done, total, message } = report;
        let progress_token = self.token.clone();
        let meta = self.meta.clone();
        let params = ProgressParams { progress_token, progress: done, total, message, meta };
        self.notifier.notify(params).await;
    }
}
