//! Collects the evidence bundle for the protocol's own conformance runner from a running adapter (REQ-CNF-06).
//!
//! The protocol's runner accepts empty groups as passed. This module reports an error for an empty group instead,
//! with the reason why it is empty.

mod errors;
mod items;
mod parameters;
mod semantic;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::adapter::Adapter;
use crate::cases::Cases;
use crate::category::Mode;
use crate::run::Run;
use crate::runner::{Progress, Runner};
use crate::wire::Tap;

/// The error for evidence that could not be collected.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// The collection was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The adapter could not be learned.
    #[error("{0}")]
    LearnError(String),
    /// Parts of the evidence are missing. Each string names one part and the reason.
    #[error("the evidence is incomplete:{}", .0.iter().map(|gap| format!("\n- {gap}")).collect::<String>())]
    Incomplete(Vec<String>),
}

/// Collects the evidence and records its gaps.
struct Collector<'a> {
    run: &'a Run,
    gaps: Vec<String>,
}

impl Collector<'_> {
    /// Records a missing part, with the reasons of the skipped cases or else with the reason `otherwise`.
    fn gap(&mut self, what: impl Into<String>, cases: &Cases, otherwise: &str) {
        let skipped = cases.results().skipped;
        let why: Vec<_> = skipped.keys().map(crate::cases::Skip::reason).collect();
        let why = if why.is_empty() { otherwise.to_owned() } else { why.join("; ") };
        self.gaps.push(format!("{}: {why}", what.into()));
    }

    /// Returns the values as a JSON array. Records a gap if there are none.
    fn list(&mut self, name: &str, found: Vec<Value>, cases: &Cases, otherwise: &str) -> Value {
        if found.is_empty() {
            self.gap(format!("`{name}` would be empty"), cases, otherwise);
        }
        Value::Array(found)
    }
}

impl Runner {
    /// Collects the evidence bundle for the protocol's own conformance runner: introspection, and replies to calls.
    ///
    /// Operations that change data are only called if the settings allow them. Afterwards, created items are removed if
    /// the settings allow that. The remaining ones are reported as [`Progress::LeftBehind`].
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use mcp_aql_conformance::{CommandTarget, Runner, Settings};
    ///
    /// let target = CommandTarget::new("tasks", ["--db", "test.db"]);
    /// let bundle = Runner::new(target, Settings::default().allow_all()).evidence().await?;
    /// std::fs::write("evidence.json", bundle.to_string())?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`EvidenceError`] if the adapter cannot be learned or a part of the bundle would be empty. The error
    /// names the part and the missing permission or fixture.
    pub async fn evidence(&self) -> Result<Value, EvidenceError> {
        self.with_all_operations().evidence_of_all().await
    }

    /// Like [`evidence`](Self::evidence), but stops when `interruption` completes.
    ///
    /// After an interruption, the run still removes the created items if the settings and the remaining time allow it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`evidence`](Self::evidence), and [`EvidenceError::Interrupted`].
    pub async fn evidence_until(
        &self,
        interruption: impl Future<Output = ()>,
    ) -> Result<Value, EvidenceError> {
        self.interruptible(interruption, |runner| async move { runner.evidence().await }).await
    }

    async fn evidence_of_all(&self) -> Result<Value, EvidenceError> {
        let tap = self.tap();
        let until = Instant::now() + self.settings().limits.run;
        let time = (until, &Arc::default());
        let learned = self.learned(None, Mode::Semantic, &tap, time, Vec::new()).await;
        if self.is_interrupted() {
            return Err(EvidenceError::Interrupted);
        }
        let run = learned
            .map_err(|why| EvidenceError::LearnError(self.secrets().masked(&why.to_string())))?;
        if let Some(gap) = run.adapter.unread() {
            let why = format!("not an MCP-AQL adapter: {}", gap.why);
            return Err(EvidenceError::LearnError(self.secrets().masked(&why)));
        }
        let mut bundle = Err(EvidenceError::Interrupted);
        let collecting = async {
            run.prepare().await;
            let mut modes = vec![word_of(&run.adapter)];
            if let Some(other) = self.other_mode(&run.adapter, &tap, until).await {
                modes.push(other);
            }
            bundle = collect(&run, &modes, self.settings().level).await;
        };
        let interrupted = self.until_interrupted(&run, collecting, || ()).await;
        // Clean up last, because collecting the evidence creates items.
        let mut left_behind = self.clear_up(&run).await;
        if !left_behind.is_empty() {
            left_behind.iter_mut().for_each(|left| self.secrets().mask(left));
            self.report_progress(Progress::LeftBehind(left_behind));
        }
        run.close().await;
        if interrupted.is_some() {
            return Err(EvidenceError::Interrupted);
        }
        match bundle {
            Ok(mut bundle) => {
                self.secrets().mask_value(&mut bundle);
                Ok(bundle)
            }
            Err(EvidenceError::Incomplete(mut gaps)) => {
                gaps.iter_mut().for_each(|gap| self.secrets().mask(gap));
                Err(EvidenceError::Incomplete(gaps))
            }
            Err(why) => Err(why),
        }
    }

