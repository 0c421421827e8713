//! Formats the token counts.

use std::fmt::Write as _;

use super::{Figures, SENTENCES};

impl Figures {
    /// Formats the results for a terminal.
    pub fn text(&self) -> String {
        let mut text =
            String::from("Tokens of what a model reads, fifty operations, o200k_base\n\n");
        let width = self.rows.iter().map(|row| row.what.len()).max().unwrap_or_default();
        let _ = writeln!(
            text,
            "{:<width$}  {:>7}  {:>8}  {:>5}  {:>6}",
            "", "mcp-aql", "discrete", "ratio", "limit"
        );
        for row in &self.rows {
            let peer = row.peer.map(|peer| peer.to_string()).unwrap_or_default();
            let ratio = row.peer.map(|peer| format!("{:.2}", share(row.ours, peer)));
            let limit = row.limit.map(|limit| format!("≤ {limit}")).unwrap_or_default();
            let met = match row.is_met() {
                Some(true) => "  met",
                Some(false) => "  OVER",
                None => "",
            };
            let _ = writeln!(
                text,
                "{:<width$}  {:>7}  {peer:>8}  {:>5}  {limit:>6}{met}",
                row.what,
                row.ours,
                ratio.unwrap_or_default(),
            );
        }
        text.push_str("\nWhat they are made of\n\n");
        for parts in &self.parts {
            let parts_of: Vec<_> =
                parts.parts.iter().map(|(part, tokens)| format!("{part} {tokens}")).collect();
            let _ = writeln!(text, "{}: {}", parts.of, parts_of.join(", "));
        }
        let _ = writeln!(text, "\nOperations found for {} sentences of users\n", SENTENCES.len());
        let width = self.found.iter().map(|found| found.read.len()).max().unwrap_or_default();
        let _ = writeln!(
            text,
            "{:<width$}  {:>5}  {:>8}  {:>14}",
            "read", "first", "in three", "all parameters"
        );
        for found in &self.found {
            let _ = writeln!(
                text,
                "{:<width$}  {:>5}  {:>8}  {:>14}",
                found.read, found.first, found.in_three, found.parameters
            );
        }
        text
    }
}

/// Returns `of` as a share of `whole`.
fn share(of: usize, whole: usize) -> f64 {
    of as f64 / whole as f64
}
