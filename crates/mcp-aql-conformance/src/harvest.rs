//! Collects values from results by name, as parameters for later calls.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::nouns::{is_identifier, thing_of};

/// Maximum number of stored values per name.
const MAX_VALUES_PER_NAME: usize = 8;
/// Maximum length of stored names, in bytes.
const MAX_NAME_BYTES: usize = 200;
const MAX_VALUE_BYTES: usize = 1 << 10;
/// Maximum number of stored names.
const MAX_NAMES: usize = 2_000;

/// Stores the values in a result by their names, for later calls.
///
/// ```json
/// { "items": [{ "id": 7, "bed_name": "north" }] }
/// ```
///
/// This result of `list_beds` provides `id`, `bed_id` and `bed_name`.
pub(crate) fn harvest(operation: &str, data: &Value, found: &mut BTreeMap<String, Vec<Value>>) {
    match data {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Object(_) | Value::Array(_) => harvest(operation, value, found),
                    Value::Null => {}
                    _ => {
                        keep(name, value, found);
                        // `list_beds` returns `id`, while `get_bed` calls the same value `bed_id`.
                        if name == "id"
                            && let Some(thing) = thing_of(operation)
                        {
                            keep(&format!("{thing}_id"), value, found);
                        }
                        if is_own(operation, name) {
                            keep(&own(name), value, found);
                        }
                    }
                }
            }
        }
        Value::Array(items) => {
            items.iter().take(MAX_VALUES_PER_NAME).for_each(|item| harvest(operation, item, found));
        }
        _ => {}
    }
}

/// Returns the name for values returned by operations on the resource itself.
///
/// For example, `list_beds` returns names of beds as `bed_name`, while a report may use `bed_name` for something else.
/// The values of `list_beds` are more reliable.
pub(crate) fn own(name: &str) -> String {
    format!("own {name}")
}

/// Returns `true` if a member identifies the resource of the operation.
fn is_own(operation: &str, name: &str) -> bool {
    let rest = thing_of(operation).and_then(|thing| name.strip_prefix(thing.as_str()));
    is_identifier(name) && rest.is_some_and(|rest| rest.starts_with('_'))
}

fn keep(name: &str, value: &Value, found: &mut BTreeMap<String, Vec<Value>>) {
    let is_long = value.as_str().is_some_and(|text| text.len() > MAX_VALUE_BYTES);
    if is_long || name.len() > MAX_NAME_BYTES {
        return;
    }
    if found.len() >= MAX_NAMES && !found.contains_key(name) {
        return;
    }
    let values = found.entry(name.to_owned()).or_default();
    if values.len() < MAX_VALUES_PER_NAME && !values.contains(value) {
        values.push(value.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn stores_values_of_results_by_name() {
        let mut found = BTreeMap::new();
        let data = json!({ "items": [
            { "id": 1, "zone": "north", "soil": { "kind": "loam" }, "note": null },
            { "id": 2, "zone": "north" },
        ]});
        harvest("list_beds", &data, &mut found);
        assert_eq!(found.get("id"), Some(&vec![json!(1), json!(2)]));
        assert_eq!(found.get("bed_id"), Some(&vec![json!(1), json!(2)]));
        assert_eq!(found.get("zone"), Some(&vec![json!("north")]));
        assert_eq!(found.get("kind"), Some(&vec![json!("loam")]));
        assert_eq!(found.get("note"), None);
    }

    #[test]
    fn marks_identifiers_that_the_operations_of_their_resource_return() {
        let mut found = BTreeMap::new();
        harvest("get_capabilities", &json!({ "bed_name": "water_bed" }), &mut found);
        let beds = json!({ "items": [{ "bed_name": "north", "bed_size": 7 }] });
        harvest("list_beds", &beds, &mut found);
        assert_eq!(found.get(&own("bed_name")), Some(&vec![json!("north")]));
        assert_eq!(found.get(&own("bed_size")), None);
        assert_eq!(found.get("bed_name"), Some(&vec![json!("water_bed"), json!("north")]));
    }

    #[test]
    fn limits_stored_values() {
        let mut found = BTreeMap::new();
        let names = (0..20_000).map(|number| (format!("n{number}_id"), json!(number)));
        let mut data: Map<String, Value> = names.collect();
        data.insert("a".repeat(201), json!(1));
        data.insert("a".to_owned(), json!("x".repeat(1_025)));
        harvest("list_beds", &data.into(), &mut found);
        assert_eq!(found.len(), MAX_NAMES);
        assert!(found.keys().all(|name| name.starts_with('n')));
    }
}
