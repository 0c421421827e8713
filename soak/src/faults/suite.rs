//! The suite of one adapter: makes calls, waits for their moments, and records their outcomes.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::adapter::{set_clock, state_file};
use super::client::{Kind, Outcome, Prepared, Retry};
use super::ledger::Ledger;
use super::model::{self, Call, ProcessEnd, Tally};
use super::moment::Moment;
use super::points::{PointServer, Reached};
use super::server::{Log, Place, Server};
use super::transport::{Client, Halves};
use crate::Fault;
use crate::random::Random;

/// Maximum time until an execution reaches a final state.
const END_TIMEOUT: Duration = Duration::from_secs(120);
/// Time by which the adapter's clock is ahead of the end of all earlier leases.
const CLOCK_MARGIN: Duration = Duration::from_secs(10);

/// A call that waits at its moment.
pub(super) struct Pending {
    id: String,
    kind: Kind,
    moment: Moment,
    log: Log,
    retry: Option<Retry>,
    sending: JoinHandle<Result<Outcome, Fault>>,
    /// The outcome, if the response was already received.
    outcome: Option<Outcome>,
    /// The point where the adapter waits. It continues when this is dropped.
    reached: Option<Reached>,
    /// Dropping this sends the second half of the request.
    rest: oneshot::Sender<()>,
}

impl Pending {
    /// Lets the call continue and waits for its response.
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

    /// Returns the id of the execution, if the call has started one.
    pub(super) fn execution(&self) -> Option<&str> {
        self.outcome.as_ref().and_then(Outcome::execution)
    }
}

/// A prepared call, not sent yet.
pub(super) struct Unsent {
    id: String,
    kind: Kind,
    log: Log,
    pub(super) prepared: Prepared,
}

/// A call after its response, or after the loss of its connection.
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
    /// By how many seconds the adapter's clock is ahead.
    pub(super) ahead: i64,
    pub(super) moments: usize,
    /// Number of checks of the store's file.
    pub(super) store_checks: usize,
    /// Violations that do not belong to a call.
    violations: Vec<String>,
}

impl Suite {
    pub(super) fn new(place: Place, seed: u64) -> Result<Self, Fault> {
        let points = PointServer::listen(&place.folder)?;
        let random = Random::new(seed);
        Ok(Self {
            place,
            points,
            random,
            calls: Vec::new(),
            number: 0,
            ahead: 0,
            moments: 0,
            store_checks: 0,
            violations: Vec::new(),
        })
    }

    /// Starts an adapter. Moves its clock ahead, so that the leases of all earlier processes have expired.
    pub(super) async fn start(&mut self) -> Result<Server, Fault> {
        self.start_with(&[]).await
    }

    /// Starts an adapter with additional command-line arguments.
    pub(super) async fn start_with(&mut self, arguments: &[&str]) -> Result<Server, Fault> {
        self.ahead += i64::try_from((self.place.lease + CLOCK_MARGIN).as_secs())?;
        set_clock(&self.place.folder, self.ahead)?;
        Server::start(&self.place, arguments).await
    }

    /// Runs an execution to its end. By then, the executions of earlier processes have ended as well, so only the next
    /// call will write to the store.
    pub(super) async fn settle_store(&mut self, server: &Server) -> Result<(), Fault> {
        let first = self.reach(server, Kind::Execution, Moment::Answered).await?;
        self.moments -= 1;
        self.settle(first.answered().await?, server).await?;
        self.finish_executions(server, false).await
    }

    /// Returns an id for the next call.
    fn next_id(&mut self) -> String {
        self.number += 1;
        format!("call-{}", self.number)
    }

    /// Prepares a call. You send it with [`send_refused`](Self::send_refused).
    pub(super) async fn prepare(&mut self, server: &Server, kind: Kind) -> Result<Unsent, Fault> {
        let (id, log) = (self.next_id(), server.log.clone());
        let prepared = Prepared::new(&server.address, kind, &id).await?;
        Ok(Unsent { id, kind, log, prepared })
    }

    /// Sends a call to a stopping process. The process must reject it.
    pub(super) async fn send_refused(&mut self, unsent: Unsent) -> Result<(), Fault> {
        let Unsent { id, kind, log, prepared } = unsent;
        let outcome = prepared.send(None).await?;
        if !outcome.is_shutdown(self.place.transport) {
            let name = kind.as_str();
            self.violation(format!(
                "{name} {id}: a stopping process answered {outcome:?}\n{}",
                log.tail()
            ));
        }
        let end = ProcessEnd::Drained { accepted: false };
        self.calls.push(Call { id, kind, outcome, log, end, status: None });
        Ok(())
    }

    pub(super) fn violation(&mut self, text: String) {
        self.violations.push(text);
    }

