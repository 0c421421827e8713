//! Kills the adapter (SIGKILL) at each moment of each kind of call.

use super::client::Kind;
use super::model::ProcessEnd;
use super::moment::Moment;
use super::suite::Suite;
use crate::Fault;

pub(super) async fn run(suite: &mut Suite) -> Result<(), Fault> {
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
