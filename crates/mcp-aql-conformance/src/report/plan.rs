//! The plan of a run: the calls it would make with its permissions and its configuration.

use std::fmt::Write as _;

use serde::Serialize;

use super::value_text::{clean, counted, line};
use crate::category::{Category, Mode};

/// Version of the JSON format of plans.
pub(crate) const PLAN_VERSION: u32 = 1;

/// The calls of a planned run.
///
/// Review it before you let a run change your data. [`Runner::plan`](crate::Runner::plan) creates it and calls no
/// operation except `introspect`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Plan {
    /// Version of the plan format.
    pub plan_version: u32,
    /// Command or URL of the adapter.
    pub target: String,
    /// Name of the adapter.
    pub implementation: String,
    /// Version of the adapter.
    pub version: String,
    /// Categories of operations allowed in addition to READ.
    pub allowed: Vec<Category>,
    /// Number of selected checks.
    pub checks: usize,
    /// Modes that the run tests.
    pub modes: Vec<ModePlan>,
    /// Modes that could not be read, with the reasons.
    pub unread: Vec<UnreadMode>,
    /// Maximum number of items that the run creates in all modes. If the run removes them, this is the maximum at the
    /// same time, and otherwise in total.
    pub max_created: usize,
    /// Limits of the run.
    pub limits: PlanLimits,
}

/// The planned calls in one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModePlan {
    /// The tested mode.
    pub mode: Mode,
    /// Maximum number of concurrent requests.
    pub concurrent_requests: usize,
    /// All operations with their planned use.
    pub operations: Vec<PlannedOperation>,
    /// CREATE operations that the run calls, with the number of items.
    pub creations: Vec<PlannedCreation>,
}

/// The planned use of one operation, with the reason.
///
/// ```json
/// { "use": "called", "category": "READ", "reason": "it only reads", "name": "list_beds" }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlannedOperation {
    /// The planned use.
    #[serde(rename = "use")]
    pub planned_use: OperationUse,
    /// Category, if introspection states a known one.
    pub category: Option<Category>,
    /// Reason for the planned use.
    pub reason: String,
    /// Name of the operation.
    pub name: String,
}

/// The planned use of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OperationUse {
    /// The run calls the operation, and also sends it invalid requests.
    Called,
    /// The run only sends the operation invalid requests.
    OnlyRejected,
    /// The run never sends the operation a request.
    NotCalled,
}

/// The maximum number of items that one CREATE operation creates in one mode.
///
/// ```json
/// { "operation": "create_bed", "maxItems": 12, "removed": true }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlannedCreation {
    /// Name of the operation.
    pub operation: String,
    /// Maximum number of items. If the run removes them, this is the maximum at the same time, and otherwise in total.
    pub max_items: usize,
    /// If `true`, the run may remove the items.
    pub removed: bool,
}

/// A mode that could not be read.
///
/// If you find one in your plan, check the adapter's command or URL for this mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UnreadMode {
    /// The mode, or `None` for the adapter as started.
    pub mode: Option<Mode>,
    /// Reason why the mode could not be read.
    pub reason: String,
}

/// The limits of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlanLimits {
    /// Maximum number of successful calls per operation and mode with effects that the run cannot undo.
    pub irreversible_calls: usize,
    /// Maximum number of items per resource and mode at the same time.
    pub created_items: usize,
    /// Time limit of one request, in seconds.
    pub request_seconds: f64,
    /// Time limit of the run, in seconds.
    pub run_seconds: f64,
}

impl OperationUse {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Called, "Called"),
        (Self::OnlyRejected, "Only requests that must be rejected"),
        (Self::NotCalled, "Not called"),
    ];
}

impl Plan {
    /// Renders the operations of each mode by use and category, and the limits.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let name = format!("{} {}", line(&self.implementation), line(&self.version));
        let checks = counted(self.checks, "check");
        // Writing to a string does not fail.
        let _ = writeln!(out, "{name}  plan of a run of {checks}\n{}\n", line(&self.target));
        let _ = writeln!(
            out,
            "Only `tools/list` and `introspect` were called. A run with the same options calls at most:"
        );
        let mut modes = self.modes.iter().peekable();
        while let Some(mode) = modes.next() {
            let same = modes.next_if(|other| other.is_like(mode));
            let names: Vec<_> = [Some(mode), same].into_iter().flatten().collect();
            mode.write(&names, &mut out);
        }
        for UnreadMode { mode, reason } in &self.unread {
            let mode = mode.map_or_else(|| "the adapter".to_owned(), |it| format!("{it} mode"));
            let _ = writeln!(out, "\nNot tested: {mode}: {}", line(reason));
        }
        self.write_limits(&mut out);
        out
    }

    fn write_limits(&self, out: &mut String) {
        let Self { max_created, limits, .. } = self;
        let items = counted(*max_created, "item");
        let _ = writeln!(out, "\nThe run creates at most {items} in all modes together");
        let _ = writeln!(
            out,
            "\nLimits\n  {} of each resource at the same time, in each mode\n  {} of each operation whose \
             effects the run cannot undo, in each mode\n  {} s for a request, {} s for the run",
            counted(limits.created_items, "created item"),
            counted(limits.irreversible_calls, "successful call"),
            limits.request_seconds,
            limits.run_seconds,
        );
        let concurrent: Vec<_> =
            self.modes.iter().map(|mode| mode.concurrent_requests.to_string()).collect();
        let is_same = concurrent.windows(2).all(|pair| pair.first() == pair.last());
        let concurrent = match is_same {
            true => concurrent.first().cloned().unwrap_or_default(),
            false => concurrent.join(" and "),
        };
        let _ = writeln!(out, "  {concurrent} concurrent requests");
    }
}

impl ModePlan {
    /// Returns `true` if the plan of another mode is the same.
    fn is_like(&self, other: &Self) -> bool {
        self.operations == other.operations && self.creations == other.creations
    }

    fn write(&self, modes: &[&Self], out: &mut String) {
        let names: Vec<_> = modes.iter().map(|it| it.mode.as_str()).collect();
        let _ = writeln!(out, "\nIn {} mode", names.join(" and "));
        for (planned_use, title) in OperationUse::ALL {
            let of_use: Vec<_> =
                self.operations.iter().filter(|it| it.planned_use == planned_use).collect();
            if of_use.is_empty() {
                continue;
            }
            let _ = writeln!(out, "  {title}: {}", counted(of_use.len(), "operation"));
            let is_same = |one: &&PlannedOperation, other: &&PlannedOperation| {
                (one.category, &one.reason) == (other.category, &other.reason)
            };
            for group in of_use.chunk_by(is_same) {
                let Some(first) = group.first() else { continue };
                let category = first.category.map_or("?", Category::as_str);
                let names: Vec<_> = group.iter().map(|it| clean(&it.name)).collect();
                let reason = line(&first.reason);
                let _ =
                    writeln!(out, "    {category:7}  {}\n             {reason}", names.join(", "));
            }
        }
        if !self.creations.is_empty() {
            let _ = writeln!(out, "  Creates");
        }
        for PlannedCreation { operation, max_items, removed } in &self.creations {
            let end = match removed {
                true => "at the same time, and removes them at the end",
                false => "in total, and cannot remove them",
            };
            let items = counted(*max_items, "item");
            let _ = writeln!(out, "    with {}: at most {items} {end}", clean(operation));
        }
    }
}
