//! The settings of the gates, from the builder and from configuration files.

use std::time::Duration;

use chrono::TimeDelta;
use mcp_aql_protocol::{DangerLevel, TrustLevel, pattern_matches};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Permission, Policy, PolicyTable, Trust};
use crate::config::setting::Setting;
use crate::config::tightening::Tightening;
use crate::operation::{OperationSpec, Parameter};
use crate::schema::shape::Shapes;

/// The settings of the gates.
#[derive(Debug, Clone)]
pub(crate) struct GateSettings {
    pub(crate) trust: Option<Trust>,
    pub(crate) policies: Vec<Policy>,
    pub(crate) confirmation_ttl: Option<TimeDelta>,
    pub(crate) skew: TimeDelta,
    /// Number of confirmation tokens that a session may request per minute.
    pub(crate) per_minute: usize,
    /// Number of confirmation tokens that all callers without a session together may request per minute. Defaults to
    /// the limit of one session.
    pub(crate) per_minute_without_session: Option<usize>,
    /// If `true`, users are asked for confirmations through their clients.
    pub(crate) elicits: bool,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self {
            trust: None,
            policies: Vec::new(),
            confirmation_ttl: None,
            skew: TimeDelta::seconds(30),
            per_minute: super::token_issue::DEFAULT_PER_MINUTE,
            per_minute_without_session: None,
            elicits: true,
        }
    }
}

/// Returns the default and the maximum validity of a confirmation (REQ-TOK-08).
pub(super) const fn ttl(level: DangerLevel) -> (TimeDelta, TimeDelta) {
    match level {
        DangerLevel::Forbidden => (TimeDelta::minutes(2), TimeDelta::minutes(5)),
        _ => (TimeDelta::minutes(5), TimeDelta::minutes(15)),
    }
}

/// The keys of the table `[gatekeeper]` with a structure of their own:
///
/// ```toml
/// [gatekeeper]
/// trust = { level = "validated" }
/// ```
#[derive(Debug, Default, Deserialize)]
pub(crate) struct GateTable {
    policies: Option<Vec<PolicyTable>>,
    trust: Option<Trust>,
}

impl GateSettings {
    /// Applies the operator's file to the builder's settings. Its policies are added to those of the builder, and the
    /// strictest one wins.
    pub(crate) fn apply(&mut self, table: GateTable, problems: &mut Vec<String>) {
        if let Some(trust) = table.trust {
            self.trust = Some(trust);
        }
        let policies = table.policies.unwrap_or_default();
        self.policies.extend(policies.into_iter().map(|table| table.read(problems)));
    }

    /// Applies a file in the working directory. Its policies can deny calls or require a confirmation. They never
    /// replace the operator's policies or an operation's danger.
    pub(crate) fn tighten(
        &mut self,
        table: GateTable,
        tightening: &mut Tightening,
        problems: &mut Vec<String>,
    ) {
        if let Some(trust) = table.trust {
            // An adapter without declared trust has the permissions of a certified one.
            let before = self.trust.as_ref().map_or(TrustLevel::Certified, Trust::level);
            let mut level = before;
            tightening.lower("gatekeeper.trust", &mut level, Some(trust.level()));
            if level < before {
                self.trust = Some(Trust::new(level));
            }
        }
        self.add_policies(table.policies.unwrap_or_default(), tightening, problems);
    }

    /// Adds the policies of a project that make the adapter stricter.
    fn add_policies(
        &mut self,
        policies: Vec<PolicyTable>,
        tightening: &mut Tightening,
        problems: &mut Vec<String>,
    ) {
        for policy in policies {
            let mut policy = policy.read(problems);
            if policy.permission == Permission::Allow {
                tightening.ignore(format!("gatekeeper.policies: allow {}", policy.operation));
                continue;
            }
            // Ignore the reason. It would be shown to people who confirm, and to the model.
            if policy.reason.take().is_some() {
                tightening.ignore(format!("gatekeeper.policies: reason for {}", policy.operation));
            }
            policy.from_project = true;
            self.policies.push(policy);
        }
    }

