//! Tests of `Create<T>`: the fields of a resource become the parameters of its CREATE operation.

use std::collections::BTreeMap;

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A place.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, UpdateInput)]
struct Place {
    /// Name of the room.
    #[param(min_length = 1)]
    room: String,
    /// Number of the floor.
    #[param(minimum = -1, maximum = 9)]
    floor: i8,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, CreateInput, UpdateInput)]
#[serde(rename_all = "snake_case")]
struct Task {
    /// Identifier of the task.
    #[resource(id)]
    task_id: String,
    /// Short title.
    #[param(min_length = 1, max_length = 10)]
    title: String,
    /// 1 is most urgent.
    #[param(minimum = 1, maximum = 5, default = 3)]
    priority: u8,
    /// Labels.
    #[serde(default)]
    labels: Vec<String>,
    /// Name of the owner.
    #[serde(default = "nobody")]
    owner: String,
    /// The text.
    text: Option<String>,
    /// The places.
    #[serde(default)]
    places: Vec<Place>,
    /// Places by name.
    #[serde(default)]
    named: BTreeMap<String, Place>,
    #[serde(skip)]
    pin: Option<String>,
    /// Number of changes.
    #[resource(read_only)]
    #[create_input(value = 1)]
    version: u32,
}

fn nobody() -> String {
    "nobody".to_owned()
}

/// Create a task.
#[operation(category = "CREATE", example = { "title": "Milk" })]
fn create_task(
    mut input: Create<Task>,
    /// Digits that later changes require.
    #[param(sensitive)]
    pin: Option<String>,
) -> Task {
    input.title.make_ascii_uppercase();
    let task_id = format!("t-{}", input.title.len());
    input.into_resource((task_id, pin))
}

fn adapter() -> Adapter {
    let builder = Adapter::builder("tasks").operation(create_task {});
    builder.without_config().build().unwrap()
}

async fn created(params: Value) -> Result<Value, String> {
    let result = adapter().call("create_task", params).await;
    match result.error() {
        Some(error) => Err(error.message.clone()),
        None => Ok(result.data()["task"].clone()),
    }
}

#[tokio::test]
async fn the_fields_are_parameters_with_their_defaults() {
    // REQ-RQ-07, REQ-RQ-09, REQ-RQ-11
    assert_eq!(
        created(json!({ "title": "milk", "pin": "1234" })).await.unwrap(),
        json!({
            "task_id": "t-4", "title": "MILK", "priority": 3, "labels": [], "owner": "nobody",
            "text": null, "places": [], "named": {}, "version": 1,
        })
    );
    let asked = json!({ "query": "operations", "name": "create_task" });
    let details = adapter().call("introspect", asked).await;
    let names: Vec<_> = details.data()["operation"]["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["title", "priority", "labels", "owner", "text", "places", "named", "pin"]);
}

#[tokio::test]
async fn the_constraints_of_the_fields_hold_also_inside_of_them() {
    // REQ-RQ-07, REQ-RQ-11, REQ-RQ-12
    for (params, said) in [
        (json!({ "title": "" }), "'title' must have"),
        (json!({ "title": "a", "priority": 6 }), "'priority' must be 1 to 5"),
        (json!({ "title": "a", "task_id": "t-1" }), "Unknown parameter(s)"),
        (json!({ "title": "a", "version": 7 }), "Unknown parameter(s)"),
        (
            json!({ "title": "a", "places": [{ "room": "", "floor": 1 }] }),
            "'places[0].room' must have",
        ),
        (
            json!({ "title": "a", "named": { "x": { "room": "a", "floor": 12 } } }),
            "'named.x.floor' must be -1 to 9",
        ),
    ] {
        let message = created(params.clone()).await.unwrap_err();
        assert!(message.contains(said), "{params}: {message}");
    }
}
