//! Collects the rows of a run and prints them as a table.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::measure::Turns;
use crate::{Result, chart};

/// The result of a measurement.
#[derive(Debug)]
pub enum Outcome {
    /// Rows of the table.
    Rows(Vec<Row>),
    /// The measurement is not possible on this machine. Contains the reason.
    Skipped(&'static str),
}

/// A measurement: a name, which is a prefix of its rows' names, and a function that returns one or more rows.
pub type Measurement<S> = (&'static str, fn(&S) -> Result<Outcome>);

/// The target of a row.
///
/// Prefer a ratio for your row, because absolute results depend on the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The ratio ours / peer is at most this.
    AtMost(f64),
    /// The ratio ours / peer is at least this.
    AtLeast(f64),
    /// Our result is below this, in the row's unit.
    Below(f64),
    /// Our result exceeds the peer's by at most this, in the row's unit.
    AddsAtMost(f64),
    /// The row has no target and is only informational.
    None,
}

/// The unit of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Time in nanoseconds.
    Nanoseconds,
    /// Calls per second.
    PerSecond,
    /// Bytes.
    Bytes,
}

/// A comparison of mcp-aql with a peer.
#[derive(Debug, Clone)]
pub struct Row {
    /// The name. You select rows by a part of it on the command line.
    pub name: String,
    /// Describes the measurement and the peer.
    pub what: String,
    /// The unit of the results.
    pub unit: Unit,
    /// The results of all turns.
    pub turns: Turns,
    /// The target.
    pub target: Target,
}

impl Row {
    /// Creates a row of times in nanoseconds.
    pub fn of_times(
        name: impl Into<String>,
        what: impl Into<String>,
        turns: Turns,
        target: Target,
    ) -> Self {
        Self { name: name.into(), what: what.into(), unit: Unit::Nanoseconds, turns, target }
    }

    /// Returns the ratio ours / peer, or `None` without a peer.
    pub fn ratio(&self) -> Option<f64> {
        self.turns.peer_median().map(|peer| self.turns.our_median() / peer)
    }

    /// Returns the difference ours - peer, or `None` without a peer.
    pub fn added(&self) -> Option<f64> {
        self.turns.peer_median().map(|peer| self.turns.our_median() - peer)
    }

    /// Formats the ratio. For a target such as [`Target::AddsAtMost`], formats the difference instead.
    fn compared(&self) -> Option<String> {
        match self.target {
            Target::AddsAtMost(_) | Target::None => {
                let added = self.added()?;
                let sign = if added < 0.0 { "-" } else { "+" };
                Some(format!("{sign}{}", self.unit.show(added.abs())))
            }
            _ => self.ratio().map(|ratio| format!("{ratio:.2}")),
        }
    }

    /// Returns `true` if the target is met, or if there is none.
    pub fn is_met(&self) -> bool {
        match self.target {
            Target::AtMost(most) => self.ratio().is_some_and(|ratio| ratio <= most),
            Target::AtLeast(least) => self.ratio().is_some_and(|ratio| ratio >= least),
            Target::Below(bound) => self.turns.our_median() < bound,
            Target::AddsAtMost(most) => self.added().is_some_and(|added| added <= most),
            Target::None => true,
        }
    }

    /// Formats the target.
    pub fn target_text(&self) -> String {
        match self.target {
            Target::AtMost(ratio) => format!("≤ {ratio:.2}"),
            Target::AtLeast(ratio) => format!("≥ {ratio:.2}"),
            Target::Below(bound) => format!("< {}", self.unit.show(bound)),
            Target::AddsAtMost(most) => format!("+ ≤ {}", self.unit.show(most)),
            Target::None => "–".to_owned(),
        }
    }

