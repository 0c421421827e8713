//! Measures the time to build an index and to search it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use mcp_aql_rank::operations::OperationIndex;

/// Number of searches. The median is printed.
const SEARCHES: usize = 301;
/// Number of builds. The median is printed.
const BUILDS: usize = 5;

const SHORT: &str = "create a shared folder";
const LONG: &str = "We meet the customer from the north on Thursday, and I still have no report about last month. Please find \
                    the unpaid invoices and the open tickets of this account, compare their payments with the contract, \
                    draw a chart of the orders by product, and summarize what changed since the last release. Then \
                    write everything to /home/me/reports/meeting.docx, send it to the employee who is responsible, add a \
                    comment to the task, plan the route to the station, and remind me two days before the shipment.";

/// Prints the median times. With its clauses and alternatives, the long question is the slowest
/// that people write.
pub(crate) fn print(build: impl Fn() -> OperationIndex, operations: usize) {
    let index = build();
    println!("{operations} operations: built in {:.1?}", median(BUILDS, &build));
    for (name, question) in [("short", SHORT), ("long", LONG)] {
        let time = median(SEARCHES, || index.search(black_box(question), 5));
        println!(
            "{name:>5} question of {:>3} words: {time:.1?}",
            question.split_whitespace().count()
        );
    }
    let longest = LONG.repeat(40);
    let time = median(SEARCHES, || index.search(black_box(&longest), 5));
    println!("{} KiB of text: {time:.1?}", longest.len() / 1024);
}

fn median<T>(times: usize, run: impl Fn() -> T) -> Duration {
    let mut measured: Vec<Duration> = (0..times)
        .map(|_| {
            let start = Instant::now();
            black_box(run());
            start.elapsed()
        })
        .collect();
    measured.sort_unstable();
    measured.get(times / 2).copied().unwrap_or_default()
}
