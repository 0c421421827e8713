//! Finds the secrets in a configuration and masks them in output.
//!
//! - [`is_secret_name`]: recognizes the names of secrets, such as `API_KEY`.
//! - [`PossibleSecret`]: a value of a configuration. Its functions `of_…` collect values from
//!   command lines, variables, headers and URLs.
//! - [`Masker`]: replaces secrets in every encoding in which they may occur.
//!
//! ```
//! use mcp_aql_client::secrets::{Masker, PossibleSecret};
//!
//! let found = PossibleSecret::of_command_line(["--token", "tok-1234", "--port", "8080"]);
//! let secrets = found.iter().filter(|value| value.is_secret);
//! let masker = Masker::new(secrets.map(|value| &*value.text));
//! assert_eq!(masker.mask("tok-1234 on 8080, tok%2D1234"), "*** on 8080, ***");
//! ```

mod forms;
mod masker;
mod sources;

use std::path::Path;

pub use masker::Masker;
pub use sources::{PossibleSecret, percent_decoded};

/// Minimum length in bytes of a secret that is masked inside longer strings. Shorter ones occur in
/// many words by chance.
const MIN_SECRET_BYTES: usize = 4;
/// Parts of names of secrets, in lower case and without `_` and `-`.
const PARTS: [&str; 13] = [
    "key",
    "token",
    "secret",
    "passw",
    "pwd",
    "passphrase",
    "credential",
    "auth",
    "cookie",
    "session",
    "signature",
    "bearer",
    "dsn",
];
/// Words that contain such a part but mean something else.
const OTHER_WORDS: [&str; 3] = ["keyword", "keyboard", "author"];
/// Words that mark a name as a secret if they stand alone in it, such as `pass` in `DB_PASS`.
const WORDS: [&str; 6] = ["key", "auth", "pass", "pwd", "cookie", "bearer"];
/// Common values of settings. These are not secrets.
const COMMON_VALUES: [&str; 21] = [
    "true",
    "false",
    "none",
    "null",
    "auto",
    "default",
    "info",
    "debug",
    "warn",
    "warning",
    "error",
    "trace",
    "verbose",
    "quiet",
    "production",
    "development",
    "test",
    "stdio",
    "http",
    "utf-8",
    "UTF-8",
];

/// Returns `true` if a variable, header, option or member of this name holds a secret. Examples are
/// `API-Key`, `access_token` and `Authorization`, but not `keywords`.
///
/// ```
/// use mcp_aql_client::secrets::is_secret_name;
///
/// assert!(is_secret_name("X-Api-Key") && is_secret_name("DB_PASS"));
/// assert!(!is_secret_name("keywords") && !is_secret_name("path"));
/// ```
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let words = name.to_ascii_lowercase();
    if words.contains("apikey")
        || words.split(|each: char| !each.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word))
    {
        return true;
    }
    let name: String =
        name.chars().filter(|each| !"_-".contains(*each)).flat_map(char::to_lowercase).collect();
    // `authorization` must not be removed as a form of `author`.
    let name = name.replace("authori", "auth ");
    let name = OTHER_WORDS.iter().fold(name, |name, other| name.replace(other, " "));
    PARTS.iter().any(|part| name.contains(part))
}

/// Returns `true` if a string looks randomly generated: long, with both letters and digits.
fn looks_secret(text: &str) -> bool {
    const LONG: usize = 20;
    let has = |is: fn(&char) -> bool| text.chars().filter(is).count() >= 3;
    text.len() >= LONG
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && text.chars().all(|each| each.is_ascii_alphanumeric() || "-_+=.".contains(each))
}

/// Returns `true` if masking a value would protect nothing and make the output unreadable. This is
/// the case for short strings and numbers, common words and existing paths.
fn is_common_value(text: &str) -> bool {
    let is_number = text.len() < 6 && text.chars().all(|each| each.is_ascii_digit());
    text.len() < MIN_SECRET_BYTES
        || is_number
        || COMMON_VALUES.contains(&text)
        || (text.starts_with(['/', '~', '.']) && Path::new(text).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognized() {
        for name in [
            "API-Key",
            "api_key",
            "access_key",
            "key",
            "keywords_key",
            "authToken",
            "pwd",
            "auth",
            "Authorization",
            "x-authorized-by",
            "DB_PASSWORD",
            "passwd",
            "clientSecret",
            "session_id",
            // These are recognized by whole words only.
            "DB_PASS",
            "key-word",
            "proxy.auth.or",
            // The secret is recognized although a word with another meaning follows it.
            "apikeywords",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "keywords", "Keyword", "author", "authors", "query", "path", "limit", "compass",
            "bypassed", "",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    /// The names that the conformance runner recognized before both commands shared one rule.
    #[test]
    fn names_by_parts_and_words_are_recognized() {
        let parts =
            ["token", "secret", "passw", "passphrase", "apikey", "credential", "authorization"];
        for part in parts {
            for (before, after) in [("", ""), ("x", "y"), ("keyword", "author"), ("my_", "-1")] {
                let name = format!("{before}{part}{after}");
                assert!(is_secret_name(&name) && is_secret_name(&name.to_uppercase()), "{name}");
            }
        }
        for word in WORDS {
            for (before, after) in
                [("", ""), ("x-", "_y"), ("--", ""), ("é", ".board"), ("a ", "-word")]
            {
                let name = format!("{before}{word}{after}");
                assert!(is_secret_name(&name) && is_secret_name(&name.to_uppercase()), "{name}");
            }
        }
    }

    #[test]
    fn generated_texts_look_secret() {
        assert!(looks_secret("ghp_1234567890abcdefghij"));
        for text in ["ghp_123456789", "/var/lib/0123456789abcdef", "abcdefghijklmnopqrstuvw", ""] {
            assert!(!looks_secret(text), "{text}");
        }
    }

    #[test]
    fn common_values_are_recognized() {
        for text in ["", "abc", "12345", "true", "UTF-8", "/"] {
            assert!(is_common_value(text), "{text}");
        }
        for text in ["abcd", "123456", "True", "/no/such/path", "hunter2"] {
            assert!(!is_common_value(text), "{text}");
        }
    }
}
