//! Progress notifications of calls.

use std::time::Duration;

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::operation::ProgressSink;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::admission::ProgressToken;

/// Minimum interval between notifications. More frequent ones would only add load.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(50);

/// Receives the progress reports of one call (REQ-MCP-13 to REQ-MCP-16).
///
/// An operation only stores its latest report here, and [`ProgressSender`] sends it. Therefore a slow client does not
/// block an operation that reports often.
pub(crate) struct Progress(watch::Sender<Option<Report>>);

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
pub(crate) struct ProgressParams {
    pub(crate) progress_token: ProgressToken,
    pub(crate) progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<Map<String, Value>>,
}

/// Sends notifications to the client. A disconnected client is not an error.
pub(crate) trait Notifier: Send + Sync {
    /// Sends the progress of a call.
    fn notify(&self, params: ProgressParams) -> BoxFuture<'_, ()>;

    /// Sends the state of a task, in the form of MCP 2025-11-25.
    fn notify_task(&self, task: Value) -> BoxFuture<'_, ()>;
}

/// Method of notifications about tasks in MCP 2025-11-25.
pub(crate) const TASK_STATUS_NOTIFICATION: &str = "notifications/tasks/status";

/// Sends the reports stored in [`Progress`].
pub(crate) struct ProgressSender<'a> {
    reports: watch::Receiver<Option<Report>>,
    notifier: &'a dyn Notifier,
    token: ProgressToken,
    /// The `_meta` of the notifications.
    meta: Option<Map<String, Value>>,
}

pub(crate) fn progress(
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
    pub(crate) fn with_meta(self, meta: Map<String, Value>) -> Self {
        Self { meta: Some(meta), ..self }
    }

    /// Sends reports until the operation has finished. The last report is sent before the result.
    pub(crate) async fn run(mut self, done: &CancellationToken) {
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
