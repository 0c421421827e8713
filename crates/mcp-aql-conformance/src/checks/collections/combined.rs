//! Checks that conditions, order, pages and selected fields apply together.

use serde_json::{Map, Value, json};

use super::filter::{filter_fields, keys, may_match};
use super::sort::{is_ordered, runs, sortable};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::valid_with;
use crate::pages;
use crate::run::Run;

/// Maximum number of items from which conditions are chosen.
const SAMPLE_SIZE: usize = 100;
/// Page size of the two pages that must continue each other.
const SMALL_PAGE_SIZE: usize = 2;
/// Maximum number of filter keys to choose from, and of values for each key.
const MAX_CHOICES: usize = 8;
/// Maximum number of sort fields to try.
const MAX_SORT_FIELDS: usize = 3;

/// A filter key with a value that some items have.
#[derive(Debug, Clone, Copy)]
struct Condition<'v> {
    name: &'v str,
    value: &'v Value,
}

impl Condition<'_> {
    fn holds(&self, item: &Value) -> bool {
        pages::at(item, self.name) == Some(self.value)
    }

    /// Returns `true` if a filter may select the item. Adapters may use other string comparisons than equality.
    fn may_hold(&self, item: &Value) -> bool {
        may_match(pages::at(item, self.name), self.value)
    }
}

/// Builds a filter from these conditions, for example `{ "status": "open", "priority": 2 }`.
fn filter_of(conditions: &[Condition<'_>]) -> Value {
    let members = conditions.iter().map(|it| (it.name.to_owned(), it.value.clone()));
    Value::Object(members.collect())
}

/// A list operation and the first page of its items with all their fields.
struct Sample<'r> {
    run: &'r Run,
    operation: &'r Operation,
    /// Parameters of the call that returned the page.
    params: Map<String, Value>,
    items: Vec<Value>,
    cases: &'r Cases,
}

/// The result of a comparison. The error is the finding to report.
type CheckResult = Result<(), Box<Finding>>;

pub(super) async fn combined_controls(run: &Run, cases: &Cases) {
    let lists = run.adapter.reads().filter(|operation| {
        let has = |name: &str| operation.parameter(name).is_some();
        (has("filter")
            && (has("sort") || pages::is_paged(operation) || keys(run, operation).len() > 1))
            || (has("sort") && pages::is_paged(operation))
    });
    let lists = cases.some_or_not_applicable(
        lists,
        "no READ operation documents two of several filter keys, `sort` and pages",
    );
    for operation in lists {
        let Some(outcomes) = outcomes(run, operation, cases).await else { continue };
        // Compare again after a finding, because items may have been changed between the calls.
        let outcomes = match outcomes.iter().all(Result::is_ok) {
            true => Some(outcomes),
            false => self::outcomes(run, operation, cases).await,
        };
        for outcome in outcomes.into_iter().flatten() {
            match outcome {
                Ok(()) => cases.pass(),
                Err(finding) => cases.fail(*finding),
            }
        }
    }
}

/// Compares all combinations for one operation. Skips the case and returns `None` if that is not possible.
async fn outcomes(run: &Run, operation: &Operation, cases: &Cases) -> Option<Vec<CheckResult>> {
    let sample = Sample::read(run, operation, cases).await?;
    let conditions = sample.conditions();
    let mut outcomes = Vec::new();
    if let Some(pair) = sample.pair(&conditions) {
        outcomes.extend(sample.filtered_twice(pair).await);
    }
    let condition = sample.selective(&conditions);
    let mut is_sorted = false;
    if operation.parameter("sort").is_some() {
        let mut sorted = sample.sorted(condition).await;
        is_sorted = sorted.is_some();
        if sorted.is_none() && condition.is_some() {
            // The items that meet the condition may not differ in any sort field. Sort all items instead.
            sorted = sample.sorted(None).await;
        }
        outcomes.extend(sorted.into_iter().flatten());
    }
    if let Some(condition) = condition.filter(|_| !is_sorted) {
        let request = [("filter", filter_of(&[condition]))];
        let large = sample.call(&request).await?;
        outcomes.extend(sample.continued(&request, &large, None).await);
    }
    if outcomes.is_empty() {
        cases.skip_scarce(format!(
            "three items of `{}` that have one value in common and differ in another field",
            operation.name
        ));
        return None;
    }
    Some(outcomes)
}

