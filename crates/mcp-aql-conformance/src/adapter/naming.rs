//! Lenient reading of introspection.
//!
//! Some adapters store names in another member than `name`, or leave out categories and tools that follow from other
//! members. The checks of forms report these deviations once. Lenient reading keeps the other checks from failing
//! because of them.

use serde_json::{Map, Value};

use crate::adapter::{Tool, tool_parts};
use crate::category::Category;

/// The member that should hold a name.
pub(crate) const NAME: &str = "name";
/// String members of entries and details that never hold a name.
const NO_NAMES: [&str; 6] =
    ["description", "endpoint", "kind", "mcpTool", "semantic_category", "type"];
/// Members that hold the name of a parameter in adapters without `name`.
const PARAMETER_NAMES: [&str; 6] =
    ["parameter", "parameter_name", "param", "param_name", "key", "id"];
/// Maximum number of members of an entry that the runner tries as its name.
const MAX_CANDIDATES: usize = 4;

/// Returns candidates for the name of a list entry, most likely first: each member with its value.
pub(crate) fn candidates(entry: &Value) -> Vec<(&str, &str)> {
    let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    let members = entry.as_object().into_iter().flatten();
    let mut found: Vec<_> = members
        .filter(|(member, _)| !NO_NAMES.contains(&member.as_str()))
        .filter_map(|(member, value)| Some((member.as_str(), value.as_str()?)))
        .filter(|(_, value)| is_word(value))
        .collect();
    let rank = |member: &str| match member {
        "operation" | "operation_name" | "type_name" => 0,
        member if member.ends_with("name") => 1,
        "id" => 2,
        _ => 3,
    };
    found.sort_by_key(|(member, _)| rank(member));
    found.truncate(MAX_CANDIDATES);
    found
}

/// Returns the name of a list entry: its `name`, or `member` if the list uses that one for names.
pub(crate) fn name_of<'v>(entry: &'v Value, member: &str) -> Option<&'v str> {
    let name = |member: &str| entry.get(member).and_then(Value::as_str);
    name(NAME).or_else(|| name(member)).filter(|name| !name.is_empty())
}

/// Returns a copy of the details of an operation or a type with every name in `name`, or `None` if all names are there
/// already.
pub(crate) fn renamed(details: &Value, member: &str) -> Option<Value> {
    let mut copy = details.clone();
    let object = copy.as_object_mut()?;
    let mut is_changed = rename(object, &[member]);
    if let Some(returns) = object.get_mut("returns").and_then(Value::as_object_mut) {
        is_changed |= rename(returns, &[member]);
    }
    for list in ["parameters", "fields"] {
        let entries = object.get_mut(list).and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
            is_changed |= rename(entry, &[member]) || rename(entry, &PARAMETER_NAMES);
        }
    }
    is_changed.then_some(copy)
}

/// Moves the first of these members into `name` if the object has no name. Returns `true` if it moved one.
fn rename(object: &mut Map<String, Value>, members: &[&str]) -> bool {
    if object.get(NAME).is_some_and(Value::is_string) {
        return false;
    }
    let is_text = |member: &&&str| object.get(**member).is_some_and(Value::is_string);
    let Some(name) = members.iter().find(is_text).and_then(|member| object.remove(*member)) else {
        return false;
    };
    object.insert(NAME.to_owned(), name);
    true
}

/// Returns the stated category of an operation, or the category with the name of the endpoint family.
pub(crate) fn category(stated: Option<&str>, endpoint: &str) -> Option<Category> {
    stated.and_then(parse).or_else(|| parse(endpoint))
}

/// Returns all categories that a list entry or the details of an operation state: directly, as the endpoint family, or
/// as the family of the tool.
pub(crate) fn stated_categories(stated: &Value) -> impl Iterator<Item = Category> {
    let member = |name: &str| stated.get(name).and_then(Value::as_str);
    let words = ["semantic_category", "endpoint"].map(member);
    words.into_iter().flatten().filter_map(parse).chain(member("mcpTool").and_then(of_tool))
}

/// Returns the category with the name of the tool's family.
pub(crate) fn of_tool(tool: &str) -> Option<Category> {
    tool_parts(tool).and_then(|(_, family)| parse(family?))
}

