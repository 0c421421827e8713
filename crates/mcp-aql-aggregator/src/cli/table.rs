//! Tables of results and servers for the terminal.

use std::fmt::Write as _;

use mcp_aql_aggregator::{Answer, Hit};

/// Formats an answer in lines of at most `width` characters.
pub(crate) fn answer(answer: &Answer, width: usize) -> String {
    let mut text = String::new();
    let mut results = Table::new(&[Side::Right, Side::Right, Side::Left, Side::Left]);
    results.row(["#", "SCORE", "SERVER", "RESULT"]);
    for hit in &answer.results {
        let score = format!("{:.3}", hit.relevance_score);
        results.row([&hit.rank.to_string(), &score, &hit.server, &about(hit)]);
    }
    if answer.results.is_empty() {
        text.push_str("no results\n");
    } else {
        text.push_str(&results.text(width));
    }
    text.push('\n');
    let metadata = &answer.metadata;
    let right = [Side::Left, Side::Left, Side::Right, Side::Right, Side::Right];
    let mut servers = Table::new(&right);
    servers.row(["SERVER", "STATUS", "LATENCY", "FOUND", "SHOWN"]);
    for server in &metadata.servers {
        let latency = format!("{} ms", server.latency_ms);
        let (raw, shown) = (server.results_raw.to_string(), server.results.to_string());
        // The server answered, but some of its calls failed.
        let mut status = server.status.clone();
        for why in &server.failed {
            let _ = write!(status, "; {why}");
        }
        servers.row([&server.name, &status, &latency, &raw, &shown]);
    }
    text.push_str(&servers.text(width));
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        text,
        "\n{} of {} results, {} without copies; {} of {} servers answered; {} ms",
        metadata.results_returned,
        metadata.total_results_raw,
        metadata.total_results_dedup,
        metadata.servers_succeeded,
        metadata.servers_queried,
        metadata.processing_time_ms,
    );
    for warning in &metadata.warnings {
        let _ = writeln!(text, "{warning}");
    }
    text
}

/// Formats a result on one line.
fn about(hit: &Hit) -> String {
    let mut line = one_line(&hit.content);
    if !hit.also_from.is_empty() {
        line = format!("(also {}) {line}", hit.also_from.join(", "));
    }
    line
}

/// Replaces every run of whitespace, including line breaks, with one space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A table. Its last column is cut off at the end of the line.
pub(crate) struct Table<const N: usize> {
    sides: [Side; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(sides: &[Side; N]) -> Self {
        Self { sides: *sides, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, row: [&str; N]) {
        self.rows.push(row.map(|cell| mcp_aql_text::visible(cell).into_owned()));
    }

    pub(crate) fn text(&self, width: usize) -> String {
        let mut widths = [0; N];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (place, (cell, column)) in row.iter().zip(widths).enumerate() {
                if place > 0 {
                    line.push_str("  ");
                }
                let fill = column.saturating_sub(cell.chars().count());
                let is_right = self.sides.get(place) == Some(&Side::Right);
                let (before, after) = if is_right { (fill, 0) } else { (0, fill) };
                line.extend(std::iter::repeat_n(' ', before));
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', after));
            }
            text.push_str(cut(line.trim_end(), width).trim_end());
            text.push('\n');
        }
        text
    }
}

/// Shortens a line of more than `width` characters.
pub(crate) fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown_in_their_column() {
        let mut table = Table::new(&[Side::Left, Side::Left]);
        table.row(["a\u{202e}b", "x\u{200b}\u{1b}[2J\u{e0041}"]);
        table.row(["c", "y"]);
        assert_eq!(table.text(60), "a<U+202E>b  x<U+200B><U+001B>[2J<U+E0041>\nc           y\n");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_text() {
        let mut table = Table::new(&[Side::Right, Side::Left, Side::Left]);
        table.row(["#", "SERVER", "RESULT"]);
        table.row(["1", "docs", "a result that is longer than the line can be"]);
        table.row(["10", "memory", "été"]);
        assert_eq!(
            table.text(30),
            " #  SERVER  RESULT\n 1  docs    a result that is …\n10  memory  été\n"
        );
    }
}
