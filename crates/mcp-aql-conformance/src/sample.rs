//! The operations of a large adapter that a run exercises: together they have every form of operation and
//! parameter that the adapter has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::adapter::{Adapter, Operation, Parameter, STANDARD_PARAMETERS};
use crate::config::File;
use crate::nouns::{is_identifier, thing_of};
use crate::resources::Resources;
use crate::verbs::words_of;

/// Members of a parameter's definition that do not change how it is tested.
const UNTESTED: [&str; 5] = ["name", "type", "required", "description", "examples"];

/// The number of operations above which an adapter is sampled.
const MAX_WITHOUT_SAMPLE: usize = 100;
/// The number of operations of a sample.
const SAMPLE: usize = 48;

/// Selects the operations to exercise and marks them. Operations on one resource are selected together.
pub(crate) fn select(adapter: &mut Adapter, file: &File, max_operations: Option<usize>) {
    if adapter.operations.len() <= max_operations.unwrap_or(MAX_WITHOUT_SAMPLE) {
        return;
    }
    let max_operations = max_operations.unwrap_or(SAMPLE);
    let groups = groups(adapter, file);
    let mut selected = BTreeSet::new();
    let mut covered = BTreeSet::new();
    let mut left: Vec<_> = groups.into_iter().collect();
    // First what the configuration names, then the group with the most new forms for each operation.
    while !left.is_empty() {
        let value = |group: &Group| {
            let new = group.forms.difference(&covered).count();
            (group.is_configured, new * 1000 / group.operations.len().max(1))
        };
        let best = left.iter().map(|(_, group)| value(group)).max().unwrap_or_default();
        let at = left.iter().position(|(_, group)| value(group) == best).unwrap_or_default();
        let (_, group) = left.swap_remove(at);
        if !group.is_configured && selected.len() + group.operations.len() > max_operations {
            continue;
        }
        covered.extend(group.forms);
        selected.extend(group.operations);
    }
    for operation in &mut adapter.operations {
        operation.is_exercised =
            operation.name == "introspect" || selected.contains(&operation.name);
    }
}

/// The operations on one resource, or a single other operation.
#[derive(Default)]
struct Group {
    operations: Vec<String>,
    /// The forms of the operations and of their parameters.
    forms: BTreeSet<String>,
    /// Whether the configuration names one of the operations.
    is_configured: bool,
}

fn groups(adapter: &Adapter, file: &File) -> BTreeMap<String, Group> {
    let resources = Resources::of(adapter, file);
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for operation in adapter.operations.iter().filter(|it| it.name != "introspect") {
        let own = resources.of_operation(&operation.name).map(|kind| kind.name.clone());
        let name = own.clone().unwrap_or_else(|| format!(" {}", operation.name));
        let group = groups.entry(name).or_default();
        group.operations.push(operation.name.clone());
        group.forms.extend(forms(adapter, operation));
        group.is_configured |= file.params.contains_key(&operation.name)
            || own.is_some_and(|own| file.resources.contains_key(&own));
    }
    groups
}

/// The forms of an operation and of each of its parameters.
fn forms(adapter: &Adapter, operation: &Operation) -> Vec<String> {
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

/// The form of a parameter: how it is tested apart from its values.
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
        select(&mut adapter, file, Some(max_operations));
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
        assert_eq!(selected.len(), 11, "{selected:?}");
        for name in selected.iter().filter_map(|name| name.strip_prefix("create_")) {
            assert!(selected.contains(&format!("delete_{name}")), "{selected:?}");
        }
    }

    #[test]
    fn configured_operations_are_exercised() {
        let file = File::parse("[params.get_box77]\nbox77_id = 'box77-1'", |_| None).unwrap();
        let selected = selected(100, &file, 11);
        assert!(selected.contains(&"create_box77".to_owned()), "{selected:?}");
    }
}
