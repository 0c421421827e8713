//! Moves the adapter's clock forward and back while calls of all kinds are running.

use super::adapter::set_clock;
use super::moment::Moment;
use super::suite::Suite;
use crate::Fault;

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

pub(super) async fn run(suite: &mut Suite) -> Result<(), Fault> {
    for jump in [HOUR, -HOUR, DAY, -DAY] {
        for moment in Moment::OF_OPERATIONS {
            let server = suite.start().await?;
            // Move the clock away, and back again.
            for ahead in [suite.ahead + jump, suite.ahead] {
                let all = suite.reach_all(&server, moment).await?;
                set_clock(&suite.place.folder, ahead)?;
                for pending in all {
                    suite.settle(pending.answered().await?, &server).await?;
                }
                suite.works(&server).await?;
                suite.finish_executions(&server, true).await?;
            }
            server.kill().await?;
            suite.check_store();
        }
    }
    Ok(())
}
