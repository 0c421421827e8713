//! Rounds in turns, and how much happens in each.

use std::future::Future;
use std::hint::black_box;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::Result;

/// How much a run does.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Rounds of each row, in which ours and the peer take one turn each.
    pub rounds: usize,
    /// Calls in a turn, in process.
    pub calls: usize,
    /// Requests in a turn, over a wire.
    pub requests: usize,
    /// HTTP connections that call at a time.
    pub connections: usize,
    /// Starts in a turn.
    pub starts: usize,
    /// Calls before memory is looked at.
    pub memory_calls: usize,
    /// JSON documents to merge in a turn, in bytes.
    pub merged_bytes: usize,
    /// The sizes of those documents.
    pub documents: [usize; 3],
    /// Whether the large adapter has 10,000 operations, or 100.
    pub many_operations: bool,
}

impl Scale {
    /// For figures.
    pub const FULL: Self = Self {
        rounds: 21,
        calls: 4_000,
        requests: 4_096,
        connections: 64,
        starts: 3,
        memory_calls: 10_000,
        merged_bytes: 4 << 20,
        documents: [1 << 10, 100 << 10, 5 << 20],
        many_operations: true,
    };

    /// To see that everything works.
    pub const SMOKE: Self = Self {
        rounds: 1,
        calls: 10,
        requests: 16,
        connections: 2,
        starts: 1,
        memory_calls: 64,
        merged_bytes: 1,
        documents: [1 << 10, 4 << 10, 16 << 10],
        many_operations: false,
    };
}

/// What came out of each turn.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    /// Of mcp-aql.
    pub ours: Vec<f64>,
    /// Of what it is compared with; empty where there is nothing to compare with.
    pub peer: Vec<f64>,
}

impl Turns {
    /// The middle one of ours.
    pub fn our_median(&self) -> f64 {
        median(&self.ours)
    }

    /// The middle one of the peer's.
    pub fn peer_median(&self) -> Option<f64> {
        (!self.peer.is_empty()).then(|| median(&self.peer))
    }
}

/// The middle value; of an even number of values, the upper one of the two in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Lets both take turns, after one that does not count. Who begins changes from round to round.
///
/// # Errors
/// When a turn fails.
pub fn in_turns(
    rounds: usize,
    mut ours: impl FnMut() -> Result<f64>,
    mut peer: impl FnMut() -> Result<f64>,
) -> Result<Turns> {
    ours()?;
    peer()?;
    let mut turns = Turns::default();
    for round in 0..rounds {
        if round % 2 == 0 {
            turns.ours.push(ours()?);
            turns.peer.push(peer()?);
        } else {
            turns.peer.push(peer()?);
            turns.ours.push(ours()?);
        }
    }
    Ok(turns)
}

/// Calls that are prepared before the clock runs.
const BATCH: usize = 200;

/// Nanoseconds for each of `count` items, without the time it takes to make them, to look at what came
/// out, and to drop it.
///
/// # Errors
/// When something came out wrong.
pub fn nanos_each<T, R>(
    count: usize,
    mut make: impl FnMut(usize) -> T,
    mut each: impl FnMut(T) -> R,
    right: impl Fn(&R) -> bool,
) -> Result<f64> {
    let mut elapsed = Duration::ZERO;
    let mut wrong = 0;
    for start in (0..count).step_by(BATCH) {
        let items: Vec<T> = (start..count.min(start + BATCH)).map(&mut make).collect();
        let mut results = Vec::with_capacity(items.len());
        let clock = Instant::now();
        for item in items {
            results.push(black_box(each(black_box(item))));
        }
        elapsed += clock.elapsed();
        wrong += results.iter().filter(|result| !right(result)).count();
    }
    per_item(elapsed, count, wrong)
}

/// As [`nanos_each`], for what is asynchronous and never waits.
///
/// # Errors
/// When something came out wrong.
pub fn nanos_each_async<T, F: Future>(
    runtime: &Runtime,
    count: usize,
    mut make: impl FnMut(usize) -> T,
    mut each: impl FnMut(T) -> F,
    right: impl Fn(&F::Output) -> bool,
) -> Result<f64> {
    let mut elapsed = Duration::ZERO;
    let mut wrong = 0;
    for start in (0..count).step_by(BATCH) {
        let items: Vec<T> = (start..count.min(start + BATCH)).map(&mut make).collect();
        let mut results = Vec::with_capacity(items.len());
        runtime.block_on(async {
            let clock = Instant::now();
            for item in items {
                results.push(black_box(each(black_box(item)).await));
            }
            elapsed += clock.elapsed();
        });
        wrong += results.iter().filter(|result| !right(result)).count();
    }
    per_item(elapsed, count, wrong)
}

fn per_item(elapsed: Duration, count: usize, wrong: usize) -> Result<f64> {
    match wrong {
        0 => Ok(elapsed.as_nanos() as f64 / count as f64),
        _ => Err(format!("{wrong} of {count} calls came out wrong").into()),
    }
}

/// A runtime on this thread alone, as in-process measurements use it.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
