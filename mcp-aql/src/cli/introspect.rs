use serde_json::{Map, Value, json};

use super::render::{Output, Table, member, plain};
use super::{Ended, call};
use crate::adapter::Adapter;
use crate::main_error::Result;

/// Shows what `introspect` tells a client.
pub(super) async fn run(
    adapter: &Adapter,
    output: &Output,
    query: &str,
    name: Option<&str>,
) -> Result<Ended> {
    let mut params = Map::new();
    params.insert("query".to_owned(), query.into());
    if let Some(name) = name {
        params.insert("name".to_owned(), name.into());
    }
    let mut arguments = Map::new();
    arguments.insert("operation".to_owned(), "introspect".into());
    arguments.insert("params".to_owned(), params.into());
    let answer = call::handle(adapter, arguments).await;
    if output.json() || !answer.result.is_success() {
        return output.result(&answer);
    }
    let data = answer.result.data();
    match (query, name) {
        ("operations", None) => {
            let columns = ["name", "semantic_category", "endpoint", "description"];
            output.table(&Table::of(member(data, "operations"), &columns))?;
        }
        (query, _) if query != "operations" && query != "types" => output.pretty(data)?,
        (_, None) => {
            output.table(&Table::of(member(data, "types"), &["name", "kind", "description"]))?
        }
        ("operations", Some(name)) => {
            return operation(adapter, output, name, member(data, "operation"));
        }
        (_, Some(name)) => {
            let known = member(data, "type");
            if known.is_null() {
                return unknown("type", name, None);
            }
            output.pretty(known)?;
        }
    }
    Ok(Ended::Well)
}

fn operation(adapter: &Adapter, output: &Output, name: &str, details: &Value) -> Result<Ended> {
    if details.is_null() {
        let near = crate::vocab::closest(name, adapter.operations().map(|spec| spec.name));
        return unknown("operation", name, near);
    }
    let text = |key: &str| plain(member(details, key).as_str().unwrap_or_default());
    output.heading(&format!("{} ({})", text("name"), text("semantic_category")))?;
    output.line(&text("description"))?;
    output.line(&format!("Tool: {}", text("mcpTool")))?;
    let parameters = member(details, "parameters");
    if parameters.as_array().is_some_and(|parameters| !parameters.is_empty()) {
        output.line("")?;
        output.table(&Table::of(
            parameters,
            &["name", "type", "required", "default", "description"],
        ))?;
    }
    let returns = member(details, "returns");
    output.line("")?;
    output.line(&format!(
        "Returns: {}",
        plain(member(returns, "name").as_str().unwrap_or("nothing"))
    ))?;
    for example in member(details, "examples").as_array().into_iter().flatten() {
        let params = example.pointer("/request/params").cloned().unwrap_or_else(|| json!({}));
        output.line(&format!("Example: call {name} '{}'", plain(&params.to_string())))?;
    }
    Ok(Ended::Well)
}

fn unknown(kind: &str, name: &str, near: Option<&str>) -> Result<Ended> {
    let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    super::render::problem(&format!("there is no {kind} '{}'{hint}", plain(name)));
    Ok(Ended::Unsuccessful)
}