fn parse(word: &str) -> Option<Category> {
    Category::parse(&word.trim().to_ascii_uppercase())
}

/// Determines the tool that accepts calls of an operation.
///
/// Returns the stated tool if it is registered, else the only endpoint tool, else the tool of the endpoint family or of
/// the category. If none of these exists, returns the stated name although it is not registered.
pub(crate) fn tool(
    stated: &str,
    endpoint: &str,
    category: Option<Category>,
    tools: &[Tool],
    endpoints: &[Tool],
) -> String {
    if tools.iter().any(|tool| tool.name == stated) {
        return stated.to_owned();
    }
    if let [only] = endpoints {
        return only.name.clone();
    }
    let of_family = |family: &str| {
        let is_it = |tool: &&Tool| {
            tool_parts(&tool.name)
                .and_then(|(_, family)| family)
                .is_some_and(|own| own.eq_ignore_ascii_case(family))
        };
        endpoints.iter().find(is_it)
    };
    let found = of_family(endpoint).or_else(|| of_family(category?.family()));
    found.map_or_else(|| stated.to_owned(), |tool| tool.name.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(names: &[&str]) -> Vec<Tool> {
        let tool = |name: &&str| Tool {
            name: (*name).to_owned(),
            description: String::new(),
            raw: Value::Null,
        };
        names.iter().map(tool).collect()
    }

    #[test]
    fn looks_for_names_in_other_members() {
        let entry = json!({
            "description": "Lists", "endpoint": "READ", "element_name": "list_beds", "id": "7",
            "summary": "two words", "aka": "beds",
        });
        let found = candidates(&entry);
        assert_eq!(found, [("element_name", "list_beds"), ("id", "7"), ("aka", "beds")]);
        assert_eq!(name_of(&entry, "element_name"), Some("list_beds"));
        assert_eq!(name_of(&json!({ "name": "a", "id": "b" }), "id"), Some("a"));
        assert_eq!(name_of(&json!([]), "id"), None);
    }

    #[test]
    fn renames_members_at_every_place_of_a_name() {
        let details = json!({
            "id": "get_bed", "returns": { "id": "Bed" }, "parameters": [{ "param": "bed_id" }, 7],
        });
        let right = json!({
            "name": "get_bed", "returns": { "name": "Bed" }, "parameters": [{ "name": "bed_id" }, 7],
        });
        assert_eq!(renamed(&details, "id"), Some(right.clone()));
        assert_eq!(renamed(&right, "id"), None);
        assert_eq!(renamed(&Value::Null, "id"), None);
    }

    #[test]
    fn reads_every_stated_category() {
        let stated = |value: Value| stated_categories(&value).collect::<Vec<_>>();
        let entry = json!({
            "semantic_category": "READ", "endpoint": " delete", "mcpTool": "x_mcp_aql_update",
        });
        assert_eq!(stated(entry), [Category::Read, Category::Delete, Category::Update]);
        let other =
            json!({ "semantic_category": "WIPE", "endpoint": "garden", "mcpTool": "mcp_aql" });
        assert_eq!(stated(other), []);
    }

    #[test]
    fn derives_categories_and_tools() {
        assert_eq!(category(Some("READ"), "create"), Some(Category::Read));
        assert_eq!(category(None, "UPDATE"), Some(Category::Update));
        assert_eq!(category(Some("read"), ""), Some(Category::Read));
        assert_eq!(category(None, "garden"), None);
        let semantic = tools(&["x_mcp_aql_read", "x_mcp_aql_update"]);
        let find = |stated: &str, endpoint: &str, category| {
            tool(stated, endpoint, category, &semantic, &semantic)
        };
        assert_eq!(find("x_mcp_aql_read", "update", None), "x_mcp_aql_read");
        assert_eq!(find("", "UPDATE", None), "x_mcp_aql_update");
        assert_eq!(find("mcp_aql_update", "", Some(Category::Update)), "x_mcp_aql_update");
        assert_eq!(find("gone", "garden", Some(Category::Delete)), "gone");
        assert_eq!(find("", "", None), "");
        let single = tools(&["mcp_aql"]);
        assert_eq!(tool("mcp_aql_read", "read", None, &single, &single), "mcp_aql");
    }
}
