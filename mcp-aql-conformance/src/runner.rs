//! A whole run: reach the adapter, learn what it is in each mode, make all checks, and judge.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use crate::cases::{Cases, Collected, Skip};
use crate::checks::{self, Body, Check};
use crate::config::Settings;
use crate::learn::{self, Adapter, Mode, Unlearned};
use crate::report::{CheckReport, Report};
use crate::run::{Look, Parts, Run};
use crate::secrets::Secrets;
use crate::wire::{Connection, Lost, Tap, Target};

/// So many checks are in flight at once.
const IN_FLIGHT: usize = 64;

/// What a run tells while it works.
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
        /// Its name.
        name: String,
        /// The mode that is looked at now.
        mode: Mode,
        /// How many operations it has.
        operations: usize,
    },
    /// A check is done in that mode.
    Checked {
        /// Its name.
        check: &'static str,
        /// So many are done,
        done: usize,
        /// of so many.
        total: usize,
    },
    /// What the collection of evidence has created and could not remove, and why. A report has the same of
    /// a run as [`Report::left_behind`].
    LeftBehind(Vec<String>),
}

type Tell = dyn Fn(Progress) + Send + Sync;

/// Runs the checks against a [`Target`].
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
    tell: Arc<Tell>,
    secrets: Arc<Secrets>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runner").field("target", &self.target).finish_non_exhaustive()
    }
}

/// What one mode gave.
pub(crate) struct Surface {
    pub(crate) adapter: Adapter,
    pub(crate) asked: Option<Mode>,
    pub(crate) collected: BTreeMap<&'static str, Collected>,
    /// What the run has made and could not remove.
    pub(crate) left_behind: Vec<String>,
}

/// What of a run goes beyond one mode.
pub(crate) struct Whole {
    pub(crate) surfaces: Vec<Surface>,
    /// Why nothing or no other mode could be learned, by the mode that was asked for.
    pub(crate) unlearned: Vec<(Option<Mode>, Unlearned)>,
    /// What the checks of all modes together found.
    pub(crate) collected: BTreeMap<&'static str, Collected>,
    pub(crate) took: Duration,
}

impl Runner {
    /// A run against this target.
    pub fn new(target: impl Target + 'static, settings: Settings) -> Self {
        Self::of(Arc::new(target), settings)
    }

    /// The same of a target that is shared.
    pub fn of(target: Arc<dyn Target>, settings: Settings) -> Self {
        let secrets = settings.file.secrets.iter().cloned().chain(target.secrets());
        let secrets = Arc::new(Secrets::new(secrets));
        Self { target, settings: Arc::new(settings), tell: Arc::new(|_| {}), secrets }
    }

    /// Tells how it is going.
    #[must_use]
    pub fn on_progress(mut self, tell: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.tell = Arc::new(tell);
        self
    }

    /// Makes all checks, in every mode that can be reached.
    pub async fn run(&self) -> Report {
        let whole = self.whole().await;
        Report::judge(&self.target.describe(), &self.settings, &self.secrets, &whole)
    }

    async fn whole(&self) -> Whole {
        let started = Instant::now();
        let until = started + self.settings.limits.run;
        let mut whole = Whole {
            surfaces: Vec::new(),
            unlearned: Vec::new(),
            collected: BTreeMap::new(),
            took: Duration::ZERO,
        };
        // As it is started first; then whichever mode that was not.
        match self.surface(None, Mode::Semantic, until).await {
            Ok(first) => {
                let (is_all, mode) = (first.adapter.serves_all, first.adapter.mode);
                whole.surfaces.push(first);
                let other = match mode {
                    Mode::Single => Mode::Semantic,
                    Mode::Semantic | Mode::All => Mode::Single,
                };
                let asked = (!is_all).then_some(other);
                if is_all || self.target.offers(other) {
                    match self.surface(asked, other, until).await {
                        Ok(second) => whole.surfaces.push(second),
                        Err(why) => whole.unlearned.push((Some(other), why)),
                    }
                }
            }
            Err(why) => whole.unlearned.push((None, why)),
        }
        if !whole.surfaces.is_empty() {
            whole.collected = self.of_modes(&whole);
        }
        whole.took = started.elapsed();
        whole
    }

