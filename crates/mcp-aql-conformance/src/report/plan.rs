//! The plan of a run: what it would call with its permissions and its configuration.

use std::fmt::Write as _;

use serde::Serialize;

use super::value_text::{clean, counted, line};
use crate::category::{Category, Mode};

/// The version of the form of plans in JSON.
pub(crate) const PLAN_VERSION: u32 = 1;

/// The calls of a planned run. [`Runner::plan`](crate::Runner::plan) makes it without calling any operation but
/// `introspect`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Plan {
    /// The version of this form.
    pub plan_version: u32,
    /// The command or the URL of the adapter.
    pub target: String,
    /// The name of the adapter.
    pub implementation: String,
    /// The version of the adapter.
    pub version: String,
    /// The categories of operations that may run besides READ.
    pub allowed: Vec<Category>,
    /// The number of selected checks.
    pub checks: usize,
    /// The modes that the run tests.
    pub modes: Vec<ModePlan>,
    /// The modes that could not be read, with the reasons.
    pub unread: Vec<UnreadMode>,
    /// The maximum number of items that the run creates in all modes: at the same time if it removes them, and
    /// in total otherwise.
    pub max_created: usize,
    /// The limits of the run.
    pub limits: PlanLimits,
}

/// The planned calls in one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModePlan {
    /// The mode.
    pub mode: Mode,
    /// The maximum number of concurrent requests.
    pub concurrent_requests: usize,
    /// All operations.
    pub operations: Vec<PlannedOperation>,
    /// The CREATE operations that the run calls, with the number of items.
    pub creations: Vec<PlannedCreation>,
}

/// The planned use of one operation, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlannedOperation {
    /// The planned use.
    #[serde(rename = "use")]
    pub planned_use: OperationUse,
    /// The category, if introspection has a known one.
    pub category: Option<Category>,
    /// The reason.
    pub reason: String,
    /// The name of the operation.
    pub name: String,
}

/// The planned use of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OperationUse {
    /// The run calls it, and sends it requests that must be rejected.
    Called,
    /// The run sends it only requests that must be rejected.
    OnlyRejected,
    /// The run sends it nothing.
    NotCalled,
}

/// The items that one CREATE operation creates in one mode at most.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlannedCreation {
    /// The name of the operation.
    pub operation: String,
    /// The maximum number of items: at the same time if the run removes them, and in total otherwise.
    pub max_items: usize,
    /// Whether the run may remove them.
    pub removed: bool,
}

/// A mode that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UnreadMode {
    /// The mode; `None` is the adapter as started.
    pub mode: Option<Mode>,
    /// The reason.
    pub reason: String,
}

/// The limits of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlanLimits {
    /// Successful calls of each operation whose effects the run cannot undo, in each mode.
    pub irreversible_calls: usize,
    /// Items of each resource at the same time, in each mode.
    pub created_items: usize,
    /// The time limit of one request, in seconds.
    pub request_seconds: f64,
    /// The time limit of the run, in seconds.
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
    /// Renders the operations of each mode by their use and category, and the limits.
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
    /// Whether the plan of another mode is the same.
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
                true => "at the same time, which it removes at the end",
                false => "in total, which it cannot remove",
            };
            let items = counted(*max_items, "item");
            let _ = writeln!(out, "    with {}: at most {items} {end}", clean(operation));
        }
    }
}
