//! Converts the operations of an adapter to plain tools, with the same descriptions.
//!
//! There is one tool per operation. It has the operation's name and description and a JSON schema of its parameters,
//! without additions that some libraries make, such as titles or `$schema`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Wire;
use crate::Result;

/// Maximum depth to which a schema contains the fields of nested types.
const MAX_DEPTH: usize = 3;

/// Returns the result of `tools/list` of a server with one tool per operation of an adapter.
///
/// ```json
/// { "name": "get_order", "description": "…", "inputSchema": {
///     "type": "object", "properties": { "order_id": {…} }, "required": ["order_id"] },
///   "annotations": { "readOnlyHint": true, "destructiveHint": false } }
/// ```
pub(super) async fn tools(wire: &mut Wire) -> Result<String> {
    let list: Value = parse(wire, json!({ "query": "operations" })).await?;
    let operations = list.pointer("/data/operations").and_then(Value::as_array).ok_or("no list")?;
    let mut schemas = Schemas { wire, types: BTreeMap::new() };
    let mut tools = Vec::new();
    for operation in operations.iter().filter(|it| it["name"] != "introspect") {
        let query = json!({ "query": "operations", "name": operation["name"] });
        let details = parse(schemas.wire, query).await?;
        let details = details.pointer("/data/operation").ok_or("no details")?;
        tools.push(json!({
            "name": details["name"],
            "description": details["description"],
            "inputSchema": schemas.of_parameters(&details["parameters"]).await?,
            "annotations": {
                "readOnlyHint": details["permissions"]["readOnly"],
                "destructiveHint": details["permissions"]["destructive"],
            },
        }));
    }
    Ok(json!({ "tools": tools }).to_string())
}

async fn parse(wire: &mut Wire, query: Value) -> Result<Value> {
    Ok(serde_json::from_str(&wire.introspect(query).await?)?)
}

/// Generates JSON schemas of parameters and types.
struct Schemas<'a> {
    wire: &'a mut Wire,
    /// The requested types: their fields with the descriptions.
    types: BTreeMap<String, Value>,
}

impl Schemas<'_> {
    async fn of_parameters(&mut self, parameters: &Value) -> Result<Value> {
        self.request_types(parameters).await?;
        Ok(self.object(parameters, MAX_DEPTH))
    }

    /// Requests all types that occur in the parameters and their fields.
    async fn request_types(&mut self, parameters: &Value) -> Result {
        let mut names: Vec<String> = entries(parameters).filter_map(type_name).collect();
        while let Some(name) = names.pop() {
            if self.types.contains_key(&name) {
                continue;
            }
            let reply = parse(self.wire, json!({ "query": "types", "name": name })).await?;
            let described = reply.pointer("/data/type").cloned().unwrap_or_default();
            names.extend(entries(&described["fields"]).filter_map(type_name));
            self.types.insert(name, described);
        }
        Ok(())
    }

    fn object(&self, parameters: &Value, depth: usize) -> Value {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for parameter in entries(parameters) {
            let Some(name) = parameter["name"].as_str() else { continue };
            if parameter["required"] == true {
                required.push(name);
            }
            properties.insert(name.to_owned(), self.property(parameter, depth));
        }
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    fn property(&self, parameter: &Value, depth: usize) -> Value {
        let mut schema = parameter.clone();
        let Some(members) = schema.as_object_mut() else { return schema };
        members.remove("name");
        members.remove("required");
        let named = type_name(parameter).and_then(|name| self.types.get(&name));
        let fields = named.map(|it| &it["fields"]).filter(|fields| fields.is_array() && depth > 0);
        if let Some(fields) = fields {
            members.remove("type");
            let object = self.object(fields, depth - 1);
            members.extend(object.as_object().cloned().unwrap_or_default());
        } else if parameter["type"]
            .as_str()
            .is_some_and(|name| name.starts_with(char::is_uppercase))
        {
            members.insert("type".to_owned(), "object".into());
        } else if let Some((first, second)) =
            parameter["type"].as_str().and_then(|name| name.split_once(" or "))
        {
            members.insert("type".to_owned(), json!([first, second]));
        }
        schema
    }
}

fn entries(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Returns the name of a parameter's type. For `input`, the name is in parentheses in the description.
fn type_name(parameter: &Value) -> Option<String> {
    let name = match parameter["name"].as_str() {
        Some("input") => parameter["description"].as_str()?.split(['(', ')']).nth(1)?,
        _ => parameter["type"].as_str()?,
    };
    name.starts_with(char::is_uppercase).then(|| name.to_owned())
}
