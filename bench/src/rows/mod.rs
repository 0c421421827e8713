//! The measurements of this benchmark.

mod dispatch;
mod http;
mod lists;
mod merge;
mod process;
mod routing;
mod stdio;
mod typed;

use crate::table::{Measurement, Table};
use crate::{Programs, Result, Scale};

/// The parameters of a run.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The programs under test.
    pub programs: Programs,
    /// The size of the measurements.
    pub scale: Scale,
}

/// All measurements.
/// To add a measurement, write a module with such a function and add it here. You can then run it alone by its name.
const ALL: &[Measurement<Setup>] = &[
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

/// Runs the measurements whose name contains `filter`.
///
/// # Errors
///
/// Returns an error if a reply is wrong or a program does not run.
pub fn measure(setup: &Setup, filter: &str, report: &dyn Fn(&str)) -> Result<Table> {
    Table::new(setup.scale.rounds, "which clients and servers share")
        .measure(setup, ALL, filter, report)
}
