//! Runs the checks: learns the adapter in each mode, runs all checks, and judges the results.

mod interruption;
mod phases;
mod plan;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use self::interruption::Interruption;
use crate::adapter::Adapter;
use crate::adapter::gaps;
use crate::budget::Pacer;
use crate::cases::{CaseResults, Cases, INTERRUPTED, Skip};
use crate::category::Mode;
use crate::checks::{self, Body, Check};
use crate::learn::{self, LearnError};
use crate::report::Report;
use crate::run::{ExchangeCheck, Run, RunParts, RunResults};
use crate::secrets::Secrets;
use crate::settings::Settings;
use crate::wire::{Connection, NoResponse, Tap, Target, Trace};

/// A progress event of a run. Set a callback with [`Runner::on_progress`] to receive these.
///
/// ```
/// use mcp_aql_conformance::{CommandTarget, Progress, Runner, Settings};
///
/// let target = CommandTarget::new("tasks", ["--db", "test.db"]);
/// let runner = Runner::new(target, Settings::default()).on_progress(|progress| {
///     if let Progress::Checked { check, done, total, .. } = progress {
///         eprintln!("{done} of {total}: {check}");
///     }
/// });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The adapter was reached and learned.
    Learned {
        /// Name of the adapter.
        name: String,
        /// The mode under test.
        mode: Mode,
        /// Number of operations.
        operations: usize,
    },
    /// A check finished in this mode.
    Checked {
        /// Id of the check.
        check: &'static str,
        /// Number of finished checks.
        done: usize,
        /// Number of all checks.
        total: usize,
    },
    /// Items left behind by collecting evidence, with the reasons why they could not be removed. Reports contain the
    /// same in [`Report::left_behind`].
    LeftBehind(Vec<String>),
}

type ProgressCallback = dyn Fn(Progress) + Send + Sync;

/// Runs the checks against a [`Target`] and returns a [`Report`].
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use mcp_aql_conformance::{CommandTarget, Runner, Settings};
///
/// let target = CommandTarget::new("npx", ["my-adapter"]).env("DATABASE", "test.db");
/// let report = Runner::new(target, Settings::default().allow_all()).run().await;
/// std::fs::write("report.html", report.html()).unwrap();
/// std::process::exit(report.exit_code().into());
/// # }
/// ```
#[derive(Clone)]
pub struct Runner {
    target: Arc<dyn Target>,
    settings: Arc<Settings>,
    progress_callback: Arc<ProgressCallback>,
    secrets: Arc<Secrets>,
    invocation: Arc<[String]>,
    trace: Option<Arc<Trace>>,
    interruption: Interruption,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runner").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Runner {
    /// Creates a runner for this target.
    pub fn new(target: impl Target + 'static, settings: Settings) -> Self {
        Self::of(Arc::new(target), settings)
    }

    /// Creates a runner for a shared target. Use this if you choose the type of the target at run time.
    pub fn of(target: Arc<dyn Target>, settings: Settings) -> Self {
        let secrets = settings.file.secrets.iter().cloned().chain(target.secrets());
        let secrets = Arc::new(Secrets::new(secrets));
        Self {
            target,
            settings: Arc::new(settings),
            progress_callback: Arc::new(|_| {}),
            secrets,
            invocation: Arc::new([]),
            trace: None,
            interruption: Interruption::default(),
        }
    }

    /// Sets the command-line arguments for repeating the run with other checks. Each finding then contains a command
    /// that repeats its check.
    #[must_use]
    pub fn invocation(mut self, words: impl IntoIterator<Item = String>) -> Self {
        self.invocation = words.into_iter().collect();
        self
    }

