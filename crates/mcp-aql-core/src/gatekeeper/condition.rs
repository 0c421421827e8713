//! The conditions of policies.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::Deserialize;
use serde_json::Value;

use crate::caller::principal::Principal;
use crate::schema::Argument;
use crate::schema::constraint::Bound;
use crate::schema::shape::{Form, Kind, Shapes};

/// Limits a policy to some calls, by a parameter or by the authenticated caller. Add it with
/// [`Policy::when`](super::Policy::when). A policy applies if all of its conditions hold.
///
/// ```
/// use mcp_aql::Policy;
/// use mcp_aql::gatekeeper::Condition;
///
/// let policy = Policy::confirm("refund_*")
///     .when(Condition::above("amount", 100))
///     .when(Condition::one_of("input.status", ["shipped", "delivered"]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    subject: Subject,
    test: Test,
}

/// The value tested by a condition.
#[derive(Debug, Clone, PartialEq)]
enum Subject {
    /// A parameter, such as `force`, or the path of a field in an object, such as `input.status`.
    Parameter(String),
    /// The subject of the principal.
    Principal,
    /// `true` if the principal has this scope, otherwise `false`.
    Scope(String),
    /// A claim of the principal.
    Claim(String),
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Present,
    Equals(Value),
    OneOf(Vec<Value>),
    Above(Bound),
    Below(Bound),
    LongerThan(usize),
    Lacks(Vec<Value>),
}

impl Condition {
    /// Creates a condition that holds if the authenticated caller has this scope. A call without a principal has no
    /// scopes.
    ///
    /// ```
    /// use mcp_aql::Policy;
    /// use mcp_aql::gatekeeper::Condition;
    ///
    /// // Only the night shift deletes without a confirmation.
    /// let policy = Policy::confirm("delete_*").when(Condition::lacks_scope("night"));
    /// ```
    pub fn has_scope(scope: impl Into<String>) -> Self {
        Self { subject: Subject::Scope(scope.into()), test: Test::Equals(true.into()) }
    }

    /// Creates a condition that holds if the caller does not have this scope, also for calls without a principal.
    pub fn lacks_scope(scope: impl Into<String>) -> Self {
        Self { subject: Subject::Scope(scope.into()), test: Test::Equals(false.into()) }
    }

    /// Creates a condition that holds if the subject of the authenticated caller is one of these.
    pub fn principal_is<S: Into<Value>>(subjects: impl IntoIterator<Item = S>) -> Self {
        Self { subject: Subject::Principal, test: Test::OneOf(values(subjects)) }
    }

    /// Creates a condition that holds if a claim of the authenticated caller equals one of these values.
    pub fn claim_is<V: Into<Value>>(
        claim: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        Self { subject: Subject::Claim(claim.into()), test: Test::OneOf(self::values(values)) }
    }

    /// Creates a condition that holds if a claim of the caller is missing or equals none of these values, also for
    /// calls without a principal.
    pub fn claim_is_not<V: Into<Value>>(
        claim: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        Self { subject: Subject::Claim(claim.into()), test: Test::Lacks(self::values(values)) }
    }

    fn of(parameter: impl Into<String>, test: Test) -> Self {
        Self { subject: Subject::Parameter(parameter.into()), test }
    }

    /// Creates a condition that holds if the parameter has a value, given or by default.
    pub fn present(parameter: impl Into<String>) -> Self {
        Self::of(parameter, Test::Present)
    }

    /// Creates a condition that holds if the parameter equals this value. For a field of an object, write its path:
    /// `input.status`.
    pub fn equals(parameter: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::of(parameter, Test::Equals(value.into()))
    }

    /// Creates a condition that holds if the parameter equals one of these values.
    pub fn one_of<V: Into<Value>>(
        parameter: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        Self::of(parameter, Test::OneOf(self::values(values)))
    }

    /// Creates a condition that holds if the parameter is a number above this one. Numbers of any size and type are
    /// compared exactly.
    pub fn above(parameter: impl Into<String>, number: impl Into<Bound>) -> Self {
        Self::of(parameter, Test::Above(number.into()))
    }

    /// Creates a condition that holds if the parameter is a number below this one, compared as in
    /// [`above`](Self::above).
    pub fn below(parameter: impl Into<String>, number: impl Into<Bound>) -> Self {
        Self::of(parameter, Test::Below(number.into()))
    }

    /// Creates a condition that holds if the parameter is a list with more items than this, or a string with more
    /// characters.
    pub fn longer_than(parameter: impl Into<String>, length: usize) -> Self {
        Self::of(parameter, Test::LongerThan(length))
    }

