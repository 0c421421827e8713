//! Limits the failed attempts of sessions and agents to confirm with a code.

use mcp_aql_core::store::{Change, StoreError};
use mcp_aql_core::{OperationError, Session};

use super::action::Action;
use super::caller::Caller;
use super::records::{expected, read, written};
use super::retry_lockout::RetryLockout;
use super::runtime::SafetyCore;
use super::transition::{Event, Rejection};

/// The collection of the store with the counters of failed attempts.
const ATTEMPTS: &str = "safety_tries";

impl SafetyCore {
    /// Returns the accounts to which an attempt of `confirm_operation` is charged.
    ///
    /// A wrong code does not reveal the agent for which it was meant. It is therefore charged to the session, and to
    /// each agent that executes in the session. The account of an agent outlives the session and the process
    /// (REQ-OOB-12). Sessions do not share an account, because one session could lock out the others.
    pub(super) async fn confirming_accounts(
        &self,
        session: Option<&Session>,
    ) -> Result<Vec<String>, OperationError> {
        let mut accounts = vec![account_of(session)];
        if session.is_some() {
            let agents = self.executing(session).await?;
            accounts.extend(agents.iter().map(|name| format!("agent {}", Action::digest(name))));
        }
        Ok(accounts)
    }

    /// Charges a failed attempt to each account before its result is known. In this way, concurrent attempts count like
    /// successive ones.
    ///
    /// If one of the accounts is locked, `refused` is recorded and the attempt is rejected.
    pub(super) async fn count_attempt(
        &self,
        caller: Caller<'_>,
        accounts: &[String],
        (refused, operation): (Event, &str),
    ) -> Result<(), OperationError> {
        let (now, most) = (self.now(), self.attempts);
        for (place, account) in accounts.iter().enumerate() {
            let allowed = self
                .update_lockout(account, |tries| {
                    tries.check(now, most)?;
                    tries.fail(now);
                    Ok(())
                })
                .await?;
            if let Err(seconds) = allowed {
                self.uncount_attempt(accounts.get(..place).unwrap_or_default()).await?;
                let refused = refused.reason("too many attempts");
                self.record(&refused, None, caller.ids(), None, Some(operation)).await;
                return Err(self.rejection(Rejection::TooMany(seconds), ""));
            }
        }
        Ok(())
    }

    /// Removes a charged attempt from these accounts, after a success.
    pub(super) async fn uncount_attempt(&self, accounts: &[String]) -> Result<(), OperationError> {
        for account in accounts {
            let forgiven = self.update_lockout(account, |tries| {
                tries.forgive();
                Ok::<_, u64>(())
            });
            forgiven.await?.ok();
        }
        Ok(())
    }

    async fn update_lockout<E>(
        &self,
        key: &str,
        change: impl Fn(&mut RetryLockout) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let store = self.store().await?;
        loop {
            let record = store.get(ATTEMPTS, key).await?;
            let before: RetryLockout = record.as_ref().map(read).transpose()?.unwrap_or_default();
            let mut tries = before.clone();
            let done = change(&mut tries);
            if tries == before {
                return Ok(done);
            }
            let kept = written(&tries)?.expires_at(self.now() + chrono::TimeDelta::days(2));
            let change = Change::put(ATTEMPTS, key, expected(record.as_ref()), kept);
            if store.write(vec![change]).await? {
                return Ok(done);
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Returns the account to which a session's failed attempts are charged. Callers without a session share one account.
pub(super) fn account_of(session: Option<&Session>) -> String {
    session.map_or("-", Session::id).to_owned()
}