    /// Returns the number of confirmation tokens that all callers without a session together may request per minute.
    pub(crate) fn per_minute_without_session(&self) -> usize {
        self.per_minute_without_session.unwrap_or(self.per_minute)
    }

    /// Lists the settings with a structure of their own for the operator.
    pub(crate) fn listed(&self) -> Vec<Setting> {
        vec![
            Setting::new("gatekeeper.trust", json!(self.trust), Value::Null),
            Setting::joined("gatekeeper.policies", self.policies.iter().map(Policy::summary)),
        ]
    }

    /// Returns the lifetimes of confirmation tokens in seconds if none is set.
    pub(crate) fn default_ttl() -> Value {
        let seconds = |level| ttl(level).0.num_seconds();
        json!({
            "destructive": seconds(DangerLevel::Destructive),
            "forbidden": seconds(DangerLevel::Forbidden),
        })
    }

    /// Checks the trust settings, and warns about a long clock tolerance.
    pub(crate) fn check(&self, problems: &mut Vec<String>) {
        if let Some(trust) = &self.trust {
            problems.extend(trust.problems());
        }
        if self.skew > TimeDelta::seconds(60) {
            tracing::warn!(
                seconds = self.skew.num_seconds(),
                "confirmations stay valid for more than a minute after they expire"
            );
        }
    }

    /// Returns the operations of policies that require a person's confirmation.
    pub(crate) fn operator_confirmed_operations(&self) -> impl Iterator<Item = &str> {
        let asks = |policy: &&Policy| policy.by_operator;
        self.policies.iter().filter(asks).map(|policy| policy.operation.as_str())
    }

    /// Reports policies without effect: policies that match no operation, and policies with conditions that no call can
    /// meet.
    pub(crate) fn check_policies<'a>(
        &self,
        operations: impl Iterator<Item = (&'a OperationSpec, &'a [Parameter])> + Clone,
        shapes: &Shapes,
        problems: &mut Vec<String>,
    ) {
        for policy in &self.policies {
            let name = &policy.operation;
            if policy.permission != Permission::Confirm
                && (policy.session.is_some() || policy.by_operator)
            {
                problems.push(format!(
                    "the policy for `{name}` sets how a call is confirmed, but does not require a confirmation: \
                     use `for_session` (`session_seconds`) and `by_operator` (`by`) with `confirm`"
                ));
            }
            let matching = operations.clone().filter(|(spec, _)| pattern_matches(name, spec.name));
            if matching.clone().next().is_none() {
                let known = operations.clone().map(|(spec, _)| spec.name);
                let near = mcp_aql_protocol::nearest_name(name, known);
                let hint = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
                problems
                    .push(format!("a policy names `{name}`, but no operation has this name{hint}"));
                continue;
            }
            for condition in &policy.conditions {
                let Some(path) = condition.path() else { continue };
                let mut names = path.split('.');
                let root = names.next().unwrap_or_default();
                if condition.compares_with_nan() {
                    problems.push(format!(
                        "the policy for `{name}` compares `{root}` with NaN, so it can never apply \
                         to a call"
                    ));
                }
                let parameters = matching.clone().flat_map(|(_, parameters)| parameters);
                let mut named = parameters.filter(|parameter| &*parameter.name == root).peekable();
                if named.peek().is_none() {
                    problems.push(format!(
                        "the policy for `{name}` has a condition on `{root}`, but the operation has no such parameter"
                    ));
                } else if !named.any(|parameter| {
                    let forms = parameter.shape.forms_at(names.clone(), shapes);
                    condition.can_hold(&forms, shapes)
                }) {
                    problems.push(format!(
                        "the policy for `{name}` has a condition on `{path}` that a call cannot meet: check its path, and \
                         whether the parameter accepts its value"
                    ));
                }
            }
        }
    }
}

pub(crate) fn delta(time: Duration) -> TimeDelta {
    TimeDelta::from_std(time).unwrap_or(TimeDelta::MAX)
}
