//! What was seen, line by line, and whether it holds.

use std::fmt::Display;

/// The table that is printed.
#[derive(Default)]
pub(crate) struct Report {
    failed: usize,
}

#[expect(clippy::print_stdout, reason = "the report")]
impl Report {
    /// Something that has to hold.
    pub(crate) fn check(&mut self, what: &str, seen: impl Display, holds: bool) {
        if !holds {
            self.failed += 1;
        }
        println!("{what:<44} {seen:>26}  {}", if holds { "ok" } else { "FAILED" });
    }

    /// Something worth knowing.
    pub(crate) fn note(&self, what: &str, seen: impl Display) {
        println!("{what:<44} {seen:>26}");
    }

    /// A headline.
    pub(crate) fn part(&self, name: &str) {
        println!("\n{name}");
    }

    /// Whether all held.
    pub(crate) fn end(&self) -> bool {
        println!("\n{} failed", self.failed);
        self.failed == 0
    }
}
