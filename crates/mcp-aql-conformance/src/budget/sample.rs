//! Selects the operations of a large adapter that a run exercises.
//!
//! Together, the selected operations cover every form of operation and parameter of the adapter.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::adapter::{Adapter, Operation, Parameter, STANDARD_PARAMETERS};
use crate::category::Category;
use crate::config::File;
use crate::nouns::{is_identifier, thing_of};
use crate::resources::Resources;
use crate::verbs::words_of;

/// Members of a parameter's definition that do not change how it is tested.
const UNTESTED: [&str; 5] = ["name", "type", "required", "description", "examples"];

/// Number of operations above which an adapter is sampled. Without a sample, a run of an adapter with 500 operations
/// and 100 ms per call ran out of time and left items behind.
const MAX_WITHOUT_SAMPLE: usize = 100;
/// Number of operations in a sample.
const SAMPLE: usize = 48;

/// Selects the operations to exercise and marks them.
///
/// Operations on one resource are selected together. If they are too many, operations that read, and operations that
/// create and remove items, are selected first.
///
/// Returns `true` if a READ operation outside the sample has a form missing in the sample. The adapter may then have a
/// feature that the sample does not show. Only READ operations matter here: checks look for features of other
/// operations in the whole adapter.
pub(crate) fn select_operations(
    adapter: &mut Adapter,
    file: &File,
    max_operations: Option<usize>,
) -> bool {
    if adapter.operations.len() <= max_operations.unwrap_or(MAX_WITHOUT_SAMPLE) {
        return false;
    }
    let max_operations = max_operations.unwrap_or(SAMPLE);
    let mut selected = BTreeSet::new();
    let mut covered = BTreeSet::new();
    let mut outside = Vec::new();
    let mut left: Vec<_> = groups(adapter, file).into_values().collect();
    let mut has_read = false;
    // Take configured operations first, then an operation that reads. After that, take the group with the most new
    // forms for each operation.
    while !left.is_empty() {
        let value = |group: &Group| {
            let new = group.forms().difference(&covered).count();
            let has_first_read = !has_read && group.has_read();
            (group.is_configured, has_first_read, new * 1000 / group.operations.len().max(1))
        };
        let best = left.iter().map(value).max().unwrap_or_default();
        let at = left.iter().position(|group| value(group) == best).unwrap_or_default();
        let mut group = left.swap_remove(at);
        let room = match group.is_configured {
            true => usize::MAX,
            false => max_operations.saturating_sub(selected.len()),
        };
        outside.extend(group.split_off(room));
        has_read |= group.has_read();
        for operation in group.operations {
            covered.extend(operation.forms);
            selected.insert(operation.name);
        }
    }
    for operation in &mut adapter.operations {
        operation.is_exercised =
            operation.name == "introspect" || selected.contains(&operation.name);
    }
    let has_new_form = |operation: &GroupMember| {
        operation.category == Some(Category::Read) && !operation.forms.is_subset(&covered)
    };
    outside.iter().any(has_new_form)
}

/// The operations on one resource, or a single other operation.
#[derive(Default)]
struct Group {
    operations: Vec<GroupMember>,
    /// If `true`, the configuration names one of the operations.
    is_configured: bool,
}

/// An operation of a group.
struct GroupMember {
    name: String,
    category: Option<Category>,
    /// Forms of the operation and of its parameters.
    forms: BTreeSet<String>,
}

impl Group {
    fn forms(&self) -> BTreeSet<String> {
        self.operations.iter().flat_map(|operation| &operation.forms).cloned().collect()
    }

    fn has_read(&self) -> bool {
        self.operations.iter().any(|operation| operation.category == Some(Category::Read))
    }

