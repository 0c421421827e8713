//! Policies: rules that allow, confirm or deny calls, and their conditions.

use std::time::Duration;

use serde::Deserialize;

use super::condition::{Condition, ConditionTable};
use crate::caller::principal::Principal;
use crate::schema::argument::Argument;

/// The effect of a policy on the calls that it applies to, in ascending order of strictness.
///
/// Source: security/gatekeeper §2.4 (REQ-GATE-04, choice C-23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// The call runs without a confirmation.
    Allow,
    /// The call must be confirmed before it runs.
    Confirm,
    /// The call is rejected.
    Deny,
}

/// A gatekeeper rule for calls of one or more operations.
///
/// If several policies apply to a call, the strictest one decides. It replaces the decision by the
/// operation's danger: `allow` lets a destructive operation run without a confirmation. A policy cannot
/// allow what the adapter's declared trust forbids.
///
/// ```
/// use mcp_aql::gatekeeper::Condition;
/// use mcp_aql::Policy;
/// use std::time::Duration;
///
/// // Deleting is confirmed once in ten minutes, except with `force`, which is forbidden.
/// let policies = [
///     Policy::confirm("delete_*").for_session(Duration::from_secs(600)),
///     Policy::deny("delete_*").when(Condition::equals("force", true)).reason("use the archive"),
/// ];
/// ```
///
/// Source: security/gatekeeper §2.4, §3.2 (REQ-GATE-04, REQ-GATE-05).
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    pub(super) operation: String,
    pub(super) permission: Permission,
    pub(super) conditions: Vec<Condition>,
    pub(super) session: Option<Duration>,
    #[doc(hidden)]
    pub by_operator: bool,
    pub(super) reason: Option<String>,
    /// Set if the policy comes from a file that can only make an adapter stricter.
    pub(super) from_project: bool,
}

impl Policy {
    fn new(operation: impl Into<String>, permission: Permission) -> Self {
        Self {
            operation: operation.into(),
            permission,
            conditions: Vec::new(),
            session: None,
            by_operator: false,
            reason: None,
            from_project: false,
        }
    }

    /// The operation, the permission and the way of confirming, for the operator.
    pub(super) fn summary(&self) -> serde_json::Value {
        let permission = match self.permission {
            Permission::Allow => "allow",
            Permission::Confirm if self.by_operator => "confirm by a person",
            Permission::Confirm => "confirm",
            Permission::Deny => "deny",
        };
        let condition = if self.conditions.is_empty() { "" } else { " under conditions" };
        format!("{permission} {}{condition}", self.operation).into()
    }

    /// Returns whether the policy applies to a call with these arguments.
    pub(super) fn applies_to(&self, arguments: &[Argument], principal: Option<&Principal>) -> bool {
        self.conditions.iter().all(|condition| condition.holds(arguments, principal))
    }

    /// Lets calls of this operation run without a confirmation. A `*` at one end of the name matches any text.
    pub fn allow(operation: impl Into<String>) -> Self {
        Self::new(operation, Permission::Allow)
    }

    /// Requires a confirmation for each call of this operation.
    pub fn confirm(operation: impl Into<String>) -> Self {
        Self::new(operation, Permission::Confirm)
    }

    /// Rejects calls of this operation.
    pub fn deny(operation: impl Into<String>) -> Self {
        Self::new(operation, Permission::Deny)
    }

    /// Applies the policy only to calls that also meet this condition.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Requires one confirmation per session: a confirmation is valid for this time for further calls of the
    /// operation in the session. Callers without a session confirm each call (REQ-GATE-08). If another `confirm`
    /// policy applies to a call too, the call needs its own confirmation. If a person must confirm, the caller's
    /// confirmation does not count.
    #[must_use]
    pub fn for_session(mut self, time: Duration) -> Self {
        self.session = Some(time);
        self
    }

    /// Sets the reason that the caller receives.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// Returns the strictest policy. Among equals, one that requires a person comes first, then one that
/// requires a confirmation for each call (REQ-GATE-05).
pub(super) fn strictest<'a>(policies: impl Iterator<Item = &'a Policy>) -> Option<&'a Policy> {
    policies.max_by_key(|policy| {
        let shortest = std::cmp::Reverse(policy.session.unwrap_or_default());
        (policy.permission, policy.by_operator, shortest)
    })
}

/// A policy in the configuration file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyTable {
    operation: String,
    permission: Permission,
    #[serde(default)]
    when: Vec<ConditionTable>,
    session_seconds: Option<u64>,
    #[serde(default)]
    by: Confirmer,
    reason: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Confirmer {
    #[default]
    Caller,
    Operator,
}

impl PolicyTable {
    pub(crate) fn read(self, problems: &mut Vec<String>) -> Policy {
        let mut policy = Policy::new(self.operation, self.permission);
        for table in self.when {
            table.read(&policy.operation, &mut policy.conditions, problems);
        }
        policy.session = self.session_seconds.map(Duration::from_secs);
        policy.by_operator = self.by == Confirmer::Operator;
        policy.reason = self.reason.map(|reason| mcp_aql_text::visible(&reason).into_owned());
        policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_strictest_policy_wins() {
        // REQ-GATE-05
        let allow = Policy::allow("a");
        let confirm = Policy::confirm("a");
        let session = Policy::confirm("a").for_session(Duration::from_secs(60));
        let deny = Policy::deny("a").when(Condition::equals("count", 11));
        let chosen = |policies: &[Policy]| {
            let arguments = [Argument { name: "count", value: Some(json!(10)) }];
            strictest(policies.iter().filter(|policy| policy.applies_to(&arguments, None))).cloned()
        };
        assert_eq!(chosen(&[allow.clone(), confirm.clone()]), Some(confirm.clone()));
        assert_eq!(chosen(&[confirm.clone(), session.clone(), allow.clone()]), Some(confirm));
        assert_eq!(chosen(&[deny.clone(), allow.clone()]), Some(allow.clone()));
        let met = Policy::deny("a").when(Condition::equals("count", 10));
        assert_eq!(chosen(&[allow, met.clone(), session]), Some(met));
        assert_eq!(chosen(&[deny]), None);
    }

    #[test]
    fn policies_are_read_from_a_file() {
        // REQ-GATE-04
        let read = |text: &str| {
            let mut problems = Vec::new();
            let table: PolicyTable = toml_edit::de::from_str(text).unwrap();
            (table.read(&mut problems), problems)
        };
        let (policy, problems) = read(
            "operation = 'delete_*'\npermission = 'confirm'\nsession_seconds = 60\nreason = 'so'\n\
             when = [{ parameter = 'count', above = 3, below = 9.5 }, { parameter = 'x', present = true }]",
        );
        let expected = Policy::confirm("delete_*")
            .for_session(Duration::from_secs(60))
            .reason("so")
            .when(Condition::above("count", 3))
            .when(Condition::below("count", 9.5))
            .when(Condition::present("x"));
        assert_eq!((policy, problems), (expected, Vec::new()));
        let large = 9_007_199_254_740_993_i64;
        let (policy, _) = read(&format!(
            "operation = 'a'\npermission = 'deny'\nwhen = [{{ parameter = 'x', above = {large} }}]"
        ));
        assert_eq!(policy, Policy::deny("a").when(Condition::above("x", large)));
        let (_, problems) =
            read("operation = 'a'\npermission = 'deny'\nwhen = [{ parameter = 'x' }]");
        assert!(problems[0].contains("tests nothing"), "{problems:?}");
        assert!(toml_edit::de::from_str::<PolicyTable>("operation = 'a'").is_err());
    }
}
