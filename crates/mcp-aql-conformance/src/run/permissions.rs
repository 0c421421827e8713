//! Decides which calls a run may make.
//!
//! A call is made if its category is allowed, and if it changes only data that the run created or that the configuration
//! names. This also holds for calls that the adapter should reject, because a wrong adapter may accept them.

use serde_json::Value;

use super::Run;
use crate::adapter::gaps;
use crate::adapter::{Operation, Parameter, tool_parts};
use crate::call::batch_items;
use crate::cases::{Cases, Skip};
use crate::category::Category;
use crate::nouns::is_identifier;
use crate::resources::parameter;
use crate::shape::{Shape, hits_nothing};

/// Parameters that do not select the affected data.
const BESIDE: [&str; 4] = ["input", "confirmation_token", "dry_run", "if_match"];

/// Reduces a name to its letters and digits in lower case: `delete_task` and `deleteTask` are equal afterwards.
fn loose(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

impl Run {
    /// Returns `true` if operations of this category may run.
    pub(crate) fn may(&self, category: Category) -> bool {
        self.settings.allows(category)
    }

    /// Returns the reason why this operation must not run, if any.
    pub(crate) fn forbids(&self, operation: &Operation) -> Option<Skip> {
        if let Some(left_out) = self.left_out(&operation.name) {
            return Some(Skip::LeftOut(left_out));
        }
        if let Some(gap) = &operation.gap {
            return Some(gap.skip());
        }
        if !operation.is_exercised {
            return Some(self.not_sampled());
        }
        if operation.is_read() {
            return None;
        }
        if let Some(gap) = gaps::of_safety(operation)
            && !self.may(Category::Execute)
        {
            return Some(gap.skip());
        }
        if let Some(category) = operation.changing_categories().find(|it| !self.may(*it)) {
            return Some(Skip::NotAllowed(category));
        }
        match operation.category {
            Some(Category::Read) => self.forbids_doubtful_read(operation),
            // An operation without a known category is treated as the most dangerous one.
            category => {
                let category = category.unwrap_or(Category::Execute);
                (!self.may(category)).then_some(Skip::NotAllowed(category))
            }
        }
    }

    /// Returns the reason why a READ operation that may change data must not run. The operation is treated like an
    /// EXECUTE operation.
    fn forbids_doubtful_read(&self, operation: &Operation) -> Option<Skip> {
        if self.may(Category::Execute) {
            return None;
        }
        let name = &operation.name;
        Some(match operation.lacks_reading_name() {
            true => Skip::NotReading(name.clone()),
            false => Skip::MayChange(format!(
                "`{name}` has the category READ, but another stated category, its permissions, its danger \
                 level or its lifecycle say otherwise; correct them if it only reads"
            )),
        })
    }

    /// Returns `None` and skips the case if this operation must not run.
    pub(crate) fn permits(&self, operation: &Operation, cases: &Cases) -> Option<()> {
        cases.ok_or_skip(self.forbids(operation).map_or(Ok(()), Err))
    }

    pub(super) fn left_out(&self, operation: &str) -> Option<String> {
        let named =
            |left_out: &&crate::config::Exclusion| left_out.operation.as_deref() == Some(operation);
        self.settings.file.skip.iter().find(named).map(|left_out| left_out.reason.clone())
    }

    /// Returns the reason to skip an operation outside the sample.
    pub(crate) fn not_sampled(&self) -> Skip {
        Skip::NotSampled(self.adapter.operations.len())
    }

    /// Returns the reason not to make a call that would change data of others.
    ///
    /// The call is only made if the run created the affected items or the configuration names them. A call with unknown
    /// effects is not made.
    pub(crate) fn ownership_skip_reason(
        &self,
        operation: &Operation,
        arguments: &Value,
    ) -> Option<Skip> {
        if let Some(items) = batch_items(arguments) {
            return items.iter().find_map(|item| {
                let name = item.get("operation").and_then(Value::as_str).unwrap_or_default();
                self.item_skip_reason(self.adapter.operation(name)?, item)
            });
        }
        self.item_skip_reason(operation, arguments)
    }

    fn item_skip_reason(&self, operation: &Operation, arguments: &Value) -> Option<Skip> {
        if operation.is_read() || operation.category == Some(Category::Create) {
            return None;
        }
        // An operation without a consistent category is treated as the most dangerous one.
        let is_execute = operation.category == Some(Category::Execute);
        let named = self.settings.file.params.get(&operation.name);
        let is_named = |name: &str, value: &Value| {
            named.is_some_and(|named| named.get(name).is_some_and(|named| named == value))
        };
        let mut which = self.selectors(operation);
        let mut is_aimed = false;
        let are_ours = which.all(|which| {
            is_aimed = true;
            let Some(value) = parameter(arguments, &which.name) else { return true };
            is_named(&which.name, value)
                || self.resources().is_ours(&operation.name, &which.name, value)
                || (is_execute && self.is_generated(operation, which, value))
                || self.is_missing_id(operation, &which.name, value)
        });
        // Allowing EXECUTE operations means allowing them to run. Others need an identified item or exactly the
        // configured parameters.
        is_aimed |= is_execute && (operation.required().next().is_some() || named.is_some());
        is_aimed |= self.is_named_whole(operation)
            && named.is_some_and(|named| {
                // Another parameter might extend the call to more items.
                let mut others = operation.parameters.iter().filter(|other| {
                    !named.contains_key(&other.name)
                        && !BESIDE.contains(&other.name.as_str())
                        && parameter(arguments, &other.name).is_some()
                });
                others.next().is_none()
                    && named.iter().all(|(name, value)| parameter(arguments, name) == Some(value))
            });
        if is_aimed && are_ours {
            None
        } else if operation.lacks_reading_name() && named.is_none() {
            Some(Skip::NotReading(operation.name.clone()))
        } else if self.is_named_whole(operation) {
            Some(Skip::Unsafe(operation.name.clone()))
        } else {
            Some(Skip::NotOurs(operation.name.clone()))
        }
    }

    /// Returns the required parameters that identify the items an operation acts on.
    pub(super) fn selectors<'r>(
        &'r self,
        operation: &'r Operation,
    ) -> impl Iterator<Item = &'r Parameter> {
        operation.required().filter(|parameter| self.is_selector(operation, parameter))
    }

    fn is_selector(&self, operation: &Operation, parameter: &Parameter) -> bool {
        is_identifier(&parameter.name)
            || self.resources().meant(&operation.name, &parameter.name).next().is_some()
    }

    /// Returns `true` if the configuration has all required parameters of an operation that changes data.
    ///
    /// This applies only to operations whose parameters identify no known item.
    pub(crate) fn is_named_whole(&self, operation: &Operation) -> bool {
        let acts = !operation.is_read() && operation.category != Some(Category::Create);
        let named = self.settings.file.params.get(&operation.name).filter(|_| acts);
        named.is_some_and(|named| {
            operation.required().all(|required| {
                !self.is_selector(operation, required)
                    && (required.name == "input" || named.contains_key(&required.name))
            })
        })
    }

    /// Returns `true` if only the run can have chosen this identifier for an execution.
    ///
    /// Its absence from all results is not sufficient, because lists may be incomplete.
    fn is_generated(&self, operation: &Operation, which: &Parameter, value: &Value) -> bool {
        if self.resources().has_begun(&which.name, value) {
            return true;
        }
        let is_own = value.as_str().is_some_and(|text| text.contains("conformance"))
            || self.missing_ids(&operation.name, &which.name).contains(value);
        let is_theirs = self.harvested(&which.name).contains(value)
            || operation.examples_of(&which.name).any(|shown| shown == value)
            || self.settings.file.values.get(&which.name) == Some(value)
            || which.member("default") == Some(value);
        if is_own && !is_theirs {
            self.resources().begin(&which.name, value);
        }
        is_own && !is_theirs
    }

    /// Returns the reason not to make a call that should fail.
    ///
    /// An adapter that does not reject the call could run an excluded, forbidden or foreign operation. Names are
    /// compared loosely, because a careless adapter may do so, too.
    pub(super) fn could_harm(&self, tool: &str, arguments: &Value) -> Option<Skip> {
        for item in batch_items(arguments).into_iter().flatten().chain([arguments]) {
            let name = item.get("operation").and_then(Value::as_str).map(loose).unwrap_or_default();
            let named = |operation: &&Operation| loose(&operation.name) == name;
            let Some(operation) = self.adapter.operations.iter().find(named) else { continue };
            if let Some(left_out) = self.left_out(&operation.name) {
                return Some(Skip::LeftOut(left_out));
            }
            if operation.is_read() {
                continue;
            }
            if !operation.is_exercised {
                return Some(self.not_sampled());
            }
            let lacks = self.lacks(operation, item);
            // Without permission, the adapter must have two independent reasons to reject the call.
            if let Some(why) = self.forbids(operation)
                && !(lacks && self.is_elsewhere(tool, operation))
            {
                return Some(why);
            }
            let aimed = self.aimed(operation, item);
            let why = self.ownership_skip_reason(operation, &aimed);
            if why.is_some() && !lacks && !self.lacks(operation, &aimed) {
                return why;
            }
        }
        None
    }

    /// Returns `true` if a tool belongs to another endpoint than the operation.
    pub(super) fn is_elsewhere(&self, tool: &str, operation: &Operation) -> bool {
        let is_endpoint = self.adapter.endpoints.iter().any(|endpoint| endpoint.name == tool);
        let family = tool_parts(tool).and_then(|(_, family)| family);
        is_endpoint
            && tool != operation.tool
            && family.is_some_and(|family| {
                let own = operation.category.map(Category::family);
                family != operation.endpoint && Some(family) != own
            })
    }

    /// Returns an item of a request without the values that identify nothing.
    fn aimed(&self, operation: &Operation, item: &Value) -> Value {
        let mut aimed = item.clone();
        for parameter in operation.required() {
            let shape = Shape::of(&self.adapter, parameter);
            let misses = |value: &Value| {
                let is_ours = value.as_str().is_some_and(|text| text.contains("conformance"));
                value.is_null()
                    || (hits_nothing(value)
                        && (is_ours || !shape.accepts(value))
                        && !self.harvested(&parameter.name).contains(value))
            };
            let nested = aimed.get_mut("params").and_then(Value::as_object_mut);
            if let Some(params) = nested
                && params.get(&parameter.name).is_some_and(misses)
            {
                params.remove(&parameter.name);
            }
            if let Some(beside) = aimed.as_object_mut()
                && beside.get(&parameter.name).is_some_and(misses)
            {
                beside.remove(&parameter.name);
            }
        }
        aimed
    }

    /// Returns `true` if all required parameters that select the affected data are missing.
    fn lacks(&self, operation: &Operation, item: &Value) -> bool {
        let given = |name: &str| {
            item.get(name).is_some()
                || item.get("params").is_some_and(|params| params.get(name).is_some())
        };
        self.selects_data(operation)
            && !operation.required().any(|parameter| given(&parameter.name))
    }

    /// Returns `true` if required parameters select the affected data. Without such parameters, an operation may affect
    /// all data.
    pub(super) fn selects_data(&self, operation: &Operation) -> bool {
        // Values from the configuration may be arbitrary.
        let is_named = self.is_named_whole(operation) && self.forbids(operation).is_none();
        let mut required = operation.required();
        match operation.category {
            Some(Category::Create) => required.next().is_some(),
            _ => required.any(|parameter| {
                is_identifier(&parameter.name) || (is_named && parameter.kind == "string")
            }),
        }
    }
}
