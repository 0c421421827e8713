//! Limits the number of requests that people receive per minute.

use chrono::{DateTime, TimeDelta, Utc};

use super::retry_lockout::WINDOW_SECONDS;

/// The maximum number of requests that a process shows per minute, for all agents together.
const MAX_REQUESTS: usize = 60;

/// The times of the last minute's requests, with their sessions.
#[derive(Debug, Default)]
pub(super) struct RequestLimit(Vec<(DateTime<Utc>, Option<String>)>);

impl RequestLimit {
    /// Returns `true` if another request of this session would exceed its share.
    ///
    /// A session may use at most half of the remaining budget, so one session cannot starve the rest. Callers without a
    /// session count as one session.
    pub(super) fn refuses(&mut self, session: Option<&str>, now: DateTime<Utc>) -> bool {
        self.rebase(now);
        let own = self.0.iter().filter(|(_, asker)| asker.as_deref() == session).count();
        let others = self.0.len() - own;
        own * 2 >= MAX_REQUESTS.saturating_sub(others)
    }

    pub(super) fn note(&mut self, session: Option<String>, now: DateTime<Utc>) {
        self.rebase(now);
        self.0.push((now, session));
    }

    /// Removes requests older than one minute. Times after `now` become `now`, in case the clock was set back.
    fn rebase(&mut self, now: DateTime<Utc>) {
        for (at, _) in &mut self.0 {
            *at = (*at).min(now);
        }
        self.0.retain(|(at, _)| now - *at < TimeDelta::seconds(WINDOW_SECONDS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_900_000_000 + seconds, 0).unwrap()
    }

    /// Returns the number of accepted requests if a session asks as often as possible.
    fn greedy(crowd: &mut RequestLimit, session: Option<&str>, now: DateTime<Utc>) -> usize {
        (0..MAX_REQUESTS)
            .filter(|_| {
                let asks = !crowd.refuses(session, now);
                if asks {
                    crowd.note(session.map(str::to_owned), now);
                }
                asks
            })
            .count()
    }

    #[test]
    fn no_session_keeps_another_one_from_asking() {
        // REQ-OOB-13
        let mut crowd = RequestLimit::default();
        let got: Vec<_> = [Some("a"), Some("b"), None, Some("c"), Some("d"), Some("e"), Some("f")]
            .into_iter()
            .map(|session| greedy(&mut crowd, session, at(0)))
            .collect();
        assert_eq!(got, [30, 15, 8, 4, 2, 1, 0]);
        assert_eq!(got.iter().sum::<usize>(), MAX_REQUESTS);
        assert!(crowd.refuses(Some("f"), at(59)));
        // Setting the clock back does not extend the window.
        assert!(crowd.refuses(Some("f"), at(-500)));
        assert!(!crowd.refuses(Some("f"), at(-440)));
    }

    #[test]
    fn many_that_ask_once_are_all_heard() {
        let mut crowd = RequestLimit::default();
        for number in 0..MAX_REQUESTS {
            let session = number.to_string();
            assert!(!crowd.refuses(Some(&session), at(0)), "{number}");
            crowd.note(Some(session), at(0));
        }
        assert!(crowd.refuses(Some("more"), at(0)));
    }
}
