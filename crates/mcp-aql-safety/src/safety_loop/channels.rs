//! Shows requests in the channels to people, and withdraws them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use mcp_aql_core::audit::AuditEntry;

use super::agent_state::PersonRequest;

use futures_util::FutureExt as _;
use mcp_aql_core::internal::util::lock;

use super::caller::CallerIds;
use super::code::KnownCode;
use super::runtime::SafetyCore;
use crate::human_channel::{Code, Decider, HumanChannel, HumanRequest};

impl SafetyCore {
    /// Shows a request in all channels.
    ///
    /// A slow channel does not delay the caller. If a channel fails, the audit log records it, and the request stays
    /// unanswered in this channel.
    pub(super) async fn present(
        &self,
        ask: PersonRequest,
        (agent, caller): (Option<&str>, CallerIds<'_>),
        code: Code,
    ) {
        let now = self.now();
        {
            let mut codes = lock(&self.codes);
            codes.retain(|_, known| now < known.until);
            codes.insert(ask.id.clone(), KnownCode::new(code.clone(), ask.expires_at));
        }
        let owned = |id: Option<&str>| id.map(str::to_owned);
        lock(&self.presented).note(owned(caller.session), now);
        let request = Arc::new(HumanRequest {
            id: ask.id,
            kind: ask.kind,
            agent: owned(agent),
            action: ask.action,
            reasons: ask.reasons,
            code,
            expires_at: ask.expires_at,
        });
        for channel in &self.channels {
            let (channel, request) = (Arc::clone(channel), Arc::clone(&request));
            let services = Arc::clone(&self.services);
            let (session, principal) = (owned(caller.session), owned(caller.principal));
            spawn_unless_ready(async move {
                match catch_panic(async { channel.present(&request).await }).await {
                    Some(Ok(())) => return,
                    Some(Err(error)) => {
                        tracing::error!(channel = channel.name(), %error, "cannot show a request");
                    }
                    None => {
                        tracing::error!(channel = channel.name(), "a channel panicked");
                    }
                }
                let entry = AuditEntry {
                    event: "CHALLENGE_NOT_SHOWN",
                    outcome: "failed",
                    reason: Some(&format!("channel '{}' cannot show it", channel.name())),
                    principal: principal.as_deref(),
                    session: session.as_deref(),
                    agent: request.agent.as_deref(),
                    challenge_id: Some(&request.id),
                    ..AuditEntry::default()
                };
                services.audit.record(&entry).await;
            })
            .await;
        }
    }

    /// Returns `true` if any channel can show a request now.
    pub fn can_ask(&self) -> bool {
        self.channels.iter().any(|channel| can_present(&**channel))
    }

    /// Logs a warning for each channel that cannot show requests.
    pub(crate) fn warn_of_channels(&self) {
        for channel in self.channels.iter().filter(|channel| !can_present(&***channel)) {
            let channel = channel.name();
            tracing::warn!(channel, "this channel cannot show requests here");
        }
        if !self.channels.is_empty() && !self.can_ask() {
            tracing::warn!(
                "no channel reaches a person, so requests will stay unanswered. Start the adapter \
                 where its channel works, or add an operator console or a command"
            );
        }
    }

    /// Withdraws a request from all channels.
    pub(super) async fn withdraw(&self, id: &str) {
        lock(&self.codes).remove(id);
        for channel in &self.channels {
            let (channel, id) = (Arc::clone(channel), id.to_owned());
            spawn_unless_ready(async move {
                if catch_panic(async { channel.withdraw(&id).await }).await.is_none() {
                    tracing::error!(channel = channel.name(), "a channel panicked");
                }
            })
            .await;
        }
    }

    /// Returns the code of a request if this process has issued it.
    pub(super) fn known_code(&self, id: &str) -> Option<Code> {
        let now = self.now();
        let codes = lock(&self.codes);
        codes.get(id).filter(|known| now < known.until).map(|known| known.code.clone())
    }

    /// Returns the code of a request for an operator. The operator's name is kept for the audit log.
    pub(super) fn reveal_code(&self, id: &str, by: Option<&Decider>) -> Option<Code> {
        let code = self.known_code(id)?;
        if let Some(known) = lock(&self.codes).get_mut(id) {
            known.reader = by.and_then(Decider::name).map(str::to_owned);
        }
        Some(code)
    }

    /// Returns the decider for the code of a request. It is the operator to whom the code was shown last, if this
    /// process knows the name.
    pub(super) fn code_decider(&self, id: &str) -> Decider {
        Decider::code(lock(&self.codes).get(id).and_then(|known| known.reader.clone()))
    }
}

/// Returns `true` if a channel can show requests. A channel that panics counts as unable.
pub(super) fn can_present(channel: &dyn HumanChannel) -> bool {
    std::panic::catch_unwind(AssertUnwindSafe(|| channel.can_present())).unwrap_or(false)
}

/// Runs the code of a channel. Returns `None` if it panics, so that a channel cannot stop the safety loop.
async fn catch_panic<T>(work: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(work).catch_unwind().await.ok()
}

/// Polls a future once, and spawns it as a task if it is not ready.
async fn spawn_unless_ready(work: impl Future<Output = ()> + Send + 'static) {
    let mut work = Box::pin(work);
    if mcp_aql_core::internal::util::poll_once(&mut work).await.is_pending() {
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(work)),
            Err(_) => work.await,
        }
    }
}
