//! Prints the results line by line, and remembers if a check failed.

use std::fmt::Display;

/// The table of results.
#[derive(Default)]
pub(crate) struct Report {
    failed: usize,
}

#[expect(clippy::print_stdout, reason = "the report")]
impl Report {
    /// Prints a check with its result.
    ///
    /// ```text
    /// deletions                                                          1000  ok
    /// ```
    pub(crate) fn check(&mut self, what: &str, seen: impl Display, holds: bool) {
        if !holds {
            self.failed += 1;
        }
        println!("{what:<44} {seen:>26}  {}", if holds { "ok" } else { "FAILED" });
    }

    /// Prints a figure without a check.
    pub(crate) fn note(&self, what: &str, seen: impl Display) {
        println!("{what:<44} {seen:>26}");
    }

    /// Prints the details of a failed check.
    pub(crate) fn detail(&self, text: &str) {
        println!("{text}");
    }

    /// Prints a heading.
    pub(crate) fn part(&self, name: &str) {
        println!("\n{name}");
    }

    /// Prints the number of failed checks. Returns `true` if there are none.
    pub(crate) fn end(&self) -> bool {
        println!("\n{} failed", self.failed);
        self.failed == 0
    }
}
