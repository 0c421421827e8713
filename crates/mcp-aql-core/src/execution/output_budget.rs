//! Limits the total size of ended executions or of their outputs, and shares it between callers.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use super::options::ExecutionOptions;

/// Minimum number of bytes that a record counts. Together with the budget, this limits the number of records.
pub(super) const MIN_RECORD_BYTES: u64 = 4 << 10;

/// The budget for outputs, in bytes.
pub(crate) struct OutputBudget {
    all: u64,
    pub(super) per_caller: u64,
    /// Bytes written by this process since it last enforced the budget, with [`MIN_RECORD_BYTES`] for each execution.
    written: AtomicU64,
}

impl OutputBudget {
    pub(crate) const fn new(options: &ExecutionOptions) -> Self {
        let (all, per_caller) = (options.keep_bytes, options.keep_bytes_per_caller);
        // A full counter makes the first output of this process check the outputs of earlier processes.
        Self { all, per_caller, written: AtomicU64::new(all) }
    }

    /// Counts a written output.
    pub(super) fn count(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Returns `true` if this process has written an eighth of the budget since the last check. Checking after each
    /// output would read the sizes of all other outputs each time.
    pub(super) fn is_due(&self) -> bool {
        const CHECKS_PER_BUDGET: u64 = 8;
        let interval = self.all.min(self.per_caller) / CHECKS_PER_BUDGET;
        let take = |written: u64| (written >= interval).then_some(0);
        self.written.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }

    /// Starts a selection of the outputs to keep: the newest outputs of each caller, within the caller's share.
    pub(super) fn selection(&self) -> OutputSelection {
        OutputSelection::new(self.per_caller, u64::MAX)
    }

    /// Returns a second selection if the outputs kept by the first one exceed the budget together.
    ///
    /// Callers that use little keep everything. The others get equal parts of the rest. Without this rule, one client
    /// with many sessions could replace the outputs of all others.
    pub(super) fn selection_of_all(&self, kept: &OutputSelection) -> Option<OutputSelection> {
        let part = equal_part(kept.callers.values().map(|usage| usage.kept), self.all)?;
        let (heavy, light): (Vec<_>, Vec<_>) =
            kept.callers.iter().partition(|(_, usage)| usage.kept > part);
        let left = self.all - light.into_iter().map(|(_, usage)| usage.kept).sum::<u64>();
        let limited = heavy.into_iter().map(|(caller, _)| caller.clone()).collect();
        Some(OutputSelection { limited: Some(limited), ..OutputSelection::new(part, left) })
    }
}

/// Bytes of one caller.
#[derive(Default)]
struct CallerUsage {
    counted: u64,
    kept: u64,
}

/// Selects the outputs to keep. Call [`keeps`](Self::keeps) for each output, from the newest to the oldest.
pub(super) struct OutputSelection {
    per_caller: u64,
    all: u64,
    counted: u64,
    callers: HashMap<Option<String>, CallerUsage>,
    /// The callers whose outputs are limited. `None` limits all callers.
    limited: Option<HashSet<Option<String>>>,
}

impl OutputSelection {
    fn new(per_caller: u64, all: u64) -> Self {
        Self { per_caller, all, counted: 0, callers: HashMap::new(), limited: None }
    }

    /// Returns `true` if the next output is kept. The newest one is always kept, so that any result can be read.
    pub(super) fn keeps(&mut self, caller: Option<String>, bytes: u64) -> bool {
        if self.limited.as_ref().is_some_and(|limited| !limited.contains(&caller)) {
            return true;
        }
        let usage = self.callers.entry(caller).or_default();
        let is_kept = is_within(&mut usage.counted, bytes, self.per_caller)
            && is_within(&mut self.counted, bytes, self.all);
        if is_kept {
            usage.kept = usage.kept.saturating_add(bytes);
        }
        is_kept
    }
}

fn is_within(newer: &mut u64, bytes: u64, budget: u64) -> bool {
    let is_first = *newer == 0;
    *newer = newer.saturating_add(bytes);
    is_first || *newer <= budget
}

/// Returns the part of `all` available to each caller, or `None` if the usages of all callers fit into it.
///
/// ```text
/// usages 9, 1, 9, 3 with all = 10 → 3
/// ```
fn equal_part(usages: impl Iterator<Item = u64>, all: u64) -> Option<u64> {
    let mut usages: Vec<_> = usages.collect();
    usages.sort_unstable();
    let (mut left, mut callers) = (all, usages.len() as u64);
    for used in usages {
        let part = left / callers.max(1);
        if used > part {
            return Some(part);
        }
        left -= used;
        callers -= 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_that_use_the_most_have_equal_parts() {
        for (usages, all, part) in [
            (&[][..], 10, None),
            (&[4, 6], 10, None),
            (&[11], 10, Some(10)),
            (&[9, 2], 10, Some(8)),
            (&[9, 1, 9, 3], 10, Some(3)),
            (&[1; 11], 10, Some(0)),
        ] {
            assert_eq!(equal_part(usages.iter().copied(), all), part, "{usages:?}");
        }
    }
}
