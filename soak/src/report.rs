//! Prints the results line by line and records whether all checks hold.

use std::fmt::Display;

/// The printed table.
#[derive(Default)]
pub(crate) struct Report {
    failed: usize,
}

#[expect(clippy::print_stdout, reason = "the report")]
impl Report {
    /// Prints a check and its result.
    pub(crate) fn check(&mut self, what: &str, seen: impl Display, holds: bool) {
        if !holds {
            self.failed += 1;
        }
        println!("{what:<44} {seen:>26}  {}", if holds { "ok" } else { "FAILED" });
    }

    /// Prints additional information.
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

    /// Returns whether all checks hold.
    pub(crate) fn end(&self) -> bool {
        println!("\n{} failed", self.failed);
        self.failed == 0
    }
}