    /// The checks that are wanted.
    fn wanted(&self) -> impl Iterator<Item = &'static Check> {
        checks::all().filter(|check| check.level <= self.settings.level).filter(|check| {
            self.settings.categories.is_empty()
                || self.settings.categories.contains(check.category())
        })
    }

    /// The checks of all modes together.
    fn of_modes(&self, whole: &Whole) -> BTreeMap<&'static str, Collected> {
        let checks = self.wanted().filter_map(|check| match check.body {
            Body::Modes(look) => Some((check, look)),
            _ => None,
        });
        checks
            .map(|(check, look)| {
                let cases = self.cases();
                match check.left_out(&self.settings) {
                    Some(why) => cases.skip(Skip::LeftOut(why)),
                    None => look(whole, &self.settings, &cases),
                }
                (check.id, cases.collected())
            })
            .collect()
    }

    /// Reaches the adapter and learns what it is.
    pub(crate) async fn learned(
        &self,
        asked: Option<Mode>,
        of_all: Mode,
        tap: &Arc<Tap>,
        until: Instant,
        every: Vec<(Look, Arc<Cases>)>,
    ) -> Result<Run, Unlearned> {
        let limit = self.settings.limits.request;
        let learning = async {
            let connection = Connection::open(&*self.target, asked, tap, limit).await?;
            let adapter = learn::learn(&connection, of_all).await?;
            Ok::<_, Unlearned>((connection, adapter))
        };
        let (connection, adapter) = tokio::time::timeout_at(until.into(), learning)
            .await
            .unwrap_or(Err(Lost::TimedOut(self.settings.limits.run).into()))?;
        if let Some(asked) = asked
            && asked != adapter.mode
        {
            return Err(Unlearned::OtherMode { asked, serves: adapter.mode });
        }
        // Of the other mode, `modes.same_operations` tells what is missing.
        if asked.is_none() {
            self.find_named(&adapter)?;
        }
        self.learn_secrets(&adapter);
        (self.tell)(Progress::Learned {
            name: adapter.name().to_owned(),
            mode: adapter.mode,
            operations: adapter.operations.len(),
        });
        Ok(Run::new(Parts {
            adapter,
            settings: Arc::clone(&self.settings),
            target: Arc::clone(&self.target),
            asked_mode: asked,
            tap: Arc::clone(tap),
            connection,
            until,
            every,
        }))
    }

    /// Tells how it is going.
    pub(crate) fn tell(&self, progress: Progress) {
        (self.tell)(progress);
    }

    /// What no report may show.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Sees the messages of a mode.
    pub(crate) fn tap(&self) -> Arc<Tap> {
        Arc::new(Tap::new(Arc::clone(&self.secrets)))
    }

    fn cases(&self) -> Cases {
        Cases::new(Arc::clone(&self.secrets))
    }

    /// Whether the operations that the configuration names are there: whoever misspells the one that is not
    /// to be called would have it called.
    fn find_named(&self, adapter: &Adapter) -> Result<(), Unlearned> {
        let file = &self.settings.file;
        let left_out = file.skip.iter().filter_map(|left_out| left_out.operation.as_ref());
        let left_out = left_out.map(|name| ("[[skip]]", name));
        let given = file.params.keys().map(|name| ("[params]", name));
        match left_out.chain(given).find(|(_, name)| adapter.operation(name).is_none()) {
            Some((place, name)) => Err(Unlearned::NotThere(place, name.clone())),
            None => Ok(()),
        }
    }

    /// Values that the configuration gives for parameters that are documented as sensitive.
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

    /// How the run is to go.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether the adapter can be asked for that mode.
    pub(crate) fn offers(&self, mode: Mode) -> bool {
        self.target.offers(mode)
    }

    /// All checks in one mode.
    async fn surface(
        &self,
        asked: Option<Mode>,
        of_all: Mode,
        until: Instant,
    ) -> Result<Surface, Unlearned> {
        // One for each mode: what was seen in the one is not found in the other again.
        let tap = &self.tap();
        let wanted: Vec<_> =
            self.wanted().filter(|check| !matches!(check.body, Body::Modes(_))).collect();
        let cases: BTreeMap<_, _> =
            wanted.iter().map(|check| (check.id, Arc::new(self.cases()))).collect();
        let of = |check: &Check| cases.get(check.id).map(Arc::clone).unwrap_or_default();
        let every = wanted
            .iter()
            .filter(|check| check.left_out(&self.settings).is_none())
            .filter_map(|check| match check.body {
                Body::Every(look) => Some((look, of(check))),
                _ => None,
            })
            .collect();
        let run = self.learned(asked, of_all, tap, until, every).await?;
        run.prime().await;
        let done = Mutex::new(0_usize);
        let total = wanted.len();
        let told = |check: &'static Check| {
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += 1;
            (self.tell)(Progress::Checked { check: check.id, done: *done, total });
        };
        let mut left_behind = Vec::new();
        for phase in [0, 1, 2, 3, 4] {
            if phase == 4 {
                left_behind = run.clear_up().await;
            }
            let now = wanted.iter().copied().filter(|check| phase_of(&check.body) == phase);
            let at_once = if phase == 3 { 1 } else { IN_FLIGHT };
            stream::iter(now)
                .for_each_concurrent(at_once, |check| {
                    let (run, cases, told) = (&run, of(check), &told);
                    async move {
                        one(run, check, &cases).await;
                        told(check);
                    }
                })
                .await;
        }
        let collected = cases.iter().map(|(check, cases)| (*check, cases.collected())).collect();
        let (adapter, connection) = run.into_parts();
        if let Some(connection) = Arc::into_inner(connection) {
            connection.close().await;
        }
        Ok(Surface { adapter, asked, collected, left_behind })
    }
}

