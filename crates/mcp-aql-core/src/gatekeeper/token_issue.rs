//! Issues confirmation tokens, limits their number per session, and stores the confirmations granted for a session.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_protocol::ErrorCode;

use super::token::{IssuedToken, TokenScope, TokenStore, Validity};
use super::token_capacity::{
    MAX_TOKENS_OF_SESSION, MAX_TOKENS_WITHOUT_SESSION, OwnTokens, TokenCapacity,
};
use crate::caller::session::Session;
use crate::error::OperationError;
use crate::operation::Context;
use crate::services::Services;
use crate::store::StateStore as _;
use crate::util::clock;
use crate::util::clock::{later, whole_seconds};
use crate::util::lock;
use crate::util::spawn;

/// Default number of tokens that a session, or all callers without a session together, may request per minute
/// (REQ-TOK-17).
pub(super) const DEFAULT_PER_MINUTE: usize = 120;
/// The limit on failed tokens is the limit on requested tokens divided by this. A token fails if it is unknown or
/// belongs to another call.
const FAILED_DIVISOR: usize = 4;
/// Minimum time between two purges of expired tokens (REQ-TOK-13).
const PURGE_INTERVAL: TimeDelta = TimeDelta::minutes(10);

/// Issues tokens, and stores the confirmations granted for sessions.
pub(super) struct TokenIssuer {
    services: Arc<Services>,
    tokens: TokenStore,
    per_minute: ConfirmationRates,
    /// The tokens in the store.
    capacity: TokenCapacity,
    /// Account of callers without a session.
    others: Account,
    /// Time of the last purge.
    purged: Mutex<Option<DateTime<Utc>>>,
    /// Identifies this gate among all gates that share a session. Revoking all confirmations changes it.
    id: AtomicU64,
}

/// Limits on requested tokens per minute.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConfirmationRates {
    /// Limit of one session.
    pub(super) of_session: usize,
    /// Limit of all callers without a session together.
    pub(super) without_session: usize,
}

/// Next id of a gate.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// The accounts of one session, by gate. A session may be a client of several adapters, but a confirmation counts for
/// only one of them.
#[derive(Debug, Default)]
struct Accounts(Mutex<HashMap<u64, Arc<Account>>>);

/// The tokens and confirmations of one session.
#[derive(Debug, Default)]
struct Account {
    /// Grants, with the time of their expiry.
    granted: Mutex<HashMap<Grant, DateTime<Utc>>>,
    issued: Mutex<VecDeque<DateTime<Utc>>>,
    failed: Mutex<VecDeque<DateTime<Utc>>>,
    /// Tokens in the store.
    tokens: OwnTokens,
    /// If `true`, a task will revoke the tokens when the session ends.
    watched: AtomicBool,
}

/// A confirmation for a session. It covers the calls of one operation to which one policy applies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Grant {
    /// Digest of the caller's claims, because a program may use one session for several identities.
    claims: Option<String>,
    operation: &'static str,
    /// Index of the policy in the operation's plan.
    policy: usize,
    /// If `true`, a person has confirmed and not the caller.
    by_person: bool,
}

