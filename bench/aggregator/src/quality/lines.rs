//! Computes the lines of the quality report.

use super::{Collection, copies, merged, orders};

/// Number of documents to search for copies. They form 79,800 pairs.
const TEXTS: usize = 400;
/// Minimum number of words of these documents. Some changes keep only half of a document, and the
/// half must be long enough to be compared.
const WORDS: usize = 40;

/// The goal of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// At least this value.
    AtLeast(f64),
    /// At most this value.
    AtMost(f64),
    /// The figure has no goal and is only informational.
    None,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// nDCG, from 0 to 1.
    Gain,
    /// A share, shown in percent.
    Part,
    /// A factor.
    Times,
    /// A count.
    Count,
}

/// A line of the report.
#[derive(Debug, Clone)]
pub struct Line {
    /// The description of the figure.
    pub what: String,
    value: f64,
    unit: Unit,
    /// The goal of the figure.
    pub goal: Goal,
}

impl Line {
    fn new(what: String, value: f64, unit: Unit, goal: Goal) -> Self {
        Self { what, value, unit, goal }
    }

    /// Returns `true` if the goal is met, or if there is none.
    pub fn is_met(&self) -> bool {
        match self.goal {
            Goal::AtLeast(least) => self.value >= least,
            Goal::AtMost(most) => self.value <= most,
            Goal::None => true,
        }
    }

    /// Formats the figure.
    pub fn figure(&self) -> String {
        self.show(self.value)
    }

    /// Formats the goal.
    pub fn goal(&self) -> String {
        match self.goal {
            Goal::AtLeast(least) => format!("≥ {}", self.show(least)),
            Goal::AtMost(most) => format!("≤ {}", self.show(most)),
            Goal::None => "–".to_owned(),
        }
    }

    fn show(&self, value: f64) -> String {
        match self.unit {
            Unit::Gain => format!("{value:.3}"),
            Unit::Part => format!("{:.1} %", 100.0 * value),
            Unit::Times => format!("{value:.2} ×"),
            Unit::Count => format!("{value:.0}"),
        }
    }
}

/// Measures how well merged results compare with the results of one index of all documents.
pub fn merged_lines(collection: &Collection, of_central: f64) -> Vec<Line> {
    let mut lines = Vec::new();
    for servers in [4, 10] {
        let merged = merged(collection, servers);
        let name = format!("{}, {servers} servers", collection.name);
        let mut line = |what: &str, value, unit, goal| {
            lines.push(Line::new(format!("{name}: {what}"), value, unit, goal));
        };
        line("nDCG@10 of one central index", merged.central, Unit::Gain, Goal::None);
        line("nDCG@10 in turns", merged.round_robin, Unit::Gain, Goal::None);
        line("nDCG@10", merged.ours, Unit::Gain, Goal::None);
        let part = merged.ours / merged.central;
        line("nDCG@10, of the central index", part, Unit::Part, Goal::AtLeast(of_central));
        let times = merged.ours / merged.round_robin;
        line("nDCG@10, of that in turns", times, Unit::Times, Goal::AtLeast(1.3));
        if servers == 10 {
            // Ten servers return about 150 results.
            line("results in a pool", merged.pool, Unit::Count, Goal::None);
            line("bytes of 30 hits, of the pool", merged.size, Unit::Part, Goal::AtMost(0.4));
            line("relevant ones kept", merged.kept, Unit::Part, Goal::AtLeast(0.7));
            let turns = merged.kept_round_robin;
            line("relevant ones kept in turns", turns, Unit::Part, Goal::None);
        }
    }
    lines
}

/// Measures how many copies are found among the documents of a collection.
pub fn copies_lines(collection: &Collection) -> Vec<Line> {
    let long = collection.documents.iter().map(String::as_str).enumerate();
    let long = long.filter(|(_, text)| text.split_whitespace().count() >= WORDS);
    let (places, texts): (Vec<usize>, Vec<&str>) = long.take(TEXTS).unzip();
    let among = |place: &usize| places.iter().position(|other| other == place);
    let known = collection.copies.iter();
    let known = known.filter_map(|(one, other)| Some((among(one)?, among(other)?))).collect();
    let copies = copies(&texts, &known);
    let name = collection.name;
    let mut lines: Vec<Line> = copies
        .found
        .into_iter()
        .map(|(what, found, goal)| {
            Line::new(format!("{name}: copies found, {what}"), found, Unit::Part, goal)
        })
        .collect();
    lines.push(Line::new(
        format!("{name}: wrong ones among {} pairs", copies.pairs),
        copies.wrong as f64,
        Unit::Count,
        Goal::AtMost(0.0),
    ));
    lines
}

/// Measures how many different answers the order of arrival causes.
pub fn orders_line(collection: &Collection) -> Line {
    const ORDERS: usize = 1_000;
    let what = format!("{}: different answers over {ORDERS} orders of arrival", collection.name);
    Line::new(what, orders(collection, ORDERS) as f64, Unit::Count, Goal::AtMost(1.0))
}
