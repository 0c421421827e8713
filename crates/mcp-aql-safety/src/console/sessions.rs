//! The sessions of signed-in browsers, and the failed attempts to sign in.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use hmac_sha256::Hash;
use mcp_aql_core::internal::util::lock;

use super::login_link::random;
use super::session_file::{SessionFile, StoredSession};
use crate::human_channel::OperatorName;

/// The maximum number of signed-in browsers. A new one signs out the browser with the longest idle time.
const MAX_SESSIONS: usize = 16;

/// The maximum number of failed attempts to sign in to record within [`WINDOW`].
const MAX_FAILED_ATTEMPTS: usize = 10;
const WINDOW: Duration = Duration::from_secs(60);

/// The minimum interval between writes of the sessions' last use.
const STORE_INTERVAL: Duration = Duration::from_secs(60);

/// The credentials of a signed-in browser. Both are required.
///
/// Browsers send a cookie to every port of its host, so other servers on this machine receive it. Only pages of this
/// port can read the token.
pub(super) struct Credentials {
    pub(super) cookie: String,
    pub(super) token: String,
}

/// A session. It contains hashes of the credentials.
struct Session {
    cookie: [u8; 32],
    token: [u8; 32],
    operator: OperatorName,
    used: Instant,
}

pub(super) struct Sessions {
    timeout: Duration,
    open: Mutex<Vec<Session>>,
    /// The file with the sessions, if they outlive the process.
    file: Option<SessionFile>,
    stored: Mutex<Option<Instant>>,
    failures: Mutex<Failures>,
}

/// Failed attempts to sign in.
#[derive(Default)]
struct Failures {
    counted: VecDeque<Instant>,
    /// Time of the last attempt rejected because of the limit.
    refused: Option<Instant>,
}

/// The effect of a failed attempt to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    Counted,
    /// The limit is exceeded for the first time within the window, so the event is recorded.
    FirstRejected,
    Rejected,
}

/// The result of checking a request's credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionCheck {
    Invalid,
    /// The cookie is valid. The token is missing or wrong.
    CookieOnly,
    /// Both are valid. The operator signed in with this name.
    Valid(OperatorName),
}

impl Sessions {
    /// Creates the registry with the sessions of the file. Sessions time out after `timeout`.
    pub(super) fn new(timeout: Duration, file: Option<SessionFile>) -> Self {
        let now = (Instant::now(), Utc::now());
        let stored = file.iter().flat_map(SessionFile::read);
        let open: Vec<_> = stored.filter_map(|stored| restored(stored, timeout, now)).collect();
        let (open, stored, failures) = (Mutex::new(open), Mutex::default(), Mutex::default());
        Self { timeout, open, file, stored, failures }
    }

    /// Stores the sessions.
    fn store(&self, open: &[Session], now: Instant) {
        let Some(file) = &self.file else { return };
        *lock(&self.stored) = Some(now);
        let time = Utc::now();
        let sessions = open.iter().map(|session| StoredSession {
            cookie: session.cookie,
            token: session.token,
            operator: session.operator.as_str().to_owned(),
            used_at: time - now.saturating_duration_since(session.used),
        });
        file.write(&sessions.collect::<Vec<_>>());
    }

    /// Returns `true` if the last use of the sessions should be stored again.
    fn is_outdated(&self, now: Instant) -> bool {
        let stored = *lock(&self.stored);
        stored.is_none_or(|at| now.saturating_duration_since(at) >= STORE_INTERVAL)
    }

    pub(super) fn open(
        &self,
        operator: OperatorName,
        now: Instant,
    ) -> Result<Credentials, getrandom::Error> {
        let (cookie, token) = (secret()?, secret()?);
        let mut open = lock(&self.open);
        self.forget_idle(&mut open, now);
        while open.len() >= MAX_SESSIONS {
            let idle = open.iter().enumerate().min_by_key(|(_, session)| session.used);
            let Some((place, _)) = idle else { break };
            open.swap_remove(place);
        }
        open.push(Session { cookie: hash(&cookie), token: hash(&token), operator, used: now });
        self.store(&open, now);
        Ok(Credentials { cookie, token })
    }

