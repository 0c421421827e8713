//! Builds the command that repeats a check.

use super::{CheckReport, Report};
use crate::finding::Finding;

impl Report {
    /// Adds to each finding the command that repeats its check.
    pub(super) fn add_repeat_commands(&mut self) {
        if self.invocation.is_empty() {
            return;
        }
        let end = self.invocation.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        for check in self.categories.iter_mut().flat_map(|category| &mut category.checks) {
            let CheckReport { id, findings, .. } = check;
            for finding in findings {
                finding.repeat = command(id, finding, &end);
            }
        }
    }
}

/// Builds the command that repeats a check, ready for you to paste into a shell:
///
/// ```console
/// $ mcp-aql-conformance test --check deletes.removed --mode single --allow delete -- ./garden --db 'my beds.db'
/// ```
fn command(check: &str, finding: &Finding, end: &str) -> String {
    // One mode is enough to repeat a finding of both. A finding without modes compares them, so it needs both.
    let mode = match finding.modes.first() {
        Some(mode) => format!(" --mode {}", quoted(mode)),
        None => String::new(),
    };
    format!("mcp-aql-conformance test --check {}{mode} {end}", quoted(check))
}

/// Quotes a word for a POSIX shell if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |each: char| each.is_ascii_alphanumeric() || "_./:=@%+,-".contains(each);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("--db", "--db"),
            ("http://127.0.0.1:80/mcp", "http://127.0.0.1:80/mcp"),
            ("a b", "'a b'"),
            ("", "''"),
            ("it's", "'it'\\''s'"),
            ("$HOME", "'$HOME'"),
            ("a;b", "'a;b'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
