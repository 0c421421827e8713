//! Policies: rules that allow, confirm or deny calls.

use std::time::Duration;

use serde::Deserialize;

use super::condition::{Condition, ConditionTable};
use crate::caller::principal::Principal;
use crate::schema::Argument;

/// The effect of a policy on calls, in ascending order of strictness.
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

/// A rule of the gatekeeper for calls of one or more operations. Add it with
/// [`AdapterBuilder::policy`](crate::AdapterBuilder::policy).
///
/// If several policies apply to a call, the strictest one decides. It replaces the decision by the operation's danger:
/// with `allow`, a destructive operation runs without a confirmation. A policy cannot allow calls forbidden by the
/// adapter's declared trust.
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
    /// If `true`, the policy comes from a file in the working directory, so it can only make the adapter stricter.
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

    /// Summarizes the policy for the operator, for example `confirm by a person delete_*`.
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

    /// Returns `true` if the policy applies to a call with these arguments.
    pub(super) fn applies_to(&self, arguments: &[Argument], principal: Option<&Principal>) -> bool {
        self.conditions.iter().all(|condition| condition.holds(arguments, principal))
    }

    /// Lets calls of this operation run without a confirmation. A `*` at one end of the name matches any characters.
    pub fn allow(operation: impl Into<String>) -> Self {
        Self::new(operation, Permission::Allow)
    }

    /// Requires a confirmation for each call of this operation. Add [`for_session`](Self::for_session) if you want
    /// fewer questions.
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

    /// Requires only one confirmation per session: it also covers further calls of the operation in the session, for
    /// this time. Callers without a session confirm each call (REQ-GATE-08).
    ///
    /// If another `confirm` policy also applies to a call, the call needs its own confirmation. If a person must
    /// confirm, the caller's confirmation does not count.
    #[must_use]
    pub fn for_session(mut self, time: Duration) -> Self {
        self.session = Some(time);
        self
    }

    /// Sets the reason shown to the caller.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// Returns the strictest policy. Among equally strict ones, a policy that requires a person comes first, then a policy
/// that requires a confirmation for each call (REQ-GATE-05).
pub(super) fn strictest<'a>(policies: impl Iterator<Item = &'a Policy>) -> Option<&'a Policy> {
    policies.max_by_key(|policy| {
        let shortest = std::cmp::Reverse(policy.session.unwrap_or_default());
        (policy.permission, policy.by_operator, shortest)
    })
}

/// A policy in the configuration file:
///
/// ```toml
/// [[gatekeeper.policies]]
/// operation = "delete_*"
/// permission = "confirm"
/// session_seconds = 600
/// by = "operator"
/// reason = "deleted tasks cannot be restored"
/// ```
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
