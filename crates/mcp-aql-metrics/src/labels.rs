//! The label sets of the metrics. Only the adapter determines label values, never a caller, so each has few values.

use prometheus_client::encoding::EncodeLabelSet;

/// Replaces the names of unknown operations in labels, because callers choose these names.
pub(crate) const OTHER: &str = "_OTHER";

/// Labels of calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CallLabels {
    pub(crate) operation: &'static str,
    pub(crate) category: &'static str,
    pub(crate) outcome: &'static str,
}

/// Labels of errors.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ErrorLabels {
    pub(crate) operation: &'static str,
    pub(crate) code: &'static str,
}

/// Labels of durations, and of started executions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OperationLabels {
    pub(crate) operation: &'static str,
}

/// Labels of finished executions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct EndLabels {
    pub(crate) operation: &'static str,
    pub(crate) outcome: &'static str,
}

/// Labels of unfinished executions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct StateLabels {
    pub(crate) state: &'static str,
}

/// Labels of confirmations.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ConfirmationLabels {
    pub(crate) step: &'static str,
    pub(crate) by: &'static str,
}

/// Labels of store accesses.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct StoreLabels {
    pub(crate) access: &'static str,
}

/// Labels of `build_info`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct BuildLabels {
    pub(crate) adapter: String,
    pub(crate) version: String,
    pub(crate) mcp_aql_version: &'static str,
}
