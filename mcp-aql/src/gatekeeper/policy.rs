use std::cmp::Ordering;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::constraint::Bound;
use crate::operation::Argument;

/// What a policy says of the calls it is about, the strictest last.
///
/// Source: security/gatekeeper §2.4 (REQ-GATE-04, choice C-23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// The call runs without being confirmed.
    Allow,
    /// Somebody confirms it first.
    Confirm,
    /// The call is refused.
    Deny,
}

/// A rule of the gatekeeper for calls of one operation, or of several.
///
/// Where policies match a call, the strictest of them decides, and what the operation's danger says
/// no longer counts: `allow` spares a destructive operation its confirmation. Only what the adapter's
/// declared trust forbids stays forbidden.
///
/// ```
/// use mcp_aql::{Condition, Policy};
/// use std::time::Duration;
///
/// // Deleting is confirmed once in ten minutes, except with `force`, which nobody may use.
/// let policies = [
///     Policy::confirm("delete_*").for_session(Duration::from_secs(600)),
///     Policy::deny("delete_*").when(Condition::equals("force", true)).because("use the archive"),
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
    pub(super) by_operator: bool,
    pub(super) reason: Option<String>,
    /// Set where the policy comes from a file that may only tighten.
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

    /// Whether the policy is about calls with these arguments.
    pub(super) fn is_about(&self, arguments: &[Argument]) -> bool {
        self.conditions.iter().all(|condition| condition.holds(arguments))
    }

    /// Lets calls of this operation run unconfirmed. A `*` at one end of the name stands for any text.
    pub fn allow(operation: impl Into<String>) -> Self {
        Self::new(operation, Permission::Allow)
    }

    /// Has calls of this operation confirmed, each by itself.
    pub fn confirm(operation: impl Into<String>) -> Self {
        Self::new(operation, Permission::Confirm)
    }

    /// Refuses calls of this operation.
    pub fn deny(operation: impl Into<String>) -> Self {
        Self::new(operation, Permission::Deny)
    }

    /// Is only about calls that meet this condition too.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Asks once: what is confirmed stays so for calls of that operation in that session, for so long. Callers
    /// without a session are asked each time (REQ-GATE-08). A call that another `confirm` policy is about as
    /// well is confirmed on its own. Where a person confirms, what the caller has confirmed does not count.
    #[must_use]
    pub fn for_session(mut self, time: Duration) -> Self {
        self.session = Some(time);
        self
    }

    /// Asks a person, through a channel that the caller cannot reach.
    #[cfg(feature = "safety")]
    #[must_use]
    pub fn by_operator(mut self) -> Self {
        self.by_operator = true;
        self
    }

    /// Tells the caller why.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// What a parameter has to be for a policy to be about a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// `force`, or of an object's field `input.status`.
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
    /// The parameter is given, or has a default.
    pub fn present(parameter: impl Into<String>) -> Self {
        Self { parameter: parameter.into(), test: Test::Present }
    }

    /// The parameter is this. Of an object's field write `input.status`.
    pub fn equals(parameter: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { parameter: parameter.into(), test: Test::Equals(value.into()) }
    }

    /// The parameter is one of these.
    pub fn one_of<V: Into<Value>>(
        parameter: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self { parameter: parameter.into(), test: Test::OneOf(values) }
    }

    /// The parameter is a number above this one, a whole one or not. They are compared exactly, of
    /// whatever size they are.
    pub fn above(parameter: impl Into<String>, number: impl Into<Bound>) -> Self {
        Self { parameter: parameter.into(), test: Test::Above(number.into()) }
    }

    /// The parameter is a number below this one, as with [`above`](Self::above).
    pub fn below(parameter: impl Into<String>, number: impl Into<Bound>) -> Self {
        Self { parameter: parameter.into(), test: Test::Below(number.into()) }
    }

    /// The parameter is a list of more items than this, or a text of more characters.
    pub fn longer_than(parameter: impl Into<String>, length: usize) -> Self {
        Self { parameter: parameter.into(), test: Test::LongerThan(length) }
    }

    /// The parameter that it is about.
    pub(super) fn root(&self) -> &str {
        self.parameter.split('.').next().unwrap_or_default()
    }

    /// Whether it compares with what is no number, and so never holds.
    pub(super) fn is_void(&self) -> bool {
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
            Test::Equals(other) => same(value, other),
            Test::OneOf(others) => others.iter().any(|other| same(value, other)),
            Test::Above(number) => order(value, *number).is_some_and(Ordering::is_gt),
            Test::Below(number) => order(value, *number).is_some_and(Ordering::is_lt),
            Test::LongerThan(length) => match value {
                Value::Array(items) => items.len() > *length,
                Value::String(text) => text.chars().nth(*length).is_some(),
                _ => false,
            },
        }
    }
}

/// Equal as JSON: 1 and 1.0 are one number.
fn same(left: &Value, right: &Value) -> bool {
    match Bound::of(right) {
        Some(number) => order(left, number).is_some_and(Ordering::is_eq),
        None => left == right,
    }
}

/// How a value stands to a number, if it is one too.
fn order(value: &Value, number: Bound) -> Option<Ordering> {
    Bound::of(value)?.compare(number)
}

/// The strictest of some policies; among equals, one that asks a person, and then one that asks each time
/// (REQ-GATE-05).
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
    by: By,
    reason: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum By {
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
        policy.by_operator = self.by == By::Operator;
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
            strictest(policies.iter().filter(|policy| policy.is_about(&arguments))).cloned()
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
            .because("so")
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
