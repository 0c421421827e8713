//! The ids and codes of requests to people.

use chrono::{DateTime, Utc};
use hmac_sha256::Hash;
use mcp_aql_core::OperationError;
use mcp_aql_core::internal::vocab::hex;

use crate::human_channel::Code;

/// The alphabet of Crockford's base 32, without letters that people confuse with digits.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A code issued by this process.
pub(super) struct KnownCode {
    pub(super) code: Code,
    pub(super) until: DateTime<Utc>,
    /// The operator to whom the code was shown last, if the channel knows the name.
    pub(super) reader: Option<String>,
}

impl KnownCode {
    pub(super) fn new(code: Code, until: DateTime<Utc>) -> Self {
        Self { code, until, reader: None }
    }
}

/// The credentials of a new request: a public id, and a secret code of 256 random bits (REQ-OOB-04). The store only
/// contains the hash of the code.
pub(super) struct RequestCredentials {
    pub(super) id: String,
    pub(super) code: Code,
    pub(super) hash: String,
}

impl RequestCredentials {
    pub(super) fn new() -> Result<Self, OperationError> {
        let mut random = [0; 32];
        getrandom::fill(&mut random)
            .map_err(|error| OperationError::internal(error.to_string()))?;
        let code = written(&random);
        let hash = hash(&code);
        let id = uuid::Uuid::new_v4().to_string();
        Ok(Self { id, code: Code::new(code), hash })
    }
}

/// Returns the hash of a code as typed by a person, in upper or lower case and with or without separators.
///
/// ```text
/// O → 0    I, L → 1    - is ignored
/// ```
pub(super) fn hash(code: &str) -> String {
    let letters = code.chars().filter(char::is_ascii_alphanumeric).map(|each| {
        match each.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        }
    });
    hex(&Hash::hash(letters.collect::<String>().as_bytes()))
}

/// Compares two hashes in constant time, so that the duration reveals nothing about a hash. Use it instead of `==`
/// whenever you compare the hash of a code.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |differs, (left, right)| differs | (left ^ right))
            == 0
}

/// Encodes bytes in base 32, in groups of four letters: `0A1B-2C3D-…`.
fn written(random: &[u8]) -> String {
    let mut text = String::new();
    let (mut held, mut bits, mut letters) = (0_u32, 0, 0);
    let mut push = |five: u32| {
        if letters > 0 && letters % 4 == 0 {
            text.push('-');
        }
        letters += 1;
        let letter = ALPHABET.get(usize::try_from(five & 31).unwrap_or(0)).copied();
        text.push(char::from(letter.unwrap_or(b'0')));
    };
    for byte in random {
        held = (held << 8 | u32::from(*byte)) & 0xffff;
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            push(held >> bits);
        }
    }
    if bits > 0 {
        push(held << (5 - bits));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_are_long_and_differ() {
        // REQ-OOB-04
        let all: HashSet<_> =
            (0..200).map(|_| RequestCredentials::new().unwrap().code.reveal().to_owned()).collect();
        assert_eq!(all.len(), 200);
        for code in &all {
            // 52 letters of 5 bits can hold 256 bits.
            assert_eq!(code.chars().filter(|each| *each != '-').count(), 52, "{code}");
            assert!(code.split('-').all(|group| group.len() == 4), "{code}");
        }
        let ids: HashSet<_> = (0..200).map(|_| RequestCredentials::new().unwrap().id).collect();
        assert_eq!(ids.len(), 200);
        assert_eq!(written(&[0xff; 5]), "ZZZZ-ZZZZ");
        assert_eq!(written(&[0, 0, 0, 0, 1]), "0000-0001");
    }

    #[test]
    fn codes_may_be_typed_in_any_way_and_are_compared_whole() {
        let fresh = RequestCredentials::new().unwrap();
        let code = fresh.code.reveal();
        for typed in
            [code.to_owned(), code.to_lowercase(), code.replace('-', " "), format!(" {code}\n")]
        {
            assert!(same(&hash(&typed), &fresh.hash), "{typed}");
        }
        let shorter: String = code.chars().skip(1).collect();
        for wrong in ["", "0", &shorter, &format!("{code}0")] {
            assert!(!same(&hash(wrong), &fresh.hash), "{wrong}");
        }
    }

    #[test]
    fn a_code_is_not_printed() {
        // REQ-OOB-05
        let fresh = RequestCredentials::new().unwrap();
        assert_eq!(format!("{:?}", fresh.code), "Code([redacted])");
    }
}