    /// Serializes the row for the file of [`Table::write`]:
    ///
    /// ```json
    /// { "name": "row", "what": "a row", "unit": "nanoseconds", "ours": 2.0, "peer": 4.0, "ratio": 0.5, "added": -2.0,
    ///   "target": { "ratio_at_most": 0.5 }, "met": true,
    ///   "rounds": { "ours": [1.0, 9.0, 2.0], "peer": [4.0, 4.0, 5.0] } }
    /// ```
    fn to_json(&self) -> Value {
        let target = match self.target {
            Target::AtMost(ratio) => json!({ "ratio_at_most": ratio }),
            Target::AtLeast(ratio) => json!({ "ratio_at_least": ratio }),
            Target::Below(bound) => json!({ "ours_below": bound }),
            Target::AddsAtMost(most) => json!({ "added_at_most": most }),
            Target::None => Value::Null,
        };
        json!({
            "name": self.name,
            "what": self.what,
            "unit": self.unit.name(),
            "ours": self.turns.our_median(),
            "peer": self.turns.peer_median(),
            "ratio": self.ratio(),
            "added": self.added(),
            "target": target,
            "met": self.is_met(),
            "rounds": { "ours": self.turns.ours, "peer": self.turns.peer },
        })
    }
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds",
            Self::PerSecond => "calls per second",
            Self::Bytes => "bytes",
        }
    }

    /// Formats a number with three significant digits.
    fn show(self, value: f64) -> String {
        let (scales, base): (&[&str], f64) = match self {
            Self::Nanoseconds => (&[" ns", " µs", " ms", " s"], 1_000.0),
            Self::PerSecond => (&["/s", " k/s", " M/s"], 1_000.0),
            Self::Bytes => (&[" B", " KiB", " MiB"], 1_024.0),
        };
        let mut value = value;
        let mut scales = scales.iter().peekable();
        while let Some(scale) = scales.next() {
            if value < base || scales.peek().is_none() {
                let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
                return format!("{value:.digits$}{scale}");
            }
            value /= base;
        }
        String::new()
    }
}

/// All rows of a run.
#[derive(Debug, Clone)]
pub struct Table {
    /// The rows with their results.
    pub rows: Vec<Row>,
    rounds: usize,
    /// A note on the processes that share the processors. It is printed below the table.
    shared: &'static str,
    /// The reasons why rows are missing.
    notes: Vec<String>,
}

impl Table {
    /// Creates an empty table. `shared` describes the processes that share the processors.
    pub fn new(rounds: usize, shared: &'static str) -> Self {
        Self { rows: Vec::new(), rounds, shared, notes: Vec::new() }
    }

    /// Runs the measurements whose name contains `filter`, and adds their rows.
    ///
    /// # Errors
    ///
    /// Returns an error if a reply is wrong or a program does not run.
    pub fn measure<S>(
        mut self,
        setup: &S,
        measurements: &[Measurement<S>],
        filter: &str,
        report: &dyn Fn(&str),
    ) -> Result<Self> {
        for (name, run) in measurements.iter().filter(|(name, _)| name.contains(filter)) {
            report(name);
            self.add(name, run(setup))?;
        }
        Ok(self)
    }

    /// Adds the result of a measurement.
    ///
    /// # Errors
    ///
    /// Returns the error of the measurement.
    pub fn add(&mut self, name: &str, outcome: Result<Outcome>) -> Result {
        match outcome.map_err(|error| format!("{name}: {error}"))? {
            Outcome::Rows(rows) => self.rows.extend(rows),
            Outcome::Skipped(why) => self.notes.push(format!("{name}: skipped, {why}")),
        }
        Ok(())
    }