    /// Writes every message of the run as a line of JSON: `time`, `connection`, `mode`, `direction` and `message`.
    /// Secrets are masked.
    ///
    /// A failed write ends the trace, not the run. Call [`trace_error`](Self::trace_error) afterwards to get its error.
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use mcp_aql_conformance::{CommandTarget, Runner, Settings};
    ///
    /// let target = CommandTarget::new("tasks", ["--db", "test.db"]);
    /// let trace = std::fs::File::create("trace.jsonl")?;
    /// let runner = Runner::new(target, Settings::default()).trace(trace);
    /// let report = runner.run().await;
    /// assert!(report.is_reached());
    /// assert_eq!(runner.trace_error(), None);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn trace(mut self, writer: impl std::io::Write + Send + 'static) -> Self {
        self.trace = Some(Arc::new(Trace::new(writer)));
        self
    }

    /// Returns the error of the first failed write of the trace, if any write has failed so far.
    pub fn trace_error(&self) -> Option<String> {
        self.trace.as_ref()?.error()
    }

    /// Sets a callback for progress events.
    #[must_use]
    pub fn on_progress(
        mut self,
        progress_callback: impl Fn(Progress) + Send + Sync + 'static,
    ) -> Self {
        self.progress_callback = Arc::new(progress_callback);
        self
    }

    /// Runs all checks in every available mode. Use [`run_until`](Self::run_until) if you need to interrupt the run.
    pub async fn run(&self) -> Report {
        self.judge(&self.whole().await)
    }

    fn judge(&self, whole: &RunResults) -> Report {
        let target = self.target.describe();
        Report::judge(&target, &self.invocation, &self.settings, &self.secrets, whole)
    }

    async fn whole(&self) -> RunResults {
        let started = Instant::now();
        let until = started + self.settings.limits.run;
        let mut whole = RunResults {
            surfaces: Vec::new(),
            unlearned: Vec::new(),
            collected: BTreeMap::new(),
            took: Duration::ZERO,
            is_interrupted: false,
        };
        // Share the pacer, because both modes may count towards the same rate limit.
        let pacer = Arc::default();
        let (asked, of_all) = self.first_mode();
        match self.surface(asked, of_all, until, &pacer).await {
            Ok(first) => match self.mode_obstacle(&first.adapter) {
                Some(why) => whole.unlearned.push((self.settings.mode, why)),
                None => {
                    let second = self.second_mode(&first.adapter);
                    whole.surfaces.push(first);
                    if let Some((asked, of_all)) = second {
                        match self.surface(asked, of_all, until, &pacer).await {
                            Ok(second) => whole.surfaces.push(second),
                            Err(why) => whole.unlearned.push((Some(of_all), why)),
                        }
                    }
                }
            },
            Err(why) => whole.unlearned.push((None, why)),
        }
        if !whole.surfaces.is_empty() {
            whole.collected = self.of_modes(&whole);
        }
        whole.took = started.elapsed();
        whole.is_interrupted = self.interruption.is_set();
        whole
    }

    /// Returns the first mode to request from the target, and the mode to test if the adapter serves both at once.
    ///
    /// The requested mode is `None` for the adapter as started, or the only mode of the run.
    fn first_mode(&self) -> (Option<Mode>, Mode) {
        let only = self.settings.mode;
        (only.filter(|mode| self.target.offers(*mode)), only.unwrap_or(Mode::Semantic))
    }

    /// Returns the reason if the mode of the learned adapter is not the one to test.
    fn mode_obstacle(&self, first: &Adapter) -> Option<LearnError> {
        self.settings.mode.filter(|only| *only != first.mode)?;
        let why = format!("the adapter serves only in {} mode", first.mode);
        Some(NoResponse::Unreachable(why).into())
    }

    /// Returns the second mode to request, and the mode to test if the adapter serves both at once.
    fn second_mode(&self, first: &Adapter) -> Option<(Option<Mode>, Mode)> {
        let other = first.mode.other();
        let is_available = first.serves_all || self.target.offers(other);
        let is_wanted = self.settings.mode.is_none() && first.unread().is_none();
        (is_wanted && is_available).then(|| ((!first.serves_all).then_some(other), other))
    }

    /// Runs the checks that compare modes.
    fn of_modes(&self, whole: &RunResults) -> BTreeMap<&'static str, CaseResults> {
        let checks = checks::selected(&self.settings).filter_map(|check| match check.body {
            Body::Modes(look) => Some((check, look)),
            _ => None,
        });
        checks
            .map(|(check, look)| {
                let cases = self.cases(check);
                let unread = whole.surfaces.iter().find_map(|mode| mode.adapter.unread());
                match (check.left_out(&self.settings), unread) {
                    _ if self.interruption.is_set() => {
                        cases.skip(Skip::CutShort(INTERRUPTED.to_owned()));
                    }
                    (Some(why), _) => cases.skip(Skip::LeftOut(why)),
                    (None, Some(gap)) => cases.skip(gap.skip()),
                    (None, None) => look(whole, &self.settings, &cases),
                }
                (check.id, cases.results())
            })
            .collect()
    }

    /// Opens a connection and learns the adapter.
    pub(crate) async fn learned(
        &self,
        asked: Option<Mode>,
        of_all: Mode,
        tap: &Arc<Tap>,
        (until, pacer): (Instant, &Arc<Pacer>),
        every: Vec<(ExchangeCheck, Arc<Cases>)>,
    ) -> Result<Run, LearnError> {
        let limit = self.settings.limits.request;
        let learning = async {
            let connection = Connection::open(&*self.target, asked, tap, limit).await?;
            let adapter = learn::learn(&connection, pacer, of_all).await?;
            Ok::<_, LearnError>((connection, adapter))
        };
        let run_limit = self.settings.limits.run;
        let end = pacer.prolonged(until, run_limit);
        let (connection, mut adapter) = tokio::select! {
            biased;
            () = self.interruption.wait() => Err(LearnError::Interrupted),
            learned = tokio::time::timeout_at(end, learning) => learned.unwrap_or_else(|_| {
                Err(NoResponse::OutOfTime(pacer.out_of_time(run_limit)).into())
            }),
        }?;
        if let Some(asked) = asked
            && asked != adapter.mode
        {
            return Err(LearnError::OtherMode { asked, serves: adapter.mode });
        }
        // If the run tests only one mode, this mode is requested explicitly and is nevertheless the first one.
        let is_first = asked.is_none() || asked == self.settings.mode;
        match (asked, adapter.unread()) {
            (Some(_), Some(gap)) => return Err(LearnError::NotAnAdapter(gap.why.clone())),
            // Without operations, no name is known.
            (None, Some(_)) => {}
            (_, None) if is_first => self.find_named(&adapter)?,
            // The check `modes.same_operations` reports operations that the second mode lacks.
            (_, None) => {}
        }
        adapter.apply_reading_names(&self.settings);
        self.learn_secrets(&adapter);
        (self.progress_callback)(Progress::Learned {
            name: adapter.name().to_owned(),
            mode: adapter.mode,
            operations: adapter.operations.len(),
        });
        Ok(Run::new(RunParts {
            adapter,
            settings: Arc::clone(&self.settings),
            target: Arc::clone(&self.target),
            asked_mode: asked,
            tap: Arc::clone(tap),
            connection,
            pacer: Arc::clone(pacer),
            until,
            every,
        }))
    }

    /// Returns a runner that exercises all operations of a large adapter, not only a sample.
    pub(crate) fn with_all_operations(&self) -> Self {
        let settings = Settings { max_operations: Some(usize::MAX), ..(*self.settings).clone() };
        Self { settings: Arc::new(settings), ..self.clone() }
    }

    /// Reports a progress event.
    pub(crate) fn report_progress(&self, progress: Progress) {
        (self.progress_callback)(progress);
    }

    /// Returns the secrets that reports must not contain.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Creates the message statistics of a mode.
    pub(crate) fn tap(&self) -> Arc<Tap> {
        Arc::new(Tap::new(Arc::clone(&self.secrets), self.trace.clone()))
    }

    fn cases(&self, check: &Check) -> Cases {
        Cases::new(Arc::clone(&self.secrets))
            .judging_forms(gaps::judges_errors(check.id))
            .observing_calls(matches!(check.body, Body::Every(_)))
            .hinting(check.hints)
    }

    /// Rejects configurations that name unknown operations. A misspelled name in `[[skip]]` would not protect the
    /// operation.
    fn find_named(&self, adapter: &Adapter) -> Result<(), LearnError> {
        let file = &self.settings.file;
        let left_out = file.skip.iter().filter_map(|left_out| left_out.operation.as_ref());
        let left_out = left_out.map(|name| ("[[skip]]", name));
        let given = file.params.keys().map(|name| ("[params]", name));
        let reading = file.reading_operations.iter().map(|name| ("reading_operations", name));
        match left_out
            .chain(given)
            .chain(reading)
            .find(|(_, name)| adapter.operation(name).is_none())
        {
            Some((place, name)) => Err(LearnError::UnknownOperation(place, name.clone())),
            None => Ok(()),
        }
    }

    /// Registers the configured values of sensitive parameters as secrets.
    fn learn_secrets(&self, adapter: &Adapter) {
        let file = &self.settings.file;
        for operation in &adapter.operations {
            for parameter in &operation.parameters {
                if parameter.member("sensitive") != Some(&Value::Bool(true)) {
                    continue;
                }
                let given = [file.params.get(&operation.name), Some(&file.values)];
                let values = given.into_iter().flatten();
                values
                    .filter_map(|given| given.get(&parameter.name))
                    .for_each(|value| self.secrets.add_value(value));
            }
        }
    }

    /// Returns the settings of the run.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns `true` if the target can start the adapter in that mode.
    pub(crate) fn offers(&self, mode: Mode) -> bool {
        self.target.offers(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::CommandTarget;

    #[test]
    fn run_is_send() {
        fn is_send(_: impl Send + 'static) {}
        let runner = Runner::new(CommandTarget::new("nothing", [""; 0]), Settings::default());
        is_send(async move { runner.run().await });
    }
}