impl<'r> Sample<'r> {
    async fn read(run: &'r Run, operation: &'r Operation, cases: &'r Cases) -> Option<Self> {
        let mut more = Vec::new();
        if operation.parameter("fields").is_some() {
            more.push(("fields", json!("full")));
        }
        if pages::is_paged(operation) {
            more.push(("first", json!(SAMPLE_SIZE)));
        }
        let params = valid_with(run, operation, more, cases)?;
        let mut sample = Self { run, operation, params, items: Vec::new(), cases };
        let page = sample.call(&[]).await?;
        let items = items_of(&page);
        sample.items.extend(items.into_iter().take(SAMPLE_SIZE));
        Some(sample)
    }

    /// Calls the operation with the parameters of the sample extended by `more`.
    async fn call(&self, more: &[(&str, Value)]) -> Option<Exchange> {
        let mut params = self.params.clone();
        params.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        self.run.call(self.operation, params, self.cases).await
    }

    /// Returns conditions on the documented filter keys. If the filter has no named type, its keys are only described in
    /// prose. Then the fields of the items are used.
    fn conditions(&self) -> Vec<Condition<'_>> {
        if self.operation.parameter("filter").is_none() {
            return Vec::new();
        }
        let mut names: Vec<&str> =
            keys(self.run, self.operation).into_iter().filter_map(|key| key.name()).collect();
        if names.is_empty() && filter_fields(self.run, self.operation).is_empty() {
            let first = self.items.first().and_then(Value::as_object).into_iter().flatten();
            names = first.map(|(name, _)| name.as_str()).collect();
        }
        let mut conditions: Vec<Condition<'_>> = Vec::new();
        for name in names.into_iter().take(MAX_CHOICES) {
            let values = self.items.iter().filter_map(|item| pages::at(item, name));
            let mut distinct: Vec<&Value> = Vec::new();
            for value in values {
                let is_plain = value.is_number()
                    || value.is_boolean()
                    || value.as_str().is_some_and(|text| !text.trim().is_empty());
                if is_plain && !distinct.contains(&value) && distinct.len() < MAX_CHOICES {
                    distinct.push(value);
                }
            }
            conditions.extend(distinct.into_iter().map(|value| Condition { name, value }));
        }
        conditions
    }

    /// Returns two conditions that one item meets together while other items meet only one of them. Prefers a pair in
    /// which each condition excludes some items.
    fn pair<'v>(&self, conditions: &[Condition<'v>]) -> Option<[Condition<'v>; 2]> {
        let excluded = |one: &Condition<'_>, other: &Condition<'_>| {
            self.items.iter().any(|item| one.holds(item) && !other.may_hold(item))
        };
        let pairs = conditions.iter().enumerate().flat_map(|(at, one)| {
            let others = conditions.iter().skip(at + 1).filter(|other| other.name != one.name);
            others.map(move |other| [*one, *other])
        });
        let rated = pairs.filter_map(|pair| {
            let [one, other] = &pair;
            let is_met = self.items.iter().any(|item| one.holds(item) && other.holds(item));
            let value = u8::from(excluded(one, other)) + u8::from(excluded(other, one));
            (is_met && value > 0).then_some((value, pair))
        });
        // On a tie, the earlier pair wins.
        rated.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, pair)| pair)
    }

    /// Returns the condition met by the fewest items, but by more than one small page of them.
    fn selective<'v>(&self, conditions: &[Condition<'v>]) -> Option<Condition<'v>> {
        let rated = conditions.iter().filter_map(|condition| {
            let count = self.items.iter().filter(|item| condition.holds(item)).count();
            (count > SMALL_PAGE_SIZE).then_some((count, *condition))
        });
        rated.min_by_key(|(count, _)| *count).map(|(_, condition)| condition)
    }

    /// Returns `true` if a reply has exactly the items that meet all conditions.
    fn has_selected(&self, reply: &Exchange, conditions: &[Condition<'_>]) -> bool {
        let meets = |item: &&Value| conditions.iter().all(|condition| condition.holds(item));
        let found = items_of(reply);
        let expected = self.items.iter().filter(meets).count();
        found.iter().all(|item| conditions.iter().all(|condition| condition.may_hold(item)))
            && (is_part(reply) || found.iter().filter(meets).count() >= expected)
    }

    /// Filters by two conditions at once.
    async fn filtered_twice(&self, pair: [Condition<'_>; 2]) -> Option<CheckResult> {
        let reply = self.call(&[("filter", filter_of(&pair))]).await?;
        if reply.failure().is_some() && keys(self.run, self.operation).is_empty() {
            // The keys of a filter without a named type are unknown, so a rejection is acceptable.
            return None;
        }
        let [one, other] = pair;
        Some(outcome(self.has_selected(&reply, &pair), || {
            Finding::of(
                &reply,
                format!("{}: filter.{} with filter.{}", self.operation.name, one.name, other.name),
            )
            .expected(format!("only items that meet both conditions: {}", filter_of(&pair)))
        }))
    }

    /// Sorts the items that meet a condition in both orders and reads them in pages.
    async fn sorted(&self, condition: Option<Condition<'_>>) -> Option<Vec<CheckResult>> {
        let met: Vec<_> = self
            .items
            .iter()
            .filter(|item| condition.is_none_or(|condition| condition.holds(item)))
            .cloned()
            .collect();
        let conditions: Vec<_> = condition.into_iter().collect();
        for field in self.sort_fields(&met, condition) {
            let request = |order: &str| {
                let sort = json!({ "field": field, "order": order });
                let filter = (!conditions.is_empty()).then(|| filter_of(&conditions));
                let filter = filter.map(|filter| ("filter", filter));
                [("sort", sort)].into_iter().chain(filter).collect::<Vec<_>>()
            };
            let up = self.call(&request("asc")).await?;
            if up.failure().is_some() {
                // Adapters may reject some fields as sort fields.
                continue;
            }
            let down = self.call(&request("desc")).await?;
            let is_right = is_sorted(&items_of(&up), &items_of(&down), &field, is_part(&up))
                && [&up, &down].iter().all(|reply| self.has_selected(reply, &conditions));
            let mut outcomes = Vec::new();
            if let Some(condition) = condition {
                outcomes.push(outcome(is_right, || {
                    Finding::of(
                        &down,
                        format!(
                            "{}: filter.{} with sort by {field}",
                            self.operation.name, condition.name
                        ),
                    )
                    .expected(format!(
                        "the items that {} selects, ordered by `{field}`, and the same ones in \
                             reverse order with `asc`",
                        filter_of(&conditions)
                    ))
                    .fix("apply both `filter` and `sort` if a request has both")
                }));
            }
            // A wrong order has been reported already, so do not test pages of it.
            if is_right {
                outcomes.extend(self.continued(&request("desc"), &down, Some(&field)).await);
            }
            return Some(outcomes);
        }
        None
    }

    /// Returns the fields to sort by, documented ones first. Fields with equal values are left out.
    fn sort_fields(&self, items: &[Value], condition: Option<Condition<'_>>) -> Vec<String> {
        let listed = sortable(self.operation);
        let first = items.first().and_then(Value::as_object).into_iter().flatten();
        let mut names: Vec<&str> = first.map(|(name, _)| name.as_str()).collect();
        names.retain(|name| {
            condition.is_none_or(|condition| condition.name != *name) && runs(items, name).len() > 1
        });
        names.sort_by_key(|name| !listed.contains(name));
        names.into_iter().take(MAX_SORT_FIELDS).map(str::to_owned).collect()
    }

    /// Reads two small pages of a request, the second by the cursor of the first. Together they must be the beginning
    /// of the large page that the same request returned.
    async fn continued(
        &self,
        request: &[(&str, Value)],
        large: &Exchange,
        sort_field: Option<&str>,
    ) -> Option<CheckResult> {
        let whole = items_of(large);
        if !pages::is_paged(self.operation) || whole.len() <= SMALL_PAGE_SIZE {
            return None;
        }
        let fields = self.selected_fields(whole.first()?, sort_field);
        let mut small = request.to_vec();
        small.push(("first", json!(SMALL_PAGE_SIZE)));
        small.extend(fields.as_ref().map(|fields| ("fields", json!(fields))));
        let first = self.call(&small).await?;
        let cursor = first.data().and_then(|data| pages::cursor(data, "endCursor"));
        // The check `pagination.form` reports missing cursors.
        small.push(("after", json!(cursor?)));
        let second = self.call(&small).await?;
        let expected: Vec<_> = whole
            .into_iter()
            .take(2 * SMALL_PAGE_SIZE)
            .map(|item| projected(item, fields.as_deref()))
            .collect();
        // The protocol adds members such as `_version`. They are not fields of the item.
        let found = [&first, &second].into_iter().flat_map(items_of);
        let found: Vec<_> = found.map(|item| without_own_members(item, fields.is_some())).collect();
        let names: Vec<_> = request.iter().map(|(name, _)| *name).collect();
        let names: Vec<_> = names.into_iter().chain(fields.as_ref().map(|_| "fields")).collect();
        Some(outcome(found == expected, || {
            let subject = format!("{}: `after` with `{}`", self.operation.name, names.join("`, `"));
            let fix = "apply the filter, the order and the selected fields to every page, not only \
                       to the first";
            Finding::of(&second, subject).fix(fix).expected(format!(
                "the items after the cursor, as in the page of {SAMPLE_SIZE} items of the same \
                 request; the first {} of them are {}",
                expected.len(),
                Value::Array(expected.clone())
            ))
        }))
    }

    /// Returns the fields to select: those that identify the item, and the sort field.
    fn selected_fields(&self, item: &Value, sort_field: Option<&str>) -> Option<Vec<String>> {
        self.operation.parameter("fields")?;
        let members = item.as_object()?;
        let plain = members.iter().filter(|(name, value)| {
            super::is_field(name)
                && !name.starts_with('_')
                && !value.is_array()
                && !value.is_object()
        });
        let mut names: Vec<_> = plain.map(|(name, _)| name.as_str()).collect();
        names.sort_by_key(|name| (Some(*name) != sort_field, !crate::nouns::is_identifier(name)));
        let names: Vec<_> = names.into_iter().take(2).map(str::to_owned).collect();
        (names.len() == 2 && members.len() > 2).then_some(names)
    }
}

/// Returns the finding as the error if the condition does not hold.
fn outcome(holds: bool, finding: impl FnOnce() -> Finding) -> CheckResult {
    if holds { Ok(()) } else { Err(Box::new(finding())) }
}

/// Returns the items in a reply.
fn items_of(reply: &Exchange) -> Vec<Value> {
    reply.data().and_then(pages::items).into_iter().flatten().cloned().collect()
}

/// Returns `true` if the list has more items than those in the reply.
fn is_part(reply: &Exchange) -> bool {
    reply.data().is_some_and(|data| pages::has(data, "hasNextPage"))
}

/// Returns `true` if `up` is in order and `down` in reverse order. Pages of a longer list may have different items.
fn is_sorted(up: &[Value], down: &[Value], field: &str, are_parts: bool) -> bool {
    let (up, mut down) = (runs(up, field), runs(down, field));
    let differs = up.len() < 2 || up != down;
    down.reverse();
    is_ordered(&up) && is_ordered(&down) && differs && (are_parts || up == down)
}

/// Removes the members added by the protocol from an item, if fields of it were selected.
fn without_own_members(mut item: Value, is_selected: bool) -> Value {
    if let Value::Object(members) = &mut item
        && is_selected
    {
        members.retain(|name, _| !name.starts_with('_'));
    }
    item
}

/// Returns an item with only these fields, or the whole item without a selection.
fn projected(item: Value, fields: Option<&[String]>) -> Value {
    match (item, fields) {
        (Value::Object(mut members), Some(fields)) => {
            members.retain(|name, _| fields.contains(name));
            Value::Object(members)
        }
        (item, _) => item,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_both_orders() {
        let items = |values: &[i64]| values.iter().map(|at| json!({ "n": at })).collect::<Vec<_>>();
        assert!(is_sorted(&items(&[1, 1, 2]), &items(&[2, 1, 1]), "n", false));
        assert!(!is_sorted(&items(&[1, 2]), &items(&[1, 2]), "n", false));
        assert!(!is_sorted(&items(&[2, 1, 3]), &items(&[3, 1, 2]), "n", false));
        // Each page is one end of a longer list.
        assert!(is_sorted(&items(&[1, 2]), &items(&[9, 8]), "n", true));
        assert!(!is_sorted(&items(&[1, 2]), &items(&[9, 8]), "n", false));
    }
}