    /// Checks the credentials of a request, and marks the session as used.
    pub(super) fn look_up(&self, cookie: &str, token: Option<&str>, now: Instant) -> SessionCheck {
        let cookie = hash(cookie);
        let mut open = lock(&self.open);
        self.forget_idle(&mut open, now);
        let check = match open.iter_mut().find(|session| same(&session.cookie, &cookie)) {
            None => SessionCheck::Invalid,
            Some(session) => {
                session.used = now;
                match token {
                    Some(token) if same(&session.token, &hash(token)) => {
                        SessionCheck::Valid(session.operator.clone())
                    }
                    _ => SessionCheck::CookieOnly,
                }
            }
        };
        if check != SessionCheck::Invalid && self.is_outdated(now) {
            self.store(&open, now);
        }
        check
    }

    pub(super) fn close(&self, cookie: &str) {
        let cookie = hash(cookie);
        let mut open = lock(&self.open);
        open.retain(|session| !same(&session.cookie, &cookie));
        self.store(&open, Instant::now());
    }

    /// Counts a failed attempt to sign in. Attempts above the limit are only reported.
    pub(super) fn failed(&self, now: Instant) -> Attempt {
        let recent = |at: &Instant| now.duration_since(*at) < WINDOW;
        let mut failures = lock(&self.failures);
        failures.counted.retain(recent);
        if failures.counted.len() < MAX_FAILED_ATTEMPTS {
            failures.counted.push_back(now);
            return Attempt::Counted;
        }
        match failures.refused.filter(recent) {
            Some(_) => Attempt::Rejected,
            None => {
                failures.refused = Some(now);
                Attempt::FirstRejected
            }
        }
    }

    fn forget_idle(&self, open: &mut Vec<Session>, now: Instant) {
        open.retain(|session| now.duration_since(session.used) < self.timeout);
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.store(&lock(&self.open), Instant::now());
    }
}

/// Returns a stored session, unless it has timed out or was last used in the future.
fn restored(
    stored: StoredSession,
    timeout: Duration,
    (now, time): (Instant, DateTime<Utc>),
) -> Option<Session> {
    let StoredSession { cookie, token, operator, used_at } = stored;
    let idle = (time - used_at).to_std().ok().filter(|idle| *idle < timeout)?;
    let operator = OperatorName::new(&operator).ok()?;
    Some(Session { cookie, token, operator, used: now.checked_sub(idle)? })
}

/// Returns 256 random bits as a string.
fn secret() -> Result<String, getrandom::Error> {
    Ok(URL_SAFE_NO_PAD.encode(random::<32>()?))
}

fn hash(secret: &str) -> [u8; 32] {
    Hash::hash(secret.as_bytes())
}

