//! One adapter, its calls, and the moments of its faults.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::adapter::{LEASE, set_clock};
use super::client::{Kind, Outcome, Prepared, Retry};
use super::ledger::Ledger;
use super::model::{self, Call, Tally};
use super::points::{
    AFTER_ENTRIES, AFTER_WRITE, BEFORE_WRITE, BETWEEN_ENTRIES, ENTERED, PointServer, Reached,
};
use super::server::{Log, Place, Server};
use crate::Fault;
use crate::http::Connection;
use crate::random::Random;

/// The maximum time until an execution has a final state.
const END_TIMEOUT: Duration = Duration::from_secs(120);
/// The longest time after which a fault happens at a random moment. A call takes a few milliseconds.
const MAX_RANDOM_DELAY: Duration = Duration::from_millis(20);

/// A moment of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// The adapter has received one half of the request.
    HalfSent,
    /// The operation has begun.
    Entered,
    BetweenEntries,
    AfterEntries,
    /// Before or after a write of the store, counted from 0. The renewal of a lease counts too.
    BeforeWrite(usize),
    AfterWrite(usize),
    /// The client has received the answer.
    Answered,
    /// After this time.
    After(Duration),
}

impl Moment {
    /// The moments at which an operation itself waits.
    pub(super) const OF_OPERATIONS: [Self; 3] =
        [Self::Entered, Self::BetweenEntries, Self::AfterEntries];

    /// All moments of a call that can be awaited.
    pub(super) fn all(kind: Kind) -> Vec<Self> {
        // The writes of a token that is used, and of an execution that begins, advances and ends.
        let writes = match kind {
            Kind::Confirmed => 1,
            Kind::Execution => 3,
            Kind::Session | Kind::Stateless | Kind::Read => 0,
        };
        let writes = (0..writes).flat_map(|n| [Self::BeforeWrite(n), Self::AfterWrite(n)]);
        let entries: &[Self] = match kind {
            Kind::Read => &[],
            _ => &[Self::BetweenEntries, Self::AfterEntries],
        };
        let ends = [Self::HalfSent, Self::Entered, Self::Answered];
        ends.into_iter().chain(entries.iter().copied()).chain(writes).collect()
    }

    pub(super) fn random(random: &mut Random) -> Self {
        let most = u64::try_from(MAX_RANDOM_DELAY.as_micros()).unwrap_or(u64::MAX);
        Self::After(Duration::from_micros(random.below(most)))
    }

    fn point(self, id: &str) -> Option<(String, usize)> {
        let of_operation = |name: &str| Some((format!("{name} {id}"), 0));
        match self {
            Self::Entered => of_operation(ENTERED),
            Self::BetweenEntries => of_operation(BETWEEN_ENTRIES),
            Self::AfterEntries => of_operation(AFTER_ENTRIES),
            Self::BeforeWrite(number) => Some((BEFORE_WRITE.to_owned(), number)),
            Self::AfterWrite(number) => Some((AFTER_WRITE.to_owned(), number)),
            Self::HalfSent | Self::Answered | Self::After(_) => None,
        }
    }
}

/// A call that is waiting at its moment.
pub(super) struct Pending {
    id: String,
    kind: Kind,
    moment: Moment,
    log: Log,
    retry: Option<Retry>,
    sending: JoinHandle<Result<Outcome, Fault>>,
    /// The outcome, if the call has been answered.
    outcome: Option<Outcome>,
    /// The point, at which the adapter waits until this is dropped.
    reached: Option<Reached>,
    /// The other half of the request is sent when this is dropped.
    rest: oneshot::Sender<()>,
}

impl Pending {
    /// Lets the call go on, and waits for its answer.
    pub(super) async fn answered(self) -> Result<Answered, Fault> {
        let Self { id, kind, moment, log, retry, sending, outcome, reached, rest } = self;
        drop((reached, rest));
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => sending.await?.map_err(|fault| {
                format!("{id}, {} at {moment:?}: {fault}\n{}", kind.as_str(), log.tail())
            })?,
        };
        Ok(Answered { id, kind, log, retry, outcome })
    }

    /// The id of the execution that has begun.
    pub(super) fn execution(&self) -> Option<&str> {
        self.outcome.as_ref().and_then(Outcome::execution)
    }
}

/// A call that has been answered, or lost its connection.
pub(super) struct Answered {
    id: String,
    kind: Kind,
    log: Log,
    retry: Option<Retry>,
    outcome: Outcome,
}

impl Answered {
    pub(super) fn is_acknowledged(&self) -> bool {
        self.outcome.is_acknowledged()
    }
}

/// One adapter and its calls.
pub(super) struct Suite {
    pub(super) place: Place,
    points: PointServer,
    pub(super) random: Random,
    pub(super) calls: Vec<Call>,
    number: u64,
    /// How far the adapter's clock is ahead, in seconds.
    pub(super) ahead: i64,
    pub(super) moments: usize,
}

impl Suite {
    pub(super) fn new(place: Place, seed: u64) -> Result<Self, Fault> {
        let points = PointServer::listen(&place.folder)?;
        let random = Random::new(seed);
        Ok(Self { place, points, random, calls: Vec::new(), number: 0, ahead: 0, moments: 0 })
    }

    /// Starts an adapter. The leases of all earlier processes have expired, because its clock is ahead.
    pub(super) async fn start(&mut self) -> Result<Server, Fault> {
        self.ahead += 10 * i64::try_from(LEASE.as_secs())?;
        set_clock(&self.place.folder, self.ahead)?;
        Server::start(&self.place).await
    }

