//! Infers resources from the names, parameters and results of operations.

use super::{Resource, Role};
use crate::adapter::{Adapter, Operation};
use crate::category::Category;
use crate::config::File;
use crate::nouns::{is_identifier, is_noun_of, singular};

/// Verbs of CREATE operations in order of preference. Other verbs do not create the named item: `link_beds` creates a
/// link, not a bed.
pub(super) const MAKES: &[&str] =
    &["create", "add", "new", "register", "insert", "make", "open", "post", "save", "store"];

const READS: &[&str] = &["get", "read", "show", "fetch", "describe", "find", "view", "lookup"];

const LISTS: &[&str] = &["list", "get", "find", "search", "query", "show", "browse", "fetch"];

const CHANGES: &[&str] = &["update", "edit", "change", "modify", "patch", "set", "alter"];

const REMOVES: &[&str] = &["delete", "remove", "erase", "discard", "destroy", "withdraw", "drop"];

/// Generic names of the item in a result.
const NEUTRAL: &[&str] = &["item", "result", "record", "object", "entity", "resource", "node"];

/// Returns the name of the resource that a CREATE operation with this noun creates.
///
/// The names of other operations show if the noun is a plural:
///
/// ```text
/// create_atlas, get_atlas  →  atlas
/// create_beds, get_bed     →  bed
/// ```
pub(super) fn resource_name(adapter: &Adapter, noun: &str) -> String {
    let others = || adapter.operations.iter().filter(|it| it.category != Some(Category::Create));
    let is_named = |name: &str, operation: &Operation| {
        operation.name.split_once('_').is_some_and(|(_, other)| other == name)
    };
    // An operation on one item requires at least its identifier.
    let acts_on_one =
        |name: &str| others().any(|it| is_named(name, it) && it.required().next().is_some());
    let is_listed = |name: &str| others().any(|it| is_about(&it.name, name) && !is_named(name, it));
    let one = singular(noun);
    let is_one = acts_on_one(&one) || !(acts_on_one(noun) || is_listed(noun));
    if is_one { one } else { noun.to_owned() }
}

pub(super) fn kind(
    adapter: &Adapter,
    file: &File,
    name: String,
    wrong: &mut Vec<String>,
) -> Option<Resource> {
    let given = file.resources.get(&name).cloned().unwrap_or_default();
    let mut role = |role: Role, given: Option<String>| match given {
        Some(operation) if adapter.operation(&operation).is_none() => {
            wrong.push(format!(
                "[resources.{name}] names the operation `{operation}`, but the adapter has no such operation"
            ));
            None
        }
        Some(operation) => Some(operation),
        None => operation_on(adapter, &name, role).map(|operation| operation.name.clone()),
    };
    let create = role(Role::Create, given.create);
    let read = role(Role::Read, given.read);
    let list = role(Role::List, given.list).filter(|list| Some(list) != read.as_ref());
    let update = role(Role::Update, given.update);
    let delete = role(Role::Delete, given.delete);
    let Some(create) = create else {
        wrong.push(format!("[resources.{name}] needs `create`, the name of a CREATE operation"));
        return None;
    };
    let on_one = [&read, &update, &delete];
    let on_one = on_one.into_iter().flatten().filter_map(|operation| adapter.operation(operation));
    let id = given.id.or_else(|| {
        identifier(&name, on_one).filter(|id| {
            // A required parameter of the CREATE operation is chosen by the caller or belongs to a parent.
            let is_said = adapter
                .operation(&create)
                .and_then(|create| create.parameter(id))
                .is_some_and(|parameter| parameter.required);
            !is_said && !is_of_another(adapter, &name, id)
        })
    })?;
    let about = [Some(&create), read.as_ref(), update.as_ref(), delete.as_ref()];
    let about = about.into_iter().flatten().filter_map(|operation| adapter.operation(operation));
    let shown_as = about
        .filter_map(|operation| operation.details().pointer("/returns/name")?.as_str())
        .map(snake_case)
        .chain(NEUTRAL.iter().map(|name| (*name).to_owned()))
        .collect();
    Some(Resource {
        shown_as,
        name,
        id,
        create,
        read,
        list,
        update,
        delete,
        read_only: given.read_only,
        append_only: given.append_only,
    })
}

/// Finds the operation with this role for a resource by its name. Prefers plain verbs.
fn operation_on<'a>(adapter: &'a Adapter, name: &str, role: Role) -> Option<&'a Operation> {
    role.verbs().iter().find_map(|verb| {
        adapter.of(role.category()).find(|operation| {
            let Some(noun) =
                operation.name.strip_prefix(verb).and_then(|rest| rest.strip_prefix('_'))
            else {
                return false;
            };
            let is_one = noun == name;
            is_noun_of(noun, name)
                && match role {
                    Role::Create => true,
                    Role::List => {
                        (!is_one || *verb == "list") && operation.required().next().is_none()
                    }
                    // Without a required parameter, the operation acts on several items.
                    Role::Read | Role::Update | Role::Delete => {
                        is_one && operation.required().next().is_some()
                    }
                }
        })
    })
}

/// Returns the required parameter shared by all operations on single items.
///
/// Returns `None` if they share several, because some of these could identify another item.
fn identifier<'a>(name: &str, on_one: impl Iterator<Item = &'a Operation>) -> Option<String> {
    let on_one: Vec<_> = on_one.collect();
    let everywhere = |parameter: &str| {
        on_one
            .iter()
            .all(|operation| operation.parameter(parameter).is_some_and(|found| found.required))
    };
    let mut shared = on_one
        .first()?
        .required()
        .map(|parameter| parameter.name.as_str())
        .filter(|parameter| *parameter != "input" && everywhere(parameter));
    let only = shared.next().filter(|_| shared.next().is_none())?;
    let is_its_own = only.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
    (is_its_own || is_identifier(only) || on_one.len() > 1).then(|| only.to_owned())
}

/// Returns `true` if an identifier belongs to another resource. For example, `page_id` does if there is `get_page`.
fn is_of_another(adapter: &Adapter, name: &str, id: &str) -> bool {
    let Some((stem, _)) = id.rsplit_once('_') else { return false };
    stem != name && adapter.operations.iter().any(|operation| is_about(&operation.name, stem))
}

/// Returns `true` if the name of an operation refers to this resource, as `archive_task` and `list_tasks` refer to
/// `task`.
pub(super) fn is_about(operation: &str, name: &str) -> bool {
    operation.split_once('_').is_some_and(|(_, noun)| is_noun_of(noun, name))
}

/// Converts the name of a type to snake case: `PersonInCharge` becomes `person_in_charge`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

impl Role {
    const fn verbs(self) -> &'static [&'static str] {
        match self {
            Self::Create => MAKES,
            Self::Read => READS,
            Self::List => LISTS,
            Self::Update => CHANGES,
            Self::Delete => REMOVES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_type_names_to_snake_case() {
        assert_eq!(snake_case("Task"), "task");
        assert_eq!(snake_case("PersonInCharge"), "person_in_charge");
    }
}
