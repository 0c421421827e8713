//! Runs two sides of a comparison in alternating turns, and measures times.

use std::future::Future;
use std::hint::black_box;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::Result;

/// The size of the measurements.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Rounds per row. In each round, mcp-aql and the peer take one turn.
    pub rounds: usize,
    /// In-process calls per turn.
    pub calls: usize,
    /// Requests per turn over a transport.
    pub requests: usize,
    /// Concurrent HTTP connections.
    pub connections: usize,
    /// Process starts per turn.
    pub starts: usize,
    /// Calls before the memory is measured.
    pub memory_calls: usize,
    /// Total size in bytes of the JSON documents to merge per turn.
    pub merged_bytes: usize,
    /// Sizes in bytes of a small, a medium and a large document.
    pub documents: [usize; 3],
    /// If `true`, the large adapter has 10,000 operations instead of 100.
    pub many_operations: bool,
}

impl Scale {
    /// The scale for published results.
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

    /// The scale for smoke tests.
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

/// The results of all turns.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    /// The results of mcp-aql.
    pub ours: Vec<f64>,
    /// The results of the peer. Empty without a peer.
    pub peer: Vec<f64>,
}

impl Turns {
    /// Returns the median of mcp-aql's results.
    pub fn our_median(&self) -> f64 {
        median(&self.ours)
    }

    /// Returns the median of the peer's results.
    pub fn peer_median(&self) -> Option<f64> {
        (!self.peer.is_empty()).then(|| median(&self.peer))
    }
}

/// Returns the median. For an even number of values, returns the upper one of the middle two.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs both sides in turns, after one warm-up turn each. The side that starts alternates, so that neither benefits
/// from its position.
///
/// # Errors
///
/// Returns an error if a turn fails.
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

/// Number of inputs to prepare before the clock starts.
const BATCH: usize = 200;

/// Measures the time per item, in nanoseconds. The time to prepare inputs, check results and drop them does not count.
///
/// # Errors
///
/// Returns an error if a result is wrong.
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

/// Like [`nanos_each`], but for an async call without waiting.
///
/// # Errors
///
/// Returns an error if a result is wrong.
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
        _ => Err(format!("{wrong} of {count} calls returned a wrong reply").into()),
    }
}

/// Creates a single-threaded runtime for measurements in process.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