    /// Sends a call and waits until it is at its moment.
    pub(super) async fn reach(
        &mut self,
        server: &Server,
        kind: Kind,
        moment: Moment,
    ) -> Result<Pending, Fault> {
        self.number += 1;
        self.moments += 1;
        let id = format!("call-{}", self.number);
        let prepared = Prepared::new(server.address, kind, &id).await?;
        let retry = prepared.retry();
        let expected = moment.point(&id).map(|(name, skip)| self.points.stop_at(&name, skip));
        let (rest, other_half) = oneshot::channel::<()>();
        let (sent, half) = oneshot::channel();
        let halves = moment == Moment::HalfSent;
        let mut sending = tokio::spawn(async move {
            match halves {
                true => prepared.send_in_halves(sent, other_half).await,
                false => prepared.send().await,
            }
        });
        let (mut reached, mut outcome) = (None, None);
        match (expected, moment) {
            (Some(expected), _) => {
                let place = || format!("{id}, {} at {moment:?}", kind.as_str());
                let point = expected.reached().await;
                reached = Some(point.map_err(|fault| format!("{}: {fault}", place()))?);
                // The call that began an execution is answered while its function runs.
                if kind == Kind::Execution && Moment::OF_OPERATIONS.contains(&moment) {
                    let answer = (&mut sending).await?;
                    outcome = Some(answer.map_err(|fault| {
                        format!("{} begins: {fault}\n{}", place(), server.log.tail())
                    })?);
                }
            }
            (None, Moment::HalfSent) => half.await?,
            (None, Moment::After(delay)) => sleep(delay).await,
            (None, _) => outcome = Some((&mut sending).await??),
        }
        let log = server.log.clone();
        Ok(Pending { id, kind, moment, log, retry, sending, outcome, reached, rest })
    }

    /// Sends a call of each kind and waits until all are at this moment of their operations.
    pub(super) async fn reach_all(
        &mut self,
        server: &Server,
        moment: Moment,
    ) -> Result<Vec<Pending>, Fault> {
        let mut all = Vec::new();
        for kind in Kind::ALL {
            let moment = if kind == Kind::Read { Moment::Entered } else { moment };
            all.push(self.reach(server, kind, moment).await?);
        }
        Ok(all)
    }

    /// Records the outcome of a call to a process that was killed.
    pub(super) async fn settle_killed(&mut self, pending: Pending) -> Result<(), Fault> {
        let Answered { id, kind, log, outcome, .. } = pending.answered().await?;
        self.calls.push(Call { id, kind, outcome, log, killed: true, status: None });
        Ok(())
    }

    /// Records the outcome of a call. A confirmed change is sent again with the same token. If the change was acknowledged
    /// before, that must fail.
    pub(super) async fn settle(
        &mut self,
        answered: Answered,
        server: &Server,
    ) -> Result<(), Fault> {
        let Answered { id, kind, log, mut outcome, retry } = answered;
        if let Some(retry) = retry {
            let again = retry.send(server.address).await?;
            match (outcome.is_acknowledged(), again.is_acknowledged()) {
                (true, true) => return Err(format!("{id}: a token was used twice").into()),
                (false, true) => outcome = again,
                _ => {}
            }
        }
        self.calls.push(Call { id, kind, outcome, log, killed: false, status: None });
        Ok(())
    }

    /// Sends a call of each kind, all of which must be acknowledged.
    pub(super) async fn works(&mut self, server: &Server) -> Result<(), Fault> {
        for kind in Kind::ALL {
            let pending = self.reach(server, kind, Moment::Answered).await?;
            self.moments -= 1;
            self.settle(pending.answered().await?, server).await?;
            let call = self.calls.last().filter(|call| !call.outcome.is_acknowledged());
            if let Some(call) = call {
                let name = kind.as_str();
                return Err(format!("after the fault, a {name} fails: {:?}", call.outcome).into());
            }
        }
        Ok(())
    }

    /// Waits until the acknowledged executions have a final state. With `again`, those that were seen in a final state
    /// before must still have it.
    pub(super) async fn finish_executions(
        &mut self,
        server: &Server,
        again: bool,
    ) -> Result<(), Fault> {
        let mut connection = Connection::open(server.address).await?;
        for call in &mut self.calls {
            if call.status.is_some() && !again {
                continue;
            }
            let Some(id) = call.execution().map(str::to_owned) else { continue };
            let status = final_status(&mut connection, &id).await?;
            if let Some(before) = call.status.replace(status.clone())
                && before != status
            {
                return Err(format!("execution {id} was {before}, and is {status}").into());
            }
        }
        Ok(())
    }

    /// Starts a last adapter, which must work, and in which all executions still have the state that was seen.
    pub(super) async fn finish(&mut self) -> Result<(), Fault> {
        let server = self.start().await?;
        self.works(&server).await?;
        self.finish_executions(&server, true).await?;
        server.kill().await?;
        Ok(())
    }

    /// Checks all calls.
    pub(super) fn check(&self) -> (Tally, Vec<String>) {
        model::check(&self.calls, &Ledger::of(&self.place.folder).read())
    }
}

/// Waits for the end of an execution.
pub(super) async fn final_status(connection: &mut Connection, id: &str) -> Result<String, Fault> {
    let start = Instant::now();
    loop {
        let params = json!({ "execution_id": id });
        let reply = connection.call(None, 1, "get_execution", params).await?;
        let status = reply["data"]["status"].as_str().ok_or_else(|| format!("lost: {reply}"))?;
        if !["pending", "running"].contains(&status) {
            return Ok(status.to_owned());
        }
        if start.elapsed() > END_TIMEOUT {
            return Err(format!("execution {id} does not end: {reply}").into());
        }
        sleep(Duration::from_millis(5)).await;
    }
}
