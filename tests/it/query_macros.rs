//! Tests the tables that the query macros generate, directly and through an adapter.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test that cannot go on panics, in its helpers too"
)]

use mcp_aql::prelude::*;
use mcp_aql::query::{Capabilities, FieldInfo, ResourceSchema};
use serde::Serialize;
use serde_json::{Value, json};

/// A task.
#[derive(Clone, Serialize, JsonSchema, Resource, UpdateInput, serde::Deserialize)]
#[resource(
    presets(minimal = [task_id, "title"], standard = [task_id, owner.name, _computed.length]),
    default_sort(priority desc, title),
    relationships(references = "Mentions another task.", composes = "Is a part of another task.")
)]
#[serde(rename_all = "lowercase")]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Short title.
    #[resource(search, filter, sort)]
    #[param(min_length = 1)]
    title: String,
    /// Its status.
    #[resource(filter, sort, group)]
    #[serde(rename = "state")]
    status: Status,
    /// 1 is most urgent.
    #[resource(sort, numeric)]
    priority: u8,
    /// Assignee.
    #[resource(nested, read_only)]
    owner: Option<Person>,
    /// Free-form labels.
    #[resource(filter)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip)]
    cache: u8,
}

#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize, JsonSchema,
)]
enum Status {
    Todo,
    Done,
}

/// A person.
#[derive(Clone, Serialize, JsonSchema, Resource, serde::Deserialize)]
struct Person {
    /// Name.
    #[resource(filter)]
    name: String,
}

#[computed_fields]
impl Task {
    /// Length of the title.
    #[computed(filter, sort, group, numeric)]
    fn length(&self) -> usize {
        self.title.len()
    }

    /// Title in upper case.
    #[computed(name = "shout")]
    fn shouted(&self) -> Option<String> {
        Some(self.title.to_uppercase() + &"!".repeat(usize::from(self.cache)))
    }
}

fn tasks() -> Vec<Task> {
    let task = |id: &str, status, priority, owner: Option<&str>| Task {
        task_id: id.to_owned(),
        title: format!("Task {id}"),
        status,
        priority,
        owner: owner.map(|name| Person { name: name.to_owned() }),
        tags: Vec::new(),
        cache: 0,
    };
    vec![
        task("a", Status::Done, 1, None),
        task("b", Status::Todo, 2, Some("Ada")),
        task("c", Status::Todo, 2, None),
    ]
}

fn field<'a>(table: &'a ResourceSchema, path: &str) -> &'a FieldInfo {
    let place = table.index_of(path).unwrap_or_else(|| panic!("no `{path}`"));
    table.field(place).unwrap_or_else(|| panic!("no {place}"))
}

/// Returns the names of all flags set for a field, for example `filter sort numeric`.
fn marks(field: &FieldInfo) -> String {
    [
        ("id", field.id),
        ("search", field.search),
        ("filter", field.filter),
        ("sort", field.sort),
        ("group", field.group),
        ("numeric", field.numeric),
        ("omitted", field.may_be_omitted),
        ("computed", field.computed),
    ]
    .into_iter()
    .filter(|(_, set)| *set)
    .map(|(name, _)| name)
    .collect::<Vec<_>>()
    .join(" ")
}

#[test]
fn a_table_holds_each_mark_under_the_name_on_the_wire() {
    let table = Task::model().schema();
    for (path, expected, description) in [
        ("task_id", "id", "Identifier."),
        ("title", "search filter sort", "Short title."),
        ("state", "filter sort group", "Its status."),
        ("priority", "sort numeric", "1 is most urgent."),
        ("owner.name", "filter", "Name."),
        ("tags", "filter omitted", "Free-form labels."),
        ("_computed.length", "filter sort group numeric computed", "Length of the title."),
        ("_computed.shout", "computed", "Title in upper case."),
    ] {
        let field = field(table, path);
        assert_eq!(marks(field), expected, "{path}");
        assert_eq!(field.description, description, "{path}");
    }
    for path in ["cache", "status", "length", "_computed.shouted"] {
        assert_eq!(table.index_of(path), None, "{path}");
    }
}

#[test]
fn both_derives_read_one_attribute() {
    let input = Task::INPUT;
    assert_eq!(input.identifiers, ["task_id"]);
    assert_eq!(input.read_only, ["owner"]);
}

#[operation(category = "READ")]
/// List tasks.
fn list_tasks(query: CollectionQuery<Task>) -> Result<Page<Task>, OperationError> {
    query.run(tasks())
}

/// Search tasks.
#[operation(category = "READ", example = { "query": "task", "first": 1 })]
fn search_tasks(query: CollectionQuery<Task>) -> Result<Page<Task>, OperationError> {
    query.run(tasks())
}

/// List tasks with every form of control.
#[operation(category = "READ")]
fn list_in_every_form(
    #[query(
        text = "optional",
        accept(offset, page, preset, order),
        without_count,
        page_size = 1,
        max_page_size = 2
    )]
    query: CollectionQuery<Task>,
) -> Result<Page<Task>, OperationError> {
    query.run(tasks())
}

/// List tasks with plain parameters.
#[operation(category = "READ")]
fn list_plainly(
    /// Only those of this filter.
    filter: Option<String>,
    #[query(without(filter, sort, fields, aggregate))] query: CollectionQuery<Task>,
) -> Result<Page<Task>, OperationError> {
    query.run(tasks().into_iter().filter(|task| filter.iter().all(|it| *it == task.task_id)))
}

