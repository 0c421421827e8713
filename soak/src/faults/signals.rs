//! Sends signals to the adapter's process: kills, pauses and stops it.

use rustix::process::Signal;

use super::client::Kind;
use super::model::ProcessEnd;
use super::moment::Moment;
use super::server::{Log, Server};
use super::suite::{Suite, final_status};
use super::transport::{Client, Transport};
use crate::Fault;

/// The log line at the beginning of a stop.
const STOPPING: &str = "new calls are rejected";
/// The log lines at the end of a stop.
const FINISHED: &str = "all running calls have finished";
const UNFINISHED: &str = "stopped with unfinished";
/// The drain timeout for processes that shall finish their calls, long enough for slow machines.
const LONG_DRAIN: [&str; 2] = ["--drain-timeout", "600"];
/// The drain timeout for processes whose calls take longer.
const SHORT_DRAIN: [&str; 2] = ["--drain-timeout", "1"];

/// Kills the adapter (SIGKILL) at each moment of each kind of call.
pub(super) async fn kill(suite: &mut Suite) -> Result<(), Fault> {
    for kind in Kind::over(suite.place.transport) {
        for moment in Moment::with_random(kind, &mut suite.random) {
            let server = suite.start().await?;
            suite.settle_store(&server).await?;
            let pending = suite.reach(&server, kind, moment).await?;
            server.kill().await?;
            suite.settle_ended(pending, ProcessEnd::Killed).await?;
            suite.check_store();
        }
    }
    Ok(())
}

/// Pauses the adapter's process (SIGSTOP) for longer than its leases. Meanwhile a second process takes over its
/// execution. Then continues the first process.
pub(super) async fn stall(suite: &mut Suite) -> Result<(), Fault> {
    for moment in Moment::OF_OPERATIONS {
        let stalled = suite.start().await?;
        let other = suite.start().await?;
        let all = suite.reach_all(&stalled, moment).await?;
        let execution = all.iter().find_map(|pending| pending.execution());
        let execution = execution.ok_or("no execution has begun")?.to_owned();
        stalled.signal(Signal::STOP)?;
        // The second process ends the execution once its lease expired.
        let mut client = Client::open(&other.address).await?;
        let status = final_status(&mut client, &execution).await?;
        if status != "failed" {
            return Err(format!("the execution of a stalled process is {status}").into());
        }
        stalled.signal(Signal::CONT)?;
        for pending in all {
            suite.settle(pending.answered().await?, &stalled).await?;
        }
        suite.works(&stalled).await?;
        suite.finish_executions(&stalled, true).await?;
        suite.finish_executions(&other, true).await?;
        stalled.kill().await?;
        other.kill().await?;
        suite.check_store();
    }
    Ok(())
}

/// Stops the adapter (SIGTERM) at each moment of each kind of call.
///
/// With enough time, it must finish the call and reject new ones. With too little time, it must log that the call was
/// cut off.
pub(super) async fn terminate(suite: &mut Suite) -> Result<(), Fault> {
    for kind in Kind::over(suite.place.transport) {
        for moment in Moment::with_random(kind, &mut suite.random) {
            finished(suite, kind, moment).await?;
        }
    }
    cut_off(suite).await
}

/// Stops a process with enough time for its call.
async fn finished(suite: &mut Suite, kind: Kind, moment: Moment) -> Result<(), Fault> {
    let server = suite.start_with(&LONG_DRAIN).await?;
    if moment.is_of_store() {
        suite.settle_store(&server).await?;
    }
    let mut read = suite.prepare(&server, Kind::Read).await?;
    read.prepared.use_connection().await?;
    let change = suite.prepare(&server, Kind::Session).await?;
    // While another call is held, the process cannot exit before it received the second half of the request.
    let other = match moment {
        Moment::HalfSent => Some(suite.reach(&server, Kind::Read, Moment::Entered).await?),
        _ => None,
    };
    let pending = suite.reach(&server, kind, moment).await?;
    server.signal(Signal::TERM)?;
    if moment.is_held() {
        server.log.line(STOPPING).await?;
        for unsent in [read, change] {
            suite.send_refused(unsent).await?;
        }
        if suite.place.transport == Transport::Http {
            let on_new_connection = suite.prepare(&server, Kind::Stateless).await?;
            suite.send_refused(on_new_connection).await?;
        }
    }
    if other.is_some() {
        server.log.line(STOPPING).await?;
    }
    let accepted = moment.is_held() || moment == Moment::Answered;
    suite.settle_ended(pending, ProcessEnd::Drained { accepted }).await?;
    if let Some(other) = other {
        suite.settle_ended(other, ProcessEnd::Drained { accepted: true }).await?;
    }
    ended(suite, server, FINISHED).await
}

/// Returns the calls for each process stopped with too little time: a call of each kind per moment of the
/// operations, and one call per write of the store.
fn held_calls(transport: Transport) -> Vec<Vec<(Kind, Moment)>> {
    let mut all = Vec::new();
    for moment in Moment::OF_OPERATIONS {
        all.push(Kind::over(transport).map(|kind| (kind, moment.for_kind(kind))).collect());
    }
    for kind in Kind::over(transport) {
        let writes = Moment::all(kind).into_iter().filter(|moment| moment.is_of_store());
        all.extend(writes.map(|moment| vec![(kind, moment)]));
    }
    all
}

/// Stops processes with too little time for their calls, all at once. Each call is held until its process has exited.
async fn cut_off(suite: &mut Suite) -> Result<(), Fault> {
    let processes = held_calls(suite.place.transport);
    let mut servers = Vec::new();
    for _ in &processes {
        servers.push(suite.start_with(&SHORT_DRAIN).await?);
    }
    for server in &servers {
        suite.settle_store(server).await?;
    }
    let mut held = Vec::new();
    for (server, calls) in servers.iter().zip(processes) {
        for (kind, moment) in calls {
            held.push(suite.reach(server, kind, moment).await?);
        }
    }
    for server in &servers {
        server.signal(Signal::TERM)?;
    }
    for server in servers {
        ended(suite, server, UNFINISHED).await?;
    }
    for pending in held {
        suite.settle_ended(pending, ProcessEnd::CutOff).await?;
    }
    Ok(())
}

/// Waits for the exit of a stopped process. Checks its exit status and the last line of its log.
async fn ended(suite: &mut Suite, server: Server, last: &str) -> Result<(), Fault> {
    let log: Log = server.log.clone();
    let status = server.ended().await?;
    if !status.success() || log.count(&[last]) != 1 {
        let tail = log.tail();
        suite.violation(format!("the end of a process, with {status}, is not {last:?}:\n{tail}"));
    }
    suite.check_store();
    Ok(())
}
