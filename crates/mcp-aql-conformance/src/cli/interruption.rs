//! Runs that end early because of a signal.

#[cfg(not(unix))]
use std::future::pending as terminated;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_conformance::{Report, Runner};
use tokio::sync::Notify;

use super::output::{plain, print_notice};
use super::progress;
#[cfg(unix)]
use unix::terminated;

/// Time for an interrupted run to end, including the time to close the adapter.
const END_TIMEOUT: Duration = Duration::from_secs(12);

/// Completes at the first signal to a run.
pub(super) type FirstSignal = Pin<Box<dyn Future<Output = ()>>>;

/// Runs the checks until they finish or a signal arrives.
///
/// After Ctrl-C or SIGTERM, the run removes what it created, and the report has the results so far. A message lists
/// items left behind. A second signal ends the run at once, without a report.
pub(super) async fn run(runner: &Runner, may_create: bool) -> Option<Report> {
    let report = interruptible(may_create, |first| runner.run_until(first)).await?;
    if report.interrupted {
        progress::clear();
        say_what_is_left(&report, may_create);
    }
    Some(report)
}

/// Does work that cleans up after itself and ends soon after the first signal.
///
/// Returns `None` if a second signal or the time limit ended it.
pub(super) async fn interruptible<F: Future>(
    may_create: bool,
    work: impl FnOnce(FirstSignal) -> F,
) -> Option<F::Output> {
    let is_interrupted = Arc::new(Notify::new());
    let notify = Arc::clone(&is_interrupted);
    let first = Box::pin(async move {
        interrupted().await;
        progress::clear();
        print_notice(match may_create {
            true => "interrupted; removing what the run created; a second signal ends it at once",
            false => "interrupted",
        });
        notify.notify_one();
    });
    let at_once = async {
        is_interrupted.notified().await;
        tokio::select! {
            () = interrupted() => {}
            () = tokio::time::sleep(END_TIMEOUT) => {}
        }
    };
    tokio::select! {
        // Poll the signals first, so their handlers are installed before the adapter is started.
        biased;
        () = at_once => {
            progress::clear();
            if may_create {
                print_notice("ended at once; items that the run created may be left");
            }
            None
        }
        result = work(first) => Some(result),
    }
}

/// Prints what an interrupted run left behind, before the report is written.
fn say_what_is_left(report: &Report, may_create: bool) {
    if !report.left_behind.is_empty() {
        let left = report.left_behind.iter().map(|left| format!("\n  {}", plain(left)));
        print_notice(&format!("left behind:{}", left.collect::<String>()));
    } else if may_create {
        print_notice("nothing was left behind");
    }
}

/// Waits for Ctrl-C or SIGTERM.
pub(super) async fn interrupted() {
    let by_hand = async {
        // Without signal handlers, wait forever: the default action of the system applies.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = by_hand => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
mod unix {
    use tokio::signal::unix::{SignalKind, signal};

    /// Waits for SIGTERM.
    pub(super) async fn terminated() {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    }
}
