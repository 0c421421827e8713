use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ConstString as _, ProgressNotificationMethod, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::Peer;
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::wire::Outbox;
use crate::future::BoxFuture;
use crate::operation::ProgressSink;

/// At most one notification in this time: a client gains nothing by more, and each one has to be
/// written out.
const PACE: Duration = Duration::from_millis(50);

/// One call's progress on its way to the client (REQ-MCP-13 to REQ-MCP-16).
///
/// The operation only leaves its latest word here; [`Pump`] sends it. So a chatty operation is not
/// held up by a slow client.
pub(super) struct Progress(watch::Sender<Option<Report>>);

#[derive(Clone)]
struct Report {
    done: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// The way to the client.
pub(super) enum Notifier {
    /// Through rmcp.
    Peer(Peer<RoleServer>),
    /// Straight to the stream.
    Outbox(Outbox),
}

impl Notifier {
    async fn send(&self, params: ProgressNotificationParam) {
        /// A notification as JSON-RPC has it.
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

/// Sends what [`Progress`] collects.
pub(super) struct Pump {
    reports: watch::Receiver<Option<Report>>,
    notifier: Notifier,
    token: ProgressToken,
}

pub(super) fn progress(notifier: Notifier, token: ProgressToken) -> (Progress, Pump) {
    let (sender, reports) = watch::channel(None);
    (Progress(sender), Pump { reports, notifier, token })
}

impl ProgressSink for Progress {
    fn report<'a>(
        &'a self,
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> BoxFuture<'a, ()> {
        // MCP wants progress to grow: whatever does not is dropped, and so is what is no number.
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
                // Lets the pump run beside an operation that never waits for anything.
                tokio::task::yield_now().await;
            }
        })
    }
}

impl Pump {
    /// Sends reports as they come, until the operation is done and its last one has gone out: it
    /// comes before the result.
    pub(super) async fn run(mut self, done: &CancellationToken) {
        while !done.is_cancelled() {
            tokio::select! {
                changed = self.reports.changed() => {
                    if changed.is_err() {
                        // Nobody is left to report anything.
                        return;
                    }
                }
                () = done.cancelled() => break,
            }
            self.send_latest().await;
            tokio::select! {
                () = tokio::time::sleep(PACE) => {}
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
