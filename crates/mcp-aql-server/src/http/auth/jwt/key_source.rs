//! The cached keys of an issuer.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_aql_client::http::{Client, HeaderMap, Method, StatusCode, Url, is_local};
use mcp_aql_core::internal::config::{SettingPath, read_settings};
use mcp_aql_core::internal::util::lock;
use mcp_aql_core::{Error, Result};
use ring::digest::{self, SHA256_OUTPUT_LEN};
use tokio::time::{Instant, timeout};

use super::key::{Algorithm, Key};
use crate::http::auth::AuthenticationError;

/// Maximum size of a key set, in bytes.
const MAX_BYTES: usize = 256 << 10;
/// Problem to report for a larger key set.
const TOO_LARGE: &str = "it is too large";
/// Time limit for fetching a key set.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Minimum time between two attempts to fetch a key set. Otherwise, tokens with unknown key ids could flood the issuer
/// with requests.
const MIN_INTERVAL: Duration = Duration::from_secs(30);
/// How long expired keys remain in use if no newer ones can be fetched.
const MAX_STALE: Duration = Duration::from_secs(60 * 60);

/// Maximum number of cached signature checks. Each takes 32 bytes.
const MAX_VERIFIED: usize = 4_096;

/// The location of an issuer's public keys, published as a JSON Web Key Set.
#[derive(Debug, Clone)]
pub struct KeySource(Source);

#[derive(Debug, Clone)]
enum Source {
    Url(Url),
    File(SettingPath),
}

impl KeySource {
    /// Fetches the keys from a URL. It must start with `https://`, unless it is on this machine.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`] for any other URL.
    pub fn url(url: &str) -> Result<Self> {
        let parsed = Url::parse(url).ok();
        let usable = parsed
            .filter(|url| url.scheme() == "https" || (url.scheme() == "http" && is_local(url)));
        usable.map(|url| Self(Source::Url(url))).ok_or_else(|| {
            Error::Usage("the URL of a key set does not begin with https://".to_owned())
        })
    }

