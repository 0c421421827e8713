//! One-time login links.
//!
//! A link is signed with the key of the console. It is valid for a short time and one use, and contains the name of the
//! operator.
//!
//! ```text
//! http://127.0.0.1:8686/login?once= + base64url(nonce, expiry, operator, signature)
//! ```

use std::collections::HashMap;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use hmac_sha256::HMAC;
use mcp_aql_core::internal::util::lock;

use crate::human_channel::OperatorName;

/// The validity of a link created on demand. It is short because the link is used at once.
pub(super) const ON_DEMAND_TTL: TimeDelta = TimeDelta::minutes(2);
/// The validity of the link printed at the start.
pub(super) const STARTUP_TTL: TimeDelta = TimeDelta::minutes(10);

const NONCE: usize = 16;
const TIME: usize = 8;
const MAC: usize = 32;

/// The key that signs links. A person with the key can sign in.
#[derive(Clone)]
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        random().map(Self)
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }

    pub(super) fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Creates a link and returns its URL.
    pub(super) fn link(
        &self,
        port: u16,
        now: DateTime<Utc>,
        lifetime: TimeDelta,
        operator: &OperatorName,
    ) -> Result<String, getrandom::Error> {
        let nonce: [u8; NONCE] = random()?;
        let expires = (now + lifetime).timestamp_millis().to_be_bytes();
        let mut once = [nonce.as_slice(), &expires, operator.as_str().as_bytes()].concat();
        let signature = HMAC::mac(&once, self.0);
        once.extend_from_slice(&signature);
        Ok(format!("http://127.0.0.1:{port}/login?once={}", URL_SAFE_NO_PAD.encode(once)))
    }

    /// Returns the nonce, the expiry and the operator of a link if it was signed with this key.
    fn read(&self, once: &str) -> Option<([u8; NONCE], i64, OperatorName)> {
        let bytes = URL_SAFE_NO_PAD.decode(once).ok()?;
        let (signed, signature) = bytes.split_at_checked(bytes.len().checked_sub(MAC)?)?;
        // `verify` compares in constant time.
        if !HMAC::verify(signed, self.0, signature.try_into().ok()?) {
            return None;
        }
        let (nonce, rest) = signed.split_at_checked(NONCE)?;
        let (expires, operator) = rest.split_at_checked(TIME)?;
        let operator = OperatorName::new(std::str::from_utf8(operator).ok()?).ok()?;
        Some((nonce.try_into().ok()?, i64::from_be_bytes(expires.try_into().ok()?), operator))
    }
}

/// The used links. Each is kept until it expires.
#[derive(Default)]
pub(super) struct Links(Mutex<HashMap<[u8; NONCE], i64>>);

impl Links {
    /// Uses a link and returns its operator. Returns `None` if the link is invalid or expired, or was used before.
    pub(super) fn redeem(&self, key: &Key, once: &str, now: DateTime<Utc>) -> Option<OperatorName> {
        let now = now.timestamp_millis();
        let (nonce, expires, operator) = key.read(once).filter(|(_, expires, _)| now < *expires)?;
        let mut used = lock(&self.0);
        used.retain(|_, expires| now < *expires);
        used.insert(nonce, expires).is_none().then_some(operator)
    }
}

pub(super) fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> OperatorName {
        OperatorName::new("Ada Ł").unwrap()
    }

    fn once(link: &str) -> &str {
        link.strip_prefix("http://127.0.0.1:7000/login?once=").unwrap()
    }

    #[test]
    fn a_link_is_good_once_and_for_its_time() {
        let now = "2031-05-06T07:00:00Z".parse().unwrap();
        let (key, links) = (Key::random().unwrap(), Links::default());
        let link = || key.link(7000, now, ON_DEMAND_TTL, &ada()).unwrap();
        let (first, second) = (link(), link());
        assert_ne!(first, second);
        assert_eq!(links.redeem(&key, once(&first), now), Some(ada()));
        assert!(links.redeem(&key, once(&first), now).is_none(), "used");
        assert!(links.redeem(&key, once(&second), now + ON_DEMAND_TTL).is_none(), "expired");
        let last = now + ON_DEMAND_TTL - TimeDelta::milliseconds(1);
        assert!(links.redeem(&key, once(&second), last).is_some());
        let third = link();
        assert!(links.redeem(&key, once(&third), now + TimeDelta::minutes(1)).is_some());
        assert!(links.redeem(&key, once(&third), now).is_none(), "used, and the clock went back");
    }

    #[test]
    fn a_link_that_was_changed_or_signed_elsewhere_is_none() {
        let now = Utc::now();
        let (key, links) = (Key::random().unwrap(), Links::default());
        let link = key.link(7000, now, ON_DEMAND_TTL, &ada()).unwrap();
        let good = once(&link);
        let other = Key::random().unwrap();
        assert!(links.redeem(&other, good, now).is_none());
        let bytes = URL_SAFE_NO_PAD.decode(good).unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert!(links.redeem(&key, &URL_SAFE_NO_PAD.encode(changed), now).is_none(), "{place}");
        }
        let cut: String = good.chars().skip(4).collect();
        for text in ["", "x", &cut, &format!("{good}AAAA"), "ä"] {
            assert!(links.redeem(&key, text, now).is_none(), "{text}");
        }
        assert!(links.redeem(&Key::from_text(&key.to_text()).unwrap(), good, now).is_some());
    }
}
