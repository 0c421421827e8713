//! The budget of the outputs that are kept.

use std::sync::atomic::{AtomicU64, Ordering};

use super::options::ExecutionOptions;

/// The bytes of outputs that are kept.
pub(crate) struct OutputBudget {
    pub(super) all: u64,
    pub(super) per_caller: u64,
    /// The bytes that this process has written since it last enforced the budget.
    written: AtomicU64,
}

impl OutputBudget {
    pub(crate) const fn new(options: &ExecutionOptions) -> Self {
        let (all, per_caller) = (options.keep_bytes, options.keep_bytes_per_caller);
        // The first output of a process counts those of earlier processes.
        Self { all, per_caller, written: AtomicU64::new(all) }
    }

    /// Counts an output that was written.
    pub(super) fn count(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Returns `true` if this process has written so much that the budget may be exceeded by a noticeable part. Counting
    /// after each output would read the sizes of all others each time.
    pub(super) fn is_due(&self) -> bool {
        const CHECKS_PER_BUDGET: u64 = 8;
        let interval = self.all.min(self.per_caller) / CHECKS_PER_BUDGET;
        let take = |written: u64| (written >= interval).then_some(0);
        self.written.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }
}
