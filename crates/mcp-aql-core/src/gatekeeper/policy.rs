//! Policies: rules that allow, confirm or deny calls, and their conditions.

use std::cmp::Ordering;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::argument::Argument;
use crate::constraint::Bound;

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

    /// Returns whether the policy applies to a call with these arguments.
    pub(super) fn applies_to(&self, arguments: &[Argument]) -> bool {
        self.conditions.iter().all(|condition| condition.holds(arguments))
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

/// A condition on a parameter, which limits the calls that a policy applies to.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The name of a parameter, such as `force`, or the path of an object's field, such as `input.status`.
    pub(super) parameter: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Present,
    Equals(Value),
    OneOf(Vec<Value>),
    Above(Bound),
    Below(Bound),
    LongerThan(usize),
}

impl Condition {
    /// The parameter has a value, given or by default.
    pub fn present(parameter: impl Into<String>) -> Self {
        Self { parameter: parameter.into(), test: Test::Present }
    }

    /// The parameter equals this value. For a field of an object, write its path: `input.status`.
    pub fn equals(parameter: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { parameter: parameter.into(), test: Test::Equals(value.into()) }
    }

    /// The parameter equals one of these values.
    pub fn one_of<V: Into<Value>>(
        parameter: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self { parameter: parameter.into(), test: Test::OneOf(values) }
    }

    /// The parameter is a number above this one. Numbers are compared exactly, independent of their size and
    /// type.
    pub fn above(parameter: impl Into<String>, number: impl Into<Bound>) -> Self {
        Self { parameter: parameter.into(), test: Test::Above(number.into()) }
    }

    /// The parameter is a number below this one, compared as in [`above`](Self::above).
    pub fn below(parameter: impl Into<String>, number: impl Into<Bound>) -> Self {
        Self { parameter: parameter.into(), test: Test::Below(number.into()) }
    }

    /// The parameter is a list with more items than this, or a text with more characters.
    pub fn longer_than(parameter: impl Into<String>, length: usize) -> Self {
        Self { parameter: parameter.into(), test: Test::LongerThan(length) }
    }

    /// Returns the name of the parameter.
    pub(super) fn root(&self) -> &str {
        self.parameter.split('.').next().unwrap_or_default()
    }

    /// Returns whether the condition compares with NaN, and so never holds.
    pub(super) fn compares_with_nan(&self) -> bool {
        matches!(self.test, Test::Above(number) | Test::Below(number) if number.compare(number).is_none())
    }

    fn holds(&self, arguments: &[Argument]) -> bool {
        let mut path = self.parameter.split('.');
        let root = path.next().unwrap_or_default();
        let found = arguments.iter().find(|argument| argument.name == root);
        let mut value = found.and_then(|argument| argument.value.as_ref());
        for name in path {
            value = value.and_then(|value| value.get(name));
        }
        let Some(value) = value else { return false };
        match &self.test {
            Test::Present => true,
            Test::Equals(other) => equal_as_json(value, other),
            Test::OneOf(others) => others.iter().any(|other| equal_as_json(value, other)),
            Test::Above(number) => compare(value, *number).is_some_and(Ordering::is_gt),
            Test::Below(number) => compare(value, *number).is_some_and(Ordering::is_lt),
            Test::LongerThan(length) => match value {
                Value::Array(items) => items.len() > *length,
                Value::String(text) => text.chars().nth(*length).is_some(),
                _ => false,
            },
        }
    }
}

/// Compares JSON values. 1 and 1.0 are equal.
fn equal_as_json(left: &Value, right: &Value) -> bool {
    match Bound::of(right) {
        Some(number) => compare(left, number).is_some_and(Ordering::is_eq),
        None => left == right,
    }
}

