//! The results of a run: the cases of every check in every mode.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::adapter::Adapter;
use crate::cases::CaseResults;
use crate::category::Mode;
use crate::learn::LearnError;

/// The results of one mode.
pub(crate) struct ModeResults {
    pub(crate) adapter: Adapter,
    pub(crate) asked: Option<Mode>,
    pub(crate) collected: BTreeMap<&'static str, CaseResults>,
    /// Items that the run created and could not remove.
    pub(crate) left_behind: Vec<String>,
    /// Operations with at least one successful call.
    pub(crate) called: BTreeSet<String>,
}

/// The results of all modes.
pub(crate) struct RunResults {
    pub(crate) surfaces: Vec<ModeResults>,
    /// Reasons why modes could not be learned. The mode `None` is the adapter as started.
    pub(crate) unlearned: Vec<(Option<Mode>, LearnError)>,
    /// Results of checks that compare modes.
    pub(crate) collected: BTreeMap<&'static str, CaseResults>,
    pub(crate) took: Duration,
    /// If `true`, the run was interrupted and results are missing.
    pub(crate) is_interrupted: bool,
}