    /// Removes and returns the operations beyond the remaining capacity of the sample.
    fn split_off(&mut self, room: usize) -> Vec<GroupMember> {
        if self.operations.len() <= room {
            return Vec::new();
        }
        self.operations.sort_by_key(|operation| match operation.category {
            Some(Category::Read) => 0,
            Some(Category::Create) => 1,
            Some(Category::Delete) => 2,
            Some(Category::Update | Category::Execute) | None => 3,
        });
        let is_create = |operation: &GroupMember| operation.category == Some(Category::Create);
        let is_delete = |operation: &GroupMember| operation.category == Some(Category::Delete);
        // If the DELETE operation is removed, also remove the CREATE operation: its items would stay in the adapter.
        let is_split = self.operations.iter().skip(room).any(is_delete)
            && !self.operations.iter().take(room).any(is_delete);
        let creates = self.operations.iter().position(is_create);
        self.operations.split_off(creates.filter(|_| is_split).unwrap_or(room).min(room))
    }
}

fn groups(adapter: &Adapter, file: &File) -> BTreeMap<String, Group> {
    let resources = Resources::of(adapter, file);
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for operation in adapter.operations.iter().filter(|it| it.name != "introspect") {
        let own = resources.of_operation(&operation.name).map(|kind| kind.name.clone());
        let name = own.clone().unwrap_or_else(|| format!(" {}", operation.name));
        let group = groups.entry(name).or_default();
        group.operations.push(GroupMember {
            name: operation.name.clone(),
            category: operation.category,
            forms: forms(adapter, operation),
        });
        group.is_configured |= file.params.contains_key(&operation.name)
            || own.is_some_and(|own| file.resources.contains_key(&own));
    }
    groups
}

/// Returns the forms of an operation and of each of its parameters.
fn forms(adapter: &Adapter, operation: &Operation) -> BTreeSet<String> {
    let verb = words_of(&operation.name).into_iter().next().unwrap_or_default();
    let category = operation.category.map(|category| category.family()).unwrap_or_default();
    let details = operation.details();
    let returned = details.pointer("/returns/kind").and_then(Value::as_str).unwrap_or_default();
    let danger = details.get("danger_level").and_then(Value::as_str).unwrap_or_default();
    let has_lifecycle = details.get("lifecycle").is_some_and(|lifecycle| !lifecycle.is_null());
    let parameters = operation
        .parameters
        .iter()
        .map(|parameter| format!("{category} {}", form_of(adapter, operation, parameter)));
    let own = format!("{category} {verb} {returned} {danger} {has_lifecycle}");
    parameters.chain([own]).collect()
}

