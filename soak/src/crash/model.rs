//! The model of the acknowledged state, and the invariants that must hold after a crash.

use std::collections::HashMap;
use std::time::Instant;

use mcp_aql_tests_databases::gated::{Folder, LEASE};
use serde_json::json;

use super::client::{Client, Reply};
use crate::Fault;
use crate::random::Random;

/// The knowledge of the client. For a request with at most one effect, the client first records that it is sent,
/// and then the outcome in the reply.
pub(super) struct Model {
    pub(super) folder: Folder,
    pub(super) random: Random,
    names: u64,
    /// Agents whose block was acknowledged.
    pub(super) blocked: Vec<Blocked>,
    /// Accepted codes.
    spent: Vec<Proof>,
    /// Confirmation tokens whose use was acknowledged, with their things.
    used: Vec<(String, String)>,
    /// Confirmation tokens whose reply was lost.
    open: Vec<(String, String)>,
    /// Things whose deletion was acknowledged.
    deleted: Vec<String>,
    executions: Vec<Execution>,
    pub(super) count: Count,
}

/// The numbers of checked events.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) blocks: u64,
    pub(super) still_blocked: u64,
    pub(super) verified: u64,
    pub(super) cut_off: u64,
    pub(super) second_tries: u64,
    pub(super) deletions: u64,
    pub(super) used_again: u64,
    pub(super) approved: u64,
    pub(super) executions: u64,
    pub(super) failed: u64,
    pub(super) cycles: u64,
}

/// A block. It must survive crashes.
#[derive(Debug, Clone)]
pub(super) struct Blocked {
    agent: String,
    proof: Proof,
    /// If `true`, the code was sent, but without a reply.
    sent: bool,
}

/// A code with its challenge.
#[derive(Debug, Clone)]
struct Proof {
    operation: &'static str,
    challenge: String,
    code: String,
}

struct Execution {
    id: String,
    /// The time when its process was killed.
    orphaned: Option<Instant>,
    /// The final state, once a reply contained it.
    ended: Option<String>,
}

/// Number of items to retry after a restart, for each of four kinds. A session may fail ten times per minute.
const RETRIED_ITEMS: usize = 2;

impl Model {
    pub(super) fn new(folder: Folder, seed: u64) -> Self {
        Self {
            folder,
            random: Random::new(seed),
            names: 0,
            blocked: Vec::new(),
            spent: Vec::new(),
            used: Vec::new(),
            open: Vec::new(),
            deleted: Vec::new(),
            executions: Vec::new(),
            count: Count::default(),
        }
    }

    fn name(&mut self, kind: &str) -> String {
        self.names += 1;
        format!("{kind}-{}", self.names)
    }

    /// Returns the code shown to people.
    fn code(&self, id: &str) -> Result<String, Fault> {
        let shown = self.folder.shown();
        let line = shown.iter().rev().find(|line| line["id"] == id);
        let code = line.and_then(|line| line["code"].as_str()).map(str::to_owned);
        Ok(code.ok_or_else(|| format!("nobody was shown {id}"))?)
    }

    /// Records that the process was killed.
    pub(super) fn killed(&mut self) {
        for execution in &mut self.executions {
            execution.orphaned.get_or_insert_with(Instant::now);
        }
    }

    /// Runs a round: an execution, a confirmed deletion, and an agent's start, approval, block and release.
    /// Returns `false` if the agent is still blocked.
    pub(super) async fn cycle(&mut self, client: &mut Client) -> Result<bool, Fault> {
        self.execute(client).await?;
        self.delete(client).await?;
        let agent = self.name("agent");
        self.begin(client, &agent).await?;
        self.approve(client).await?;
        let challenge = self.block(client, &agent).await?;
        if self.random.below(4) == 0 {
            return Ok(false);
        }
        self.release(client, &challenge).await?;
        let reply = client.call("complete_execution", json!({ "element_name": agent })).await?;
        reply.expect(reply.is_success(), "an agent cannot complete")?;
        self.count.cycles += 1;
        Ok(true)
    }

    async fn execute(&mut self, client: &mut Client) -> Result<(), Fault> {
        let steps = self.random.below(60) + 1;
        let reply = client.call("execute_work", json!({ "steps": steps })).await?;
        let id = reply.data()["execution_id"].as_str();
        reply.expect(id.is_some(), "no execution")?;
        let id = id.unwrap_or_default().to_owned();
        self.executions.push(Execution { id, orphaned: None, ended: None });
        self.count.executions += 1;
        Ok(())
    }

    /// Deletes a thing with a confirmation token. Checks that the token is required and works once.
    async fn delete(&mut self, client: &mut Client) -> Result<(), Fault> {
        let thing = self.name("thing");
        let reply = client.call("delete_thing", json!({ "thing": thing })).await?;
        reply.expect(reply.code() == "CONFIRMATION_REQUIRED", "deleted without confirmation")?;
        let token = reply.detail("confirmation_token").to_owned();
        self.open.push((thing.clone(), token.clone()));
        let reply = self.redeem(client, &thing, &token).await?;
        reply.expect(reply.is_success(), "a valid token was rejected")?;
        self.open.pop();
        self.deleted.push(thing.clone());
        self.used.push((thing, token));
        self.count.deletions += 1;
        Ok(())
    }

