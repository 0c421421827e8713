//! Evidence about introspection as clients use it, and about a batch.

use serde_json::{Value, json};

use super::Collector;
use crate::adapter::Operation;
use crate::cases::Cases;
use crate::run::arguments;

impl Collector<'_> {
    /// Sends a batch of an `introspect` call and a READ operation.
    pub(super) async fn batch_example(&mut self) -> Value {
        let run = self.run;
        let cases = Cases::default();
        let name = run.adapter.operations.first().map(|operation| operation.name.as_str());
        let mut items =
            vec![arguments("introspect", into_map(json!({ "query": "operations", "name": name })))];
        let same_tool = |operation: &&Operation| operation.tool == run.adapter.introspect;
        let read = run
            .adapter
            .reads()
            .filter(same_tool)
            .filter(|operation| run.forbids(operation).is_none());
        let read = read.map(|operation| (operation, run.valid(operation)));
        if let Some((operation, Ok(params))) = read.into_iter().find(|(_, params)| params.is_ok()) {
            items.push(arguments(&operation.name, params));
        }
        let reply = run.send(&run.adapter.introspect, json!({ "operations": items }), None).await;
        match reply.body() {
            Some(body) if reply.succeeded() && body.get("results").is_some() => body.clone(),
            _ => {
                let why = format!("a batch returned {}", reply.summary());
                self.gap("`batch_example` would be empty", &cases, &why);
                Value::Null
            }
        }
    }

    /// Collects the description of each operation, and compares its details in introspection with the lists and the
    /// tools: the name, the tool, the category and the parameters.
    ///
    /// No model is called. The evidence is the reply of the adapter that a model would read.
    pub(super) async fn semantic_tests(&mut self) -> Value {
        let run = self.run;
        let (mut found, cases) = (Vec::new(), Cases::default());
        for operation in &run.adapter.operations {
            let params = json!({ "query": "operations", "name": operation.name });
            let Some(reply) = run.introspect(params.clone(), &cases).await else { continue };
            let listed = |name: &str| {
                operation.listed.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let parameters: Vec<_> =
                operation.parameters.iter().map(|parameter| &parameter.name).collect();
            found.push(json!({
                "name": format!("a client finds out how to call {}", operation.name),
                "response_text": reply.received().to_string(),
                "tool_calls": [{ "operation": reply.operation(), "params": params }],
                "structural": { "required_patterns": [operation.name, operation.tool] },
                "semantic": {
                    "phrase_groups": [[listed("semantic_category")], [first_sentence(&listed("description"))]],
                    "expected_operations": ["introspect"],
                    "expected_parameters": parameters,
                },
            }));
        }
        self.list("semantic_tests", found, &cases, "it lists no operations")
    }
}

fn into_map(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    }
}

/// Returns the first sentence of a description.
fn first_sentence(description: &str) -> &str {
    let line = description.lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(first, _)| first)
}