/// Compares a value with a number. Returns `None` if the value is not a number.
fn compare(value: &Value, number: Bound) -> Option<Ordering> {
    Bound::of(value)?.compare(number)
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConditionTable {
    parameter: String,
    present: Option<bool>,
    equals: Option<Value>,
    one_of: Option<Vec<Value>>,
    above: Option<Number>,
    below: Option<Number>,
    longer_than: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Number {
    Whole(i64),
    Any(f64),
}

impl From<Number> for Bound {
    fn from(number: Number) -> Self {
        match number {
            Number::Whole(number) => number.into(),
            Number::Any(number) => number.into(),
        }
    }
}

impl PolicyTable {
    pub(crate) fn read(self, problems: &mut Vec<String>) -> Policy {
        let mut policy = Policy::new(self.operation, self.permission);
        for table in self.when {
            table.read(&policy.operation, &mut policy.conditions, problems);
        }
        policy.session = self.session_seconds.map(Duration::from_secs);
        policy.by_operator = self.by == Confirmer::Operator;
        policy.reason = self.reason;
        policy
    }
}

impl ConditionTable {
    fn read(self, operation: &str, conditions: &mut Vec<Condition>, problems: &mut Vec<String>) {
        let tests = [
            self.present.map(|present| match present {
                true => Ok(Test::Present),
                false => Err("`present = false` is not a condition"),
            }),
            self.equals.map(|value| Ok(Test::Equals(value))),
            self.one_of.map(|values| Ok(Test::OneOf(values))),
            self.above.map(|number| Ok(Test::Above(number.into()))),
            self.below.map(|number| Ok(Test::Below(number.into()))),
            self.longer_than.map(|length| Ok(Test::LongerThan(length))),
        ];
        let before = conditions.len();
        for test in tests.into_iter().flatten() {
            match test {
                Ok(test) => {
                    conditions.push(Condition { parameter: self.parameter.clone(), test });
                }
                Err(problem) => problems.push(format!("policy for `{operation}`: {problem}")),
            }
        }
        if conditions.len() == before {
            problems.push(format!(
                "policy for `{operation}`: its condition on `{}` tests nothing: write `present`, \
                 `equals`, `one_of`, `above`, `below` or `longer_than`",
                self.parameter
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments() -> Vec<Argument> {
        [
            ("force", Some(json!(true))),
            ("count", Some(json!(10))),
            ("large", Some(json!(9_007_199_254_740_993_u64))),
            ("ids", Some(json!(["a", "b"]))),
            ("input", Some(json!({ "status": "done" }))),
            ("absent", None),
        ]
        .map(|(name, value)| Argument { name, value })
        .into()
    }

    #[test]
    fn conditions_look_at_parameters_and_fields_of_objects() {
        // REQ-GATE-04
        for (condition, holds) in [
            (Condition::present("force"), true),
            (Condition::present("absent"), false),
            (Condition::equals("force", true), true),
            (Condition::equals("count", 10.0), true),
            (Condition::equals("count", 11), false),
            (Condition::equals("large", 9_007_199_254_740_993_u64), true),
            (Condition::equals("large", 9_007_199_254_740_992_u64), false),
            (Condition::one_of("input.status", ["todo", "done"]), true),
            (Condition::one_of("input.state", ["todo", "done"]), false),
            (Condition::above("count", 9.0), true),
            (Condition::above("count", 10.0), false),
            (Condition::above("count", 9), true),
            (Condition::above("large", 9_007_199_254_740_992.0), true),
            (Condition::above("large", 9_007_199_254_740_992_u64), true),
            (Condition::above("large", 9_007_199_254_740_993_u64), false),
            (Condition::below("large", 9_007_199_254_740_994_u64), true),
            (Condition::below("large", 9_007_199_254_740_994.0), true),
            (Condition::below("large", 9_007_199_254_740_992.0), false),
            (Condition::equals("large", 9_007_199_254_740_992.0), false),
            (Condition::below("count", 10.5), true),
            (Condition::below("force", 10.5), false),
            (Condition::longer_than("ids", 1), true),
            (Condition::longer_than("ids", 2), false),
            (Condition::longer_than("input.status", 3), true),
        ] {
            assert_eq!(condition.holds(&arguments()), holds, "{condition:?}");
        }
    }

    #[test]
    fn the_strictest_policy_wins() {
        // REQ-GATE-05
        let allow = Policy::allow("a");
        let confirm = Policy::confirm("a");
        let session = Policy::confirm("a").for_session(Duration::from_secs(60));
        let deny = Policy::deny("a").when(Condition::equals("count", 11));
        let chosen = |policies: &[Policy]| {
            let arguments = arguments();
            strictest(policies.iter().filter(|policy| policy.applies_to(&arguments))).cloned()
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