    /// Sends a call and waits until it reaches its moment.
    pub(super) async fn reach(
        &mut self,
        server: &Server,
        kind: Kind,
        moment: Moment,
    ) -> Result<Pending, Fault> {
        self.moments += 1;
        let id = self.next_id();
        let prepared = Prepared::new(&server.address, kind, &id).await?;
        let retry = prepared.retry();
        let expected = moment.point(&id).map(|(name, skip)| self.points.stop_at(&name, skip));
        let (rest, other_half) = oneshot::channel::<()>();
        let (sent, half) = oneshot::channel();
        let halves = (moment == Moment::HalfSent).then_some(Halves { sent, rest: other_half });
        let mut sending = tokio::spawn(prepared.send(halves));
        let (mut reached, mut outcome) = (None, None);
        match (expected, moment) {
            (Some(expected), _) => {
                let place = || format!("{id}, {} at {moment:?}", kind.as_str());
                let point = expected.reached().await;
                reached = Some(point.map_err(|fault| format!("{}: {fault}", place()))?);
                // The response to the start of an execution comes while its function is still running.
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

    /// Sends a call of each kind. Waits until all have reached this moment of their operations.
    pub(super) async fn reach_all(
        &mut self,
        server: &Server,
        moment: Moment,
    ) -> Result<Vec<Pending>, Fault> {
        let mut all = Vec::new();
        for kind in Kind::over(self.place.transport) {
            all.push(self.reach(server, kind, moment.for_kind(kind)).await?);
        }
        Ok(all)
    }

    /// Records the outcome of a call to a process at its end.
    pub(super) async fn settle_ended(
        &mut self,
        pending: Pending,
        end: ProcessEnd,
    ) -> Result<(), Fault> {
        let Answered { id, kind, log, outcome, .. } = pending.answered().await?;
        self.calls.push(Call { id, kind, outcome, log, end, status: None });
        Ok(())
    }

    /// Records the outcome of a call. Sends a confirmed change again with the same token. If the first one was
    /// acknowledged, the second must fail.
    pub(super) async fn settle(
        &mut self,
        answered: Answered,
        server: &Server,
    ) -> Result<(), Fault> {
        let Answered { id, kind, log, mut outcome, retry } = answered;
        if let Some(retry) = retry {
            let again = retry.send(&server.address).await?;
            match (outcome.is_acknowledged(), again.is_acknowledged()) {
                (true, true) => return Err(format!("{id}: a token was used twice").into()),
                (false, true) => outcome = again,
                _ => {}
            }
        }
        let end = ProcessEnd::None;
        self.calls.push(Call { id, kind, outcome, log, end, status: None });
        Ok(())
    }

    /// Sends a call of each kind. All must be acknowledged.
    pub(super) async fn works(&mut self, server: &Server) -> Result<(), Fault> {
        for kind in Kind::over(self.place.transport) {
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

    /// Waits until all acknowledged executions have a final state. If `again` is `true`, executions that already had
    /// one must still have it.
    pub(super) async fn finish_executions(
        &mut self,
        server: &Server,
        again: bool,
    ) -> Result<(), Fault> {
        let mut client = Client::open(&server.address).await?;
        for call in &mut self.calls {
            if call.status.is_some() && !again {
                continue;
            }
            let Some(id) = call.execution().map(str::to_owned) else { continue };
            let status = final_status(&mut client, &id).await?;
            if let Some(before) = call.status.replace(status.clone())
                && before != status
            {
                return Err(format!("execution {id} was {before}, and is {status}").into());
            }
        }
        Ok(())
    }

    /// Starts a last adapter. It must work, and all executions must still have their final states.
    pub(super) async fn finish(&mut self) -> Result<(), Fault> {
        let server = self.start().await?;
        self.works(&server).await?;
        self.finish_executions(&server, true).await?;
        server.kill().await?;
        self.check_store();
        Ok(())
    }

    /// Checks the integrity of the store's file, if it is in SQLite. The connection is read-only, so that the next
    /// process finds the file as the previous one left it.
    pub(super) fn check_store(&mut self) {
        if self.place.schema.is_some() {
            return;
        }
        self.store_checks += 1;
        let sound = Connection::open_with_flags(
            state_file(&self.place.folder),
            OpenFlags::SQLITE_OPEN_READ_ONLY,
        )
        .and_then(|file| file.query_row("PRAGMA integrity_check", [], |row| row.get(0)));
        match sound {
            Ok::<String, _>(sound) if sound == "ok" => {}
            Ok(damage) => self.violation(format!("the file of the store is damaged: {damage:?}")),
            Err(error) => self.violation(format!("the file of the store cannot be read: {error}")),
        }
    }

    /// Checks all calls. Returns their numbers and all violations.
    pub(super) fn check(&self) -> (Tally, Vec<String>) {
        let (tally, mut violations) =
            model::check(&self.calls, &Ledger::of(&self.place.folder).read());
        violations.extend(self.violations.iter().cloned());
        (tally, violations)
    }
}

/// Waits for the final state of an execution.
pub(super) async fn final_status(client: &mut Client, id: &str) -> Result<String, Fault> {
    let start = Instant::now();
    loop {
        let params = json!({ "execution_id": id });
        let reply = client.call(None, "get_execution", params).await?;
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
