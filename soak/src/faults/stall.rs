//! Pauses the adapter's process (SIGSTOP) for longer than its leases. Meanwhile a second process takes over its
//! execution. Then continues the first process.

use rustix::process::Signal;

use super::moment::Moment;
use super::suite::{Suite, final_status};
use super::transport::Client;
use crate::Fault;

pub(super) async fn run(suite: &mut Suite) -> Result<(), Fault> {
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
