//! The measurements of this benchmark.

mod dispatch;
mod http;
mod lists;
mod merge;
mod process;
mod routing;
mod stdio;
mod typed;

use crate::table::Row;
use crate::{Result, Setup};

/// The result of a measurement.
#[derive(Debug)]
pub enum Outcome {
    /// Rows of the table.
    Rows(Vec<Row>),
    /// The measurement is not possible on this machine. Contains the reason.
    Skipped(&'static str),
}

/// A measurement: returns one or more rows.
pub type Measurement = fn(&Setup) -> Result<Outcome>;

/// All measurements. The name of each is a prefix of its rows' names.
/// To add a measurement, write a module with such a function and add it here. You can then run it alone by its name.
pub const ALL: &[(&str, Measurement)] = &[
    ("dispatch", dispatch::run),
    ("routing", routing::run),
    ("introspect", lists::introspect),
    ("tools-list", lists::tools_list),
    ("merge", merge::run),
    ("typed-update", typed::run),
    ("stdio-latency", stdio::latency),
    ("stdio-processor", stdio::processor),
    ("stdio-throughput", stdio::throughput),
    ("http-session", http::session),
    ("http-stateless", http::stateless),
    ("start", process::start),
    ("memory", process::memory),
    ("size", process::size),
];
