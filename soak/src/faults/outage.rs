//! Makes the store fail while calls of all kinds are running. Short outages begin at each moment of a call and end with
//! its response. Long outages last longer than the leases.

use std::time::Duration;

use tokio::time::sleep;

use super::adapter::{LEASE, state_file};
use super::client::Kind;
use super::faulty_store::{Outage, set_outage};
use super::moment::Moment;
use super::server::{Place, Server};
use super::suite::Suite;
use crate::Fault;

/// How the store fails.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    Outage(Outage),
    /// Another process holds the lock of the SQLite file.
    Locked,
}

/// Duration of a long outage.
const LONG_OUTAGE: Duration = Duration::from_secs(3 * LEASE.as_secs());

/// A failure in progress. The store only works again after you call `end`.
enum Ongoing {
    Outage,
    Locked(rusqlite::Connection),
}

impl Trouble {
    fn begin(self, place: &Place) -> Result<Ongoing, Fault> {
        match self {
            Self::Outage(outage) => {
                set_outage(&place.folder, Some(outage))?;
                Ok(Ongoing::Outage)
            }
            Self::Locked => {
                let connection = rusqlite::Connection::open(state_file(&place.folder))?;
                connection.busy_timeout(Duration::from_secs(60))?;
                connection.execute_batch("BEGIN IMMEDIATE")?;
                Ok(Ongoing::Locked(connection))
            }
        }
    }
}

impl Ongoing {
    fn end(self, place: &Place) -> Result<(), Fault> {
        match self {
            Self::Outage => set_outage(&place.folder, None)?,
            Self::Locked(connection) => connection.execute_batch("ROLLBACK")?,
        }
        Ok(())
    }
}

pub(super) async fn run(suite: &mut Suite) -> Result<(), Fault> {
    let mut troubles =
        vec![Trouble::Outage(Outage::Refuses), Trouble::Outage(Outage::LosesAnswers)];
    if suite.place.schema.is_none() {
        troubles.push(Trouble::Locked);
    }
    let server = suite.start().await?;
    for trouble in troubles {
        for kind in Kind::ALL {
            for moment in Moment::all(kind) {
                short(suite, &server, trouble, (kind, moment)).await?;
            }
        }
        let moment = suite.random.one_of(&Moment::OF_OPERATIONS).copied();
        long(suite, &server, trouble, moment.unwrap_or(Moment::Entered)).await?;
    }
    server.kill().await?;
    Ok(())
}

/// Starts an outage at a moment of a call, and ends it with the response.
async fn short(
    suite: &mut Suite,
    server: &Server,
    trouble: Trouble,
    (kind, moment): (Kind, Moment),
) -> Result<(), Fault> {
    let pending = suite.reach(server, kind, moment).await?;
    let ongoing = trouble.begin(&suite.place)?;
    let answered = pending.answered().await?;
    ongoing.end(&suite.place)?;
    suite.settle(answered, server).await?;
    suite.finish_executions(server, false).await?;
    suite.check_store();
    Ok(())
}

/// Starts an outage that lasts longer than the leases. Calls of all kinds end in it, and others start in it.
async fn long(
    suite: &mut Suite,
    server: &Server,
    trouble: Trouble,
    moment: Moment,
) -> Result<(), Fault> {
    let all = suite.reach_all(server, moment).await?;
    let ongoing = trouble.begin(&suite.place)?;
    let mut answered = Vec::new();
    for pending in all {
        answered.push(pending.answered().await?);
    }
    for kind in [Kind::Session, Kind::Stateless, Kind::Read, Kind::Execution] {
        answered.push(suite.reach(server, kind, Moment::Answered).await?.answered().await?);
    }
    sleep(LONG_OUTAGE).await;
    ongoing.end(&suite.place)?;
    for answered in answered {
        suite.settle(answered, server).await?;
    }
    suite.works(server).await?;
    suite.finish_executions(server, true).await?;
    suite.check_store();
    Ok(())
}