/// Compares in constant time.
fn same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let differ = one.iter().zip(other).fold(0, |differ, (one, other)| differ | (one ^ other));
    black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> OperatorName {
        OperatorName::new("ada").unwrap()
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn cookie_and_token_belong_together() {
        let (sessions, now) = (Sessions::new(HOUR, None), Instant::now());
        let one = sessions.open(ada(), now).unwrap();
        let two = sessions.open(ada(), now).unwrap();
        assert_eq!(one.cookie.len(), 43, "256 bits");
        for (cookie, token, seen) in [
            (&*one.cookie, Some(&*one.token), SessionCheck::Valid(ada())),
            (&one.cookie, Some(&two.token), SessionCheck::CookieOnly),
            (&one.cookie, Some(""), SessionCheck::CookieOnly),
            (&one.cookie, None, SessionCheck::CookieOnly),
            (&one.token, Some(&one.token), SessionCheck::Invalid),
            ("", Some(&one.token), SessionCheck::Invalid),
        ] {
            assert_eq!(sessions.look_up(cookie, token, now), seen);
        }
        sessions.close(&one.cookie);
        assert_eq!(sessions.look_up(&one.cookie, None, now), SessionCheck::Invalid);
        assert_eq!(sessions.look_up(&two.cookie, None, now), SessionCheck::CookieOnly);
    }

    #[test]
    fn an_idle_session_ends_and_one_in_use_does_not() {
        let (sessions, now) = (Sessions::new(HOUR, None), Instant::now());
        let session = sessions.open(ada(), now).unwrap();
        for half_hours in 1..6 {
            let now = now + HOUR / 2 * half_hours;
            assert_eq!(sessions.look_up(&session.cookie, None, now), SessionCheck::CookieOnly);
        }
        let later = now + HOUR / 2 * 5 + HOUR;
        assert_eq!(sessions.look_up(&session.cookie, None, later), SessionCheck::Invalid);
    }

    #[test]
    fn sessions_do_not_pile_up() {
        let (sessions, now) = (Sessions::new(HOUR, None), Instant::now());
        let first = sessions.open(ada(), now).unwrap();
        let second = sessions.open(ada(), now + Duration::from_secs(1)).unwrap();
        let later = now + Duration::from_secs(2);
        sessions.look_up(&first.cookie, None, later);
        for _ in 0..MAX_SESSIONS - 1 {
            sessions.open(ada(), later).unwrap();
        }
        assert_eq!(sessions.look_up(&second.cookie, None, later), SessionCheck::Invalid);
        assert_eq!(sessions.look_up(&first.cookie, None, later), SessionCheck::CookieOnly);
    }

    #[test]
    fn failures_count_for_a_minute() {
        let (sessions, now) = (Sessions::new(HOUR, None), Instant::now());
        assert!((0..MAX_FAILED_ATTEMPTS).all(|_| sessions.failed(now) == Attempt::Counted));
        assert_eq!(sessions.failed(now), Attempt::FirstRejected);
        assert_eq!(sessions.failed(now), Attempt::Rejected);
        assert_eq!(sessions.failed(now + WINDOW), Attempt::Counted);
    }

    #[test]
    fn stored_sessions_outlive_the_process() {
        let folder = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("console"));
        mcp_aql_core::internal::config::private_folder().create(&folder).unwrap();
        let file = || SessionFile::new(&folder, 8686);
        let sessions = |timeout| Sessions::new(timeout, Some(file()));
        let valid = |sessions: &Sessions, Credentials { cookie, token }: &Credentials| {
            let check = sessions.look_up(cookie, Some(token), Instant::now());
            check == SessionCheck::Valid(ada())
        };

        let first = sessions(HOUR);
        let (kept, left) = (
            first.open(ada(), Instant::now()).unwrap(),
            first.open(ada(), Instant::now()).unwrap(),
        );
        first.close(&left.cookie);
        // A killed process runs no destructors.
        std::mem::forget(first);
        let second = sessions(HOUR);
        assert!(valid(&second, &kept) && !valid(&second, &left));
        let text = std::fs::read_to_string(folder.join("signed-in-8686.json")).unwrap();
        assert!(!text.contains(&kept.cookie) && !text.contains(&kept.token), "{text}");
        assert!(
            mcp_aql_core::internal::config::is_private(&folder.join("signed-in-8686.json"))
                .unwrap()
        );
        drop(second);

        // Neither an idle session nor one from the future is restored.
        let at = |hours: i64| Utc::now() + chrono::TimeDelta::hours(hours);
        for (used_at, is_valid) in [(at(0), true), (at(-2), false), (at(2), false)] {
            let (cookie, token) = (hash(&kept.cookie), hash(&kept.token));
            let operator = "ada".to_owned();
            file().write(&[StoredSession { cookie, token, operator, used_at }]);
            assert_eq!(valid(&sessions(HOUR), &kept), is_valid, "{used_at}");
        }
        std::fs::write(folder.join("signed-in-8686.json"), "damaged").unwrap();
        assert!(!valid(&sessions(HOUR), &kept));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
