//! Tests types and states that prevent an adapter from starting.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
struct Place {
    /// The row.
    row: u8,
}

/// A plan with types that JSON does not carry.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Plan {
    /// The names by place.
    #[serde(default)]
    names: HashMap<Place, String>,
}

/// An account.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Account {
    /// The balances.
    balances: Vec<Option<u128>>,
    /// The time limit.
    limit: Duration,
}

/// Read a plan.
#[operation(category = "READ")]
fn get_plan(
    /// The plan.
    plan: Option<Plan>,
) {
    let _ = plan;
}

/// Read pairs.
#[operation(category = "READ")]
fn get_pairs(
    /// The pairs.
    pairs: BTreeMap<(u8, u8), bool>,
) {
    let _ = pairs;
}

/// Read an account.
#[operation(category = "READ")]
fn get_account(
    /// The account.
    account: Account,
    /// The time limit.
    limit: Option<Duration>,
) -> Account {
    let _ = limit;
    account
}

trait Clock: Send + Sync {}

struct Watch;

impl Clock for Watch {}

/// Tell the time.
#[operation(category = "READ")]
fn get_time(State(clock): State<Arc<dyn Clock>>) {
    let _ = clock;
}

/// An operation whose name is already taken.
struct Others;

#[operations]
impl Others {
    /// Read a plan.
    #[operation(category = "READ")]
    fn get_plan(&self) {}
}

#[track_caller]
fn assert_problems(builder: mcp_aql::AdapterBuilder, expected: &[&str]) {
    let error = builder.without_config().build().unwrap_err().to_string();
    let problems = error.lines().filter(|line| line.starts_with("  - ")).count();
    assert_eq!(problems, expected.len(), "{error}");
    for part in expected {
        assert!(error.contains(part), "{part} is not in {error}");
    }
}

fn builder() -> mcp_aql::AdapterBuilder {
    Adapter::builder("problems")
}

#[test]
fn keys_of_maps_are_text() {
    assert_problems(
        builder().operation(get_plan {}).operation(get_pairs {}),
        &[
            "operation `get_plan`: parameter `plan` has a map whose keys are not strings (struct Place)",
            "operation `get_pairs`: parameter `pairs` has a map whose keys are not strings (a tuple of size 2)",
        ],
    );
}

#[test]
fn types_that_json_does_not_carry_are_named() {
    // REQ-ENC-05
    assert_problems(
        builder().operation(get_account {}),
        &[
            "operation `get_account`: parameter `limit` contains a `std::time::Duration`",
            "type `Account`: field `balances` contains a `u128`",
            "type `Account`: field `limit` contains a `std::time::Duration`",
        ],
    );
}

#[test]
fn a_state_of_a_trait_needs_its_type() {
    let expected = "but the registered state is `alloc::sync::Arc<it::problems::Watch>`, a different type: \
         register it with `.state::<alloc::sync::Arc<dyn it::problems::Clock>>(…)`";
    assert_problems(builder().operation(get_time {}).state(Arc::new(Watch)), &[expected]);
    let state: Arc<dyn Clock> = Arc::new(Watch);
    builder().operation(get_time {}).state(state).without_config().build().unwrap();
}

#[test]
fn both_operations_of_one_name_are_named() {
    // REQ-CLS-06
    let (function, block) = ("`it::problems::get_plan`", "`it::problems::Others`");
    let expected = format!(
        "two operations are called `get_plan`, one from {block} and one from {function}: rename one"
    );
    let others = builder().operations(Others);
    let keys = "parameter `plan` has a map";
    assert_problems(others.operation(get_plan {}), &[&expected, keys]);
    let twice =
        format!("two operations are called `get_plan`, both from {block}: register it once");
    assert_problems(builder().operations(Others).operations(Others), &[&twice]);
}

/// A list whose name the macro does not know.
type Tags = Vec<String>;

/// A map whose name the macro does not know.
type Counts = BTreeMap<String, u8>;

/// A name.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Name(String);

/// A number or a word.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Amount {
    /// The number.
    Number(f64),
    /// The word.
    Word(String),
}

/// Read with constraints.
#[operation(category = "READ")]
fn get_constrained(
    /// The tags.
    #[param(max_length = 5)]
    tags: Tags,
    /// The name.
    #[param(minimum = 1)]
    name: Name,
    /// The amount.
    #[param(minimum = 1)]
    amount: Amount,
    /// The counts.
    #[param(min_items = 1)]
    counts: Counts,
    /// The balance.
    #[param(minimum = 1)]
    balance: mcp_aql::encoding::BigInteger<u64>,
) {
    let _ = (tags, name, amount, counts, balance);
}

#[test]
fn constraints_apply_to_all_values_of_a_parameter() {
    // REQ-RQ-11
    assert_problems(
        builder().operation(get_constrained {}),
        &[
            "parameter `tags` has the constraint `max_length`, which is for strings, but a value can have the type `array`",
            "parameter `name` has the constraint `minimum`, which is for numbers, but a value can have the type `string`",
            "parameter `amount` has the constraint `minimum`, which is for numbers, but a value can have the type `string`",
            "parameter `counts` has the constraint `min_items`, which is for lists, but a value can have the type `object`",
        ],
    );
}

/// A condition that contains itself.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Endless {
    /// The same again.
    Again(Box<Endless>),
    /// The end.
    Text(String),
}

/// Read without end.
#[operation(category = "READ")]
fn get_endless(
    /// The condition.
    condition: Endless,
) {
    let _ = condition;
}

#[test]
fn a_type_that_only_contains_itself_is_named() {
    assert_problems(
        builder().operation(get_endless {}),
        &["values of the type `Endless` would contain themselves without end"],
    );
}