/// List tasks of a limited backend.
#[operation(category = "READ")]
fn list_by_backend(
    #[query(backend = Capabilities::all().without_sort("state").without_aggregate())]
    query: CollectionQuery<Task>,
) -> Result<Page<Task>, OperationError> {
    query.run(tasks())
}

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    #[query(accept(preset))] fields: Fields<Task>,
) -> Result<mcp_aql::query::SelectedFields<Task>, OperationError> {
    let first = tasks().into_iter().next();
    first.map(|task| fields.of(task)).ok_or_else(|| OperationError::not_found("task", "a"))
}

/// Return the maximum depth of relationships.
#[operation(
    category = "READ",
    example = { "root": { "element_type": "task", "element_name": "a" }, "direction": "both" }
)]
fn query_relationships(
    #[query(max_depth = 3, page_size = 5)] query: RelationshipQuery<Task>,
) -> usize {
    query.depth()
}

fn adapter() -> Adapter {
    Adapter::builder("tasks")
        .operation(list_tasks {})
        .operation(search_tasks {})
        .operation(list_in_every_form {})
        .operation(list_plainly {})
        .operation(list_by_backend {})
        .operation(get_task {})
        .operation(query_relationships {})
        .build()
        .unwrap()
}

async fn call(operation: &str, params: Value) -> Value {
    let result = adapter().call(operation, params).await;
    json!({ "success": result.is_success(), "code": result.code(), "data": result.data() })
}

#[tokio::test]
async fn options_decide_which_parameters_there_are() {
    for (operation, expected) in [
        ("list_tasks", "filter sort fields aggregate include_items first after last before"),
        (
            "search_tasks",
            "query filter sort fields aggregate include_items first after last before",
        ),
        (
            "list_in_every_form",
            "query filter sort order fields preset aggregate include_items first after last before limit offset page page_size",
        ),
        ("list_plainly", "filter first after last before"),
        ("list_by_backend", "filter sort fields first after last before"),
        ("get_task", "fields preset"),
        ("query_relationships", "root direction relationship depth include first after"),
    ] {
        let details = call("introspect", json!({ "query": "operations", "name": operation })).await;
        let parameters = details["data"]["operation"]["parameters"].as_array().unwrap();
        let mut names: Vec<_> = parameters.iter().map(|it| it["name"].as_str().unwrap()).collect();
        let mut expected: Vec<_> = expected.split(' ').collect();
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected, "{operation}");
    }
}

#[tokio::test]
async fn options_are_kept() {
    for (shows, operation, params, path, expected) in [
        (
            "a search needs words",
            "search_tasks",
            json!({}),
            "/code",
            json!("VALIDATION_MISSING_PARAM"),
        ),
        ("a list does not", "list_tasks", json!({}), "/success", json!(true)),
        ("the default order", "list_tasks", json!({}), "/data/items/0/task_id", json!("b")),
        (
            "presets",
            "list_tasks",
            json!({ "fields": "minimal" }),
            "/data/items/0",
            json!({ "task_id": "b", "title": "Task b" }),
        ),
        (
            "paths in presets",
            "list_tasks",
            json!({ "fields": "standard" }),
            "/data/items/0",
            json!({ "task_id": "b", "owner": { "name": "Ada" }, "_computed": { "length": 6 } }),
        ),
        (
            "nested filters",
            "list_tasks",
            json!({ "filter": { "owner.name": "Ada" } }),
            "/data/pageInfo/totalCount",
            json!(1),
        ),
        ("the page size", "list_in_every_form", json!({}), "/data/items/1", Value::Null),
        ("no count", "list_in_every_form", json!({}), "/data/pageInfo/totalCount", Value::Null),
        ("a count", "list_tasks", json!({}), "/data/pageInfo/totalCount", json!(3)),
        (
            "the largest page",
            "list_in_every_form",
            json!({ "first": 3 }),
            "/data/items/2",
            Value::Null,
        ),
        (
            "offsets",
            "list_in_every_form",
            json!({ "limit": 1, "offset": 2 }),
            "/data/items/0/task_id",
            json!("a"),
        ),
        (
            "a parameter of that name",
            "list_plainly",
            json!({ "filter": "c" }),
            "/data/items/0/task_id",
            json!("c"),
        ),
        (
            "the backend",
            "list_by_backend",
            json!({ "sort": { "field": "state" } }),
            "/success",
            json!(false),
        ),
        (
            "fields of one",
            "get_task",
            json!({ "preset": "minimal" }),
            "/data/task",
            json!({ "task_id": "a", "title": "Task a" }),
        ),
    ] {
        let result = call(operation, params).await;
        let found = result.pointer(path).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{shows}: {result}");
    }
}

#[tokio::test]
async fn relationships_are_followed_as_far_as_written() {
    let details =
        call("introspect", json!({ "query": "operations", "name": "query_relationships" })).await;
    let capabilities = &details["data"]["operation"]["relationship_capabilities"];
    assert_eq!(capabilities["max_depth"], 3, "{details}");
    let types = capabilities["relationship_types"].to_string();
    assert!(types.contains("references") && types.contains("composes"), "{types}");
}
