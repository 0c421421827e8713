//! Kills the adapter (SIGKILL) at each moment of each kind of call.

use super::client::Kind;
use super::suite::{Moment, Suite};
use crate::Fault;

/// The number of random moments of each kind of call.
const RANDOM_MOMENTS: usize = 3;

pub(super) async fn run(suite: &mut Suite) -> Result<(), Fault> {
    for kind in Kind::ALL {
        let mut moments = Moment::all(kind);
        moments.extend((0..RANDOM_MOMENTS).map(|_| Moment::random(&mut suite.random)));
        for moment in moments {
            let server = suite.start().await?;
            // An execution begins when those of earlier processes have ended. From then on only the call writes to the
            // store.
            let first = suite.reach(&server, Kind::Execution, Moment::Answered).await?;
            suite.settle(first.answered().await?, &server).await?;
            suite.finish_executions(&server, false).await?;
            let pending = suite.reach(&server, kind, moment).await?;
            server.kill().await?;
            suite.settle_killed(pending).await?;
        }
    }
    Ok(())
}
