//! Protects data that do not belong to the run.

use serde_json::Value;

use super::Run;
use crate::adapter::{Operation, Parameter};
use crate::cases::Skip;
use crate::category::Category;
use crate::nouns::is_identifier;
use crate::resources::parameter;

/// Parameters that do not select the affected data.
const BESIDE: [&str; 4] = ["input", "confirmation_token", "dry_run", "if_match"];

impl Run {
    /// Returns the reason not to make a call that would change data of others.
    ///
    /// The call is only made if the run created the affected items or the configuration names them. A call with unknown
    /// effects is not made.
    pub(crate) fn ownership_skip_reason(
        &self,
        operation: &Operation,
        arguments: &Value,
    ) -> Option<Skip> {
        if let Some(items) = arguments.get("operations").and_then(Value::as_array) {
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
}
