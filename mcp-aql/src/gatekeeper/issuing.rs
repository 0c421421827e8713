use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use super::token::{IssuedToken, TokenScope, Tokens, Validity, later, whole_seconds};
use crate::clock;
use crate::error::{ErrorCode, OperationError};
use crate::operation::{Context, Session};
use crate::services::Services;

/// So many tokens a session may ask for in a minute, and so many it may guess (REQ-TOK-17). Callers
/// without a session share one account.
const ISSUED: usize = 120;
const FAILED: usize = 30;
/// How often the store forgets what has expired (REQ-TOK-13).
const PURGE: std::time::Duration = std::time::Duration::from_secs(10 * 60);

/// Who may have tokens, and what is confirmed already.
pub(super) struct Issuing {
    services: Arc<Services>,
    tokens: Tokens,
    /// Of callers without a session.
    others: Account,
    purging: AtomicBool,
}

/// What the gate knows of one session.
#[derive(Debug, Default)]
struct Account {
    /// Operations that need no further confirmation until then.
    granted: Mutex<HashMap<&'static str, DateTime<Utc>>>,
    issued: Mutex<VecDeque<DateTime<Utc>>>,
    failed: Mutex<VecDeque<DateTime<Utc>>>,
    /// Its tokens are taken back when it ends.
    watched: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Issuing {
    pub(super) fn new(services: Arc<Services>, tokens: Tokens) -> Self {
        Self { services, tokens, others: Account::default(), purging: AtomicBool::new(false) }
    }

    fn with<T>(&self, context: &Context, look: impl FnOnce(&Account) -> T) -> T {
        match context.session() {
            Some(session) => look(&session.state::<Account>()),
            None => look(&self.others),
        }
    }

    /// Issues a token, unless the caller had too many.
    pub(super) async fn issue(
        &self,
        context: &Context,
        scope: TokenScope<'_>,
        validity: Validity,
    ) -> Result<IssuedToken, OperationError> {
        let now = self.services.time.now();
        self.with(context, |account| count(&account.issued, ISSUED, now, true))?;
        if let Some(session) = context.session() {
            self.watch(session);
        }
        if !self.purging.swap(true, Ordering::Relaxed) {
            self.purge_now_and_then();
        }
        self.tokens.issue(scope, validity).await
    }

    /// Refuses a caller that has guessed too often.
    pub(super) fn may_fail(&self, context: &Context) -> Result<(), OperationError> {
        let now = self.services.time.now();
        self.with(context, |account| count(&account.failed, FAILED, now, false))
    }

    /// Notes a token that was not good.
    pub(super) fn failed(&self, context: &Context) {
        let now = self.services.time.now();
        self.with(context, |account| lock(&account.failed).push_back(now));
    }

    /// Whether the operation is confirmed for the session (REQ-GATE-08).
    pub(super) fn is_granted(&self, context: &Context, operation: &str) -> bool {
        let now = self.services.time.now();
        let granted = |account: &Account| lock(&account.granted).get(operation).copied();
        context.session().is_some_and(|session| {
            granted(&session.state::<Account>()).is_some_and(|until| now < until)
        })
    }

    /// Confirms the operation for the session.
    pub(super) fn grant(&self, context: &Context, operation: &'static str, time: TimeDelta) {
        let until = later(self.services.time.now(), time);
        if let Some(session) = context.session() {
            lock(&session.state::<Account>().granted).insert(operation, until);
        }
    }

    /// Takes a session's tokens back when it ends (REQ-GATE-08, REQ-TOK-12).
    fn watch(&self, session: &Session) {
        if session.state::<Account>().watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let (session, tokens) = (session.clone(), self.tokens.clone());
        tokio::spawn(async move {
            session.ended().await;
            if let Err(error) = tokens.revoke_session(session.id()).await {
                // They are good for nothing even so: no other session has this id.
                tracing::error!(%error, "a session's tokens cannot be taken back");
            }
        });
    }

    /// Until the adapter is gone.
    fn purge_now_and_then(&self) {
        let services = Arc::downgrade(&self.services);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(PURGE).await;
                let Some(services) = services.upgrade() else { return };
                if let Err(error) = services.store.purge(services.time.now()).await {
                    tracing::error!(%error, "the store cannot forget what has expired");
                }
            }
        });
    }
}

/// Refuses what would be one too many within a minute; counts it, if it is to be counted.
fn count(
    times: &Mutex<VecDeque<DateTime<Utc>>>,
    most: usize,
    now: DateTime<Utc>,
    counted: bool,
) -> Result<(), OperationError> {
    let minute = TimeDelta::minutes(1);
    let mut times = lock(times);
    // What lies in the future was noted before a clock was set back.
    times.retain(|time| *time <= now && now - *time < minute);
    if let Some(first) = times.front()
        && times.len() >= most
    {
        let free = later(*first, minute);
        let seconds = whole_seconds(free - now);
        return Err(OperationError::new(
            ErrorCode::RateLimitExceeded,
            format!("Too many confirmations were asked for or failed. Wait {seconds} seconds"),
        )
        .with_detail("limit", most)
        .with_detail("remaining", 0)
        .with_detail("window", "minute")
        .with_detail("resets_at", clock::text(free))
        .with_detail("retry_after_seconds", seconds));
    }
    if counted {
        times.push_back(now);
    }
    Ok(())
}
