use std::time::Duration;

use chrono::TimeDelta;
use mcp_aql_protocol::{DangerLevel, TrustLevel, pattern_matches};
use serde::Deserialize;

use super::{Permission, Policy, PolicyTable, Trust};
use crate::operation::Parameter;
use crate::spec::OperationSpec;
use crate::tightening::Tightening;

/// Everything about the gates that can be set.
#[derive(Debug, Clone)]
pub(crate) struct GateSettings {
    pub(crate) trust: Option<Trust>,
    pub(crate) policies: Vec<Policy>,
    pub(crate) confirmation_ttl: Option<TimeDelta>,
    pub(crate) skew: TimeDelta,
    /// The number of confirmation tokens that a session may ask for in a minute.
    pub(crate) per_minute: usize,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self {
            trust: None,
            policies: Vec::new(),
            confirmation_ttl: None,
            skew: TimeDelta::seconds(30),
            per_minute: super::issuing::DEFAULT_PER_MINUTE,
        }
    }
}

/// How long a confirmation is good: by default, and as long as it may be (REQ-TOK-08).
pub(super) const fn ttl(level: DangerLevel) -> (TimeDelta, TimeDelta) {
    match level {
        DangerLevel::Forbidden => (TimeDelta::minutes(2), TimeDelta::minutes(5)),
        _ => (TimeDelta::minutes(5), TimeDelta::minutes(15)),
    }
}

/// `[gatekeeper]` in the configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateTable {
    confirmation_ttl_seconds: Option<u64>,
    clock_skew_tolerance_seconds: Option<u64>,
    confirmations_per_minute: Option<usize>,
    policies: Option<Vec<PolicyTable>>,
    trust: Option<Trust>,
}

impl GateSettings {
    /// Lays the file over what the builder set. The file's policies come on top of the builder's: a
    /// file can make an adapter stricter, and the strictest wins.
    pub(crate) fn apply(&mut self, table: GateTable, problems: &mut Vec<String>) {
        let seconds = |seconds| delta(Duration::from_secs(seconds));
        if let Some(ttl) = table.confirmation_ttl_seconds {
            self.confirmation_ttl = Some(seconds(ttl));
        }
        if let Some(skew) = table.clock_skew_tolerance_seconds {
            self.skew = seconds(skew);
        }
        if let Some(count) = table.confirmations_per_minute {
            self.per_minute = count;
        }
        if let Some(trust) = table.trust {
            self.trust = Some(trust);
        }
        let policies = table.policies.unwrap_or_default();
        self.policies.extend(policies.into_iter().map(|table| table.read(problems)));
    }

    /// Takes over from a table of a file that may only tighten what is stricter. Its policies can deny calls
    /// and have them confirmed, and never take the place of the operator's policies or of an operation's
    /// danger.
    pub(crate) fn tighten(
        &mut self,
        table: GateTable,
        tightening: &mut Tightening,
        problems: &mut Vec<String>,
    ) {
        let seconds = |seconds| delta(Duration::from_secs(seconds));
        // Without a setting, the shortest of the defaults is within the default of every level.
        let (shortest, _) = ttl(DangerLevel::Forbidden);
        let mut validity = self.confirmation_ttl.unwrap_or(shortest);
        let given = table.confirmation_ttl_seconds.map(seconds);
        tightening.lower("gatekeeper.confirmation_ttl_seconds", &mut validity, given);
        if given == Some(validity) {
            self.confirmation_ttl = given;
        }
        tightening.lower(
            "gatekeeper.clock_skew_tolerance_seconds",
            &mut self.skew,
            table.clock_skew_tolerance_seconds.map(seconds),
        );
        tightening.lower(
            "gatekeeper.confirmations_per_minute",
            &mut self.per_minute,
            table.confirmations_per_minute,
        );
        if let Some(trust) = table.trust {
            // Without a declaration an adapter may do what a certified one may.
            let before = self.trust.as_ref().map_or(TrustLevel::Certified, Trust::level);
            let mut level = before;
            tightening.lower("gatekeeper.trust", &mut level, Some(trust.level()));
            if level < before {
                self.trust = Some(Trust::new(level));
            }
        }
        for policy in table.policies.unwrap_or_default() {
            let mut policy = policy.read(problems);
            if policy.permission == Permission::Allow {
                tightening.ignore(format!("gatekeeper.policies: allow {}", policy.operation));
                continue;
            }
            policy.from_project = true;
            self.policies.push(policy);
        }
    }

