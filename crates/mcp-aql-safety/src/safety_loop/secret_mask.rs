//! Masks possible secrets in strings of an agent, for the audit log.
//!
//! Parameters of operations are masked by their declaration. A reported action has no declaration, so secrets can only
//! be recognized by their form and by the words before them:
//!
//! ```text
//! curl -u ada --token ghp_0123456789abcdef → curl -u ada --token [redacted]
//! ```

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The replacement of a secret. Masked parameters in the audit log have the same.
const MASK: &str = "[redacted]";

/// The forms of secrets. The groups `keep` and `rest` are not replaced.
const FORMS: [&str; 5] = [
    // `password=…`, `"api_key": "…"`, `--token …`
    r#"(?i)(?P<keep>(?:\b|_|--?)(?:[a-z0-9]+[_.-])*(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|authorization|credentials?)\\?["']?(?:\s*[:=]\s*))(?:\\?"(?:[^"\\]|\\.)*\\?"|'[^']*'|(?:bearer|basic|token)\s+[^\s"',;&}]+|[^\s"',;&}\[][^\s"',;&}]*)"#,
    r#"(?i)(?P<keep>(?:^|\s)--?(?:[a-z0-9]+[_-])*(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key)\s+)(?:"[^"]*"|'[^']*'|[^\s"'\[-][^\s"']*)"#,
    r"(?i)(?P<keep>\b(?:bearer|basic)\s+)[a-z0-9._~+/=-]{8,}",
    // The password in a URL: `postgres://ada:…@host`.
    r"(?P<keep>://[^\s/:@]*:)[^\s/@]+(?P<rest>@)",
    // The tokens of well-known issuers, private keys, and the codes of the safety loop.
    r"(?s)(?P<keep>)(?:\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|sk_(?:live|test)_\w{16,}|xox[abprs]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?|[0-9A-Z]{4}(?:-[0-9A-Z]{4}){12})\b|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$))",
];

static PATTERNS: LazyLock<Result<Vec<Regex>, regex::Error>> =
    LazyLock::new(|| FORMS.into_iter().map(Regex::new).collect());

/// Replaces possible secrets by `[redacted]`.
pub(super) fn masked(text: &str) -> Cow<'_, str> {
    let Ok(patterns) = &*PATTERNS else { return Cow::Borrowed(MASK) };
    let mut masked = Cow::Borrowed(text);
    for pattern in patterns {
        let keep = |found: &Captures<'_>| {
            let part = |name| found.name(name).map_or("", |part| part.as_str());
            format!("{}{MASK}{}", part("keep"), part("rest"))
        };
        if let Cow::Owned(text) = pattern.replace_all(&masked, keep) {
            masked = Cow::Owned(text);
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_what_looks_like_a_secret() {
        for (text, log) in [
            (
                "login --user ada --password hunter2 now",
                "login --user ada --password [redacted] now",
            ),
            ("set PASSWORD=hunter2; run", "set PASSWORD=[redacted]; run"),
            ("export AWS_SECRET_ACCESS_KEY=abc/def+1", "export AWS_SECRET_ACCESS_KEY=[redacted]"),
            (
                r#"Start with {"task":"t","password":"a \"b\" c","n":1}"#,
                r#"Start with {"task":"t","password":[redacted],"n":1}"#,
            ),
            (r#"{\"api_key\": \"k\"}"#, r#"{\"api_key\": [redacted]}"#),
            ("curl -H 'Authorization: Bearer abc.def'", "curl -H 'Authorization: [redacted]'"),
            ("send Bearer abcdefgh123", "send Bearer [redacted]"),
            ("psql postgres://ada:pw@db/x", "psql postgres://ada:[redacted]@db/x"),
            ("push with ghp_0123456789abcdefghij", "push with [redacted]"),
            (
                "write -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- x",
                "write [redacted] x",
            ),
            (
                "confirm K7QP-2M4X-9TRD-0HZ3-WWA8-6NJE-51VC-PYBG-F4S2-QX7M-K0D9-8RTH-3ZNA",
                "confirm [redacted]",
            ),
        ] {
            assert_eq!(masked(text), log);
            assert_eq!(masked(log), log, "masking again changes nothing");
        }
    }

    #[test]
    fn keeps_what_is_no_secret() {
        for text in [
            "git push origin main",
            "read_file docs/tokens.md",
            "set max_tokens=500 for author: Ada",
            "change the password of ada",
            "open https://example.org:8443/a@b",
            "deploy_service checkout --env staging --version 2.4.0",
            "rotate the token --force",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