    /// Returns the name of the other mode if the adapter serves it, too.
    async fn other_mode(
        &self,
        adapter: &Adapter,
        tap: &Arc<Tap>,
        until: Instant,
    ) -> Option<String> {
        let other = adapter.mode.other();
        if !adapter.serves_all && !self.offers(other) {
            return None;
        }
        let asked = (!adapter.serves_all).then_some(other);
        let time = (until, &Arc::default());
        let run = self.learned(asked, other, tap, time, Vec::new()).await.ok()?;
        let adapter = run.close().await;
        (adapter.mode == other).then(|| word_of(&adapter))
    }
}

/// Returns the name of the adapter's mode in the bundle. `crude` requires exactly the tools of the CRUDE profile.
fn word_of(adapter: &Adapter) -> String {
    if adapter.is_crude() { "crude".to_owned() } else { adapter.mode.to_string() }
}

async fn collect(run: &Run, modes: &[String], level: u8) -> Result<Value, EvidenceError> {
    let mut collector = Collector { run, gaps: Vec::new() };
    let bundle = collector.bundle(modes, level).await;
    if let Some(lost) = run.no_response() {
        collector.gaps.push(format!("the collection was cut short: {lost}"));
    }
    if collector.gaps.is_empty() {
        Ok(bundle)
    } else {
        Err(EvidenceError::Incomplete(collector.gaps))
    }
}

impl Collector<'_> {
    /// Collects the whole bundle.
    async fn bundle(&mut self, modes: &[String], level: u8) -> Value {
        let adapter = &self.run.adapter;
        let introspection = self.introspection();
        let unknown = self.unknown_parameters().await;
        let accepted = self.accepted_parameters(&unknown).await;
        let missing = self.missing_required().await;
        let errors = self.error_tests(&unknown, &missing).await;
        let mut things = self.things().await;
        let defaults = self.optional_defaults(&things).await;
        let none = Cases::default();
        let unknown_list = unknown.iter().map(parameters::Unknown::case).collect();
        let round_trips = std::mem::take(&mut things.round_trips);
        let preserved = std::mem::take(&mut things.preserved);
        let mut bundle = json!({
            "implementation": adapter.name(),
            "version": adapter.version(),
            "spec_version": adapter.protocol().get("version").unwrap_or(&Value::Null),
            "expected_level": level,
            "expected_exit_code": 0,
            "endpoint_modes": modes,
            "capabilities": {
                "field_selection": adapter.capability("field_selection").unwrap_or_default(),
                "batch_operations": adapter.capability("batch").unwrap_or_default(),
            },
            "introspection": introspection,
            "accepted_parameters": accepted,
            "parameter_tests": {
                "missing_required": missing,
                "unknown_parameter":
                    self.list("parameter_tests.unknown_parameter", unknown_list, &none, "no operation could be called"),
                "optional_defaults": defaults,
            },
            "error_tests": errors,
            "round_trip_tests": self.list(
                "round_trip_tests", round_trips, &things.made,
                "no resource has both a CREATE and a READ operation",
            ),
            "update_preservation_tests": self.list(
                "update_preservation_tests", preserved, things.unchanged(),
                "no resource has both a CREATE and an UPDATE operation",
            ),
        });
        // The protocol's runner reads these groups for level 2 only.
        if level >= 2 {
            let groups = [
                ("constraint_tests", self.constraint_tests(things.refused).await),
                ("batch_example", self.batch_example().await),
                ("semantic_tests", self.semantic_tests().await),
            ];
            let groups = groups.into_iter().map(|(name, group)| (name.to_owned(), group));
            if let Some(bundle) = bundle.as_object_mut() {
                bundle.extend(groups);
            }
        }
        bundle
    }

    /// Collects the lists of introspection unchanged, and the details of operations without their envelope.
    fn introspection(&mut self) -> Value {
        let adapter = &self.run.adapter;
        let mut details = Vec::new();
        for operation in &adapter.operations {
            if operation.details().is_object() {
                details.push(operation.details().clone());
            } else {
                let what = format!("`introspection.operation_details` lacks `{}`", operation.name);
                self.gaps.push(format!("{what}: introspection does not return them"));
            }
        }
        let none = Cases::default();
        json!({
            "operations_list": adapter.operations_reply,
            "types_list": adapter.types_reply,
            "operation_details":
                self.list("introspection.operation_details", details, &none, "it lists no operations"),
        })
    }
}