/// What is learned, reads, changes, what needs a connection of its own, and what looks back on all that.
const fn phase_of(body: &Body) -> u8 {
    match body {
        Body::Learned(_) => 0,
        Body::Reads(_) => 1,
        Body::Changes(_) => 2,
        Body::Alone(_) => 3,
        Body::Every(_) | Body::Seen(_) | Body::Modes(_) => 4,
    }
}

async fn one(run: &Run, check: &Check, cases: &Cases) {
    if let Some(why) = check.left_out(&run.settings) {
        cases.skip(Skip::LeftOut(why));
        return;
    }
    if !matches!(check.body, Body::Learned(_) | Body::Every(_) | Body::Seen(_) | Body::Modes(_))
        && let Some(lost) = run.lost()
    {
        cases.skip(Skip::CutShort(lost.to_string()));
        return;
    }
    match check.body {
        Body::Learned(look) | Body::Seen(look) => look(run, cases),
        Body::Reads(check) | Body::Changes(check) | Body::Alone(check) => {
            if tokio::time::timeout_at(run.until.into(), check(run, cases)).await.is_err() {
                cases.skip(Skip::CutShort("the time of the run was over".to_owned()));
            }
        }
        // The one has looked at every call already, the other waits for all modes.
        Body::Every(_) | Body::Modes(_) => {}
    }
}

impl Whole {
    /// What a check found in all modes together.
    pub(crate) fn of(&self, check: &Check) -> CheckReport {
        let surfaces = self
            .surfaces
            .iter()
            .filter_map(|surface| Some((Some(&surface.adapter), surface.collected.get(check.id)?)));
        let together = self.collected.get(check.id).map(|collected| (None, collected));
        CheckReport::judge(check, surfaces.chain(together))
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::CommandTarget;

    #[test]
    fn a_run_may_move_between_threads() {
        fn is_send(_: impl Send + 'static) {}
        let runner = Runner::new(CommandTarget::new("nothing", [""; 0]), Settings::default());
        is_send(async move { runner.run().await });
    }
}
