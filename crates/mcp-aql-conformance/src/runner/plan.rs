//! Plans a run without making its calls.

use std::sync::Arc;

use tokio::time::Instant;

use super::Runner;
use crate::adapter::Adapter;
use crate::budget::Pacer;
use crate::category::{Category, Mode};
use crate::checks;
use crate::learn::LearnError;
use crate::report::{
    ModePlan, OperationUse, PLAN_VERSION, Plan, PlanLimits, PlannedCreation, PlannedOperation,
    UnreadMode,
};
use crate::run::{PlannedUse, Run};

impl Runner {
    /// Reads the tools and the introspection of the adapter, and returns the calls that [`run`](Self::run) would make.
    ///
    /// No other call is made, so you can use this with an adapter that you do not want to change. [`Plan::modes`] is
    /// empty if the adapter cannot be read.
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use mcp_aql_conformance::{Category, CommandTarget, Runner, Settings};
    ///
    /// let target = CommandTarget::new("tasks", ["--db", "test.db"]);
    /// let plan = Runner::new(target, Settings::default().allow(Category::Delete)).plan().await;
    /// println!("{}", plan.text());
    /// # }
    /// ```
    pub async fn plan(&self) -> Plan {
        let until = Instant::now() + self.settings.limits.run;
        // Share the pacer, because both modes may count towards the same rate limit.
        let pacer = Arc::default();
        let mut plan = self.empty_plan();
        let (asked, of_all) = self.first_mode();
        let first = self.planned_mode(asked, of_all, (until, &pacer)).await;
        let first = first.and_then(|(mode, adapter)| match self.mode_obstacle(&adapter) {
            Some(why) => Err(why),
            None => Ok((mode, adapter)),
        });
        match first {
            Ok((mode, adapter)) => {
                adapter.name().clone_into(&mut plan.implementation);
                adapter.version().clone_into(&mut plan.version);
                plan.modes.push(mode);
                if let Some((asked, of_all)) = self.second_mode(&adapter) {
                    match self.planned_mode(asked, of_all, (until, &pacer)).await {
                        Ok((mode, _)) => plan.modes.push(mode),
                        Err(why) => plan.unread.push(unread(Some(of_all), &why)),
                    }
                }
            }
            Err(why) => plan.unread.push(unread(self.settings.mode, &why)),
        }
        let created = plan.modes.iter().flat_map(|mode| &mode.creations);
        plan.max_created = created.map(|it| it.max_items).fold(0, usize::saturating_add);
        self.mask(&mut plan);
        plan
    }

    fn empty_plan(&self) -> Plan {
        let settings = &self.settings;
        Plan {
            plan_version: PLAN_VERSION,
            target: self.target.describe(),
            implementation: String::new(),
            version: String::new(),
            allowed: settings.allowed.iter().copied().filter(|it| *it != Category::Read).collect(),
            checks: checks::selected(settings)
                .filter(|check| check.left_out(settings).is_none())
                .count(),
            modes: Vec::new(),
            unread: Vec::new(),
            max_created: 0,
            limits: PlanLimits {
                irreversible_calls: settings.max_irreversible,
                created_items: settings.max_created,
                request_seconds: settings.limits.request.as_secs_f64(),
                run_seconds: settings.limits.run.as_secs_f64(),
            },
        }
    }

    /// Reads the adapter in one mode and plans its calls.
    async fn planned_mode(
        &self,
        asked: Option<Mode>,
        of_all: Mode,
        pace: (Instant, &Arc<Pacer>),
    ) -> Result<(ModePlan, Adapter), LearnError> {
        let run = self.learned(asked, of_all, &self.tap(), pace, Vec::new()).await?;
        if let Some(gap) = run.adapter.unread() {
            return Err(LearnError::NotAnAdapter(gap.why.clone()));
        }
        let plan = mode_plan(&run);
        Ok((plan, run.close().await))
    }

    /// Masks the secrets in all strings of a plan.
    fn mask(&self, plan: &mut Plan) {
        let Plan { target, implementation, version, modes, unread, .. } = plan;
        let operations = modes.iter_mut().flat_map(|mode| &mut mode.operations);
        [target, implementation, version]
            .into_iter()
            .chain(operations.map(|operation| &mut operation.reason))
            .chain(unread.iter_mut().map(|mode| &mut mode.reason))
            .for_each(|text| self.secrets.mask(text));
    }
}

fn unread(mode: Option<Mode>, why: &LearnError) -> UnreadMode {
    UnreadMode { mode, reason: why.to_string() }
}

fn mode_plan(run: &Run) -> ModePlan {
    let planned = run.adapter.operations.iter().map(|operation| {
        let (planned_use, reason) = match run.planned_use(operation) {
            PlannedUse::Called(reason) => (OperationUse::Called, reason),
            PlannedUse::OnlyRejected(why) => (OperationUse::OnlyRejected, why.reason()),
            PlannedUse::NotCalled(why) => (OperationUse::NotCalled, why.reason()),
        };
        let (name, category) = (operation.name.clone(), operation.category);
        PlannedOperation { planned_use, category, reason, name }
    });
    let mut operations: Vec<_> = planned.collect();
    operations.sort();
    let creations = run.adapter.operations.iter().filter_map(|operation| {
        let items = run.planned_items(operation)?;
        let operation = operation.name.clone();
        Some(PlannedCreation { operation, max_items: items.max, removed: items.is_removable })
    });
    ModePlan {
        mode: run.adapter.mode,
        concurrent_requests: run.at_once(),
        operations,
        creations: creations.collect(),
    }
}
