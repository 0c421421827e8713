//! Progress notifications of calls.

use std::time::Duration;

use mcp_aql_core::future::BoxFuture;
use mcp_aql_core::operation::ProgressSink;
use rmcp::RoleServer;
use rmcp::model::{
    ConstString as _, ProgressNotificationMethod, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::Peer;
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::wire::Outbox;

/// The minimum interval between notifications. More frequent ones would only add load.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(50);

/// The progress of one call on its way to the client (REQ-MCP-13 to REQ-MCP-16).
///
/// An operation only stores its latest report here; [`ProgressSender`] sends it. A slow client therefore does
/// not block an operation that reports often.
pub(super) struct Progress(watch::Sender<Option<Report>>);

#[derive(Clone)]
struct Report {
    done: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// The channel to the client.
pub(super) enum Notifier {
    /// Through rmcp.
    Peer(Peer<RoleServer>),
    /// Directly through the outbox.
    Outbox(Outbox),
}

impl Notifier {
    async fn send(&self, params: ProgressNotificationParam) {
        /// A JSON-RPC notification.
        #[derive(Serialize)]
        struct Notification {
            jsonrpc: &'static str,
            method: &'static str,
            params: ProgressNotificationParam,
        }
        let sent = match self {
            Self::Peer(peer) => {
                peer.notify_progress(params).await.map_err(|error| error.to_string())
            }
            Self::Outbox(outbox) => {
                outbox.room().await;
                let method = ProgressNotificationMethod::VALUE;
                let notification = Notification { jsonrpc: "2.0", method, params };
                serde_json::to_vec(&notification).map_err(|error| error.to_string()).and_then(
                    |json| outbox.push(|line| line.extend(json)).map_err(|error| error.to_string()),
                )
            }
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "progress could not be sent");
        }
    }
}

/// Sends the reports that [`Progress`] stores.
pub(super) struct ProgressSender {
    reports: watch::Receiver<Option<Report>>,
    notifier: Notifier,
    token: ProgressToken,
}

pub(super) fn progress(notifier: Notifier, token: ProgressToken) -> (Progress, ProgressSender) {
    let (sender, reports) = watch::channel(None);
    (Progress(sender), ProgressSender { reports, notifier, token })
}

impl ProgressSink for Progress {
    fn report<'a>(
        &'a self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> BoxFuture<'a, ()> {
        // MCP requires progress to increase. Other reports, and NaN, are dropped.
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
                // Lets the pump run beside an operation without await points.
                tokio::task::yield_now().await;
            }
        })
    }
}

impl ProgressSender {
    /// Sends reports until the operation is complete. The last report is sent before the result.
    pub(super) async fn run(mut self, done: &CancellationToken) {
        while !done.is_cancelled() {
            tokio::select! {
                changed = self.reports.changed() => {
                    if changed.is_err() {
                        // The sender is gone.
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
        let mut notification = ProgressNotificationParam::new(self.token.clone(), report.done);
        notification.total = report.total;
        notification.message = report.message;
        self.notifier.send(notification).await;
    }
}