    /// Returns the tested parameter, or the path of the tested field. Returns `None` for a condition on the caller.
    pub(super) fn path(&self) -> Option<&str> {
        match &self.subject {
            Subject::Parameter(path) => Some(path),
            Subject::Principal | Subject::Scope(_) | Subject::Claim(_) => None,
        }
    }

    /// Returns `true` if some value meets the condition. `forms` are the forms of the tested parameter or field.
    pub(super) fn can_hold(&self, forms: &[Form<'_>], shapes: &Shapes) -> bool {
        let any = |fits: &dyn Fn(&Form<'_>) -> bool| {
            forms.iter().any(|form| matches!(form.shape.kind, Kind::Any) || fits(form))
        };
        let accepts = |value: &Value| {
            any(&|form| {
                value.is_null()
                    || form.shape.accepts(value, shapes)
                    || whole(value).is_some_and(|value| form.shape.accepts(&value, shapes))
                    || (value.is_number()
                        && form.is_numeric()
                        && matches!(form.shape.kind, Kind::String))
            })
        };
        match &self.test {
            Test::Present | Test::Lacks(_) => any(&|_| true),
            Test::Equals(value) => accepts(value),
            Test::OneOf(values) => values.iter().all(accepts),
            Test::Above(_) | Test::Below(_) => any(&|form| form.is_numeric()),
            Test::LongerThan(_) => any(&|form| {
                matches!(form.shape.kind, Kind::Array(_) | Kind::Tuple(_) | Kind::String)
            }),
        }
    }

    /// Returns the value to test.
    fn value<'a>(
        &self,
        arguments: &'a [Argument],
        principal: Option<&'a Principal>,
    ) -> Option<Cow<'a, Value>> {
        match &self.subject {
            Subject::Parameter(path) => {
                let mut path = path.split('.');
                let root = path.next()?;
                let found = arguments.iter().find(|argument| argument.name == root)?;
                path.try_fold(found.value.as_ref()?, |value, name| value.get(name))
                    .map(Cow::Borrowed)
            }
            Subject::Principal => Some(Cow::Owned(principal?.subject().into())),
            Subject::Scope(scope) => {
                let has = principal.is_some_and(|principal| principal.has_scope(scope));
                Some(Cow::Owned(has.into()))
            }
            Subject::Claim(claim) => principal?.claim(claim).map(Cow::Borrowed),
        }
    }

    /// Returns `true` if the condition compares with NaN. Such a condition never holds.
    pub(super) fn compares_with_nan(&self) -> bool {
        matches!(self.test, Test::Above(number) | Test::Below(number) if number.compare(number).is_none())
    }

    /// Returns `true` if a call meets the condition.
    pub(super) fn holds(&self, arguments: &[Argument], principal: Option<&Principal>) -> bool {
        let value = self.value(arguments, principal);
        let Some(value) = value.as_deref() else { return matches!(self.test, Test::Lacks(_)) };
        match &self.test {
            Test::Lacks(others) => !others.iter().any(|other| equal_as_json(value, other)),
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

fn values<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Vec<Value> {
    values.into_iter().map(Into::into).collect()
}

/// Returns a number such as 10.0 as an integer.
fn whole(value: &Value) -> Option<Value> {
    let number = value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "saturates, and the result is only compared"
    )]
    let number = number as i64;
    Some(number.into())
}

/// Compares JSON values. 1 and 1.0 are equal, and so is the number in the string "1" if the other value is a number.
fn equal_as_json(left: &Value, right: &Value) -> bool {
    match Bound::of(right) {
        Some(number) => compare(left, number).is_some_and(Ordering::is_eq),
        None => left == right,
    }
}

/// Compares a value with a number. Some types, such as decimals, are sent as numbers or as strings. Returns `None` if
/// the value is neither a number nor a string with one.
fn compare(value: &Value, number: Bound) -> Option<Ordering> {
    let value = value.as_str().map_or_else(|| Bound::of(value), Bound::in_text)?;
    value.compare(number)
}