/// Returns the form of a parameter: a description of how it is tested, without its values.
fn form_of(adapter: &Adapter, operation: &Operation, parameter: &Parameter) -> String {
    let named = adapter.types.iter().find(|known| known.name == parameter.kind);
    let kind = named.and_then(|named| named.reply.pointer("/data/type/kind")?.as_str());
    let thing = thing_of(&operation.name).unwrap_or_default();
    let name = match parameter.name.as_str() {
        name if STANDARD_PARAMETERS.contains(&name) || name.starts_with('_') => name,
        "input" => "input",
        "dry_run" => "dry_run",
        name if name.starts_with(&thing) && is_identifier(name) => "own id",
        name if is_identifier(name) => "id",
        _ => "",
    };
    let members = parameter.raw.keys().filter(|name| !UNTESTED.contains(&name.as_str()));
    let members: Vec<_> = members.map(String::as_str).collect();
    let kind = kind.unwrap_or(&parameter.kind);
    format!("{name} {kind} {} {}", parameter.required, members.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::category::Mode;

    fn operation(name: &str, category: &str, parameters: &Value) -> Operation {
        let listed = json!({ "name": name, "semantic_category": category });
        let reply = json!({ "data": { "operation": { "parameters": parameters } } });
        Operation::read(name.to_owned(), &listed, reply, "name")
    }

    fn adapter(resources: usize) -> Adapter {
        let mut operations = vec![operation("introspect", "READ", &json!([]))];
        for number in 0..resources {
            let id =
                json!({ "name": format!("box{number}_id"), "type": "string", "required": true });
            let label = json!({ "name": "label", "type": "string", "required": true });
            operations.push(operation(&format!("create_box{number}"), "CREATE", &json!([label])));
            operations.push(operation(&format!("get_box{number}"), "READ", &json!([id])));
            operations.push(operation(&format!("delete_box{number}"), "DELETE", &json!([id])));
        }
        let rare = json!([{ "name": "at", "type": "string", "format": "date", "required": true }]);
        operations.push(operation("execute_export", "EXECUTE", &rare));
        Adapter {
            hello: Value::Null,
            tools: Vec::new(),
            unread_tools: None,
            endpoints: Vec::new(),
            mode: Mode::Single,
            serves_all: false,
            introspect: "mcp_aql".to_owned(),
            operations_reply: Value::Null,
            types_reply: Value::Null,
            operations,
            types: Vec::new(),
            name_member: "name".to_owned(),
            gaps: Vec::new(),
        }
    }

    fn selected(resources: usize, file: &File, max_operations: usize) -> Vec<String> {
        let mut adapter = adapter(resources);
        select_operations(&mut adapter, file, Some(max_operations));
        adapter.exercised().map(|operation| operation.name.clone()).collect()
    }

    #[test]
    fn small_adapters_are_exercised_as_a_whole() {
        assert_eq!(selected(3, &File::default(), 11).len(), 11);
    }

    #[test]
    fn large_adapters_are_sampled_by_resource_and_form() {
        let selected = selected(100, &File::default(), 11);
        assert!(selected.contains(&"execute_export".to_owned()), "{selected:?}");
        // `introspect` is not counted.
        assert_eq!(selected.len(), 12, "{selected:?}");
        for name in selected.iter().filter_map(|name| name.strip_prefix("create_")) {
            assert!(selected.contains(&format!("delete_{name}")), "{selected:?}");
        }
    }

    #[test]
    fn nouns_that_look_like_plurals_are_sampled_with_their_removal() {
        for (noun, plural) in [("atlas", "atlases"), ("thingas", "thingases"), ("bonus", "bonuses")]
        {
            let mut adapter = adapter(100);
            let id = json!({ "name": format!("{noun}_id"), "type": "string", "required": true });
            let params =
                json!([{ "name": "size", "type": "integer", "minimum": 1, "required": true }]);
            for (name, category, parameters) in [
                (format!("create_{noun}"), "CREATE", params),
                (format!("list_{plural}"), "READ", json!([])),
                (format!("delete_{noun}"), "DELETE", json!([id])),
            ] {
                adapter.operations.push(operation(&name, category, &parameters));
            }
            select_operations(&mut adapter, &File::default(), Some(11));
            let selected: Vec<_> = adapter.exercised().map(|it| it.name.clone()).collect();
            for verb in ["create", "delete"] {
                assert!(selected.contains(&format!("{verb}_{noun}")), "{selected:?}");
            }
        }
    }

    #[test]
    fn configured_operations_are_exercised() {
        let file = File::parse("[params.get_box77]\nbox77_id = 'box77-1'", |_| None).unwrap();
        let selected = selected(100, &file, 11);
        assert!(selected.contains(&"create_box77".to_owned()), "{selected:?}");
    }

    #[test]
    fn a_large_resource_is_sampled_in_part() {
        let selected = |max| selected(1, &File::default(), max);
        assert_eq!(selected(1), ["introspect", "get_box0"]);
        // Without `delete_box0`, the items would stay in the adapter.
        assert_eq!(selected(2), ["introspect", "get_box0", "execute_export"]);
        assert_eq!(selected(3), ["introspect", "create_box0", "get_box0", "delete_box0"]);
    }

    #[test]
    fn forms_outside_the_sample_are_noticed() {
        let has_outside = |resources, max| {
            select_operations(&mut adapter(resources), &File::default(), Some(max))
        };
        assert!(has_outside(1, 0));
        // Only the forms of READ operations matter.
        assert!(!has_outside(1, 1) && !has_outside(100, 11) && !has_outside(1, 100));
    }
}
