//! The full causes of failures, including a server's own messages. Show them on the operator's
//! terminal only, not in answers and logs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use mcp_aql_core::internal::util::lock;

use super::secrets::Secrets;

/// Maximum number of causes.
const MAX_CAUSES: usize = 10;
/// Maximum length of a cause in characters.
const MAX_CAUSE_CHARS: usize = 1000;

/// The last causes of failures, without the secrets passed to the server.
#[derive(Default)]
pub(super) struct FailureCauses {
    secrets: Arc<Secrets>,
    kept: Mutex<VecDeque<String>>,
}

impl fmt::Debug for FailureCauses {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FailureCauses").finish_non_exhaustive()
    }
}

impl FailureCauses {
    pub(super) fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, kept: Mutex::default() }
    }

    /// Adds a cause unless it is already recorded.
    pub(super) fn add(&self, cause: &str) {
        // Secrets are masked before and after cleaning, because they may contain spaces or be split
        // by invisible characters.
        let hidden = self.secrets.hidden(cause);
        let cause = mcp_aql_rank::texts::clean(&hidden);
        let cause = cause.split_whitespace().collect::<Vec<_>>().join(" ");
        let cause: String = self.secrets.hidden(&cause).chars().take(MAX_CAUSE_CHARS).collect();
        let mut causes = lock(&self.kept);
        if cause.is_empty() || causes.contains(&cause) {
            return;
        }
        if causes.len() == MAX_CAUSES {
            causes.pop_front();
        }
        causes.push_back(cause);
    }

    /// Returns all causes, the oldest first.
    pub(super) fn all(&self) -> Vec<String> {
        lock(&self.kept).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_before_causes_are_shortened() {
        let secrets = Secrets::new(["tok-0123456789", "two words"].map(str::to_owned));
        let causes = FailureCauses::new(Arc::new(secrets));
        causes.add(&format!("{} tok-0123456789", "x".repeat(MAX_CAUSE_CHARS - 11)));
        causes.add("two \u{200b}words, two\n words");
        let all = causes.all();
        assert!(all[0].ends_with("x ***"), "{all:?}");
        assert_eq!(all[1], "***, ***");
    }

    #[test]
    fn causes_are_cleaned_shortened_and_distinct() {
        let causes = FailureCauses::default();
        (0..20).for_each(|n| causes.add(&format!("HTTP\u{1b}[31m  status\n{n}\u{202e}")));
        causes.add("HTTP status 19");
        causes.add(" \u{200b}");
        causes.add(&"é".repeat(5000));
        let all = causes.all();
        assert_eq!(all.len(), MAX_CAUSES);
        assert_eq!(all[MAX_CAUSES - 2], "HTTP status 19");
        assert_eq!(all[MAX_CAUSES - 1].chars().count(), MAX_CAUSE_CHARS);
        assert!(!format!("{causes:?}").contains("status"));
    }
}