    async fn redeem(&self, client: &mut Client, thing: &str, token: &str) -> Result<Reply, Fault> {
        client.call("delete_thing", json!({ "thing": thing, "_confirmation": token })).await
    }

    async fn begin(&mut self, client: &mut Client, agent: &str) -> Result<(), Fault> {
        let reply = client.call("execute_agent", json!({ "element_name": agent })).await?;
        let request = reply.data()["request_id"].as_str().unwrap_or_default().to_owned();
        reply.expect(!request.is_empty(), "an agent began without an approval")?;
        self.confirm(client, &request).await?;
        let reply = step(client, agent, "read_notes of today").await?;
        let goes_on = &reply.data()["autonomy"]["continue"];
        reply.expect(*goes_on == true, "an approved agent cannot begin")
    }

    /// Confirms a request with its code.
    async fn confirm(&mut self, client: &mut Client, request: &str) -> Result<(), Fault> {
        let proof = Proof {
            operation: "confirm_operation",
            challenge: request.to_owned(),
            code: self.code(request)?,
        };
        let reply = proof.send(client).await?;
        reply.expect(reply.is_success(), "a valid code was rejected")?;
        self.spent.push(proof);
        Ok(())
    }

    /// Deletes a thing with a person's approval. While an agent executes, a client cannot confirm its own calls.
    async fn approve(&mut self, client: &mut Client) -> Result<(), Fault> {
        let thing = self.name("thing");
        let params = json!({ "thing": thing });
        let reply = client.call("delete_thing", params.clone()).await?;
        let request = reply.detail("request_id").to_owned();
        reply.expect(!request.is_empty(), "an agent deleted without an approval")?;
        self.confirm(client, &request).await?;
        let reply = client.call("delete_thing", params.clone()).await?;
        reply.expect(reply.is_success(), "an approved call was rejected")?;
        self.deleted.push(thing);
        let reply = client.call("delete_thing", params).await?;
        reply.expect(!reply.is_success(), "an approval counted twice")?;
        reply.expect(!reply.detail("request_id").is_empty(), "nobody is asked again")?;
        self.count.approved += 1;
        // Confirm the second request, too. An open request would delay the agent.
        let request = reply.detail("request_id").to_owned();
        self.confirm(client, &request).await
    }

    async fn block(&mut self, client: &mut Client, agent: &str) -> Result<String, Fault> {
        let reply = step(client, agent, "drop_table users").await?;
        reply.expect(reply.data()["autonomy"]["stopped"] == true, "not stopped")?;
        let notifications = reply.data()["autonomy"]["notifications"].as_array();
        let challenge = notifications.into_iter().flatten().find_map(|it| {
            (it["type"] == "danger_zone")
                .then(|| it["metadata"]["verificationId"].as_str().map(str::to_owned))?
        });
        let challenge = challenge.ok_or("stopped without a challenge")?;
        let code = self.code(&challenge)?;
        let proof = Proof { operation: "verify_challenge", challenge: challenge.clone(), code };
        self.blocked.push(Blocked { agent: agent.to_owned(), proof, sent: false });
        self.count.blocks += 1;
        Ok(challenge)
    }

    /// Answers a challenge once. Checks that the agent is released.
    async fn release(&mut self, client: &mut Client, challenge: &str) -> Result<(), Fault> {
        let mut all = self.blocked.iter_mut();
        let blocked = all.find(|blocked| blocked.proof.challenge == challenge);
        let blocked = blocked.ok_or("no such block")?;
        blocked.sent = true;
        let Blocked { agent, proof, .. } = blocked.clone();
        let reply = proof.send(client).await?;
        reply.expect(reply.is_success(), "the code of a block was rejected")?;
        self.blocked.retain(|blocked| blocked.proof.challenge != challenge);
        self.spent.push(proof);
        self.count.verified += 1;
        let reply = step(client, &agent, "drop_table users").await?;
        reply.expect(
            reply.detail("reason") != "blocked",
            "the agent is still blocked after its code was accepted",
        )
    }

