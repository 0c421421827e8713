//! The number of confirmation tokens that the store keeps for one process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use chrono::{DateTime, Utc};

use crate::sync::lock;

/// The maximum number of tokens, used ones included: 60 a second for the lifetime of five minutes. A record has at most
/// 3 KB, so that they need at most 60 MB.
pub(super) const MAX_TOKENS: usize = 20_000;
/// The maximum number of tokens of one session, so that it cannot evict those of all others. At the default of 120 tokens a
/// minute, the oldest of them has expired.
pub(super) const MAX_TOKENS_OF_SESSION: usize = 1_000;

/// The tokens of a process, in the order of their issue. A process that shares the store with others limits its own.
#[derive(Debug, Default)]
pub(super) struct TokenCapacity(Mutex<Tokens>);

#[derive(Debug, Default)]
struct Tokens {
    /// The keys of the tokens in the store, and when it may delete them.
    keys: BTreeMap<u64, (String, DateTime<Utc>)>,
    next: u64,
}

/// The tokens of a session, by their places in [`TokenCapacity`].
#[derive(Debug, Default)]
pub(super) struct SessionTokens(Mutex<VecDeque<u64>>);

impl TokenCapacity {
    /// Adds a token, and returns the keys of the oldest tokens that must be removed for it. A session has its tokens in
    /// `session`.
    pub(super) fn admit(
        &self,
        session: Option<&SessionTokens>,
        key: String,
        kept_until: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Vec<String> {
        let mut evicted = Vec::new();
        let mut tokens = lock(&self.0);
        // The store has deleted these, or will with its next purge.
        while tokens.keys.first_key_value().is_some_and(|(_, (_, until))| *until < now) {
            tokens.keys.pop_first();
        }
        if let Some(session) = session {
            let mut own = lock(&session.0);
            own.retain(|place| tokens.keys.contains_key(place));
            if own.len() >= MAX_TOKENS_OF_SESSION
                && let Some(oldest) = own.pop_front()
            {
                evicted.extend(tokens.keys.remove(&oldest).map(|(key, _)| key));
            }
            own.push_back(tokens.next);
        }
        if tokens.keys.len() >= MAX_TOKENS {
            evicted.extend(tokens.keys.pop_first().map(|(_, (key, _))| key));
        }
        let place = tokens.next;
        tokens.next += 1;
        tokens.keys.insert(place, (key, kept_until));
        evicted
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn the_oldest_tokens_make_room_within_a_session_and_over_all() {
        // REQ-TOK-17
        let (capacity, now) = (TokenCapacity::default(), Utc::now());
        let until = now + TimeDelta::minutes(35);
        let mut kept = std::collections::BTreeSet::new();
        let mut admit = |session: &SessionTokens, number: usize, at| {
            let evicted = capacity.admit(Some(session), number.to_string(), until, at);
            kept.insert(number.to_string());
            for key in &evicted {
                assert!(kept.remove(key), "{key} is not kept");
            }
            (evicted, kept.len())
        };
        let greedy = SessionTokens::default();
        for number in 0..3 * MAX_TOKENS_OF_SESSION {
            let (evicted, count) = admit(&greedy, number, now);
            let expected = number.checked_sub(MAX_TOKENS_OF_SESSION).map(|it| it.to_string());
            assert_eq!(evicted, Vec::from_iter(expected));
            assert!(count <= MAX_TOKENS_OF_SESSION);
        }
        for number in 10_000..10_000 + 2 * MAX_TOKENS {
            let (_, count) = admit(&SessionTokens::default(), number, now);
            assert!(count <= MAX_TOKENS);
        }
        // The store deletes expired tokens itself.
        let (evicted, _) = admit(&greedy, 0, until + TimeDelta::seconds(1));
        assert!(evicted.is_empty(), "{evicted:?}");
    }

    #[test]
    fn callers_without_a_session_are_limited_together() {
        let (capacity, now) = (TokenCapacity::default(), Utc::now());
        for number in 0..=MAX_TOKENS {
            let evicted = capacity.admit(None, number.to_string(), now, now);
            assert_eq!(evicted, Vec::from_iter((number == MAX_TOKENS).then(|| "0".to_owned())));
        }
    }
}
