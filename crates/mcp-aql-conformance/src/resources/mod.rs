//! The resources of an adapter: the operations that create, read, list, change and remove their items.
//!
//! Resources are inferred from names, parameters and results, or come from the configuration.

mod inference;
mod ledger;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use serde_json::Value;
use tokio::sync::OnceCell;

use self::inference::{MAKES, is_about, kind, resource_name};
use crate::adapter::{Adapter, Operation, STANDARD_PARAMETERS};
use crate::cases::Skip;
use crate::category::Category;
use crate::config::File;
use crate::nouns::is_noun_of;

pub(crate) use ledger::{LedgerEntry, parameter};

/// Parameters that control a CREATE call instead of describing the item.
const CONTROLS: [&str; 7] =
    ["dry_run", "preset", "order", "page", "page_size", "if_match", "confirmation_token"];

/// Operations of the safety loop. They act on no resource.
pub(crate) const RESERVED: &[&str] = &["record_execution_step", "verify_challenge"];

/// Parameter with the identifier of an execution.
pub(crate) const EXECUTION: &str = "execution_id";

/// A resource of an adapter.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// Name of the resource, for example `task`.
    pub(crate) name: String,
    /// Name of the parameter with the identifier.
    pub(crate) id: String,
    /// Name of the CREATE operation.
    pub(crate) create: String,
    read: Option<String>,
    list: Option<String>,
    update: Option<String>,
    delete: Option<String>,
    /// Further names of the item in results, derived from the name of its type.
    shown_as: Vec<String>,
    /// Configured read-only fields.
    pub(crate) read_only: Vec<String>,
    /// Configured append-only lists.
    pub(crate) append_only: Vec<String>,
}

/// The resources of an adapter, and the items that the run created.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    kinds: Vec<Resource>,
    /// Descriptions of the invalid parts of the configuration.
    wrong: Vec<String>,
    made: Mutex<Vec<ledger::LedgerEntry>>,
    /// CREATE operations of other resources, with the number of created items.
    others: Mutex<BTreeMap<String, usize>>,
    /// Number of successful calls of each operation.
    effects: Mutex<BTreeMap<String, usize>>,
    /// CREATE operations that did not reply, with the number of calls.
    unanswered: Mutex<BTreeMap<String, usize>>,
    /// Identifiers in results by resource, with the clock value at which each was first seen.
    met: Mutex<BTreeMap<String, BTreeMap<String, u64>>>,
    /// Approximate memory of these identifiers, in bytes.
    met_bytes: AtomicUsize,
    /// Number of calls so far. It serves as a clock to separate existing items from created ones.
    clock: AtomicU64,
    /// EXECUTE operations that start executions.
    starts: BTreeSet<String>,
    /// Unique arguments of EXECUTE operations: the name of the parameter and the value.
    begun: Mutex<BTreeSet<(String, String)>>,
    /// Executions started by each call.
    started: Mutex<BTreeMap<String, BTreeSet<String>>>,
    /// Evidence by resource that created items are new.
    proofs: Mutex<BTreeMap<String, Proof>>,
    /// Counter for unique strings.
    numbers: AtomicUsize,
    /// Operations that require confirmation, determined on demand.
    pub(crate) gated: OnceCell<GatedOperations>,
}

/// The operations that require confirmation.
#[derive(Debug, Default)]
pub(crate) struct GatedOperations {
    /// The operations found so far.
    pub(crate) found: Vec<GatedOperation>,
    /// Reasons why the list may be incomplete.
    pub(crate) untried: Vec<Skip>,
}

/// An operation on items that requires confirmation.
#[derive(Debug, Clone)]
pub(crate) struct GatedOperation {
    /// Name of the resource.
    pub(crate) resource: String,
    /// Name of the operation.
    pub(crate) operation: String,
}

/// Evidence that a CREATE operation did not return an existing item.
#[derive(Debug)]
pub(crate) enum Proof {
    /// All existing items had been listed before.
    Listed,
    /// Two equal calls with parameters of these names create two items, or the second one fails.
    Anew(BTreeSet<String>),
}

/// The effect of an operation on items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Create,
    Read,
    List,
    Update,
    Delete,
}