    /// Formats the table for a terminal.
    pub fn text(&self) -> String {
        let mut lines = vec![["what", "ours", "peer", "ratio", "target", "met?"].map(String::from)];
        lines.extend(self.rows.iter().map(|row| {
            let dash = || "–".to_owned();
            [
                row.what.clone(),
                row.unit.show(row.turns.our_median()),
                row.turns.peer_median().map_or_else(dash, |peer| row.unit.show(peer)),
                row.compared().unwrap_or_else(dash),
                row.target_text(),
                match row.target {
                    Target::None => dash(),
                    _ if row.is_met() => "yes".to_owned(),
                    _ => "no".to_owned(),
                },
            ]
        }));
        let mut widths = [0; 6];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        for line in &lines {
            let [what, figures @ ..] = line;
            let [first, others @ ..] = widths;
            let _ = write!(text, "{what:first$}");
            for (cell, width) in figures.iter().zip(others) {
                let _ = write!(text, "  {cell:>width$}");
            }
            text.push('\n');
        }
        let aimed = || self.rows.iter().filter(|row| row.target != Target::None);
        let met = aimed().filter(|row| row.is_met()).count();
        let _ = write!(
            text,
            "\n{met} of {} targets met. Medians of {} rounds; in each, ours and the peer take a turn.\n\
             {} processors, {}.\n",
            aimed().count(),
            self.rounds,
            processors(),
            self.shared,
        );
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        text
    }

    /// Writes the table to a folder as `NAME.json` and as a chart, `NAME.svg`.
    ///
    /// # Errors
    ///
    /// Returns an error if the files cannot be written.
    pub fn write(&self, folder: &Path, name: &str) -> Result {
        std::fs::create_dir_all(folder)?;
        let json = json!({
            "rounds": self.rounds,
            "processors": processors(),
            "notes": self.notes,
            "rows": self.rows.iter().map(Row::to_json).collect::<Vec<_>>(),
        });
        std::fs::write(folder.join(format!("{name}.json")), format!("{json:#}\n"))?;
        std::fs::write(folder.join(format!("{name}.svg")), chart::svg(&self.rows))?;
        Ok(())
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: &[f64], peer: &[f64], target: Target) -> Row {
        let turns = Turns { ours: ours.to_vec(), peer: peer.to_vec() };
        let (name, what) = ("row".to_owned(), "a row".to_owned());
        Row { name, what, unit: Unit::Nanoseconds, turns, target }
    }

    #[test]
    fn a_target_is_compared_with_the_medians() {
        let turns = (&[1.0, 9.0, 2.0][..], &[4.0, 4.0, 5.0][..]);
        for (target, met) in [
            (Target::AtMost(0.5), true),
            (Target::AtMost(0.4), false),
            (Target::AtLeast(0.5), true),
            (Target::AtLeast(0.6), false),
            (Target::Below(2.1), true),
            (Target::Below(2.0), false),
            (Target::AddsAtMost(-2.0), true),
            (Target::AddsAtMost(-2.1), false),
            (Target::None, true),
        ] {
            assert_eq!(row(turns.0, turns.1, target).is_met(), met, "{target:?}");
        }
        assert!(!row(&[1.0], &[], Target::AtMost(9.0)).is_met(), "nothing to compare with");
    }

    #[test]
    fn an_added_cost_replaces_the_ratio() {
        let mut table = Table::new(1, "shared");
        table.rows.push(row(&[1_500.0], &[1_000.0], Target::AddsAtMost(400.0)));
        table.rows.push(row(&[1_000.0], &[1_500.0], Target::None));
        let text = table.text();
        let [_, added, told, ..] = *text.lines().collect::<Vec<_>>() else { panic!("{text}") };
        assert!(added.contains("+500 ns") && added.ends_with("+ ≤ 400 ns    no"), "{text}");
        assert!(told.contains("-500 ns") && told.ends_with("–     –"), "{text}");
        assert!(text.contains("\n0 of 1 targets met."), "{text}");
    }

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!(Unit::Nanoseconds.show(999.4), "999 ns");
        assert_eq!(Unit::Nanoseconds.show(1_500.0), "1.50 µs");
        assert_eq!(Unit::PerSecond.show(51_230.0), "51.2 k/s");
        assert_eq!(Unit::Bytes.show(3_000_000.0), "2.86 MiB");
        assert_eq!(Unit::PerSecond.show(5e9), "5000 M/s");
    }
}