    /// Reads the keys from a file. The file is read again whenever the keys are refreshed. A relative path is resolved
    /// against the working directory, and symbolic links below that directory are not followed.
    ///
    /// To change the keys, you only replace the file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Source::File(SettingPath::new(Path::new(""), path)))
    }

    /// Reads the keys from a file, and checks now that the file has usable keys.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`] if the file has no usable keys.
    pub(super) fn checked_file(path: SettingPath) -> Result<Self> {
        let problem = match read_file(&path) {
            Ok(bytes) if Key::read_set(&bytes).is_some_and(|keys| !keys.is_empty()) => {
                return Ok(Self(Source::File(path)));
            }
            Ok(_) => {
                "it has no key that can verify a token: it must be a JSON Web Key Set".to_owned()
            }
            Err(error) => error.to_string(),
        };
        let file = path.path();
        Err(Error::Usage(format!("`auth.jwt.keys_file` names `{}`: {problem}", file.display())))
    }

    /// Fetches the keys. Logs a warning and returns `None` on an error.
    async fn fetch(&self) -> Option<Vec<Key>> {
        let fetched = timeout(FETCH_TIMEOUT, self.read()).await;
        let problem = match fetched {
            Ok(Ok(bytes)) => match Key::read_set(&bytes) {
                Some(keys) => return Some(keys),
                None => "it is not a JSON Web Key Set".to_owned(),
            },
            Ok(Err(problem)) => problem,
            Err(_) => "it takes too long".to_owned(),
        };
        tracing::warn!(problem, "the key set of the issuer could not be read");
        None
    }

    async fn read(&self) -> std::result::Result<Vec<u8>, String> {
        let url = match &self.0 {
            Source::File(path) => {
                let path = path.clone();
                let bytes = tokio::task::spawn_blocking(move || read_file(&path)).await;
                return bytes
                    .map_err(|error| error.to_string())?
                    .map_err(|error| error.to_string());
            }
            Source::Url(url) => url,
        };
        let client = Client::new(url).map_err(|error| error.to_string())?;
        let sent = client.send(url, Method::GET, HeaderMap::new(), Vec::new());
        let mut reply = sent.await.map_err(|error| error.to_string())?;
        if reply.status() != StatusCode::OK {
            return Err(format!("the server answered with status {}", reply.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = reply.chunk().await.map_err(|error| error.to_string())? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BYTES {
                return Err(TOO_LARGE.to_owned());
            }
        }
        Ok(body)
    }
}

fn read_file(path: &SettingPath) -> std::io::Result<Vec<u8>> {
    read_settings(&path.without_links()?)
}

/// The cached keys of an issuer. They are fetched again when they expire and when a token names an unknown key, but at
/// most every 30 seconds.
#[derive(Debug)]
pub(super) struct Keys(Arc<Cache>);

#[derive(Debug)]
struct Cache {
    source: KeySource,
    max_age: Duration,
    known: Mutex<CachedKeys>,
    /// Locked while the keys are fetched, so that concurrent requests share the result.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Default)]
struct CachedKeys {
    keys: Arc<KeySet>,
    fetched_at: Option<Instant>,
    tried_at: Option<Instant>,
}

/// The keys of one fetch.
#[derive(Debug, Default)]
struct KeySet {
    keys: Vec<Key>,
    /// The hashes of tokens already verified with these keys. A client sends the same token with every call, and
    /// checking a signature takes longer than the call.
    verified: Mutex<HashSet<[u8; SHA256_OUTPUT_LEN]>>,
}

impl KeySet {
    /// Returns `true` if a suitable key verifies the signature, and `None` if there is no suitable key.
    fn verifies(
        &self,
        algorithm: Algorithm,
        key_id: Option<&str>,
        message: &[u8],
        signed: &[u8],
    ) -> Option<bool> {
        let mut hash = digest::Context::new(&digest::SHA256);
        // The message contains the header, so the hash also covers the algorithm and the key id.
        hash.update(message);
        hash.update(b".");
        hash.update(signed);
        let hash = <[u8; SHA256_OUTPUT_LEN]>::try_from(hash.finish().as_ref()).ok()?;
        if lock(&self.verified).contains(&hash) {
            return Some(true);
        }
        let fits = |key: &&Key| {
            let is_named = |id: &str| key.id.as_deref().is_none_or(|own| own == id);
            key.fits(algorithm) && key_id.is_none_or(is_named)
        };
        let mut keys = self.keys.iter().filter(fits).peekable();
        keys.peek()?;
        // There may be several suitable keys if the token names none.
        let is_verified = keys.any(|key| key.verifies(algorithm, message, signed));
        if is_verified {
            let mut verified = lock(&self.verified);
            if verified.len() >= MAX_VERIFIED {
                verified.clear();
            }
            verified.insert(hash);
        }
        Some(is_verified)
    }
}

impl Keys {
    pub(super) fn new(source: KeySource, max_age: Duration) -> Self {
        let (known, fetching) = (Mutex::default(), tokio::sync::Mutex::default());
        Self(Arc::new(Cache { source, max_age, known, fetching }))
    }

    /// Returns `true` if one of the keys verifies a signature. A token that names a key is only checked with that key.
    ///
    /// # Errors
    ///
    /// Returns an error if the token names an unknown key, or if no keys are available.
    pub(super) async fn verify(
        &self,
        algorithm: Algorithm,
        key_id: Option<&str>,
        message: &[u8],
        signed: &[u8],
    ) -> std::result::Result<bool, AuthenticationError> {
        let find = |known: &CachedKeys| known.keys.verifies(algorithm, key_id, message, signed);
        let known = self.current(false).await?;
        let mut found = find(&known);
        if found.is_none() || (found == Some(false) && key_id.is_none()) {
            // The issuer may have started to use a new key.
            let newer = self.current(true).await?;
            if !Arc::ptr_eq(&newer.keys, &known.keys) {
                found = find(&newer);
            }
        }
        found.ok_or_else(|| AuthenticationError::invalid("the token is signed with an unknown key"))
    }

    /// Returns the keys. Fetches them if they have expired, or if `newer` ones are needed and the last attempt is old
    /// enough.
    async fn current(&self, newer: bool) -> std::result::Result<CachedKeys, AuthenticationError> {
        let before = lock(&self.0.known).clone();
        // Recently expired keys are used while newer ones are fetched, so that requests do not wait.
        let is_usable =
            before.fetched_at.is_some_and(|at| at.elapsed() < self.0.max_age.saturating_mul(2));
        let known = match self.0.is_due(&before, newer) {
            true if !newer && is_usable => {
                if self.0.fetching.try_lock().is_ok() {
                    let (cache, before) = (Arc::clone(&self.0), before.clone());
                    tokio::spawn(async move { cache.refresh(&before, newer).await });
                }
                before
            }
            true => {
                // Fetch in a separate task. A client that disconnects does not cancel the attempt.
                let cache = Arc::clone(&self.0);
                let fetching = tokio::spawn(async move { cache.refresh(&before, newer).await });
                fetching.await.map_err(|_| AuthenticationError::unavailable())?
            }
            false => before,
        };
        match known.fetched_at {
            Some(at) if at.elapsed() < self.0.max_age.saturating_add(MAX_STALE) => Ok(known),
            _ => Err(AuthenticationError::unavailable()),
        }
    }
}

impl Cache {
    fn is_due(&self, known: &CachedKeys, newer: bool) -> bool {
        let may_try = known.tried_at.is_none_or(|at| at.elapsed() >= MIN_INTERVAL);
        let is_old = known.fetched_at.is_none_or(|at| at.elapsed() >= self.max_age);
        may_try && (newer || is_old)
    }

    async fn refresh(&self, before: &CachedKeys, newer: bool) -> CachedKeys {
        let _one = self.fetching.lock().await;
        let known = lock(&self.known).clone();
        // Another request may have fetched the keys in the meantime.
        if known.tried_at != before.tried_at || !self.is_due(&known, newer) {
            return known;
        }
        let keys = self.source.fetch().await;
        let now = Instant::now();
        let mut known = lock(&self.known);
        known.tried_at = Some(now);
        if let Some(keys) = keys {
            known.keys = Arc::new(KeySet { keys, verified: Mutex::default() });
            known.fetched_at = Some(now);
        }
        known.clone()
    }
}