impl Role {
    /// Returns the category of operations with this role.
    pub(crate) const fn category(self) -> Category {
        match self {
            Self::Create => Category::Create,
            Self::Read | Self::List => Category::Read,
            Self::Update => Category::Update,
            Self::Delete => Category::Delete,
        }
    }
}

impl Resources {
    /// Infers the resources from the operations. The configuration takes precedence.
    pub(crate) fn of(adapter: &Adapter, file: &File) -> Self {
        let mut wrong = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for operation in adapter.of(Category::Create) {
            let Some((verb, noun)) = operation.name.split_once('_') else { continue };
            let name = resource_name(adapter, noun);
            if MAKES.contains(&verb) && !names.contains(&name) {
                names.push(name);
            }
        }
        let configured = file.resources.keys().filter(|name| !names.contains(name));
        let names: Vec<_> = configured.cloned().chain(names.iter().cloned()).collect();
        let kinds = names.into_iter().filter_map(|name| kind(adapter, file, name, &mut wrong));
        let is_exercised = |kind: &Resource| {
            adapter.operation(&kind.create).is_some_and(|create| create.is_exercised)
        };
        let kinds: Vec<Resource> = kinds.filter(is_exercised).collect();
        let others = adapter.of(Category::Create).map(|operation| &operation.name).filter(|name| {
            !RESERVED.contains(&name.as_str()) && kinds.iter().all(|kind| kind.create != **name)
        });
        let others = Mutex::new(others.map(|name| (name.clone(), 0)).collect());
        let starts = adapter
            .of(Category::Execute)
            .filter(|operation| operation.parameter(EXECUTION).is_none())
            .map(|operation| operation.name.clone())
            .collect();
        Self { kinds, wrong, others, starts, ..Self::default() }
    }

    /// Returns the resource that an operation acts on, by its role or its name.
    pub(crate) fn of_operation(&self, operation: &str) -> Option<&Resource> {
        let with_role = self.kinds.iter().find(|kind| kind.has(operation));
        with_role.or_else(|| self.kinds.iter().find(|kind| is_about(operation, &kind.name)))
    }

    /// Returns all resources whose operations the run exercises.
    pub(crate) fn kinds(&self) -> &[Resource] {
        &self.kinds
    }

    /// Returns a resource by its name.
    pub(crate) fn named(&self, name: &str) -> Option<&Resource> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    /// Returns the operations that change, remove or execute an item and require only its identifier.
    pub(crate) fn on_one<'a>(
        &'a self,
        adapter: &'a Adapter,
        resource: &'a Resource,
    ) -> impl Iterator<Item = &'a Operation> {
        adapter.operations.iter().filter(|operation| {
            let is_bare = operation.required().all(|parameter| parameter.name == resource.id);
            let mut others = self.kinds.iter().filter(|kind| kind.name != resource.name);
            resource.acts(&operation.name)
                || (matches!(
                    operation.category,
                    Some(Category::Update | Category::Delete | Category::Execute)
                ) && is_bare
                    && operation.required().next().is_some()
                    && resource.is_meant(&operation.name, &resource.id)
                    && !others.any(|other| other.acts(&operation.name)))
        })
    }

    /// Returns descriptions of the invalid parts of the configuration.
    pub(crate) fn wrong(&self) -> &[String] {
        &self.wrong
    }
}

/// Returns `true` if a parameter controls a call instead of describing an item.
pub(crate) fn is_control(name: &str) -> bool {
    name.starts_with('_') || STANDARD_PARAMETERS.contains(&name) || CONTROLS.contains(&name)
}

