//! The labels of metrics. All have few values, which the adapter determines and not its callers.

use prometheus_client::encoding::EncodeLabelSet;

/// Stands for the names of unknown operations, which are texts of the caller.
pub(crate) const OTHER: &str = "_OTHER";

/// The labels of calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CallLabels {
    pub(crate) operation: &'static str,
    pub(crate) category: &'static str,
    pub(crate) outcome: &'static str,
}

/// The labels of errors.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ErrorLabels {
    pub(crate) operation: &'static str,
    pub(crate) code: &'static str,
}

/// The labels of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OperationLabels {
    pub(crate) operation: &'static str,
}

/// The labels of executions that have ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct EndLabels {
    pub(crate) operation: &'static str,
    pub(crate) outcome: &'static str,
}

/// The labels of running executions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct StateLabels {
    pub(crate) state: &'static str,
}

/// The labels of confirmations.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ConfirmationLabels {
    pub(crate) step: &'static str,
    pub(crate) by: &'static str,
}

/// The labels of accesses to the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct StoreLabels {
    pub(crate) access: &'static str,
}

/// The labels of the build.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct BuildLabels {
    pub(crate) adapter: String,
    pub(crate) version: String,
    pub(crate) mcp_aql_version: &'static str,
}
