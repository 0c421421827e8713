//! Merges JSON schemas only known at run time into the schemas of all types.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Moves the definitions of a schema into the definitions of all types, and returns the schema with references to
/// them.
///
/// A definition gets a number if a different definition already has its name: `Address` becomes `Address2`.
pub(super) fn adopt(schema: &Value, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    let mut own = Map::new();
    for key in ["$defs", "definitions"] {
        if let Some(Value::Object(found)) = schema.as_object_mut().and_then(|it| it.remove(key)) {
            own.extend(found);
        }
    }
    let names = free_names(&own, definitions);
    for (name, mut definition) in own {
        rename(&mut definition, &names);
        let name = names.get(&name).cloned().unwrap_or(name);
        definitions.insert(name, definition);
    }
    rename(&mut schema, &names);
    schema
}

/// Chooses the names of the definitions. Renaming one definition changes those that refer to it, so the loop
/// continues until no name clashes.
fn free_names(own: &Map<String, Value>, known: &Map<String, Value>) -> BTreeMap<String, String> {
    let mut names: BTreeMap<_, _> = own.keys().map(|name| (name.clone(), name.clone())).collect();
    let mut numbers: BTreeMap<&str, usize> = own.keys().map(|name| (name.as_str(), 1)).collect();
    loop {
        let clash = own.iter().find(|(name, definition)| {
            let mut renamed = (*definition).clone();
            rename(&mut renamed, &names);
            let known = names.get(*name).and_then(|name| known.get(name));
            known.is_some_and(|known| *known != renamed)
        });
        let Some((name, _)) = clash else { return names };
        let number = numbers.entry(name).or_default();
        *number += 1;
        names.insert(name.clone(), format!("{name}{number}"));
    }
}

/// Replaces the names in all references.
fn rename(schema: &mut Value, names: &BTreeMap<String, String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                let renamed = value
                    .as_str()
                    .filter(|_| key == "$ref")
                    .and_then(|path| {
                        path.strip_prefix("#/$defs/").or(path.strip_prefix("#/definitions/"))
                    })
                    .and_then(|name| names.get(name));
                match renamed {
                    Some(name) => *value = format!("#/$defs/{name}").into(),
                    None => rename(value, names),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn definitions_of_one_name_are_told_apart() {
        let mut definitions = Map::new();
        let schema = |kind: &str| {
            json!({
                "$defs": { "Label": { "type": kind }, "Labels": { "items": { "$ref": "#/$defs/Label" } } },
                "$ref": "#/$defs/Labels",
            })
        };
        assert_eq!(adopt(&schema("string"), &mut definitions), json!({ "$ref": "#/$defs/Labels" }));
        assert_eq!(adopt(&schema("string"), &mut definitions), json!({ "$ref": "#/$defs/Labels" }));
        assert_eq!(definitions.len(), 2);
        assert_eq!(
            adopt(&schema("integer"), &mut definitions),
            json!({ "$ref": "#/$defs/Labels2" })
        );
        assert_eq!(definitions["Labels2"]["items"]["$ref"], "#/$defs/Label2");
        assert_eq!(definitions["Label2"]["type"], "integer");
        let old = json!({ "definitions": { "A": true }, "items": { "$ref": "#/definitions/A" } });
        assert_eq!(adopt(&old, &mut definitions)["items"]["$ref"], "#/$defs/A");
    }
}
