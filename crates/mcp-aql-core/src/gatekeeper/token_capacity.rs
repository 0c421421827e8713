//! Limits the number of confirmation tokens that one process keeps in the store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use chrono::{DateTime, Utc};

use crate::util::lock;

/// Maximum number of tokens, including used ones. It allows 60 tokens per second during their lifetime of five minutes.
/// A record has at most 3 KB, so all records need at most 60 MB.
pub(super) const MAX_TOKENS: usize = 20_000;
/// Maximum number of tokens of one session, so that it cannot evict the tokens of all others. At the default rate of
/// 120 tokens per minute, the oldest of these tokens has already expired.
pub(super) const MAX_TOKENS_OF_SESSION: usize = 1_000;

/// Maximum number of tokens of all callers without a session, so that they cannot evict the tokens of sessions.
pub(super) const MAX_TOKENS_WITHOUT_SESSION: usize = MAX_TOKENS / 2;

/// The tokens of a process, in the order of issue. If several processes share a store, each limits only its own tokens.
#[derive(Debug, Default)]
pub(super) struct TokenCapacity(Mutex<TokenCounts>);

#[derive(Debug, Default)]
struct TokenCounts {
    /// Keys of the tokens in the store, with the time until which they are kept.
    keys: BTreeMap<u64, (String, DateTime<Utc>)>,
    next: u64,
}

/// The tokens of a session, or of all callers without one, as sequence numbers in [`TokenCapacity`].
#[derive(Debug, Default)]
pub(super) struct OwnTokens(Mutex<VecDeque<u64>>);

impl TokenCapacity {
    /// Adds a token. Returns the keys of the oldest tokens to remove for it. `own` may contain at most `most` tokens.
    pub(super) fn admit(
        &self,
        (own, most): (&OwnTokens, usize),
        key: String,
        kept_until: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Vec<String> {
        let mut evicted = Vec::new();
        let mut tokens = lock(&self.0);
        // The store has already deleted these, or will do so with its next purge.
        while tokens.keys.first_key_value().is_some_and(|(_, (_, until))| *until < now) {
            tokens.keys.pop_first();
        }
        let mut own = lock(&own.0);
        // The oldest tokens are always removed first, so a missing token can only be at the front.
        while own.front().is_some_and(|place| !tokens.keys.contains_key(place)) {
            own.pop_front();
        }
        if own.len() >= most
            && let Some(oldest) = own.pop_front()
        {
            evicted.extend(tokens.keys.remove(&oldest).map(|(key, _)| key));
        }
        own.push_back(tokens.next);
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
        let mut admit = |session: &OwnTokens, number: usize, at| {
            let own = (session, MAX_TOKENS_OF_SESSION);
            let evicted = capacity.admit(own, number.to_string(), until, at);
            kept.insert(number.to_string());
            for key in &evicted {
                assert!(kept.remove(key), "{key} is not kept");
            }
            (evicted, kept.len())
        };
        let greedy = OwnTokens::default();
        for number in 0..3 * MAX_TOKENS_OF_SESSION {
            let (evicted, count) = admit(&greedy, number, now);
            let expected = number.checked_sub(MAX_TOKENS_OF_SESSION).map(|it| it.to_string());
            assert_eq!(evicted, Vec::from_iter(expected));
            assert!(count <= MAX_TOKENS_OF_SESSION);
        }
        for number in 10_000..10_000 + 2 * MAX_TOKENS {
            let (_, count) = admit(&OwnTokens::default(), number, now);
            assert!(count <= MAX_TOKENS);
        }
        // The store deletes expired tokens itself.
        let (evicted, _) = admit(&greedy, 0, until + TimeDelta::seconds(1));
        assert!(evicted.is_empty(), "{evicted:?}");
    }

    #[test]
    fn callers_without_a_session_evict_no_token_of_a_session() {
        // REQ-TOK-17
        let (capacity, now) = (TokenCapacity::default(), Utc::now());
        let (session, others) = (OwnTokens::default(), OwnTokens::default());
        let of_session = (&session, MAX_TOKENS_OF_SESSION);
        assert!(capacity.admit(of_session, "first".to_owned(), now, now).is_empty());
        for number in 0..2 * MAX_TOKENS {
            let own = (&others, MAX_TOKENS_WITHOUT_SESSION);
            let evicted = capacity.admit(own, number.to_string(), now, now);
            let oldest = number.checked_sub(MAX_TOKENS_WITHOUT_SESSION);
            assert_eq!(evicted, Vec::from_iter(oldest.map(|it| it.to_string())));
        }
    }
}