/// A condition in the configuration file:
///
/// ```toml
/// [[gatekeeper.policies]]
/// operation = "refund_*"
/// permission = "confirm"
/// when = [{ parameter = "amount", above = 100 }, { lacks_scope = "night" }]
/// ```
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConditionTable {
    parameter: Option<String>,
    claim: Option<String>,
    has_scope: Option<String>,
    lacks_scope: Option<String>,
    principal_is: Option<Vec<String>>,
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

impl ConditionTable {
    /// Adds the conditions of the table. Adds problems for incomplete or contradictory ones.
    pub(super) fn read(
        self,
        operation: &str,
        conditions: &mut Vec<Condition>,
        problems: &mut Vec<String>,
    ) {
        let tests = [
            self.present.map(|present| match present {
                true => Ok(Test::Present),
                false => {
                    Err("`present = false` is not supported: write `present = true`, or remove it")
                }
            }),
            self.equals.map(|value| Ok(Test::Equals(value))),
            self.one_of.map(|values| Ok(Test::OneOf(values))),
            self.above.map(|number| Ok(Test::Above(number.into()))),
            self.below.map(|number| Ok(Test::Below(number.into()))),
            self.longer_than.map(|length| Ok(Test::LongerThan(length))),
        ];
        let before = conditions.len();
        let subject = match (self.parameter, self.claim) {
            (Some(parameter), None) => Some(Subject::Parameter(parameter)),
            (None, Some(claim)) => Some(Subject::Claim(claim)),
            (Some(_), Some(_)) => {
                problems.push(format!(
                    "policy for `{operation}`: a condition has both `parameter` and `claim`: remove one of them"
                ));
                return;
            }
            (None, None) => None,
        };
        for test in tests.into_iter().flatten() {
            match (test, &subject) {
                (Ok(test), Some(subject)) => {
                    conditions.push(Condition { subject: subject.clone(), test });
                }
                (Ok(_), None) => problems.push(format!(
                    "policy for `{operation}`: a condition does not name the value to test: add `parameter` \
                     or `claim`"
                )),
                (Err(problem), _) => problems.push(format!("policy for `{operation}`: {problem}")),
            }
        }
        if conditions.len() == before
            && let Some(Subject::Parameter(name) | Subject::Claim(name)) = &subject
        {
            problems.push(format!(
                "policy for `{operation}`: its condition on `{name}` tests nothing: add `present`, \
                 `equals`, `one_of`, `above`, `below` or `longer_than`"
            ));
        }
        conditions.extend(self.has_scope.map(Condition::has_scope));
        conditions.extend(self.lacks_scope.map(Condition::lacks_scope));
        conditions.extend(self.principal_is.map(Condition::principal_is));
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
            assert_eq!(condition.holds(&arguments(), None), holds, "{condition:?}");
        }
    }

    #[test]
    fn conditions_look_at_the_principal() {
        // REQ-GATE-04
        let ada =
            Principal::new("issuer", "ada").with_scopes(["night"]).with_claim("tenant", "north");
        for (condition, holds, without) in [
            (Condition::has_scope("night"), true, false),
            (Condition::has_scope("day"), false, false),
            (Condition::lacks_scope("night"), false, true),
            (Condition::lacks_scope("day"), true, true),
            (Condition::principal_is(["ada", "eve"]), true, false),
            (Condition::principal_is(["eve"]), false, false),
            (Condition::claim_is("tenant", ["north"]), true, false),
            (Condition::claim_is("tenant", ["south"]), false, false),
            (Condition::claim_is("team", ["north"]), false, false),
            (Condition::claim_is_not("tenant", ["north"]), false, true),
            (Condition::claim_is_not("tenant", ["south"]), true, true),
        ] {
            assert_eq!(condition.holds(&[], Some(&ada)), holds, "{condition:?}");
            assert_eq!(condition.holds(&[], None), without, "{condition:?} without a principal");
        }
    }

    #[test]
    fn conditions_on_the_principal_are_read_from_a_file() {
        // REQ-GATE-04
        let read = |text: &str| {
            let (mut conditions, mut problems) = (Vec::new(), Vec::new());
            let table: ConditionTable = toml_edit::de::from_str(text).unwrap();
            table.read("a", &mut conditions, &mut problems);
            (conditions, problems.join(" "))
        };
        let of = |condition| (vec![condition], String::new());
        assert_eq!(read("has_scope = 'x'"), of(Condition::has_scope("x")));
        assert_eq!(read("lacks_scope = 'x'"), of(Condition::lacks_scope("x")));
        assert_eq!(read("principal_is = ['ada']"), of(Condition::principal_is(["ada"])));
        assert_eq!(read("claim = 'a'\none_of = ['b']"), of(Condition::claim_is("a", ["b"])));
        assert!(read("claim = 'a'").1.contains("tests nothing"));
        assert!(read("present = true").1.contains("add `parameter` or `claim`"));
        assert!(
            read("claim = 'a'\nparameter = 'b'\npresent = true")
                .1
                .contains("both `parameter` and `claim`")
        );
    }
}
