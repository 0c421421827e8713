//! Plans the use of each operation before any of them is called.

use super::{Run, arguments};
use crate::adapter::Operation;
use crate::cases::Skip;
use crate::category::Category;
use crate::resources::RESERVED;

/// The planned use of an operation, with the reason.
#[derive(Debug)]
pub(crate) enum PlannedUse {
    /// The run may call the operation with valid parameters.
    Called(String),
    /// The run only sends the operation invalid requests.
    OnlyRejected(Skip),
    /// The run never sends the operation a request.
    NotCalled(Skip),
}

/// The items that one CREATE operation may create in one mode.
#[derive(Debug)]
pub(crate) struct PlannedItems {
    /// Maximum number of items. If the run removes them, this is the maximum at the same time, and otherwise in total.
    pub(crate) max: usize,
    /// If `true`, the run may remove the items.
    pub(crate) is_removable: bool,
}

impl Run {
    /// Returns the use that the run would make of an operation.
    pub(crate) fn planned_use(&self, operation: &Operation) -> PlannedUse {
        if operation.name == "introspect" {
            return PlannedUse::Called("the run uses it to read the adapter".to_owned());
        }
        match self.call_obstacle(operation) {
            None => PlannedUse::Called(self.reason_to_call(operation)),
            Some(why) if self.may_be_refused(operation) => PlannedUse::OnlyRejected(why),
            Some(why) => PlannedUse::NotCalled(why),
        }
    }

    /// Returns the items that this operation may create, if the run may call it for that.
    pub(crate) fn planned_items(&self, operation: &Operation) -> Option<PlannedItems> {
        if operation.category != Some(Category::Create)
            || RESERVED.contains(&operation.name.as_str())
            || self.call_obstacle(operation).is_some()
        {
            return None;
        }
        let (max_created, max_irreversible) =
            (self.settings.max_created, self.settings.max_irreversible);
        let is_removable = self.can_remove_from(operation);
        let has_resource =
            self.resources().kinds().iter().any(|kind| kind.create == operation.name);
        Some(PlannedItems {
            max: match (is_removable, has_resource) {
                (true, _) => max_created,
                (false, true) => max_irreversible.min(max_created),
                (false, false) => max_irreversible,
            },
            is_removable,
        })
    }

    /// Returns the reason why the run never calls an operation with valid parameters, if any.
    fn call_obstacle(&self, operation: &Operation) -> Option<Skip> {
        let configured = self.settings.file.params.get(&operation.name).cloned();
        let arguments = arguments(&operation.name, configured.unwrap_or_default());
        self.forbids(operation)
            .or_else(|| self.ownership_skip_reason(operation, &arguments))
            .or_else(|| self.lacks_items(operation))
            .or_else(|| self.exceeds_caps(operation))
    }

    /// Returns the reason if the run has no items for an operation to change.
    ///
    /// The run needs to create them or find them in the configuration. EXECUTE operations are exempt, because they are
    /// called with generated identifiers.
    fn lacks_items(&self, operation: &Operation) -> Option<Skip> {
        if operation.is_read()
            || matches!(operation.category, Some(Category::Create | Category::Execute))
        {
            return None;
        }
        let configured = self.settings.file.params.get(&operation.name);
        let mut selectors = self.selectors(operation);
        let has_items = selectors.all(|selector| {
            let is_configured =
                configured.is_some_and(|params| params.contains_key(&selector.name));
            let mut kinds = self.resources().meant(&operation.name, &selector.name);
            is_configured
                || kinds.any(|kind| {
                    let create = self.adapter.operation(&kind.create);
                    create.is_some_and(|create| self.call_obstacle(create).is_none())
                })
        });
        (!has_items).then(|| Skip::NotOurs(operation.name.clone()))
    }

    /// Returns the reason if the limits of the run do not allow a single call of an operation.
    fn exceeds_caps(&self, operation: &Operation) -> Option<Skip> {
        if operation.category == Some(Category::Create)
            && let Err(why) = self.may_create_more(operation, 1)
        {
            return Some(why);
        }
        let is_limited = self.is_irreversible(operation);
        self.is_below_limit(&operation.name, 1).err().filter(|_| is_limited)
    }

    /// Returns `true` if the run may send rejected requests to an operation that it does not otherwise call.
    fn may_be_refused(&self, operation: &Operation) -> bool {
        let is_exhausted = self.exceeds_caps(operation).is_some();
        if self.left_out(&operation.name).is_some() || !operation.is_exercised || is_exhausted {
            return false;
        }
        if operation.is_read() {
            return true;
        }
        let has_other_tool =
            || self.adapter.endpoints.iter().any(|tool| self.is_elsewhere(&tool.name, operation));
        let selects_data = self.selects_data(operation);
        match self.forbids(operation) {
            // Without permission, the adapter must have two independent reasons to reject the call.
            Some(_) => selects_data && has_other_tool(),
            None => {
                let bare = arguments(&operation.name, serde_json::Map::new());
                selects_data || self.ownership_skip_reason(operation, &bare).is_none()
            }
        }
    }

    /// Describes why the run may call an operation, and on which items.
    fn reason_to_call(&self, operation: &Operation) -> String {
        let name = &operation.name;
        if operation.is_read() {
            return "it only reads".to_owned();
        }
        let allowed = match operation.category {
            Some(Category::Read) | None => Category::Execute,
            Some(category) => category,
        };
        let mut reason = format!("{allowed} operations are allowed");
        if self.is_named_whole(operation) {
            reason.push_str(&format!(", with the values of [params.{name}] only"));
        } else if self.settings.file.params.contains_key(name) {
            reason.push_str(&format!(", also with the values of [params.{name}]"));
        } else if matches!(operation.category, Some(Category::Update | Category::Delete)) {
            reason.push_str(", on items that the run created");
        }
        if self.is_irreversible(operation) {
            let max = self.settings.max_irreversible;
            reason.push_str(&format!(
                "; at most {max} calls succeed, because the run cannot undo their effects"
            ));
        }
        reason
    }
}