    /// What is wrong besides the policies.
    pub(crate) fn check(&self, problems: &mut Vec<String>) {
        if let Some(trust) = &self.trust {
            problems.extend(trust.problems());
        }
        let (_, most) = ttl(DangerLevel::Destructive);
        if self.confirmation_ttl.is_some_and(|ttl| ttl > most || ttl < TimeDelta::seconds(1)) {
            problems.push(
                "confirmations are good for 1 to 900 seconds (`confirmation_ttl`, \
                 `confirmation_ttl_seconds`)"
                    .to_owned(),
            );
        }
        if self.per_minute == 0 {
            problems.push(
                "a session may ask for at least 1 confirmation in a minute \
                 (`confirmations_per_minute`)"
                    .to_owned(),
            );
        }
        if self.skew > TimeDelta::seconds(300) {
            problems.push(
                "clocks may differ by 300 seconds and no more (`clock_skew_tolerance`, \
                 `clock_skew_tolerance_seconds`)"
                    .to_owned(),
            );
        } else if self.skew > TimeDelta::seconds(60) {
            tracing::warn!(
                seconds = self.skew.num_seconds(),
                "confirmations live on for more than a minute after they expire"
            );
        }
    }

    /// The operations of policies that have a person confirm.
    pub(crate) fn asks_people(&self) -> impl Iterator<Item = &str> {
        let asks = |policy: &&Policy| policy.by_operator;
        self.policies.iter().filter(asks).map(|policy| policy.operation.as_str())
    }

    /// A policy that is about no operation, or about parameters that none of its operations has, would
    /// protect nothing.
    pub(crate) fn check_policies<'a>(
        &self,
        operations: impl Iterator<Item = (&'a OperationSpec, &'a [Parameter])> + Clone,
        problems: &mut Vec<String>,
    ) {
        for policy in &self.policies {
            let name = &policy.operation;
            if policy.permission != Permission::Confirm
                && (policy.session.is_some() || policy.by_operator)
            {
                problems.push(format!(
                    "the policy for `{name}` says how a call is confirmed, and has none confirmed: \
                     leave `for_session` (`session_seconds`) and `by_operator` (`by`) to `confirm`"
                ));
            }
            let matching = operations.clone().filter(|(spec, _)| pattern_matches(name, spec.name));
            if matching.clone().next().is_none() {
                let known = operations.clone().map(|(spec, _)| spec.name);
                let near = mcp_aql_protocol::nearest_name(name, known);
                let hint = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
                problems.push(format!(
                    "a policy is about `{name}`, and no operation is called so{hint}"
                ));
                continue;
            }
            for condition in &policy.conditions {
                let root = condition.root();
                if condition.is_void() {
                    problems.push(format!(
                        "the policy for `{name}` compares `{root}` with what is no number, and would \
                         never be about a call"
                    ));
                }
                let mut parameters = matching.clone().flat_map(|(_, parameters)| parameters);
                if !parameters.any(|parameter| &*parameter.name == root) {
                    problems.push(format!(
                        "the policy for `{name}` has a condition on `{root}`, which is no parameter of it"
                    ));
                }
            }
        }
    }
}

pub(crate) fn delta(time: Duration) -> TimeDelta {
    TimeDelta::from_std(time).unwrap_or(TimeDelta::MAX)
}