impl TokenIssuer {
    pub(super) fn new(
        services: Arc<Services>,
        tokens: TokenStore,
        per_minute: ConfirmationRates,
    ) -> Self {
        Self {
            services,
            tokens,
            per_minute,
            capacity: TokenCapacity::default(),
            others: Account::default(),
            purged: Mutex::default(),
            id: AtomicU64::new(NEXT_ID.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Calls a function with the caller's account and its limit on tokens per minute.
    fn with<T>(&self, context: &Context, look: impl FnOnce(&Account, usize) -> T) -> T {
        match context.session() {
            Some(session) => look(&self.account(session), self.per_minute.of_session),
            None => look(&self.others, self.per_minute.without_session),
        }
    }

    fn account(&self, session: &Session) -> Arc<Account> {
        let accounts = session.state::<Accounts>();
        let mut accounts = lock(&accounts.0);
        Arc::clone(accounts.entry(self.id.load(Ordering::Relaxed)).or_default())
    }

    /// Revokes the confirmations of all sessions.
    pub(super) fn revoke_grants(&self) {
        self.id.store(NEXT_ID.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Issues a token, unless the caller has requested too many.
    pub(super) async fn issue(
        &self,
        context: &Context,
        scope: TokenScope<'_>,
        validity: Validity,
    ) -> Result<IssuedToken, OperationError> {
        let now = self.services.time.now();
        self.count_issued(context, true)?;
        let session = context.session();
        // The process must not exit between the write of the token and its revocation.
        let _pending = session.map(|session| {
            self.watch(session);
            self.services.session_ends.expect(session)
        });
        let account = session.map(|session| self.account(session));
        let own = match &account {
            Some(account) => (&account.tokens, MAX_TOKENS_OF_SESSION),
            None => (&self.others.tokens, MAX_TOKENS_WITHOUT_SESSION),
        };
        let admit = |key, until| self.capacity.admit(own, key, until, now);
        let issued = self.tokens.issue(scope, validity, admit).await;
        if let Some(session) = session.filter(|session| session.has_ended()) {
            // The session ended during the write, possibly before there was a token to revoke.
            revoke_session(&self.tokens, session).await;
        }
        self.purge(now).await;
        issued
    }

    /// Rejects a caller after too many failures, or after too many requested tokens if this call needs another one.
    /// Called before any work is done for the caller.
    pub(super) fn may_ask(
        &self,
        context: &Context,
        needs_none: bool,
    ) -> Result<(), OperationError> {
        if needs_none {
            return self.may_fail(context);
        }
        self.count_issued(context, false)
    }

    /// Counts a question to the caller's user, unless too many confirmations were requested.
    pub(super) fn count_question(&self, context: &Context) -> Result<(), OperationError> {
        self.count_issued(context, true)
    }

    fn count_issued(&self, context: &Context, counted: bool) -> Result<(), OperationError> {
        let now = self.services.time.now();
        self.with(context, |account, most| count(&account.issued, most, now, counted))
    }

    /// Removes a question from the count, because the client could not show it. A token is counted instead.
    pub(super) fn uncount_question(&self, context: &Context) {
        self.with(context, |account, _| lock(&account.issued).pop_back());
    }

    /// Returns the generation of the valid confirmations. Revoking all confirmations changes it.
    pub(super) fn generation(&self) -> u64 {
        self.id.load(Ordering::Relaxed)
    }

    /// Rejects a caller after too many failures.
    pub(super) fn may_fail(&self, context: &Context) -> Result<(), OperationError> {
        let now = self.services.time.now();
        self.with(context, |account, most| {
            count(&account.failed, (most / FAILED_DIVISOR).max(1), now, false)
        })
    }

    /// Counts a rejected token.
    pub(super) fn failed(&self, context: &Context) {
        let now = self.services.time.now();
        self.with(context, |account, _| lock(&account.failed).push_back(now));
    }

    /// Returns `true` if the operation is confirmed for the session (REQ-GATE-08) under each of these policies. A grant
    /// for a call to which fewer policies applied is not sufficient. If a person must confirm, the caller's own
    /// confirmation does not count (REQ-AUT-16).
    pub(super) fn is_granted(
        &self,
        context: &Context,
        operation: &'static str,
        (policies, by_person): (&[usize], bool),
    ) -> bool {
        let Some(session) = context.session() else { return false };
        let now = self.services.time.now();
        let account = self.account(session);
        let granted = lock(&account.granted);
        let claims = context.claims_digest().map(str::to_owned);
        let holds = |policy, by_person| {
            let grant = Grant { claims: claims.clone(), operation, policy, by_person };
            granted.get(&grant).is_some_and(|until| now < *until)
        };
        !policies.is_empty()
            && policies
                .iter()
                .all(|policy| holds(*policy, true) || !by_person && holds(*policy, false))
    }

    /// Confirms the operation for the session under these policies.
    pub(super) fn grant(
        &self,
        context: &Context,
        operation: &'static str,
        (policies, by_person): (&[usize], bool),
        time: TimeDelta,
    ) {
        let until = later(self.services.time.now(), time);
        if let Some(session) = context.session() {
            let account = self.account(session);
            let claims = context.claims_digest().map(str::to_owned);
            let grant = |&policy| Grant { claims: claims.clone(), operation, policy, by_person };
            let grants = policies.iter().map(grant);
            lock(&account.granted).extend(grants.map(|grant| (grant, until)));
        }
    }

    /// Revokes a session's tokens when it ends (REQ-GATE-08, REQ-TOK-12).
    fn watch(&self, session: &Session) {
        if session.is_of_principal() || self.account(session).watched.swap(true, Ordering::Relaxed)
        {
            return;
        }
        // The session may outlive the adapter, so the task must not keep the adapter's store open.
        let services = Arc::downgrade(&self.services);
        let pending = self.services.session_ends.expect(session);
        let (session, skew) = (session.clone(), self.tokens.skew());
        spawn(async move {
            session.ended().await;
            if let Some(services) = services.upgrade() {
                revoke_session(&TokenStore::new(services, skew), &session).await;
            }
            drop(pending);
        });
    }

    /// Purges expired tokens. The call waits for it and does not spawn a task, because a task would end with the
    /// caller's runtime. This runtime may exist for one call only.
    async fn purge(&self, now: DateTime<Utc>) {
        {
            let mut purged = lock(&self.purged);
            if purged.is_some_and(|at| at <= now && now - at < PURGE_INTERVAL) {
                return;
            }
            *purged = Some(now);
        }
        if let Err(error) = self.services.store.purge(now).await
            && error.outage().is_none()
        {
            tracing::error!(%error, "cannot purge expired tokens");
        }
    }
}

/// Revokes the tokens of an ended session.
async fn revoke_session(tokens: &TokenStore, session: &Session) {
    if let Err(error) = tokens.revoke_session(session.id()).await {
        // The tokens cannot be used anyway, because no other session has this id.
        tracing::error!(%error, "cannot revoke the tokens of an ended session");
    }
}

/// Returns an error if `maximum` events were counted within the last minute. Otherwise counts this event if `counted` is
/// `true`.
fn count(
    times: &Mutex<VecDeque<DateTime<Utc>>>,
    maximum: usize,
    now: DateTime<Utc>,
    counted: bool,
) -> Result<(), OperationError> {
    let minute = TimeDelta::minutes(1);
    let mut times = lock(times);
    let since = later(now, -minute);
    // Later times were recorded before the clock was set back.
    times.retain(|time| since < *time && *time <= now);
    if let Some(first) = times.front()
        && times.len() >= maximum
    {
        let free = later(*first, minute);
        let seconds = whole_seconds(free - now);
        return Err(OperationError::new(
            ErrorCode::RateLimitExceeded,
            format!(
                "API rate limit exceeded: too many confirmations were requested or failed. Wait \
                 {seconds} seconds"
            ),
        )
        .with_detail("limit", maximum)
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

#[cfg(test)]
mod tests {
    use super::super::token_text::TokenKind;
    use super::*;
    use crate::observe::audit::Audit;
    use crate::operation::CallScope;
    use crate::store::StoreError;
    use crate::store::hooked::{Hook, Hooked, HookedCall};
    use crate::util::clock::TimeSource;
    use mcp_aql_protocol::TrustLevel;

    /// Lets other tasks run before each write.
    #[derive(Default)]
    struct LateWrites;

    impl Hook for LateWrites {
        type Held = ();

        async fn before(&self, access: HookedCall) -> Result<(), StoreError> {
            for _ in 0..if access == HookedCall::Write { 20 } else { 0 } {
                tokio::task::yield_now().await;
            }
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_token_issued_in_an_ended_session_is_revoked() {
        // REQ-SES-02, REQ-TOK-12
        let store = Arc::new(Hooked::<LateWrites>::default());
        let (adapter, time) = ("garden".to_owned(), TimeSource::default());
        let audit = Audit {
            adapter,
            trust: TrustLevel::Validated,
            time,
            sinks: Vec::new(),
            observers: Vec::new(),
        };
        let per_minute = ConfirmationRates { of_session: 120, without_session: 120 };
        let services = Services::new(Arc::clone(&store) as _, TimeSource::default(), audit);
        let services = Arc::new(services);
        let tokens = TokenStore::new(Arc::clone(&services), TimeDelta::zero());
        let token_issuer = TokenIssuer::new(Arc::clone(&services), tokens, per_minute);
        let session = Session::new();
        let scope = CallScope { session: Some(session.clone()), ..CallScope::default() };
        let context = Context::new(scope);
        let (kind, session_id) = (TokenKind::Confirmation, Some(session.id()));
        let token = TokenScope {
            kind,
            operation: "delete_bed",
            params_hash: "h",
            fingerprint: None,
            session: session_id,
            principal: None,
        };
        let validity = Validity { ttl: TimeDelta::minutes(5), cooldown: TimeDelta::zero() };
        let issued = token_issuer.issue(&context, token, validity);
        let ending = async {
            session.end();
            services.session_ends.completed().await;
        };
        let (issued, ()) = tokio::join!(issued, ending);
        issued.unwrap();
        let left = store.list("confirmation_tokens", None, None, 10).await.unwrap();
        assert!(left.is_empty(), "{left:?}");
    }
}