    /// Checks the acknowledged state after a restart, completely or in part. Returns `false` if the session is blocked,
    /// because it touched an agent whose block survived.
    pub(super) async fn check(&mut self, client: &mut Client, all: bool) -> Result<bool, Fault> {
        self.check_files()?;
        self.check_executions(client).await?;
        self.check_tokens(client).await?;
        for _ in 0..RETRIED_ITEMS {
            let Some(proof) = self.random.one_of(&self.spent).cloned() else { break };
            let reply = proof.send(client).await?;
            reply.expect(!reply.is_success(), "a code was accepted twice")?;
            reply.expect(reply.code() != "INTERNAL_ERROR", "the adapter fails")?;
            self.count.second_tries += 1;
        }
        let mut blocked = self.blocked.clone();
        if !all {
            let first = self.random.below(blocked.len() as u64);
            blocked.rotate_left(usize::try_from(first)?);
            blocked.truncate(RETRIED_ITEMS);
        }
        for blocked in blocked {
            if !self.check_block(client, &blocked, all).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn check_tokens(&mut self, client: &mut Client) -> Result<(), Fault> {
        for _ in 0..RETRIED_ITEMS {
            let Some((thing, token)) = self.random.one_of(&self.used).cloned() else { break };
            let reply = self.redeem(client, &thing, &token).await?;
            // After some minutes, the token has also expired. The adapter reports that first.
            let refused = ["TOKEN_ALREADY_USED", "TOKEN_EXPIRED"].contains(&reply.code());
            reply.expect(refused, "a used token")?;
            self.count.used_again += 1;
        }
        // A token of another session is invalid, even if it was not used.
        if let Some((thing, token)) = self.open.last().cloned() {
            let reply = self.redeem(client, &thing, &token).await?;
            reply.expect(reply.code().starts_with("TOKEN_"), "a token of another session")?;
            self.open.pop();
        }
        Ok(())
    }

    async fn check_block(
        &mut self,
        client: &mut Client,
        blocked: &Blocked,
        all: bool,
    ) -> Result<bool, Fault> {
        let reply = step(client, &blocked.agent, "read_notes of today").await?;
        let is_blocked = reply.detail("reason") == "blocked";
        if blocked.sent && !is_blocked {
            // The code was accepted, but the reply was lost.
            let reply = blocked.proof.send(client).await?;
            reply.expect(!reply.is_success(), "a code was accepted twice")?;
            self.blocked.retain(|other| other.proof.challenge != blocked.proof.challenge);
            self.spent.push(blocked.proof.clone());
            self.count.cut_off += 1;
            return Ok(true);
        }
        reply.expect(is_blocked, "a block was lost")?;
        let challenge = reply.detail("challenge_id");
        reply.expect(challenge == blocked.proof.challenge, "another challenge")?;
        self.count.still_blocked += 1;
        let lets_go = all || self.random.below(3) > 0;
        if lets_go {
            self.release(client, &blocked.proof.challenge).await?;
        }
        Ok(lets_go)
    }

    async fn check_executions(&mut self, client: &mut Client) -> Result<(), Fault> {
        // Wait half a lease longer, because the process renews the lease at its own pace.
        let due = LEASE + LEASE / 2;
        let gone = |at: &Instant| at.elapsed() > due;
        for execution in &mut self.executions {
            if !execution.orphaned.as_ref().is_some_and(gone) {
                continue;
            }
            let params = json!({ "execution_id": execution.id });
            let reply = client.call("get_execution", params).await?;
            let status = reply.data()["status"].as_str().unwrap_or_default().to_owned();
            let terminal = ["completed", "failed", "cancelled"].contains(&status.as_str());
            reply.expect(terminal, "an execution without an end")?;
            let same = execution.ended.as_ref().is_none_or(|ended| *ended == status);
            reply.expect(same, "an execution that had ended otherwise")?;
            if execution.ended.is_none() && status == "failed" {
                self.count.failed += 1;
            }
            execution.ended = Some(status);
        }
        // Forget most executions whose end was already seen twice.
        let known = self.executions.len();
        if known > 60 {
            let mut seen = known - 60;
            self.executions.retain(|execution| {
                let forget = seen > 0 && execution.ended.is_some();
                seen -= usize::from(forget);
                !forget
            });
        }
        Ok(())
    }

    /// Returns `true` if the end of some executions was not seen yet.
    pub(super) fn has_open_executions(&self) -> bool {
        self.executions.iter().any(|execution| execution.ended.is_none())
    }

    /// Checks that each acknowledged effect happened, and that none happened twice.
    pub(super) fn check_files(&self) -> Result<(), Fault> {
        let mut times = HashMap::<String, u32>::new();
        for thing in self.folder.deleted() {
            *times.entry(thing).or_default() += 1;
        }
        if let Some((thing, times)) = times.iter().find(|(_, times)| **times > 1) {
            return Err(format!("{thing} was deleted {times} times").into());
        }
        match self.deleted.iter().find(|thing| !times.contains_key(*thing)) {
            Some(thing) => Err(format!("{thing} was reported as deleted, but still exists").into()),
            None => Ok(()),
        }
    }
}

impl Proof {
    async fn send(&self, client: &mut Client) -> Result<Reply, Fault> {
        let params = match self.operation {
            "verify_challenge" => json!({ "challenge_id": self.challenge, "code": self.code }),
            _ => json!({ "confirmation_token": self.code }),
        };
        client.call(self.operation, params).await
    }
}

async fn step(client: &mut Client, agent: &str, action: &str) -> Result<Reply, Fault> {
    let params = json!({ "element_name": agent, "next_action_hint": action });
    client.call("record_execution_step", params).await
}