impl Resource {
    /// Returns the operation with this role.
    pub(crate) fn operation<'a>(&self, adapter: &'a Adapter, role: Role) -> Option<&'a Operation> {
        let name = match role {
            Role::Create => Some(&self.create),
            Role::Read => self.read.as_ref(),
            Role::List => self.list.as_ref(),
            Role::Update => self.update.as_ref(),
            Role::Delete => self.delete.as_ref(),
        };
        adapter.operation(name?)
    }

    /// Returns `true` if this operation has a role for the resource.
    fn has(&self, operation: &str) -> bool {
        let reads = [Some(&self.create), self.read.as_ref(), self.list.as_ref()];
        self.acts(operation) || reads.into_iter().flatten().any(|own| own == operation)
    }

    /// Returns `true` if this operation changes or removes an item.
    fn acts(&self, operation: &str) -> bool {
        [&self.update, &self.delete].into_iter().flatten().any(|own| own == operation)
    }

    /// Returns `true` if the name of the identifier is specific to the resource, as `task_id` is and `id` is not.
    fn has_own_identifier(&self) -> bool {
        self.id.rsplit_once('_').is_some_and(|(stem, _)| stem == self.name)
    }

    /// Returns `true` if this parameter of an operation identifies an item of the resource.
    fn is_meant(&self, operation: &str, parameter: &str) -> bool {
        let is_id = self.id == parameter;
        let is_on_these = self.acts(operation) || is_about(operation, &self.name);
        (is_id && (is_on_these || self.has_own_identifier()))
            || parameter.strip_suffix("_id").is_some_and(|stem| stem == self.name)
    }

    /// Finds the item in the `data` of a result.
    ///
    /// The item is the member with the name of the resource, the whole of `data`, or the only object in it. The last
    /// case requires evidence that the object is not another item, such as the parent.
    ///
    /// ```json
    /// { "task": { "id": 7, "title": "a" } }
    /// ```
    pub(crate) fn object<'v>(&self, data: &'v Value) -> Option<&'v Value> {
        if let Some(own) = data.get(&self.name).filter(|own| own.is_object()) {
            return Some(own);
        }
        if self.identity(data).is_some() {
            return Some(data);
        }
        let mut objects = data.as_object()?.iter().filter(|(_, value)| value.is_object());
        let (name, only) = objects.next().filter(|_| objects.next().is_none())?;
        // A plain `id` is not enough, because a parent has one, too.
        let is_certain = self.shown_as.contains(name)
            || only.get(format!("{}_id", self.name)).is_some()
            || (self.has_own_identifier() && only.get(&self.id).is_some());
        is_certain.then_some(only)
    }

    /// Collects the identifiers of this resource in a result. A member `id` counts only if `is_about` is `true`.
    fn shown<'v>(&self, data: &'v Value, is_about: bool, ids: &mut Vec<&'v Value>) {
        /// Members of a result that contain its items.
        const THERE: [&str; 4] = ["items", "edges", "node", "results"];
        match data {
            Value::Object(members) => {
                let own = format!("{}_id", self.name);
                for (name, value) in members {
                    let is_id = *name == own
                        || (*name == self.id && (is_about || self.has_own_identifier()))
                        || (name == "id" && is_about);
                    if is_id && (value.is_string() || value.is_number()) {
                        ids.push(value);
                    }
                    let is_it = is_noun_of(name, &self.name);
                    let goes_on = is_it
                        || (is_about
                            && (THERE.contains(&name.as_str()) || self.shown_as.contains(name)));
                    self.shown(value, goes_on, ids);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.shown(item, is_about, ids)),
            _ => {}
        }
    }

    /// Returns the identifier of an item.
    pub(crate) fn identity(&self, object: &Value) -> Option<Value> {
        let own = format!("{}_id", self.name);
        // If the identifier is a number or a slug, a member `id` next to it is another identifier.
        let is_plain = self.id == "id" || self.id == own;
        let others = [own.as_str(), "id"].into_iter().filter(|_| is_plain);
        std::iter::once(self.id.as_str())
            .chain(others)
            .find_map(|name| object.get(name))
            .filter(|id| id.is_string() || id.is_number())
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_only_the_named_identifier() {
        let named = |id: &str| Resource {
            name: "issue".to_owned(),
            id: id.to_owned(),
            create: "create_issue".to_owned(),
            read: None,
            list: None,
            update: None,
            delete: None,
            shown_as: Vec::new(),
            read_only: Vec::new(),
            append_only: Vec::new(),
        };
        let both = serde_json::json!({ "id": 4711, "number": 3 });
        let only_id = serde_json::json!({ "id": 4711 });
        assert_eq!(named("number").identity(&both), Some(3.into()));
        assert_eq!(named("number").identity(&only_id), None);
        assert_eq!(named("issue_id").identity(&only_id), Some(4711.into()));
    }
}
